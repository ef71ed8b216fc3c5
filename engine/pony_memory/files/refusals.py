"""Why a file is refused, in the words a person reads (SPEC §3). Messages never hold content."""

from __future__ import annotations

import errno
import os
import stat
from enum import StrEnum
from typing import Final, NoReturn

from pony_memory.errors import NotFound, UnsafeFile
from pony_memory.limits import MAX_FILE_BYTES

Parts = tuple[str, ...]


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
    UnsafeReason.NOT_A_DIRECTORY: "it, or a part of its path, is not a directory",
    UnsafeReason.OUTSIDE_ROOT: "it is outside the scope's root",
    UnsafeReason.TOO_LARGE: "it is larger than a memory file may be",
    UnsafeReason.CHANGED: "it kept changing while it was read",
    UnsafeReason.NOT_PERMITTED: "reading it is not permitted",
    UnsafeReason.IO_ERROR: "the system failed to deliver it",
    UnsafeReason.BAD_NAME: "its name cannot be part of a memory path",
    UnsafeReason.ROOT_CHANGED: "the scope's root directory was replaced meanwhile",
}


def printable(text: str) -> str:
    """``text`` with everything that is not printable, undecodable bytes included, as visible escapes."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escaped(char) for char in text)


def is_plain(name: str) -> bool:
    """Whether ``name`` plainly has no character that SPEC §2 refuses; the quick half of ``canonical.name_fault``."""
    return name.isprintable() and "\\" not in name


def shown_parts(parts: Parts) -> str:
    """Relative ``parts`` as one printable path; ``.`` for the root itself."""
    return printable("/".join(parts)) or "."


def fault_of(status: os.stat_result, limit: int) -> UnsafeReason | None:
    """What makes the thing ``status`` describes no readable memory file, or ``None``. ``limit`` in bytes."""
    mode = status.st_mode
    if stat.S_ISREG(mode):
        if status.st_nlink > 1:
            return UnsafeReason.HARD_LINK
        return UnsafeReason.TOO_LARGE if status.st_size > limit else None
    return _kind_fault(mode)


def reason_of(error: OSError, *, symlink: bool = False) -> UnsafeReason:
    """The reason for a failed call; ``symlink`` when the name is known to be one (systems report it differently)."""
    match error.errno:
        case errno.ELOOP | errno.EMLINK:
            return UnsafeReason.SYMLINK
        case errno.ENOTDIR:
            return UnsafeReason.SYMLINK if symlink else UnsafeReason.NOT_A_DIRECTORY
        case errno.EACCES | errno.EPERM:
            return UnsafeReason.NOT_PERMITTED
        case errno.ENAMETOOLONG | errno.EILSEQ:
            return UnsafeReason.BAD_NAME
        case _:
            return UnsafeReason.IO_ERROR


def refuse(reason: UnsafeReason, shown: str, *, limit: int = MAX_FILE_BYTES, detail: str | None = None) -> NoReturn:
    """Raise :class:`UnsafeFile` for ``shown``, a printable path."""
    why = _SAID[reason]
    if reason is UnsafeReason.TOO_LARGE:
        why = f"it is larger than {limit:,} bytes, the most that is read of one file"
    if detail is not None:
        why = f"{why} ({detail})"
    raise UnsafeFile(f"{shown} is refused: {why}", reason=reason.value)


def refuse_error(error: OSError, shown: str, *, symlink: bool = False) -> NoReturn:
    """Raise :class:`NotFound` for a missing name, else :class:`UnsafeFile` with the reason for ``error``."""
    if isinstance(error, FileNotFoundError):
        raise NotFound(f"no such file: {shown}") from None
    reason = reason_of(error, symlink=symlink)
    refuse(reason, shown, detail=error.strerror if reason is UnsafeReason.IO_ERROR else None)


def _kind_fault(mode: int) -> UnsafeReason:
    if stat.S_ISLNK(mode):
        return UnsafeReason.SYMLINK
    if stat.S_ISDIR(mode):
        return UnsafeReason.NOT_A_FILE
    if stat.S_ISFIFO(mode):
        return UnsafeReason.FIFO
    return UnsafeReason.SOCKET if stat.S_ISSOCK(mode) else UnsafeReason.DEVICE


def _escaped(char: str) -> str:
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is not UTF-8, as os.fsdecode gives it
        return f"\\x{code - 0xDC00:02x}"
    return ascii(char)[1:-1]
