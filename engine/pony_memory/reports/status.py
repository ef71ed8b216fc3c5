"""``status``: the state of memory here, and what others would lose in silence (SPEC §21)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Literal

from pony_memory.canonical import INDEX_FILE, CanonicalPath
from pony_memory.entries.capacity import Capacity, capacity
from pony_memory.entries.drift import Drift, drift
from pony_memory.entries.entry import NotAnEntry
from pony_memory.entries.index import Index
from pony_memory.errors import NotFound, UnsafeFile
from pony_memory.files.boundary import Root
from pony_memory.files.lock_state import LockState
from pony_memory.limits import HEADROOM_NOTICE_RATIO
from pony_memory.reports.models import ModelState, model_errors, needed_models
from pony_memory.reports.review import AgentNotesSize, agent_notes_sizes
from pony_memory.retrieval.inventory import LeftOut
from pony_memory.retrieval.snapshot import MemoryQuerySnapshot

if TYPE_CHECKING:
    from pony_memory.config.schema import Config
    from pony_memory.errors import Misconfigured
    from pony_memory.scopes.place import Scopes

State = Literal["enabled", "disabled", "misconfigured"]
DREAM_META_FILE: Final = ".dream-meta.json"
_META_MAX_BYTES: Final = 64 * 1024
#: No honest count is larger, and a dishonest one shall not fill the screen.
_SESSIONS_MAX: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Status:
    """Fields are those of SPEC §21. ``dir`` is ``None`` where no project store is available; ``nudge`` is the reason
    to run a dream, or ``None``."""

    state: State
    dir: str | None
    errors: tuple[str, ...]
    index: Capacity
    entries: int
    not_entries: tuple[NotAnEntry, ...]
    drift: Drift
    last_dream: str | None
    sessions_since_dream: int
    nudge: str | None
    lock: LockState
    backups: int
    agent_notes: Mapping[str, AgentNotesSize]
    left_out: tuple[LeftOut, ...]
    models: Mapping[str, ModelState]
    #: The notes scopes and the project store that could not be had here, with the reason.
    unavailable: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class DreamMeta:
    """``.dream-meta.json``: ``lastDreamAt``, as pi-memory writes it (here ISO 8601, UTC, ms), and how many sessions
    started since, ``sessionsSinceDream``: a key of ours, gone after a dream of pi-memory's, which is a count of 0."""

    last_dream: str | None
    sessions: int


def report_status(
    snapshot: MemoryQuerySnapshot,
    *,
    scopes: Scopes,
    config: Config,
    config_error: Misconfigured | None,
    environ: Mapping[str, str],
    root: Root | None,
    lock: LockState,
    now: datetime | None = None,
) -> Status:
    """The status of the place; ``root`` is the project store's, ``None`` where there is none to look into."""
    found = capacity_of(snapshot, config)
    meta = read_dream_meta(root)
    entries = len(snapshot.entries)
    # Which models a configuration that cannot be read would name is not known.
    models = needed_models(config, environ) if config_error is None else {}
    errors = model_errors(models) if config_error is None else (str(config_error),)
    return Status(
        state="misconfigured" if errors else "enabled" if config.enabled else "disabled",
        dir=scopes.project.path if scopes.project is not None else None,
        errors=errors,
        index=found,
        entries=entries,
        not_entries=snapshot.not_entries,
        drift=drift_of(snapshot),
        last_dream=meta.last_dream,
        sessions_since_dream=meta.sessions,
        nudge=nudge_of(meta, found, entries, config, now or datetime.now(UTC)),
        lock=lock,
        backups=count_backups(root),
        agent_notes=agent_notes_sizes(snapshot),
        left_out=snapshot.left_out,
        models=models,
        unavailable=scopes.unavailable,
    )


def index_of(snapshot: MemoryQuerySnapshot) -> Index:
    """The project store's index; an absent or unreadable one is empty."""
    file = snapshot.files.get(CanonicalPath("project", (INDEX_FILE,)))
    return Index.parse(file.data if file is not None else b"")


def drift_of(snapshot: MemoryQuerySnapshot) -> Drift:
    """Where index and entries disagree. A line whose file is there but was not read is not called dead."""
    others = {item.file for item in snapshot.not_entries}
    others |= {item.path.partition("/")[2] for item in snapshot.left_out if item.scope == "project"}
    return drift(index_of(snapshot), snapshot.entries, others)


def capacity_of(snapshot: MemoryQuerySnapshot, config: Config) -> Capacity:
    """The index against its limits for writing, which are those of ``status``."""
    return capacity(index_of(snapshot), config.mem_index_max_lines, config.mem_index_max_bytes)


def not_injected_of(snapshot: MemoryQuerySnapshot, config: Config) -> tuple[str, ...]:
    """The memories past the limits of what an agent is given of the index (SPEC §11); none where it is given none."""
    lines, size = config.mem_index_inject_max_lines, config.mem_index_inject_max_bytes
    return capacity(index_of(snapshot), lines, size).outside if lines and size else ()


def read_dream_meta(root: Root | None) -> DreamMeta:
    """Tolerant: a file that is missing, unsafe or not of this shape says that there was no dream."""
    if root is None:
        return DreamMeta(None, 0)
    try:
        data = json.loads(root.read((DREAM_META_FILE,), limit=_META_MAX_BYTES).data)
    except (NotFound, UnsafeFile, ValueError, RecursionError):
        return DreamMeta(None, 0)
    if not isinstance(data, dict):
        return DreamMeta(None, 0)
    last = data.get("lastDreamAt")
    sessions = data.get("sessionsSinceDream")
    return DreamMeta(
        _shown_time(last) if isinstance(last, str) else None,
        sessions if type(sessions) is int and 0 <= sessions <= _SESSIONS_MAX else 0,
    )


def count_backups(root: Root | None) -> int:
    """How many backups the store keeps; 0 where they cannot be looked at."""
    from pony_memory.writes.backups import backup_count  # noqa: PLC0415 - the other reports need none of it

    try:
        return backup_count(root)
    except (NotFound, UnsafeFile, OSError):
        return 0


def nudge_of(meta: DreamMeta, found: Capacity, entries: int, config: Config, now: datetime) -> str | None:
    """Why a dream is due, in words; ``None`` while none is, and for a store without entries (SPEC §18)."""
    if entries == 0:
        return None
    if found.headroom:
        share = max(found.lines / found.max_lines, found.bytes / found.max_bytes)
        return f"the index is {share:.0%} full (a dream is advised from {HEADROOM_NOTICE_RATIO:.0%})"
    if meta.sessions >= config.dream.nudge_after_sessions:
        return f"{meta.sessions} sessions since the last dream"
    last = _time(meta.last_dream) if meta.last_dream is not None else None
    if last is not None:
        hours = (now - last).total_seconds() / 3_600
        if hours >= config.dream.nudge_after_hours:
            return f"{hours:,.0f} hours since the last dream"
    return None


def _time(text: str) -> datetime | None:
    try:
        time = datetime.fromisoformat(text)
        # To UTC at once: a time at the end of the calendar fails here, not where it is compared.
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _shown_time(text: str) -> str | None:
    """The time in the one form that is shown; the file may hold anything, an escape between date and hour too."""
    time = _time(text)
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z") if time is not None else None
