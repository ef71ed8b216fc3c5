"""Writes that are whole or not at all, owner-only whatever the umask (SPEC §3, §9, §10)."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import time
from collections.abc import Callable
from itertools import islice
from typing import Final

from pony_memory.errors import NotFound, UnsafeFile
from pony_memory.files import syscalls
from pony_memory.files.boundary import DIRECTORY_FLAGS, Root, RootSpec, printable
from pony_memory.files.refusals import fault_of, refuse
from pony_memory.limits import OWNER_DIR_MODE, OWNER_FILE_MODE

#: Names of files that a stopped process may leave behind; they start with a dot, so no scan takes them for memories.
TEMPORARY_PREFIX: Final = ".tmp-"
_LEFTOVER_AFTER_S: Final = 600.0
_LEFTOVER_MAX_NAMES: Final = 4_096


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


def create_root(spec: RootSpec) -> Root:
    """The root ``spec`` names, its missing directories created with mode 0700.

    Below a workspace nothing is followed on the way; the workspace itself must exist. Raises :class:`NotFound`,
    :class:`UnsafeFile`, ``OSError``.
    """
    root = Root.resolve(spec)
    if root is not None:
        return root
    if spec.follow_trusted:
        ensure_private_path(spec.path)
    else:
        trusted = Root.resolve(RootSpec(spec.trusted, (), True))
        if trusted is None:
            raise NotFound(f"no such directory: {printable(spec.trusted)}")
        for depth, name in enumerate(spec.below):
            with trusted.open_dir(spec.below[:depth]) as parent:
                make_private_directory(parent, name)
    root = Root.resolve(spec)
    if root is None:
        raise NotFound(f"{printable(spec.path)} was removed as soon as it was made")
    return root


def write_temporary(dir_fd: int, data: bytes, *, mode: int = OWNER_FILE_MODE) -> str:
    """A complete, synced file under a name of its own in the directory; returns that name."""
    name = f"{TEMPORARY_PREFIX}{os.urandom(8).hex()}"
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


def remove_leftovers(dir_fd: int, *, also: tuple[str, ...] = ()) -> None:
    """Remove temporary files of ours (and names starting as in ``also``) that a killed process left in the directory.

    Only those untouched for ten minutes, so that no write in progress loses its file; a failure is no matter, for
    the next one tries again.
    """
    prefixes = (TEMPORARY_PREFIX, *also)
    oldest = time.time() - _LEFTOVER_AFTER_S
    with contextlib.suppress(OSError), os.scandir(dir_fd) as entries:
        for entry in islice(entries, _LEFTOVER_MAX_NAMES):
            if entry.name.startswith(prefixes) and entry.stat(follow_symlinks=False).st_mtime < oldest:
                syscalls.unlink(entry.name, dir_fd)


def remove_file(dir_fd: int, name: str) -> None:
    """Remove ``name`` and sync the directory. Raises ``OSError`` if that fails: never a silent success."""
    syscalls.unlink(name, dir_fd)
    syscalls.fsync(dir_fd, name)


def append_line(dir_fd: int, name: str, line: bytes, *, sync: bool = False) -> None:
    """Append one whole line by one write to an owner-only file, created if missing; never through a link.

    If the file ends inside a line (a writer was killed), that line is ended first, by the same write. Raises
    :class:`UnsafeFile` when the name is no ordinary file, ``OSError`` when the disk refuses.
    """
    try:
        descriptor = syscalls.create(name, dir_fd, OWNER_FILE_MODE, append=True, exclusive=False, readable=True)
    except OSError:
        # What stands in the way says more than the error the system has for opening it.
        with contextlib.suppress(FileNotFoundError):
            _check_ordinary(os.stat(name, dir_fd=dir_fd, follow_symlinks=False), name)
        raise
    try:
        status = os.fstat(descriptor)
        _check_ordinary(status, name)
        if stat.S_IMODE(status.st_mode) != OWNER_FILE_MODE:
            syscalls.chmod(descriptor, OWNER_FILE_MODE, name)
        torn = status.st_size > 0 and os.pread(descriptor, 1, status.st_size - 1) != b"\n"
        syscalls.write(descriptor, (b"\n" if torn else b"") + line.rstrip(b"\n") + b"\n", name)
        if sync:
            syscalls.fsync(descriptor, name)
            if status.st_size == 0:
                syscalls.fsync(dir_fd, name)
    finally:
        os.close(descriptor)


def _check_ordinary(status: os.stat_result, name: str) -> None:
    reason = fault_of(status, sys.maxsize)
    if reason is not None:
        refuse(reason, printable(name))
