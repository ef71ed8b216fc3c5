"""`MEMORY.md`, the index: one line an entry, ``- [Name](file.md) — description`` (SPEC §11).

Everything works on bytes. A surgical write changes the line concerned and nothing else: headings, groups, comments,
blank lines, their order and bytes that are not UTF-8 stay; only CRLF and CR become LF, once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

DEFAULT_HEADING: Final = (b"# Memory Index", b"")

#: `Index.bytes` is a number, as in the JSON of `status`; this names the type beside it.
Data: TypeAlias = bytes

_BOM = b"\xef\xbb\xbf"
_DASH = "—"


@dataclass(frozen=True, slots=True)
class IndexLine:
    """One entry line. ``line_number`` is 1-based among all lines, ``non_empty_number`` among those that count for
    capacity; ``end`` is the byte of the file behind the line's last one, its line end not counted.
    """

    line_number: int
    name: str
    file: str
    description: str
    non_empty_number: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class Index:
    """A parsed index.

    ``non_empty`` counts lines of any kind that are not blank, ``unrecognized`` those of them that are no entry line,
    headings included; ``bytes`` is the size of the file as it is, before line ends are made LF.
    """

    lines: tuple[IndexLine, ...]
    non_empty: int
    unrecognized: int
    bytes: int
    rows: tuple[Data, ...]

    @classmethod
    def parse(cls, data: Data) -> Index:
        """Read an index. Never raises; an absent file is ``b""``."""
        rows = tuple(_lf(data).split(b"\n"))
        lines: list[IndexLine] = []
        non_empty = 0
        end = 0
        for number, row in enumerate(rows):
            # A CRLF shortens to LF in `rows`, so ends are counted where the line ends of the file itself are.
            end += len(row)
            text = (row.removeprefix(_BOM) if number == 0 else row).decode("utf-8", "replace")
            if text.strip():
                non_empty += 1
                line = parse_line(text)
                if line is not None:
                    lines.append(replace(line, line_number=number + 1, non_empty_number=non_empty, end=end))
            end += 2 if data[end : end + 2] == b"\r\n" else 1
        return cls(tuple(lines), non_empty, non_empty - len(lines), len(data), rows)

    def line_of(self, file: str) -> IndexLine | None:
        """The first line of ``file``."""
        return next((line for line in self.lines if line.file == file), None)

    def data(self) -> Data:
        """The index with LF line ends, otherwise to the byte as it was parsed."""
        return b"\n".join(self.rows)

    def with_line(self, file: str, name: str, description: str) -> Data:
        """The index with ``file``'s line saying ``name`` and ``description``.

        The first line of ``file`` is changed in place; where there is none, a new one goes after the last recognised
        line, or to the end of an index that has none. An index that is blank gets a heading first.
        """
        line = format_line(name, file, description)
        found = self.line_of(file)
        if found is not None:
            return self._with_rows({found.line_number: line})
        return self._with_new(line)

    def without(self, file: str) -> Data:
        """The index without any line of ``file``."""
        return self._with_rows({line.line_number: None for line in self.lines if line.file == file})

    def with_renamed(self, old_file: str, new_file: str, name: str, description: str) -> Data:
        """The index in which the line of ``old_file`` is, in its place, that of ``new_file``.

        Further lines of ``old_file``, and lines that were left for ``new_file``, go: each would be a line without a
        file, or a second line for one.
        """
        found = self.line_of(old_file)
        if found is None:
            return self.with_line(new_file, name, description)
        changes: dict[int, Data | None] = {}
        if old_file != new_file:
            changes = {line.line_number: None for line in self.lines if line.file in (old_file, new_file)}
        changes[found.line_number] = format_line(name, new_file, description)
        return self._with_rows(changes)

    def with_changes(self, changes: Mapping[int, Data | None], new: Sequence[Data]) -> Data:
        """The index with other lines at these 1-based numbers (``None``: none) and ``new`` ones after the last."""
        changed = self._with_rows(changes)
        return Index.parse(changed)._with_new(*new) if new else changed

    def heading(self) -> tuple[Data, ...]:
        """What a rebuilt index keeps: the hand-written rows before the first entry line, or the default heading."""
        first = self.lines[0].line_number - 1 if self.lines else len(self.rows)
        kept = list(self.rows[:first])
        while kept and not _text(kept[-1]).strip():
            kept.pop()
        return tuple(kept) if kept else DEFAULT_HEADING

    def rebuilt(self, entries: Iterable[tuple[str, str, str]]) -> Data:
        """A new index of these (name, file, description) in the order given, below :meth:`heading`."""
        return b"\n".join([*self.heading(), *(format_line(*entry) for entry in entries), b""])

    def _with_rows(self, changes: Mapping[int, Data | None]) -> Data:
        """The rows with some exchanged, or taken out (``None``)."""
        rows: list[Data] = []
        for number, row in enumerate(self.rows, start=1):
            if number not in changes:
                rows.append(row)
                continue
            changed = changes[number]
            if changed is not None:
                rows.append(changed)
            elif number == len(self.rows) and rows:
                # The last line had no LF; the one that is the last now keeps its own.
                rows.append(b"")
        return b"\n".join(rows)

    def _with_new(self, *lines: Data) -> Data:
        rows = list(self.rows)
        if not any(_text(row).strip() for row in rows):
            return b"\n".join([*DEFAULT_HEADING, *lines, b""])
        # Without a recognised line the new ones are the last, above the empty row behind the last LF.
        place = self.lines[-1].line_number if self.lines else len(rows) - (1 if rows[-1] == b"" else 0)
        rows[place:place] = lines
        if rows[-1]:
            rows.append(b"")
        return b"\n".join(rows)


def format_line(name: str, file: str, description: str) -> bytes:
    """One entry line without its LF. The values are one line each and ``name`` holds no ``](``."""
    return f"- [{name}]({file}) {_DASH} {description}".encode()


def parse_line(text: str) -> IndexLine | None:
    """The entry line in ``text``, or ``None`` for a line of another kind. Numbers and places are left at 0.

    What the products write is told by its exact form, ``….md) — ``, which no file name derived from a name can hold;
    a file name may hold ``)`` and a name ``]``. Lines of hands are read with any white space around the dash.
    """
    if not text.startswith("-"):
        return None
    opened = text[1:].lstrip()
    if len(opened) == len(text) - 1 or not opened.startswith("["):
        return None
    name, parted, rest = opened[1:].partition("](")
    if not parted or not name.strip():
        return None
    file, parted, description = rest.partition(f".md) {_DASH} ")
    file += ".md"
    if not parted or any(char.isspace() for char in file):
        split = _split_loosely(rest)
        if split is None:
            return None
        file, description = split
    file = file.strip()
    return IndexLine(0, name.strip(), file, description.strip()) if file else None


def _split_loosely(rest: str) -> tuple[str, str] | None:
    """``file)  —  description``, split at the first ``)`` that a dash follows."""
    close = rest.find(")")
    while close != -1:
        after = close + 1
        while after < len(rest) and rest[after].isspace():
            after += 1
        if rest.startswith(_DASH, after):
            return rest[:close], rest[after + 1 :]
        close = rest.find(")", close + 1)
    return None


def _text(row: bytes) -> str:
    return row.removeprefix(_BOM).decode("utf-8", "replace")


def _lf(data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in data else data
