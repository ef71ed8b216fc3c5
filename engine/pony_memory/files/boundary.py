"""The one place where memory files are opened (SPEC §3).

A :class:`Root` is a directory pinned by device and inode. Everything below it is reached by directory descriptors,
one component at a time, without following a link; only regular files with one name and a bounded size are read, and
what was read is checked against the disk once more before it is believed. Nothing here blocks: a FIFO is told from a
file before it is opened, and opened without waiting should it take the file's place in between.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NoReturn

from pony_memory.canonical import name_fault
from pony_memory.errors import NotFound, UnsafeFile
from pony_memory.limits import MAX_FILE_BYTES, READ_AGAIN_TIMES

Parts = tuple[str, ...]

DIRECTORY_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CHUNK_BYTES: Final = 1 << 17


class UnsafeReason(StrEnum):
    """Why a file is refused. The values are part of the JSON contract."""

    SYMLINK = "symlink"
    HARD_LINK = "hard_link"
    FIFO = "fifo"
    SOCKET = "socket"
    DEVICE = "device"
    NOT_A_FILE = "not_a_file"
    NOT_A_DIRECTORY = "not_a_directory"
    OUTSIDE_ROOT = "outside_root"
    TOO_LARGE = "too_large"
    CHANGED = "changed_during_read"
    NOT_PERMITTED = "not_permitted"
    IO_ERROR = "io_error"
    BAD_NAME = "bad_name"
    ROOT_CHANGED = "root_changed"


_SAID: Final[dict[UnsafeReason, str]] = {
    UnsafeReason.SYMLINK: "it is a symbolic link, and links are not followed here",
    UnsafeReason.HARD_LINK: "it has more than one name (hard links), so it may be a file from elsewhere",
    UnsafeReason.FIFO: "it is a named pipe",
    UnsafeReason.SOCKET: "it is a socket",
    UnsafeReason.DEVICE: "it is a device",
    UnsafeReason.NOT_A_FILE: "it is a directory, not a file",
    UnsafeReason.NOT_A_DIRECTORY: "a part of its path is not a directory",
    UnsafeReason.OUTSIDE_ROOT: "it is outside the scope's root",
    UnsafeReason.TOO_LARGE: "it is larger than a memory file may be",
    UnsafeReason.CHANGED: "it kept changing while it was read",
    UnsafeReason.NOT_PERMITTED: "reading it is not permitted",
    UnsafeReason.IO_ERROR: "the disk failed to deliver it",
    UnsafeReason.BAD_NAME: "its name cannot be part of a memory path",
    UnsafeReason.ROOT_CHANGED: "the scope's root directory was replaced meanwhile",
}


@dataclass(frozen=True, slots=True)
class Stamp:
    """What tells one state of a file from another; times in nanoseconds, ``size`` in bytes."""

    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int
    links: int
    mode: int

    @classmethod
    def of(cls, status: os.stat_result) -> Stamp:
        return cls(
            status.st_dev,
            status.st_ino,
            status.st_size,
            status.st_mtime_ns,
            status.st_ctime_ns,
            status.st_nlink,
            status.st_mode,
        )


@dataclass(frozen=True, slots=True)
class RawFile:
    """A whole file as it stood at ``stamp``."""

    data: bytes
    stamp: Stamp


@dataclass(frozen=True, slots=True)
class Found:
    """A file of a walk that may be read; ``parts`` are relative to the root."""

    parts: Parts
    stamp: Stamp


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file or directory of a walk that is refused. ``parts`` may hold undecodable names, ``shown`` is printable."""

    parts: Parts
    reason: UnsafeReason
    shown: str


