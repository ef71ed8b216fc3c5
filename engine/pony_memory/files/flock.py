"""Advisory locks that the kernel frees when their holder dies (``flock``), on owner-only files of our own."""

from __future__ import annotations

import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager

from pony_memory.errors import Locked, UnsafeFile
from pony_memory.files.boundary import printable
from pony_memory.limits import LOCK_TIMEOUT_MS, OWNER_FILE_MODE

_FIRST_WAIT_S = 0.001
_LONGEST_WAIT_S = 0.05


@contextmanager
def flocked(dir_fd: int, name: str, *, what: str, timeout_ms: int = LOCK_TIMEOUT_MS) -> Iterator[None]:
    """Hold an exclusive ``flock`` on ``name`` in the directory, created 0600 if missing, never through a link.

    ``what`` names the place in the error. Raises :class:`Locked` after ``timeout_ms``. Between processes and between
    threads alike, for each call opens the file anew.
    """
    descriptor = os.open(
        name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, OWNER_FILE_MODE, dir_fd=dir_fd
    )
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise UnsafeFile(f"{printable(name)} is in the way: it is no ordinary file", reason="not_a_file")
        _wait(descriptor, what, timeout_ms)
        yield
    finally:
        os.close(descriptor)


def _wait(descriptor: int, what: str, timeout_ms: int) -> None:
    deadline = time.monotonic() + timeout_ms / 1_000
    wait = _FIRST_WAIT_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise Locked(
                    f"another process is writing {what}; waited {timeout_ms:,} ms",
                    hint="Try again; the lock is freed by the system when that process ends.",
                ) from None
            time.sleep(wait)
            wait = min(wait * 2, _LONGEST_WAIT_S)
        else:
            return
