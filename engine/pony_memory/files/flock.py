"""Advisory locks that the kernel frees when their holder dies, on owner-only files of our own (SPEC §9, §12).

The files stay where they are: removing one would let two processes lock two files of the same name.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn

from pony_memory.errors import Locked, PonyError, UnsafeFile
from pony_memory.files import syscalls
from pony_memory.files.refusals import fault_of, printable, refuse
from pony_memory.limits import LOCK_TIMEOUT_MS, MAX_FILE_BYTES, OWNER_FILE_MODE

_FIRST_WAIT_S = 0.001
_LONGEST_WAIT_S = 0.05


@contextmanager
def flocked(
    dir_fd: int, name: str, *, what: str, timeout_ms: int = LOCK_TIMEOUT_MS, shared: bool = False
) -> Iterator[None]:
    """Hold a ``flock`` on ``name`` in the directory, created 0600 if missing, never through a link.

    ``what`` names the place in the error; ``shared`` lets others share it. Raises :class:`Locked` after
    ``timeout_ms`` and :class:`UnsafeFile` when something else is in the file's place. It excludes processes and
    threads alike, for each call opens the file anew; so it must not be nested.
    """
    deadline = time.monotonic() + timeout_ms / 1_000
    while True:
        descriptor = _open(dir_fd, name)
        try:
            _wait(descriptor, what, deadline, timeout_ms, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
            if _is_named(descriptor, dir_fd, name):
                try:
                    yield
                finally:
                    # Said aloud, not left to close(): a child forked meanwhile would keep it locked.
                    fcntl.flock(descriptor, fcntl.LOCK_UN)
                return
        finally:
            os.close(descriptor)


def _open(dir_fd: int, name: str) -> int:
    try:
        descriptor = syscalls.create(name, dir_fd, OWNER_FILE_MODE, exclusive=False, readable=True)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK, errno.ENXIO, errno.EISDIR, errno.EOPNOTSUPP):
            _refuse(os.stat(name, dir_fd=dir_fd, follow_symlinks=False), name)
        raise
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
        os.close(descriptor)
        _refuse(status, name)
    if stat.S_IMODE(status.st_mode) != OWNER_FILE_MODE:
        with suppress(PermissionError):  # another user's, in a directory that is shared
            syscalls.chmod(descriptor, OWNER_FILE_MODE, name)
    return descriptor


def _refuse(status: os.stat_result, name: str) -> NoReturn:
    reason = fault_of(status, MAX_FILE_BYTES)
    if reason is not None:
        refuse(reason, printable(name))
    raise UnsafeFile(f"{printable(name)} kept changing", reason="changed_during_read")


def _is_named(descriptor: int, dir_fd: int, name: str) -> bool:
    """Whether the locked file still has its name; if somebody removed it, others will lock another one."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(name, dir_fd=dir_fd, follow_symlinks=False))
    except FileNotFoundError:
        return False


def _wait(descriptor: int, what: str, deadline: float, timeout_ms: int, operation: int) -> None:
    wait = _FIRST_WAIT_S
    while True:
        try:
            fcntl.flock(descriptor, operation | fcntl.LOCK_NB)
        except BlockingIOError:
            left = deadline - time.monotonic()
            if left <= 0:
                raise Locked(
                    f"another process is writing {what}; waited {timeout_ms:,} ms",
                    hint="Try again; the lock is freed by the system when that process ends.",
                ) from None
            time.sleep(min(wait, left))
            wait = min(wait * 2, _LONGEST_WAIT_S)
        except OSError as error:
            if error.errno not in (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS):
                raise
            raise PonyError(
                f"{what} cannot be written safely: its file system has no locks ({error.strerror})",
                hint="Keep the memory directory on a local file system.",
            ) from None
        else:
            return