@dataclass(frozen=True, slots=True)
class Walk:
    """One bounded walk in canonical order; ``complete`` is false when it stopped at its bounds.

    ``directories`` are those that were entered, the start included; ``seen`` counts the names looked at.
    """

    files: tuple[Found, ...]
    skipped: tuple[Skipped, ...]
    directories: tuple[Parts, ...]
    complete: bool
    seen: int


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
    """A directory pinned by ``device`` and ``inode``. Every operation checks that it still is the same directory."""

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

        Raises :class:`UnsafeFile` when something other than a directory is in its place.
        """
        below: Parts = () if spec.follow_trusted else spec.below
        base = os.path.realpath(spec.path if spec.follow_trusted else spec.trusted)
        try:
            descriptor = _open_chain(base, below, spec.path)
        except NotFound:
            return None
        try:
            status = os.fstat(descriptor)
        finally:
            os.close(descriptor)
        return cls(base, below, status.st_dev, status.st_ino)

    @contextmanager
    def open_dir(self, parts: Parts = ()) -> Iterator[int]:
        """A descriptor of the root, or of a directory below it, for as long as the block runs."""
        descriptor = self._open_root()
        try:
            for depth, name in enumerate(parts):
                inner = _open_directory(name, descriptor, shown_parts(parts[: depth + 1]))
                os.close(descriptor)
                descriptor = inner
            yield descriptor
        finally:
            os.close(descriptor)

    @contextmanager
    def reader(self) -> Iterator[Reader]:
        """Read several files while directories stay open; in walk order each directory is opened once."""
        reader = Reader(self._open_root())
        try:
            yield reader
        finally:
            reader.close()

    def read(self, parts: Parts, *, limit: int = MAX_FILE_BYTES) -> RawFile:
        """The whole file. Raises :class:`NotFound`, or :class:`UnsafeFile` with the reason."""
        with self.reader() as reader:
            return reader.read(parts, limit=limit)

    def stat(self, parts: Parts, *, limit: int = MAX_FILE_BYTES) -> Stamp:
        """The file's stamp after the checks of a read, without reading it. Raises as :meth:`read` does."""
        with self.reader() as reader:
            return reader.stat(parts, limit=limit)

    def walk(
        self,
        *,
        below: Parts = (),
        recursive: bool = True,
        suffix: str = ".md",
        limit: int = MAX_FILE_BYTES,
        max_names: int = 100_000,
        max_depth: int = 32,
    ) -> Walk:
        """Every file with ``suffix`` under ``below``, in canonical order, names that start with a dot left out.

        A missing ``below`` is an empty walk. Nothing is followed; what is refused is in ``skipped``. Raises
        :class:`UnsafeFile` only when the root itself cannot be walked.
        """
        walker = _Walker(recursive, suffix, limit, max_names, max_depth)
        root = self._open_root()
        try:
            walker.start(root, below)
        finally:
            os.close(root)
        return Walk(tuple(walker.files), tuple(walker.skipped), tuple(walker.directories), walker.complete, walker.seen)

    def _open_root(self) -> int:
        descriptor = _open_chain(self.base, self.below, self.path)
        status = os.fstat(descriptor)
        if (status.st_dev, status.st_ino) != (self.device, self.inode):
            os.close(descriptor)
            _refuse(UnsafeReason.ROOT_CHANGED, printable(self.path))
        return descriptor


class Reader:
    """Reads files below one opened root. It keeps the directories of the last file open, and no others."""

    def __init__(self, root: int) -> None:
        self._descriptors = [root]
        self._names: list[str] = []

    def close(self) -> None:
        for descriptor in self._descriptors:
            os.close(descriptor)
        self._descriptors.clear()

    def read(self, parts: Parts, *, limit: int = MAX_FILE_BYTES) -> RawFile:
        """The whole file. Raises :class:`NotFound`, or :class:`UnsafeFile` with the reason."""
        directory = self._directory(parts)
        for _ in range(1 + READ_AGAIN_TIMES):
            raw = _read_once(directory, parts, limit)
            if raw is not None:
                return raw
        _refuse(UnsafeReason.CHANGED, shown_parts(parts))

    def stat(self, parts: Parts, *, limit: int = MAX_FILE_BYTES) -> Stamp:
        """The file's stamp after the checks of a read. Raises as :meth:`read` does."""
        status = _lstat(self._directory(parts), parts)
        _check(status, limit, parts)
        return Stamp.of(status)

    def _directory(self, parts: Parts) -> int:
        if not parts:
            _refuse(UnsafeReason.NOT_A_FILE, ".")
        for part in parts:
            if not part or part in (".", "..") or "/" in part or "\0" in part:
                _refuse(UnsafeReason.OUTSIDE_ROOT, shown_parts(parts))
        wanted = parts[:-1]
        same = 0
        while same < len(self._names) and same < len(wanted) and self._names[same] == wanted[same]:
            same += 1
        while len(self._names) > same:
            self._names.pop()
            os.close(self._descriptors.pop())
        for name in wanted[same:]:
            inner = _open_directory(name, self._descriptors[-1], shown_parts(parts))
            self._descriptors.append(inner)
            self._names.append(name)
        return self._descriptors[-1]


