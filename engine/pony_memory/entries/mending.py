"""The two ways to make index and entries agree again (SPEC §11), planned before anything is written.

`repair` mends line by line and keeps the rest to the byte; `rebuild_index` writes every line anew below the
hand-written block at the top. Whoever asks sees the plan, with what hand-written text would go, and then says yes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pony_memory.canonical import INDEX_FILE
from pony_memory.entries.drift import drift
from pony_memory.entries.entry import Entry
from pony_memory.entries.index import Index, format_line
from pony_memory.entries.state import Change, StoreState, changed_files

MendKind = Literal["unindexed", "dead_line", "duplicate_line", "stale_line"]


@dataclass(frozen=True, slots=True)
class RebuildPlan:
    """What `rebuild_index` would write: ``entries`` lines below ``header_lines`` kept ones.

    ``dropped`` are the hand-written lines that would go, in order: headings, groups and comments below the first
    entry. ``before`` and ``after`` are the whole index.
    """

    before: bytes
    after: bytes
    entries: int
    header_lines: int
    dropped: tuple[str, ...]

    @property
    def diff(self) -> str:
        return index_diff(self.before, self.after)


@dataclass(frozen=True, slots=True)
class Mend:
    """One mended line."""

    kind: MendKind
    file: str


@dataclass(frozen=True, slots=True)
class RepairPlan:
    """What `repair` would change, line by line; ``before`` and ``after`` are the whole index."""

    before: bytes
    after: bytes
    changes: tuple[Mend, ...]

    @property
    def diff(self) -> str:
        return index_diff(self.before, self.after)


def plan_rebuild(state: StoreState) -> RebuildPlan:
    """The index of every entry by (modified, file)."""
    index = state.parsed_index
    entries = sorted(state.entries.values(), key=lambda entry: entry.order)
    heading = index.heading()
    known = {line.line_number for line in index.lines}
    first = min(known, default=len(index.rows) + 1)
    return RebuildPlan(
        before=state.index or b"",
        after=index.rebuilt((entry.name, entry.file, entry.description) for entry in entries),
        entries=len(entries),
        header_lines=len(heading),
        dropped=tuple(
            text
            for number, row in enumerate(index.rows, start=1)
            if number > first and number not in known and (text := row.decode("utf-8", "replace")).strip()
        ),
    )


def plan_repair(state: StoreState) -> RepairPlan:
    """The index with exactly one right line for every entry and none for a file that is not there.

    A line that names a file which is there and cannot be read stays: the file is not gone.
    """
    index = state.parsed_index
    found = drift(index, state.entries.values(), {*state.not_entries, *state.unsafe})
    mends: list[Mend] = []
    changes: dict[int, bytes | None] = {}
    seen: set[str] = set()
    for line in index.lines:
        if line.file in seen or line.file in found.dead_lines:
            mends.append(Mend("dead_line" if line.file in found.dead_lines else "duplicate_line", line.file))
            changes[line.line_number] = None
        elif line.file in found.stale_lines:
            mends.append(Mend("stale_line", line.file))
            changes[line.line_number] = _line(state.entries[line.file])
        seen.add(line.file)
    new = sorted((state.entries[file] for file in found.unindexed), key=lambda entry: entry.order)
    mends.extend(Mend("unindexed", entry.file) for entry in new)
    after = index.with_changes(changes, [_line(entry) for entry in new])
    return RepairPlan(before=state.index or b"", after=after, changes=tuple(mends))


def rebuild_change(state: StoreState) -> Change:
    return Change("rebuild_index", INDEX_FILE, INDEX_FILE, changed_files(state, plan_rebuild(state).after))


def repair_change(state: StoreState) -> Change:
    plan = plan_repair(state)
    return Change("repair", INDEX_FILE, INDEX_FILE, changed_files(state, plan.after) if plan.changes else ())


def index_diff(before: bytes, after: bytes) -> str:
    """A unified diff of two indexes for people; empty if they are equal."""
    # Only who asks for a plan needs it.
    import difflib  # noqa: PLC0415

    old, new = ([row.decode("utf-8", "replace") for row in Index.parse(data).rows if data] for data in (before, after))
    return "\n".join(difflib.unified_diff(old, new, INDEX_FILE, INDEX_FILE, lineterm=""))


def _line(entry: Entry) -> bytes:
    return format_line(entry.name, entry.file, entry.description)
