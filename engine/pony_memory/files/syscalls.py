"""Every call of the engine that changes the disk, each behind one small function.

Two reasons: a reader sees at a glance all the ways in which files can change, and the fault tests can stop the process,
or fail the call, before and after each of them (SPEC §24). Without a hook the cost is one comparison.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Callable
from typing import Final, Literal, cast

Phase = Literal["before", "after"]
#: Called as ``hook(name, phase, detail)``; an ``OSError`` it raises is what the call would have raised.
Hook = Callable[[str, Phase, str], None]

_FULL_SYNC: Final[int | None] = getattr(fcntl, "F_FULLFSYNC", None)
_hooks: Final[list[Hook]] = []


def set_hook(hook: Hook | None) -> None:
    """Watch every disk-changing call of this process; ``None`` ends it. For tests."""
    _hooks.clear()
    if hook is not None:
        _hooks.append(hook)


def _tell(name: str, phase: Phase, detail: str) -> None:
    for hook in _hooks:
        hook(name, phase, detail)


def create(
    name: str, dir_fd: int, mode: int, *, append: bool = False, exclusive: bool = True, readable: bool = False
) -> int:
    """Create (or, not ``exclusive``, open) a file for writing; never through a link. Returns its descriptor."""
    flags = os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    flags |= os.O_RDWR if readable else os.O_WRONLY
    flags |= os.O_EXCL if exclusive else 0
    flags |= os.O_APPEND if append else 0
    _tell("create", "before", name)
    descriptor = os.open(name, flags, mode, dir_fd=dir_fd)
    _tell("create", "after", name)
    return descriptor


def write(descriptor: int, data: bytes, detail: str = "") -> None:
    """Write all of ``data``; one ``write(2)`` where the system takes it whole, as it does for regular files.

    Under a hook it is done in two halves, each a step: a full disk or a kill may leave the first one only.
    """
    if _hooks and len(data) > 1:
        middle = len(data) // 2
        parts = [data[:middle], data[middle:]]
    else:
        parts = [data]
    for part in parts:
        _tell("write", "before", detail)
        view = memoryview(part)
        while view:
            view = view[os.write(descriptor, view) :]
        _tell("write", "after", detail)


def truncate(descriptor: int, size: int, detail: str = "") -> None:
    _tell("truncate", "before", detail)
    os.ftruncate(descriptor, size)
    _tell("truncate", "after", detail)


def chmod(descriptor: int, mode: int, detail: str = "") -> None:
    _tell("chmod", "before", detail)
    os.fchmod(descriptor, mode)
    _tell("chmod", "after", detail)


def fsync(descriptor: int, detail: str = "") -> None:
    """Ask for everything written to ``descriptor``, a file or a directory, to be on the disk."""
    _tell("fsync", "before", detail)
    try:
        if _FULL_SYNC is None:
            os.fsync(descriptor)
        else:
            _full_sync(descriptor)
    except OSError as error:
        # Some network file systems cannot sync a directory; there is nothing better to ask them for.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP) or not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise
    _tell("fsync", "after", detail)


def _full_sync(descriptor: int) -> None:
    """macOS: ``fsync`` alone leaves the data in the drive's cache."""
    try:
        fcntl.fcntl(descriptor, cast(int, _FULL_SYNC))
    except OSError:
        os.fsync(descriptor)


def rename(source: str, target: str, dir_fd: int, target_dir_fd: int | None = None) -> None:
    """Rename over whatever ``target`` is, in one step."""
    _tell("rename", "before", target)
    os.rename(source, target, src_dir_fd=dir_fd, dst_dir_fd=dir_fd if target_dir_fd is None else target_dir_fd)
    _tell("rename", "after", target)


def link(source: str, target: str, dir_fd: int) -> None:
    """Give ``source`` a second name; fails if ``target`` exists."""
    _tell("link", "before", target)
    os.link(source, target, src_dir_fd=dir_fd, dst_dir_fd=dir_fd, follow_symlinks=False)
    _tell("link", "after", target)


def unlink(name: str, dir_fd: int) -> None:
    _tell("unlink", "before", name)
    os.unlink(name, dir_fd=dir_fd)
    _tell("unlink", "after", name)


def mkdir(name: str, dir_fd: int, mode: int) -> None:
    _tell("mkdir", "before", name)
    os.mkdir(name, mode, dir_fd=dir_fd)
    _tell("mkdir", "after", name)


def rmdir(name: str, dir_fd: int) -> None:
    _tell("rmdir", "before", name)
    os.rmdir(name, dir_fd=dir_fd)
    _tell("rmdir", "after", name)