class _Walker:
    def __init__(self, recursive: bool, suffix: str, limit: int, max_names: int, max_depth: int) -> None:
        self.recursive = recursive
        self.suffix = suffix
        self.limit = limit
        self.max_names = max_names
        self.max_depth = max_depth
        self.files: list[Found] = []
        self.skipped: list[Skipped] = []
        self.directories: list[Parts] = []
        self.complete = True
        self.seen = 0

    def start(self, root: int, below: Parts) -> None:
        descriptor = os.dup(root)
        try:
            for depth, name in enumerate(below):
                try:
                    inner = _open_directory(name, descriptor, shown_parts(below[: depth + 1]))
                except NotFound:
                    return
                except UnsafeFile as error:
                    self._skip(below[: depth + 1], UnsafeReason(error.reason))
                    return
                os.close(descriptor)
                descriptor = inner
            self._directory(descriptor, below)
        finally:
            os.close(descriptor)

    def _directory(self, descriptor: int, parts: Parts) -> None:
        self.directories.append(parts)
        try:
            entries = self._entries(descriptor)
        except OSError as error:
            self._skip(parts, _reason_of(error))
            return
        for _, entry, is_directory in entries:
            path = (*parts, entry.name)
            if not _plain(entry.name) and name_fault(entry.name) is not None:
                if is_directory or entry.name.endswith(self.suffix):
                    self._skip(path, UnsafeReason.BAD_NAME)
            elif is_directory:
                self._enter(descriptor, path)
            else:
                self._file(entry, path)

    def _entries(self, descriptor: int) -> list[tuple[str, os.DirEntry[str], bool]]:
        """The names of one directory in canonical order: directories sort by their name and a slash."""
        found: list[tuple[str, os.DirEntry[str], bool]] = []
        with os.scandir(descriptor) as names:
            for entry in names:
                if entry.name.startswith("."):
                    continue
                if self.seen >= self.max_names:
                    self.complete = False
                    break
                self.seen += 1
                is_directory = entry.is_dir(follow_symlinks=False)
                found.append((entry.name + "/" if is_directory else entry.name, entry, is_directory))
        found.sort(key=lambda item: item[0])
        return found

    def _enter(self, parent: int, path: Parts) -> None:
        if not self.recursive:
            if path[-1].endswith(self.suffix):
                self._skip(path, UnsafeReason.NOT_A_FILE)
            return
        if len(path) > self.max_depth:
            self.complete = False
            return
        try:
            descriptor = _open_directory(path[-1], parent, shown_parts(path))
        except NotFound:
            return
        except UnsafeFile as error:
            self._skip(path, UnsafeReason(error.reason))
            return
        try:
            self._directory(descriptor, path)
        finally:
            os.close(descriptor)

    def _file(self, entry: os.DirEntry[str], path: Parts) -> None:
        # A symbolic link without the suffix may stand for a whole directory of notes: it is named too.
        if not entry.name.endswith(self.suffix) and not entry.is_symlink():
            return
        try:
            status = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            return
        except OSError as error:
            self._skip(path, _reason_of(error))
            return
        reason = _fault(status, self.limit)
        if reason is None:
            self.files.append(Found(path, Stamp.of(status)))
        else:
            self._skip(path, reason)

    def _skip(self, parts: Parts, reason: UnsafeReason) -> None:
        self.skipped.append(Skipped(parts, reason, shown_parts(parts)))


def printable(text: str) -> str:
    """``text`` with everything that is not printable, undecodable bytes included, as visible escapes."""
    if text.isprintable():
        return text
    return "".join(
        char
        if char.isprintable()
        else f"\\x{ord(char) - 0xDC00:02x}"
        if 0xDC80 <= ord(char) <= 0xDCFF
        else char.encode("unicode_escape", "backslashreplace").decode("ascii")
        for char in text
    )


def shown_parts(parts: Parts) -> str:
    """Relative ``parts`` as one printable path."""
    return printable("/".join(parts))


def _plain(name: str) -> bool:
    return name.isascii() and name.isprintable() and "\\" not in name


def _open_chain(base: str, below: Parts, shown: str) -> int:
    try:
        descriptor = os.open(base, DIRECTORY_FLAGS)
    except OSError as error:
        _refuse_error(error, printable(shown), _is_symlink(base, None))
    for name in below:
        try:
            inner = _open_directory(name, descriptor, printable(shown))
        finally:
            os.close(descriptor)
        descriptor = inner
    return descriptor


