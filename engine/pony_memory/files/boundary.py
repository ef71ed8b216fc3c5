"""The one place where memory files are opened (SPEC §3).

A :class:`Root` is a directory pinned by device and inode. Everything below it is reached by directory descriptors,
one component at a time, without following a link; only regular files with one name and a bounded size are read, and
what was read is checked against the disk once more before it is believed. Nothing here blocks: a FIFO is told from a
file before it is opened, and opened without waiting should it take the file's place in between.

One limit is the system's: while a hard link is being replaced, there is a moment in which it is still found under its
name and already counts one name less. Who can bring that moment about can link only what is his own to write.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from pony_memory.canonical import name_fault
from pony_memory.errors import NotFound, UnsafeFile
from pony_memory.files.refusals import (
    Parts,
    UnsafeReason,
    fault_of,
    is_plain,
    printable,
    refuse,
    refuse_error,
    shown_parts,
)
from pony_memory.files.walk import (
    DIRECTORY_FLAGS,
    WALK_MAX_DEPTH,
    WALK_MAX_NAMES,
    Found,
    Skipped,
    Stamp,
    Walk,
    Walker,
    open_directory,
    stamp_of,
)
from pony_memory.limits import MAX_FILE_BYTES, READ_AGAIN_TIMES

__all__ = [
    "DIRECTORY_FLAGS",
    "FILE_FLAGS",
    "Found",
    "Parts",
    "RawFile",
    "Reader",
    "Root",
    "RootSpec",
    "Skipped",
    "Stamp",
    "UnsafeReason",
    "Walk",
    "printable",
    "read_at",
    "shown_parts",
    "stamp_of",
]

# O_NONBLOCK: neither a FIFO nor a device may hold the caller up. O_NOCTTY: a terminal must not become ours.
FILE_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY

#: What opening a name says when it is no longer the regular file that was looked at a moment before.
_SWAPPED: Final = frozenset((errno.ENOENT, errno.ELOOP, errno.EMLINK, errno.ENXIO, errno.EOPNOTSUPP, errno.ESTALE))


@dataclass(frozen=True, slots=True)
class RawFile:
    """A whole file as it stood at ``stamp``."""

    data: bytes
    stamp: Stamp


@dataclass(frozen=True, slots=True)
class RootSpec:
    """Where a root is to be found.

    With ``follow_trusted`` (the user's own roots) ``trusted``/``below`` is resolved once, symlinks included. Without
    it (a workspace may be a stranger's repository) only ``trusted`` itself is resolved, and no link is followed in
    ``below``.
    """

    trusted: str
    below: Parts
    follow_trusted: bool

    @property
    def path(self) -> str:
        return os.path.join(self.trusted, *self.below)


@dataclass(frozen=True, slots=True)
class Root:
    """A directory pinned by ``device`` and ``inode``. Every operation checks that it still is the same directory.

    ``base`` is a real path, resolved once; ``below`` are the components that are never followed.
    """

    base: str
    below: Parts
    device: int
    inode: int

    @property
    def path(self) -> str:
        return os.path.join(self.base, *self.below)

    @classmethod
    def resolve(cls, spec: RootSpec) -> Root | None:
        """Pin the directory ``spec`` names; ``None`` if there is none yet (an empty scope).

        Raises :class:`UnsafeFile` when something other than a directory is in its place: a file, a link where none
        is followed, or a link of the user's own that leads nowhere (a disk that is not mounted is no empty scope).
        """
        below: Parts = () if spec.follow_trusted else spec.below
        wanted = spec.path if spec.follow_trusted else spec.trusted
        base = os.path.realpath(wanted)
        try:
            descriptor = _open_chain(base, below, spec.path)
        except NotFound:
            _refuse_dangling(wanted)
            return None
        try:
            status = os.fstat(descriptor)
        finally:
            os.close(descriptor)
        return cls(base, below, status.st_dev, status.st_ino)

    @contextmanager
    def open_dir(self, parts: Parts = ()) -> Iterator[int]:
        """A descriptor of the root, or of a directory below it, for as long as the block runs.

        Raises :class:`NotFound`, or :class:`UnsafeFile` with the reason.
        """
        with self.reader() as reader:
            yield reader.directory(parts)

    @contextmanager
    def reader(self) -> Iterator[Reader]:
        """Read several files while directories stay open; in walk order each directory is opened once.

        What the directories were when they were opened is what is read: an inventory afterwards tells whether that
        still holds (SPEC §6).
        """
        reader = Reader(self._open_root())
        try:
            yield reader
        finally:
            reader.close()

    def read(self, parts: Parts, *, limit: int = MAX_FILE_BYTES) -> RawFile:
        """The whole file. Raises :class:`NotFound`, or :class:`UnsafeFile` with the reason. ``limit`` in bytes."""
        with self.reader() as reader:
            return reader.read(parts, limit=limit)

    def stat(self, parts: Parts, *, limit: int = MAX_FILE_BYTES) -> Stamp:
        """The file's stamp after the checks of a read, without reading it. Raises as :meth:`read` does."""
        with self.reader() as reader:
            return reader.stat(parts, limit=limit)

    def names(self, parts: Parts = (), *, max_names: int = WALK_MAX_NAMES) -> tuple[str, ...]:
        """The names in one directory, in text order, those that start with a dot included (our own files).

        Raises :class:`NotFound`, :class:`UnsafeFile`. Beyond ``max_names`` the rest is left out.
        """
        found: list[str] = []
        with self.open_dir(parts) as descriptor, os.scandir(descriptor) as entries:
            for entry in entries:
                if len(found) >= max_names:
                    break
                found.append(entry.name)
        return tuple(sorted(found))

    def walk(
        self,
        *,
        below: Parts = (),
        recursive: bool = True,
        suffix: str = ".md",
        limit: int = MAX_FILE_BYTES,
        max_names: int = WALK_MAX_NAMES,
        max_depth: int = WALK_MAX_DEPTH,
    ) -> Walk:
        """Every file with ``suffix`` under ``below``, in canonical order, names that start with a dot left out.

        A missing ``below`` is an empty walk. Nothing is followed; what is refused is in ``skipped``: files with the
        suffix, directories that cannot be entered, and in a recursive walk every link, since it may stand for a
        directory of notes. Raises :class:`UnsafeFile` only when the root itself cannot be walked.
        """
        walker = Walker(suffix=suffix, limit=limit, recursive=recursive, max_names=max_names, max_depth=max_depth)
        root = self._open_root()
        try:
            return walker.walk(root, below)
        finally:
            os.close(root)

    def check(self) -> None:
        """Raise :class:`UnsafeFile` unless the root's path still leads to this very directory."""
        os.close(self._open_root())

    def _open_root(self) -> int:
        try:
            descriptor = _open_chain(self.base, self.below, self.path)
        except NotFound:
            refuse(UnsafeReason.ROOT_CHANGED, printable(self.path))
        except UnsafeFile as error:
            if error.reason in (UnsafeReason.SYMLINK, UnsafeReason.NOT_A_DIRECTORY):
                refuse(UnsafeReason.ROOT_CHANGED, printable(self.path))
            raise
        status = os.fstat(descriptor)
        if (status.st_dev, status.st_ino) != (self.device, self.inode):
            os.close(descriptor)
            refuse(UnsafeReason.ROOT_CHANGED, printable(self.path))
        return descriptor


class Reader:
    """Reads below one open root; obtained from :meth:`Root.reader`. Keeps the directories of the last path open."""

    __slots__ = ("_descriptors", "_names")

    def __init__(self, root: int) -> None:
        self._descriptors = [root]
        self._names: list[str] = []

    def close(self) -> None:
        """Let go of every descriptor."""
        while self._descriptors:
            os.close(self._descriptors.pop())

    def read(self, parts: Parts, *, limit: int = MAX_FILE_BYTES) -> RawFile:
        """The whole file. Raises :class:`NotFound`, or :class:`UnsafeFile` with the reason. ``limit`` in bytes."""
        return read_at(self._parent(parts), parts[-1], shown=parts, limit=limit)

    def stat(self, parts: Parts, *, limit: int = MAX_FILE_BYTES) -> Stamp:
        """The file's stamp after the checks of a read. Raises as :meth:`read` does."""
        status = _lstat(self._parent(parts), parts[-1], parts)
        _check(status, limit, parts)
        return stamp_of(status)

    def directory(self, parts: Parts) -> int:
        """A descriptor of a directory, valid until the next call on this reader."""
        if parts != tuple(self._names):
            self._go(parts, parts)
        return self._descriptors[-1]

    def _parent(self, parts: Parts) -> int:
        if not parts:
            refuse(UnsafeReason.NOT_A_FILE, ".")
        _check_name(parts[-1], parts)
        if parts[:-1] != tuple(self._names):
            self._go(parts[:-1], parts)
        return self._descriptors[-1]

    def _go(self, wanted: Parts, parts: Parts) -> None:
        same = 0
        while same < min(len(self._names), len(wanted)) and self._names[same] == wanted[same]:
            same += 1
        while len(self._names) > same:
            self._names.pop()
            os.close(self._descriptors.pop())
        for name in wanted[same:]:
            _check_name(name, parts)
            self._descriptors.append(open_directory(name, self._descriptors[-1], shown_parts(parts)))
            self._names.append(name)


def read_at(
    directory: int, name: str, *, shown: Parts | None = None, limit: int = MAX_FILE_BYTES, linked: bool = False
) -> RawFile:
    """Read ``name`` in an open directory; tried again when it changes meanwhile, at most twice.

    ``linked`` accepts a file with several names: only a lock, which is taken by linking it, is read so. Raises
    :class:`NotFound`, or :class:`UnsafeFile` with the reason.
    """
    parts = (name,) if shown is None else shown
    for _ in range(1 + READ_AGAIN_TIMES):
        raw = _read_once(directory, name, parts, limit, linked)
        if raw is not None:
            return raw
    refuse(UnsafeReason.CHANGED, shown_parts(parts))


def _read_once(directory: int, name: str, parts: Parts, limit: int, linked: bool) -> RawFile | None:
    """One attempt; ``None`` when the file changed under it and another attempt may do better."""
    _check(_lstat(directory, name, parts), limit, parts, linked)
    try:
        descriptor = os.open(name, FILE_FLAGS, dir_fd=directory)
    except OSError as error:
        if error.errno in _SWAPPED:
            return None  # the next look says what it is now
        refuse_error(error, shown_parts(parts))
    try:
        before = os.fstat(descriptor)
        _check(before, limit, parts, linked)
        data = _read_all(descriptor, before.st_size)
        after = stamp_of(os.fstat(descriptor))
        named = stamp_of(os.stat(name, dir_fd=directory, follow_symlinks=False))
    except OSError as error:
        if error.errno in _SWAPPED:
            return None
        refuse_error(error, shown_parts(parts))
    finally:
        os.close(descriptor)
    if stamp_of(before) != after or named != after or len(data) != after.size:
        return None
    return RawFile(data, after)


def _read_all(descriptor: int, size: int) -> bytes:
    """``size`` bytes and, if the file grew meanwhile, one more to show it; fewer if it shrank."""
    data = os.read(descriptor, size + 1)
    while len(data) < size:  # a signal or a slow file system may cut one read short
        more = os.read(descriptor, size + 1 - len(data))
        if not more:
            break
        data += more
    return data


def _check_name(name: str, parts: Parts) -> None:
    if name in ("", ".", "..") or "/" in name:
        refuse(UnsafeReason.OUTSIDE_ROOT, shown_parts(parts))
    # Our own files start with a dot; for the rest of the rule a canonical path's segments and these are alike.
    if not is_plain(name) and name_fault(name.lstrip(".") or "dots") is not None:
        refuse(UnsafeReason.BAD_NAME, shown_parts(parts))


def _lstat(directory: int, name: str, parts: Parts) -> os.stat_result:
    try:
        return os.stat(name, dir_fd=directory, follow_symlinks=False)
    except OSError as error:
        refuse_error(error, shown_parts(parts))


def _check(status: os.stat_result, limit: int, parts: Parts, linked: bool = False) -> None:
    reason = fault_of(status, limit)
    if reason is None or (linked and reason is UnsafeReason.HARD_LINK and status.st_size <= limit):
        return
    refuse(reason, shown_parts(parts), limit=limit)


def _open_chain(base: str, below: Parts, shown: str) -> int:
    descriptor = open_directory(base, None, printable(shown))
    for name in below:
        try:
            inner = open_directory(name, descriptor, printable(shown))
        finally:
            os.close(descriptor)
        descriptor = inner
    return descriptor


def _refuse_dangling(path: str) -> None:
    """Raise :class:`UnsafeFile` if ``path`` is missing only because a link on the way leads nowhere."""
    while not os.path.exists(path):
        if os.path.islink(path):
            target = printable(os.path.realpath(path))
            refuse(UnsafeReason.SYMLINK, printable(path), detail=f"it leads to {target}, which does not exist")
        parent = os.path.dirname(path)
        if parent == path:
            return
        path = parent
