"""``review``: the Agent Notes, block by block (SPEC §9, §21)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pony_memory.canonical import AGENT_NOTES_FILE, CanonicalPath, ScopeName
from pony_memory.limits import AGENT_NOTES_HARD_BYTES, AGENT_NOTES_SOFT_BYTES
from pony_memory.retrieval.snapshot import MemoryQuerySnapshot


@dataclass(frozen=True, slots=True)
class ReviewBlock:
    """One block: ``time`` as it is written, ``text`` without indentation."""

    path: str
    time: str
    text: str


@dataclass(frozen=True, slots=True)
class Review:
    """``bytes`` are those of all the scopes asked for; the limits are each scope's own."""

    blocks: tuple[ReviewBlock, ...]
    bytes: int
    soft_limit: int
    hard_limit: int


@dataclass(frozen=True, slots=True)
class AgentNotesSize:
    bytes: int
    soft_limit: int
    hard_limit: int


def review(snapshot: MemoryQuerySnapshot, scopes: Iterable[ScopeName]) -> Review:
    blocks: list[ReviewBlock] = []
    size = 0
    for scope in scopes:
        file = snapshot.files.get(CanonicalPath(scope, (AGENT_NOTES_FILE,)))
        if file is None or scope == "project":
            continue
        size += len(file.data)
        blocks += [
            ReviewBlock(str(document.path), document.time or "", document.body) for document in file.parsed.documents
        ]
    return Review(tuple(blocks), size, AGENT_NOTES_SOFT_BYTES, AGENT_NOTES_HARD_BYTES)


def agent_notes_sizes(snapshot: MemoryQuerySnapshot) -> dict[str, AgentNotesSize]:
    """The size of each notes scope's Agent Notes, 0 where there are none."""
    sizes: dict[str, AgentNotesSize] = {}
    for scope in snapshot.scopes:
        if scope != "project":
            file = snapshot.files.get(CanonicalPath(scope, (AGENT_NOTES_FILE,)))
            size = len(file.data) if file is not None else 0
            sizes[scope] = AgentNotesSize(size, AGENT_NOTES_SOFT_BYTES, AGENT_NOTES_HARD_BYTES)
    return sizes
