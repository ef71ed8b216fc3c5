"""What the tests of the file boundary and of the locks share: roots on real directories, children, a guard on hangs."""

from __future__ import annotations

import os
import signal
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pony_memory.errors import UnsafeFile
from pony_memory.files.boundary import Root, RootSpec


def users_root(directory: Path) -> Root:
    """A root of the user's own, which may be reached through links."""
    root = Root.resolve(RootSpec(str(directory), (), follow_trusted=True))
    assert root is not None
    return root


def workspace_root(workspace: Path) -> Root | None:
    """The memory of a workspace, below which nothing is followed."""
    return Root.resolve(RootSpec(str(workspace), (".pony", "memory"), follow_trusted=False))


def reason_for(root: Root, *parts: str) -> str:
    """Why a read is refused."""
    with pytest.raises(UnsafeFile) as refused:
        root.read(parts)
    assert refused.value.message.isprintable()
    return refused.value.reason


@contextmanager
def fast_directory() -> Iterator[Path]:
    """A directory in memory where the system has one: for tests that change names many thousands of times."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as place:
        yield Path(os.path.realpath(place))


@contextmanager
def never_hanging(seconds: int = 60) -> Iterator[None]:
    """Fail instead of waiting for ever, should something block."""

    def stop(_signal: int, _frame: object) -> None:
        raise AssertionError("it blocked")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


class Child:
    """A forked process that does ``act`` and ends; 0 if it came to the end."""

    def __init__(self, act: Callable[[], object]) -> None:
        self.status: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            status = 1
            try:
                act()
                status = 0
            except BaseException:  # noqa: BLE001 - the parent sees the status, a person the traceback
                traceback.print_exc()
            finally:
                os._exit(status)

    def ended(self) -> bool:
        """Whether it has ended; does not wait."""
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
        return self.status is not None

    def wait(self) -> int:
        """Wait for its end; the exit status, or the signal as a negative number."""
        if self.status is None:
            _, status = os.waitpid(self.pid, 0)
            self.status = os.waitstatus_to_exitcode(status)
        return self.status

    def kill(self) -> None:
        """Kill it, if it still runs, and wait for its end."""
        if not self.ended():
            os.kill(self.pid, signal.SIGKILL)
            self.wait()
