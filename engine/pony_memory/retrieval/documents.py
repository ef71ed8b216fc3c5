"""What is ranked: one document a User Note, an Agent Notes block, or an entry (SPEC §4, §5, §10)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from pony_memory.canonical import CanonicalPath
from pony_memory.entries.entry import Entry, NotAnEntry, parse_entry
from pony_memory.files.text import decode
from pony_memory.limits import FIELD_WEIGHTS
from pony_memory.notes.agent_notes import parse_blocks
from pony_memory.notes.header import Doubt
from pony_memory.notes.note import read_note
from pony_memory.retrieval.tokens import term_counts

FIELDS: Final = ("name", "tags", "aliases", "description", "body")


class Kind(StrEnum):
    """What sort of document a hit is. The values are part of the JSON contract (SPEC §21)."""

    NOTE = "note"
    AGENT_BLOCK = "agent_notes"
    ENTRY = "entry"


@dataclass(frozen=True, slots=True)
class Document:
    """One thing that can be found. ``body_line`` is the 1-based line of the file on which ``body`` starts."""

    path: CanonicalPath
    kind: Kind
    name: str
    type: str | None
    description: str
    tags: tuple[str, ...]
    aliases: tuple[str, ...]
    supersedes: tuple[str, ...]
    body: str
    body_line: int
    time: str | None

    def field_texts(self) -> tuple[tuple[str, str], ...]:
        """The searched fields that hold something, as (field, text). An Agent Notes block has a body only."""
        if self.kind is Kind.AGENT_BLOCK:
            return (("body", self.body),)
        found = [("name", self.name)]
        if self.kind is Kind.NOTE:
            found += [("tags", "\n".join(self.tags)), ("aliases", "\n".join(self.aliases))]
        found += [("description", self.description), ("body", self.body)]
        return tuple([(field, text) for field, text in found if text])


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """One file of a scope after reading: its documents, and what stands out about it."""

    path: CanonicalPath
    documents: tuple[Document, ...]
    doubts: tuple[Doubt, ...]
    header_readable: bool
    replaced: int
    entry: Entry | None = None
    not_an_entry: NotAnEntry | None = None


def parse_file(path: CanonicalPath, data: bytes) -> ParsedFile:
    """The documents in one file's bytes. Never fails: what cannot be read as a header is body."""
    if path.scope == "project":
        return _parse_project_file(path, data)
    text = decode(data)
    if path.is_agent_notes:
        blocks = tuple(
            [
                Document(
                    path.with_block(block.number),
                    Kind.AGENT_BLOCK,
                    f"entry-{block.number}",
                    None,
                    "",
                    (),
                    (),
                    (),
                    block.text,
                    block.start_line,
                    block.time,
                )
                for block in parse_blocks(text.text)
            ]
        )
        return ParsedFile(path, blocks, (), True, text.replaced)
    note = read_note(path.stem, text.text)
    document = Document(
        path,
        Kind.NOTE,
        note.name,
        note.type,
        note.description,
        note.tags,
        note.aliases,
        note.supersedes,
        note.body,
        note.body_line,
        None,
    )
    return ParsedFile(path, (document,), note.doubts, note.header_readable, text.replaced)


def _parse_project_file(path: CanonicalPath, data: bytes) -> ParsedFile:
    replaced = decode(data).replaced
    if path.is_index:
        return ParsedFile(path, (), (), True, replaced)
    parsed = parse_entry(path.parts[0], data)
    if isinstance(parsed, NotAnEntry):
        return ParsedFile(path, (), (), True, replaced, not_an_entry=parsed)
    document = Document(
        path,
        Kind.ENTRY,
        parsed.name,
        parsed.type,
        parsed.description,
        (),
        (),
        (),
        parsed.body,
        parsed.body_line,
        parsed.modified,
    )
    return ParsedFile(path, (document,), (), True, replaced, entry=parsed)


def weigh(document: Document) -> tuple[dict[str, int], int]:
    """Term → Σ weight · count over the fields, and the unweighted count of all tokens (SPEC §5)."""
    weighted: dict[str, int] = {}
    length = 0
    for field, text in document.field_texts():
        weight = FIELD_WEIGHTS[field]
        for term, count in term_counts(text).items():
            weighted[term] = weighted.get(term, 0) + weight * count
            length += count
    return weighted, length
