"""User Notes: one Markdown file, with or without a header (SPEC §4)."""

from __future__ import annotations

from dataclasses import dataclass

from pony_memory.notes.header import Doubt, parse_note


@dataclass(frozen=True, slots=True)
class Note:
    """One note. ``name`` is never empty; ``body_line`` is the 1-based line of the file on which ``body`` starts.

    ``header_readable`` is false for a file the product must not rewrite; ``doubts`` say why.
    """

    name: str
    type: str | None
    description: str
    tags: tuple[str, ...]
    aliases: tuple[str, ...]
    supersedes: tuple[str, ...]
    body: str
    body_line: int
    doubts: tuple[Doubt, ...]
    header_readable: bool


def read_note(stem: str, text: str) -> Note:
    """The note in ``text``; ``stem`` (the file's name without `.md`) is its name unless a header gives one."""
    parsed = parse_note(text)
    header = parsed.header
    return Note(
        name=header.name or stem,
        type=header.type,
        description=header.description or "",
        tags=header.tags,
        aliases=header.aliases,
        supersedes=header.supersedes,
        body=parsed.body,
        body_line=parsed.body_line,
        doubts=parsed.doubts,
        header_readable=parsed.header_readable,
    )
