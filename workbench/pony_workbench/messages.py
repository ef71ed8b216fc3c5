"""What panes tell one another: they post these, the app wires them (SPEC §22)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from textual.message import Message

from pony_memory.reports.listing import FileRow
from pony_memory.reports.status import Status
from pony_memory.retrieval.snapshot import MemoryQuerySnapshot


@dataclass(frozen=True, slots=True)
class StoreView:
    """One consistent look at the place: the snapshot, its files as rows, and its status."""

    snapshot: MemoryQuerySnapshot
    rows: tuple[FileRow, ...]
    status: Status
    taken: datetime


@dataclass
class NoteOpened(Message):
    """A person chose a memory, at a 1-based line."""

    path: str
    line: int = 1


class UnlockWanted(Message):
    """A person asked for the unlock dialog."""


@dataclass
class TargetWanted(Message):
    """A person chose a web link in a note; it opens only after its target was shown."""

    url: str
