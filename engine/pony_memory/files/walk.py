"""One bounded walk of a directory tree, by descriptors, following nothing (SPEC §3).

The speed of an unchanged inventory is this module's (SPEC §23): one ``scandir`` a directory, one ``stat`` a file that
counts, and values that are tuples, because the fields of a frozen dataclass would cost more than the calls.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from operator import attrgetter
from typing import Final, NamedTuple, cast

from pony_memory.canonical import name_fault
from pony_memory.errors import NotFound, UnsafeFile
from pony_memory.files.refusals import (
    Parts,
    UnsafeReason,
    fault_of,
    is_plain,
    reason_of,
    refuse,
    refuse_error,
    shown_parts,
)

DIRECTORY_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
WALK_MAX_NAMES: Final = 100_000
WALK_MAX_DEPTH: Final = 32

_FORMAT_BITS: Final = 0o170000
_REGULAR: Final = stat.S_IFREG
_DIRECTORY: Final = stat.S_IFDIR


class Stamp(NamedTuple):
    """What tells one state of a file from another; times in nanoseconds, ``size`` in bytes."""

    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int
    links: int
    mode: int


class Found(NamedTuple):
    """A file of a walk that may be read; ``parts`` are relative to the root."""

    parts: Parts
    stamp: Stamp


class Skipped(NamedTuple):
    """A file or directory of a walk that is refused.

    ``parts`` may hold undecodable names, ``shown`` is printable; ``stamp`` is ``None`` where it could not be had.
    """

    parts: Parts
    reason: UnsafeReason
    shown: str
    stamp: Stamp | None = None


class Walk(NamedTuple):
    """One bounded walk in canonical order; ``complete`` is false when it stopped at its bounds.

    ``directories`` are those that were entered, the start included; ``seen`` counts the names looked at; ``cut`` names
    the directories that were not, or not wholly, looked at (the first one only when the bound on names was met).
    """

    files: tuple[Found, ...]
    skipped: tuple[Skipped, ...]
    directories: tuple[Parts, ...]
    complete: bool
    seen: int
    cut: tuple[Parts, ...]


_fields = cast("Callable[[os.stat_result], tuple[int, ...]]", attrgetter(
    "st_dev", "st_ino", "st_size", "st_mtime_ns", "st_ctime_ns", "st_nlink", "st_mode"
))  # fmt: skip


def stamp_of(status: os.stat_result) -> Stamp:
    """The stamp of what ``status`` describes."""
    return tuple.__new__(Stamp, _fields(status))


def open_directory(name: str, parent: int | None, shown: str) -> int:
    """A descriptor of directory ``name``, never through a link. Raises :class:`NotFound`, :class:`UnsafeFile`."""
    try:
        return os.open(name, DIRECTORY_FLAGS, dir_fd=parent)
    except OSError as error:
        refuse_error(error, shown, symlink=_is_symlink(name, parent))
    except ValueError:
        refuse(UnsafeReason.BAD_NAME, shown)


class Walker:
    """Collects one walk; ``suffix`` and ``limit`` (bytes) say which files count."""

    def __init__(
        self,
        *,
        suffix: str,
        limit: int,
        recursive: bool = True,
        max_names: int = WALK_MAX_NAMES,
        max_depth: int = WALK_MAX_DEPTH,
    ) -> None:
        self._suffix = suffix
        self._limit = limit
        self._recursive = recursive
        self._max_names = max_names
        self._max_depth = max_depth
        self._files: list[Found] = []
        self._skipped: list[Skipped] = []
        self._directories: list[Parts] = []
        self._cut: list[Parts] = []
        self._seen = 0
        self._full = False

    def walk(self, root: int, below: Parts) -> Walk:
        """Walk ``below`` of the directory ``root`` is a descriptor of. A missing start is an empty walk."""
        descriptor = os.dup(root)
        try:
            for depth, name in enumerate(below, start=1):
                start = below[:depth]
                try:
                    inner = open_directory(name, descriptor, shown_parts(start))
                except NotFound:
                    return self._walk()
                except UnsafeFile as error:
                    self._skip(start, UnsafeReason(error.reason))
                    return self._walk()
                os.close(descriptor)
                descriptor = inner
            self._enter(descriptor, below, 0)
        finally:
            os.close(descriptor)
        return self._walk()

    def _walk(self) -> Walk:
        return Walk(
            tuple(self._files),
            tuple(self._skipped),
            tuple(self._directories),
            not self._cut,
            self._seen,
            tuple(self._cut),
        )

    def _enter(self, descriptor: int, parts: Parts, depth: int) -> None:
        self._directories.append(parts)
        try:
            listed = self._listed(descriptor, parts)
        except OSError as error:
            self._skip(parts, reason_of(error))
            return
        # The whole path's order as text: a directory sorts as its name and the slash that follows it.
        for key in sorted(listed):
            item = listed[key]
            if item is None:
                self._descend(descriptor, (*parts, key[:-1]), depth + 1)
            elif type(item) is Found:
                self._files.append(item)
            else:
                self._skipped.append(cast(Skipped, item))

    def _listed(self, descriptor: int, parts: Parts) -> dict[str, Found | Skipped | None]:
        """What counts in one directory by its sort key; ``None`` stands for a directory to enter."""
        listed: dict[str, Found | Skipped | None] = {}
        suffix, limit, recursive = self._suffix, self._limit, self._recursive
        room = self._max_names - self._seen
        taken = 0
        with os.scandir(descriptor) as entries:
            for entry in entries:
                if taken >= room:
                    self._full = True
                    self._cut.append(parts)
                    break
                taken += 1
                name = entry.name
                if name[0] == ".":
                    continue
                if not name.endswith(suffix):
                    if recursive:
                        self._listed_other(listed, entry, parts)
                    continue
                try:
                    status = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
                except OSError as error:
                    listed[name] = self._refused((*parts, name), reason_of(error))
                    continue
                kind = status.st_mode & _FORMAT_BITS
                named_well = is_plain(name) or name_fault(name) is None
                if kind == _REGULAR and status.st_nlink == 1 and status.st_size <= limit and named_well:
                    listed[name] = Found((*parts, name), tuple.__new__(Stamp, _fields(status)))
                elif kind == _DIRECTORY and recursive and named_well:
                    listed[name + "/"] = None
                else:
                    reason = fault_of(status, limit)
                    if reason is None or (kind == _DIRECTORY and not named_well):
                        reason = UnsafeReason.BAD_NAME
                    listed[name] = self._refused((*parts, name), reason, stamp_of(status))
        self._seen += taken
        return listed

    def _listed_other(self, listed: dict[str, Found | Skipped | None], entry: os.DirEntry[str], parts: Parts) -> None:
        """A name without the suffix: a directory, or a link that may stand for a whole directory of notes."""
        name = entry.name
        if entry.is_dir(follow_symlinks=False):
            if name_fault(name) is None:
                listed[name + "/"] = None
            else:
                listed[name] = self._refused((*parts, name), UnsafeReason.BAD_NAME)
        elif entry.is_symlink():
            listed[name] = self._refused((*parts, name), UnsafeReason.SYMLINK)

    def _descend(self, parent: int, parts: Parts, depth: int) -> None:
        if self._full:
            return
        if depth > self._max_depth:
            self._cut.append(parts)
            return
        try:
            descriptor = open_directory(parts[-1], parent, shown_parts(parts))
        except NotFound:
            return
        except UnsafeFile as error:
            self._skip(parts, UnsafeReason(error.reason))
            return
        try:
            self._enter(descriptor, parts, depth)
        finally:
            os.close(descriptor)

    def _skip(self, parts: Parts, reason: UnsafeReason) -> None:
        self._skipped.append(self._refused(parts, reason))

    @staticmethod
    def _refused(parts: Parts, reason: UnsafeReason, stamp: Stamp | None = None) -> Skipped:
        return Skipped(parts, reason, shown_parts(parts), stamp)


def _is_symlink(name: str, parent: int | None) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
    except OSError:
        return False
