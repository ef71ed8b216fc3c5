"""One project entry: one file with a header of five literal fields (SPEC §10).

The grammar is pi-memory 2.1's: the value of a field is everything after the first colon, trimmed, never quoted or
unquoted. A file that lacks a field is no entry; it is named with the reason and left alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, TypeGuard

from pony_memory.files.text import decode

EntryType = Literal["user", "feedback", "project", "reference"]

ENTRY_TYPES: Final[tuple[EntryType, ...]] = ("user", "feedback", "project", "reference")
DEFAULT_ENTRY_TYPE: Final[EntryType] = "feedback"
FIELDS: Final = ("name", "description", "type", "created", "modified")

RULE: Final = "---"
#: Put between name and file in an index line, so a name that holds it would forge one.
FORGES_AN_INDEX_LINE: Final = "]("

FIELD_LINE: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_-]*):[ \t]*(.*)\Z")
_CREATED = re.compile(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])\Z", re.ASCII)
_MODIFIED = re.compile(
    r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])"
    r"(?:[T ]([01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d{2}(?::?\d{2})?)?)?\Z",
    re.ASCII,
)
#: What the store writes: UTC with milliseconds. In this form times sort as text.
_WRITTEN_TIME = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class Entry:
    """A memory of a project store.

    ``file`` is the file's name in the store's directory, ``created`` a date ``YYYY-MM-DD``, ``modified`` an ISO 8601
    time as written, ``body`` the text below the header without blank ends, ``body_line`` the 1-based line of the file
    on which it starts. ``unknown_headers`` names the other keys of the header, which every rewrite keeps.
    """

    file: str
    name: str
    description: str
    type: EntryType
    created: str
    modified: str
    body: str
    body_line: int
    unknown_headers: tuple[str, ...] = ()

    @property
    def order(self) -> tuple[str, str]:
        """(modified, file), the order of a rebuilt index; times of any zone are compared as instants."""
        return instant(self.modified), self.file


@dataclass(frozen=True, slots=True)
class NotAnEntry:
    """A file of a store that is no entry; ``reason`` says why in plain words, without the file's content.

    ``name`` is what its header calls it, where there is a header with a name.
    """

    file: str
    reason: str
    name: str | None = None


def parse_entry(file: str, data: bytes) -> Entry | NotAnEntry:
    """Read one file of a store. Never raises, whatever ``data`` holds."""
    text = decode(data).text
    if not text.strip():
        return NotAnEntry(file, "empty file")
    lines = text.split("\n")
    if not is_rule(lines[0]):
        return NotAnEntry(file, "no header")
    close = next((number for number in range(1, len(lines)) if is_rule(lines[number])), None)
    if close is None:
        return NotAnEntry(file, "header never closed")
    fields: dict[str, str] = {}
    for line in lines[1:close]:
        matched = FIELD_LINE.match(line)
        if matched is not None:
            fields[matched.group(1)] = matched.group(2).strip()
    reason = _fault(fields)
    if reason is not None:
        return NotAnEntry(file, reason, fields.get("name") or None)
    kind = fields["type"]
    assert is_entry_type(kind)
    start = close + 1
    while start < len(lines) and not lines[start].strip():
        start += 1
    return Entry(
        file=file,
        name=fields["name"],
        description=fields["description"],
        type=kind,
        created=fields["created"],
        modified=fields["modified"],
        body="\n".join(lines[start:]).strip(),
        body_line=min(start, len(lines) - 1) + 1,
        unknown_headers=tuple(key for key in fields if key not in FIELDS),
    )


def is_entry_type(value: str) -> TypeGuard[EntryType]:
    return value in ENTRY_TYPES


def is_rule(line: str) -> bool:
    """Whether ``line`` opens or closes a header."""
    return line.rstrip() == RULE


def instant(time: str) -> str:
    """``time`` as UTC with milliseconds, so that instants of any zone compare as text. Unreadable ones stay."""
    if _WRITTEN_TIME.match(time):
        return time
    # Only hand-written times come here; the import is not worth its cost for a store that needs none.
    from datetime import UTC, datetime  # noqa: PLC0415

    try:
        read = datetime.fromisoformat(time)
        read = read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)
    except (ValueError, OverflowError):
        return time
    return read.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _fault(fields: dict[str, str]) -> str | None:
    """Why a header with ``fields`` makes no entry."""
    missing = [key for key in FIELDS if not fields.get(key) and not (key == "description" and key in fields)]
    if missing:
        return "missing " + ", ".join(missing)
    if FORGES_AN_INDEX_LINE in fields["name"]:
        return f"bad name: an index line cannot carry {FORGES_AN_INDEX_LINE!r}"
    if not is_entry_type(fields["type"]):
        return "bad type: it is not one of " + ", ".join(ENTRY_TYPES)
    if not _CREATED.match(fields["created"]):
        return "bad created date: it is not YYYY-MM-DD"
    if not _MODIFIED.match(fields["modified"]):
        return "bad modified time: it is not ISO 8601"
    return None