def _open_directory(name: str, parent: int, shown: str) -> int:
    try:
        return os.open(name, DIRECTORY_FLAGS, dir_fd=parent)
    except OSError as error:
        _refuse_error(error, shown, _is_symlink(name, parent))
    except ValueError:
        _refuse(UnsafeReason.BAD_NAME, shown)


def _is_symlink(name: str, parent: int | None) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
    except OSError:
        return False


def _lstat(directory: int, parts: Parts) -> os.stat_result:
    try:
        return os.stat(parts[-1], dir_fd=directory, follow_symlinks=False)
    except OSError as error:
        _refuse_error(error, shown_parts(parts), False)
    except ValueError:
        _refuse(UnsafeReason.BAD_NAME, shown_parts(parts))


def _read_once(directory: int, parts: Parts, limit: int) -> RawFile | None:
    """One attempt; ``None`` when the file changed under it and another attempt may do better."""
    _check(_lstat(directory, parts), limit, parts)
    try:
        descriptor = os.open(parts[-1], FILE_FLAGS, dir_fd=directory)
    except FileNotFoundError:
        return None  # renamed or removed since the look before; the next look says which
    except OSError as error:
        _refuse_error(error, shown_parts(parts), _is_symlink(parts[-1], directory))
    try:
        before = os.fstat(descriptor)
        _check(before, limit, parts)
        data = _read_all(descriptor, limit, parts)
        after = os.fstat(descriptor)
    except OSError as error:
        _refuse_error(error, shown_parts(parts), False)
    finally:
        os.close(descriptor)
    try:
        named = os.stat(parts[-1], dir_fd=directory, follow_symlinks=False)
    except OSError:
        return None
    stamp = Stamp.of(after)
    if Stamp.of(before) != stamp or len(data) != stamp.size or Stamp.of(named) != stamp:
        return None
    return RawFile(data, stamp)


def _read_all(descriptor: int, limit: int, parts: Parts) -> bytes:
    chunks: list[bytes] = []
    total = 0
    while chunk := os.read(descriptor, _CHUNK_BYTES):
        chunks.append(chunk)
        total += len(chunk)
        if total > limit:
            _refuse(UnsafeReason.TOO_LARGE, shown_parts(parts), limit)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _fault(status: os.stat_result, limit: int) -> UnsafeReason | None:
    mode = status.st_mode
    if stat.S_ISREG(mode):
        if status.st_nlink > 1:
            return UnsafeReason.HARD_LINK
        return UnsafeReason.TOO_LARGE if status.st_size > limit else None
    for test, reason in (
        (stat.S_ISLNK, UnsafeReason.SYMLINK),
        (stat.S_ISDIR, UnsafeReason.NOT_A_FILE),
        (stat.S_ISFIFO, UnsafeReason.FIFO),
        (stat.S_ISSOCK, UnsafeReason.SOCKET),
    ):
        if test(mode):
            return reason
    return UnsafeReason.DEVICE


def _check(status: os.stat_result, limit: int, parts: Parts) -> None:
    reason = _fault(status, limit)
    if reason is not None:
        _refuse(reason, shown_parts(parts), limit)


def _reason_of(error: OSError, symlink: bool = False) -> UnsafeReason:
    if symlink or error.errno == errno.ELOOP:
        return UnsafeReason.SYMLINK
    match error.errno:
        case errno.ENOTDIR:
            return UnsafeReason.NOT_A_DIRECTORY
        case errno.EACCES | errno.EPERM:
            return UnsafeReason.NOT_PERMITTED
        case errno.ENXIO:
            return UnsafeReason.SOCKET
        case errno.ENAMETOOLONG | errno.EILSEQ:
            return UnsafeReason.BAD_NAME
        case _:
            return UnsafeReason.IO_ERROR


def _refuse_error(error: OSError, shown: str, symlink: bool) -> NoReturn:
    if isinstance(error, FileNotFoundError):
        raise NotFound(f"no such file: {shown}") from None
    _refuse(_reason_of(error, symlink), shown)


def _refuse(reason: UnsafeReason, shown: str, limit: int = MAX_FILE_BYTES) -> NoReturn:
    why = _SAID[reason]
    if reason is UnsafeReason.TOO_LARGE:
        why = f"it is larger than {limit:,} bytes, the most that is read of one file"
    raise UnsafeFile(f"{shown} is not read: {why}", reason=reason.value)
