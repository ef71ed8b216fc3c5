"""Writes that are whole or not at all, owner-only whatever the umask (SPEC §3, §9, §10)."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Callable
from typing import Final

from pony_memory.errors import UnsafeFile
from pony_memory.files import syscalls
from pony_memory.files.boundary import DIRECTORY_FLAGS, printable
from pony_memory.limits import OWNER_DIR_MODE, OWNER_FILE_MODE

#: Names of files that a stopped process may leave behind; they start with a dot, so no scan takes them for memories.
TEMPORARY_PREFIX: Final = ".tmp-"


def make_private_directory(dir_fd: int, name: str) -> None:
    """Create directory ``name`` with mode 0700 unless it exists. Raises :class:`UnsafeFile` if it is no directory."""
    try:
        syscalls.mkdir(name, dir_fd, OWNER_DIR_MODE)
    except FileExistsError:
        status = os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
        if not stat.S_ISDIR(status.st_mode):
            reason = "symlink" if stat.S_ISLNK(status.st_mode) else "not_a_directory"
            raise UnsafeFile(f"{printable(name)} is in the way: it is not a directory", reason=reason) from None
        return
    # A umask can only take bits away from the mode asked for; give the owner's back.
    descriptor = os.open(name, DIRECTORY_FLAGS, dir_fd=dir_fd)
    try:
        if stat.S_IMODE(os.fstat(descriptor).st_mode) != OWNER_DIR_MODE:
            syscalls.chmod(descriptor, OWNER_DIR_MODE, name)
        syscalls.fsync(dir_fd, name)
    finally:
        os.close(descriptor)


def ensure_private_path(path: str) -> None:
    """Create ``path`` and its missing parents with mode 0700. Existing directories keep their modes.

    For places of our own below the user's home; what exists may be reached through the user's own links.
    """
    missing: list[str] = []
    existing = os.path.abspath(path)
    while not os.path.isdir(existing):
        existing, name = os.path.split(existing)
        if not name:
            break
        missing.append(name)
    descriptor = os.open(existing, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for name in reversed(missing):
            make_private_directory(descriptor, name)
            inner = os.open(name, DIRECTORY_FLAGS, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
    finally:
        os.close(descriptor)


def write_temporary(dir_fd: int, data: bytes, *, mode: int = OWNER_FILE_MODE) -> str:
    """A complete, synced file under a name of its own in the directory; returns that name."""
    name = f"{TEMPORARY_PREFIX}{secrets.token_hex(8)}"
    descriptor = syscalls.create(name, dir_fd, mode)
    try:
        try:
            if stat.S_IMODE(os.fstat(descriptor).st_mode) != mode:
                syscalls.chmod(descriptor, mode, name)
            syscalls.write(descriptor, data, name)
            syscalls.fsync(descriptor, name)
        finally:
            os.close(descriptor)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name, dir_fd=dir_fd)
        raise
    return name


def replace_file(
    dir_fd: int,
    name: str,
    data: bytes,
    *,
    mode: int = OWNER_FILE_MODE,
    keep_mode: bool = False,
    before_rename: Callable[[], None] | None = None,
) -> None:
    """Put ``data`` in place of ``name`` in one step, synced to the disk before and after.

    ``keep_mode`` keeps the permissions of the file that is replaced. ``before_rename`` is the last chance to find
    that the write must not happen (a lost lock, a changed file): what it raises leaves everything as it was.
    """
    if keep_mode:
        with contextlib.suppress(FileNotFoundError):
            status = os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
            if stat.S_ISREG(status.st_mode):
                mode = stat.S_IMODE(status.st_mode) & 0o777
    temporary = write_temporary(dir_fd, data, mode=mode)
    try:
        if before_rename is not None:
            before_rename()
        syscalls.rename(temporary, name, dir_fd)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=dir_fd)
        raise
    syscalls.fsync(dir_fd, name)


def remove_file(dir_fd: int, name: str) -> None:
    """Remove ``name`` and sync the directory. Raises ``OSError`` if that fails: never a silent success."""
    syscalls.unlink(name, dir_fd)
    syscalls.fsync(dir_fd, name)


def append_line(dir_fd: int, name: str, line: bytes, *, sync: bool = False) -> None:
    """Append one whole line by one write to an owner-only file, created if missing; never through a link.

    If the file ends inside a line (a writer was killed), that line is ended first, by the same write.
    """
    descriptor = syscalls.create(name, dir_fd, OWNER_FILE_MODE, append=True, exclusive=False)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
            raise UnsafeFile(f"{printable(name)} is not written: it is no ordinary file", reason="not_a_file")
        if stat.S_IMODE(status.st_mode) != OWNER_FILE_MODE:
            syscalls.chmod(descriptor, OWNER_FILE_MODE, name)
        torn = status.st_size > 0 and _last_byte(dir_fd, name) != b"\n"
        syscalls.write(descriptor, (b"\n" if torn else b"") + line.rstrip(b"\n") + b"\n", name)
        if sync:
            syscalls.fsync(descriptor, name)
    finally:
        os.close(descriptor)


def _last_byte(dir_fd: int, name: str) -> bytes:
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=dir_fd)
    try:
        end = os.lseek(descriptor, 0, os.SEEK_END)
        os.lseek(descriptor, max(0, end - 1), os.SEEK_SET)
        return os.read(descriptor, 1)
    finally:
        os.close(descriptor)
