"""Agent Notes: one append-only file a scope, made of blocks (SPEC §4, §9).

A block starts with a line ``- <ISO timestamp>  <note>`` at the left margin; two spaces are written, one or more are
read. Every other line of a note is written indented, so that no note can forge the start of another block.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pony_memory.errors import InvalidRequest

_START = re.compile(
    r"- (\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"
    r"T(?:[01]\d|2[0-3]):[0-5]\d(?::(?:[0-5]\d|60)(?:[.,]\d{1,9})?)?(?:Z|[+-]\d{2}(?::?\d{2})?)?)"
    r"(?:[ \t]+(.*))?\Z",
    re.ASCII,
)
_INDENT = "  "
#: Everything any reader may take for the end of a line, so that another tool's idea of lines forges nothing either.
_LINE_ENDS = re.compile("\r\n|[\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class Block:
    """One note of an Agent Notes file.

    ``number`` counts from 1 (``#entry-N``); ``start_line`` and ``end_line`` are 1-based and inclusive, blank lines at
    the end left out. ``text`` is the note without the start's mark and without the indent, line for line with the
    file; ``raw`` are the lines as they stand, joined by LF.
    """

    number: int
    time: str
    text: str
    start_line: int
    end_line: int
    raw: str


def parse_blocks(text: str) -> tuple[Block, ...]:
    """The blocks of an Agent Notes file in the order of the file.

    What stands before the first block belongs to none (see :func:`preamble`); a line at the left margin that starts
    no block, which only a hand can have written, belongs to the block above it.
    """
    lines = _lines(text)
    starts = [(number, matched) for number, line in enumerate(lines) if (matched := _match(line)) is not None]
    blocks: list[Block] = []
    for number, (first, matched) in enumerate(starts, start=1):
        end = starts[number][0] if number < len(starts) else len(lines)
        while end > first + 1 and not lines[end - 1].strip():
            end -= 1
        rest = [_without_indent(line) for line in lines[first + 1 : end]]
        blocks.append(
            Block(
                number=number,
                time=matched.group(1),
                text="\n".join([(matched.group(2) or "").rstrip(), *rest]),
                start_line=first + 1,
                end_line=end,
                raw="\n".join(lines[first:end]),
            )
        )
    return tuple(blocks)


def preamble(text: str) -> str:
    """What stands before the first block, without blank ends: text that no block, and so no search, holds."""
    lines = _lines(text)
    first = next((number for number, line in enumerate(lines) if _match(line) is not None), len(lines))
    return "\n".join(lines[:first]).strip()


def format_block(time: str, note: str) -> str:
    """``note`` as one block, with its last LF: what is appended to an Agent Notes file.

    ``time`` is an ISO timestamp. Line ends of every kind become LF, blank ends are cut. Raises
    :class:`InvalidRequest` for an empty note or a time that would not read back.
    """
    first, *rest = _LINE_ENDS.sub("\n", note).strip().split("\n")
    if not first:
        raise InvalidRequest("the note is empty")
    read = _match(f"- {time}")
    if read is None or read.group(1) != time:
        raise InvalidRequest("the time of a note must be an ISO timestamp such as 2026-03-05T09:30:00Z")
    indented = (_INDENT + line if line.strip() else "" for line in rest)
    return "\n".join([f"- {time}{_INDENT}{first.rstrip()}", *indented, ""])


def _lines(text: str) -> list[str]:
    text = text.removeprefix("\ufeff")
    return (text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text).split("\n")


def _match(line: str) -> re.Match[str] | None:
    return _START.match(line) if line.startswith("- ") else None


def _without_indent(line: str) -> str:
    if line.startswith(_INDENT):
        return line[len(_INDENT) :]
    return line[1:] if line[:1] in (" ", "\t") else line
