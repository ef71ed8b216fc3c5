"""``review``: the Agent Notes, block by block (SPEC §9, §21)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pony_memory.canonical import AGENT_NOTES_FILE, CanonicalPath, ScopeName
from pony_memory.limits import AGENT_NOTES_HARD_BYTES, AGENT_NOTES_SOFT_BYTES
from pony_memory.notices import Notice
from pony_memory.retrieval.snapshot import MemoryQuerySnapshot


@dataclass(frozen=True, slots=True)
class ReviewBlock:
    """One block: ``time`` as it is written, ``text`` without indentation."""

    path: str
    time: str
    text: str


@dataclass(frozen=True, slots=True)
class Review:
    """``bytes`` are those of all the scopes asked for; the limits are each scope's own. ``notices`` name the Agent
    Notes that are there and were not read."""

    blocks: tuple[ReviewBlock, ...]
    bytes: int
    soft_limit: int
    hard_limit: int
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True)
class AgentNotesSize:
    bytes: int
    soft_limit: int
    hard_limit: int


def review(snapshot: MemoryQuerySnapshot, scopes: Iterable[ScopeName]) -> Review:
    """The blocks of ``scopes``, in their order."""
    blocks: list[ReviewBlock] = []
    size = 0
    paths = {str(CanonicalPath(scope, (AGENT_NOTES_FILE,))): scope for scope in scopes if scope != "project"}
    notices = [
        Notice("not_read", f"{item.path} is not read: {item.reason}", "`pony-memory doctor` shows every such file.")
        for item in snapshot.left_out
        # Of a scope that cannot be entered at all, only the scope is named.
        if item.path in paths or item.path in {f"{scope}/" for scope in paths.values()}
    ]
    for scope in paths.values():
        file = snapshot.files.get(CanonicalPath(scope, (AGENT_NOTES_FILE,)))
        if file is None:
            continue
        size += len(file.data)
        blocks += [
            ReviewBlock(str(document.path), document.time or "", document.body) for document in file.parsed.documents
        ]
    return Review(tuple(blocks), size, AGENT_NOTES_SOFT_BYTES, AGENT_NOTES_HARD_BYTES, tuple(notices))


def agent_notes_sizes(snapshot: MemoryQuerySnapshot) -> dict[str, AgentNotesSize]:
    """The size of each notes scope's Agent Notes, 0 where there are none."""
    sizes: dict[str, AgentNotesSize] = {}
    for scope in snapshot.scopes:
        if scope != "project":
            file = snapshot.files.get(CanonicalPath(scope, (AGENT_NOTES_FILE,)))
            size = len(file.data) if file is not None else 0
            sizes[scope] = AgentNotesSize(size, AGENT_NOTES_SOFT_BYTES, AGENT_NOTES_HARD_BYTES)
    return sizes
