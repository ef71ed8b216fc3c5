"""``doctor``: can every file be read safely? That alone decides its verdict; everything else is advice (SPEC §4)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, assert_never

from pony_memory.canonical import INDEX_FILE, CanonicalPath
from pony_memory.files.lock_state import Abandoned, Free, Held, LockState, Unreadable
from pony_memory.files.text import decode
from pony_memory.limits import AGENT_NOTES_HARD_BYTES, AGENT_NOTES_SOFT_BYTES, SCAN_MAX_BYTES, SCAN_MAX_FILES
from pony_memory.notes.agent_notes import preamble
from pony_memory.notices import Notice
from pony_memory.reports.status import capacity_of, drift_of, not_injected_of
from pony_memory.retrieval.inventory import LimitReason
from pony_memory.retrieval.snapshot import MemoryQuerySnapshot

if TYPE_CHECKING:
    from pony_memory.config.schema import Config

_INDEX: Final = str(CanonicalPath("project", (INDEX_FILE,)))
#: So many of the memories an agent is not shown are named.
_NAMED: Final = 10
_SCAN_LIMITS: Final[dict[str, str]] = {
    LimitReason.OVER_FILE_LIMIT: f"an automatic scan takes {SCAN_MAX_FILES:,} files",
    LimitReason.OVER_BYTE_LIMIT: f"an automatic scan takes {SCAN_MAX_BYTES:,} bytes in all",
    LimitReason.SCAN_LIMIT: "there are too many names, or directories too deep, for one walk",
}


@dataclass(frozen=True, slots=True)
class DoctorCheck:
    """One file through the boundary; ``reason`` is set when it is ``unsafe``."""

    scope: str
    path: str
    status: Literal["ok", "unsafe"]
    reason: str | None


@dataclass(frozen=True, slots=True)
class Advice:
    """Something worth a look that makes no file unsafe. ``kind`` is stable, ``message`` for people."""

    path: str
    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class Doctor:
    checks: tuple[DoctorCheck, ...]
    advice: tuple[Advice, ...]

    @property
    def safe(self) -> bool:
        return all(check.status == "ok" for check in self.checks)


def examine(snapshot: MemoryQuerySnapshot, *, config: Config, lock: LockState, notices: Iterable[Notice]) -> Doctor:
    """Judge what the snapshot read, and what it did not."""
    checks = [DoctorCheck(path.scope, str(path), "ok", None) for path in snapshot.files]
    for item in snapshot.left_out:
        if item.unsafe:
            checks.append(DoctorCheck(item.scope, item.path, "unsafe", item.reason))
        elif item.stamp is not None:  # looked at, and only too much for one scan; the rest stands for files unseen
            checks.append(DoctorCheck(item.scope, item.path, "ok", None))
    advice = [
        *_of_files(snapshot),
        *_of_supersedes(snapshot),
        *_of_scan_limits(snapshot),
        *_of_index(snapshot, config),
        *_of_names(snapshot),
        *_of_lock(lock),
        *(Advice("", notice.code, _told(notice)) for notice in notices),
    ]
    return Doctor(tuple(sorted(checks, key=lambda check: (check.scope, check.path))), tuple(advice))


def _of_files(snapshot: MemoryQuerySnapshot) -> Iterable[Advice]:
    for path, file in snapshot.files.items():
        for doubt in file.parsed.doubts:
            yield Advice(str(path), doubt.kind, doubt.message)
        if file.parsed.replaced:
            yield Advice(
                str(path),
                "undecodable_bytes",
                f"{file.parsed.replaced:,} bytes are not UTF-8 and are shown as U+FFFD; the file is left as it is",
            )
        if file.parsed.not_an_entry is not None:
            yield Advice(
                str(path),
                "not_an_entry",
                f"no entry, so it is not indexed, listed or searched: {file.parsed.not_an_entry.reason}",
            )
        if path.is_agent_notes:
            yield from _of_agent_notes(path, file.data)


def _of_agent_notes(path: CanonicalPath, data: bytes) -> Iterable[Advice]:
    if preamble(decode(data).text):
        message = (
            "it has text before its first block, which nothing searches or recalls; make it a block or a User Note"
        )
        yield Advice(str(path), "text_outside_blocks", message)
    if len(data) > AGENT_NOTES_SOFT_BYTES:
        message = (
            f"{len(data):,} bytes; over {AGENT_NOTES_SOFT_BYTES:,} it is time to move notes elsewhere, "
            f"at {AGENT_NOTES_HARD_BYTES:,} nothing more is saved"
        )
        yield Advice(str(path), "agent_notes_large", message)


def _of_supersedes(snapshot: MemoryQuerySnapshot) -> Iterable[Advice]:
    for removed in snapshot.tombstones.removed:
        kind = "superseded_across_scopes" if removed.cross_scope else "superseded"
        yield Advice(str(removed.path), kind, f'out of the index: {removed.by} supersedes "{removed.name}"')
    for circle in snapshot.tombstones.cycles:
        names = ", ".join(str(path) for path in circle)
        yield Advice(str(circle[0]), "supersedes_cycle", f"supersede one another, so none is removed: {names}")


def _of_scan_limits(snapshot: MemoryQuerySnapshot) -> Iterable[Advice]:
    for item in snapshot.left_out:
        if not item.unsafe:
            message = _SCAN_LIMITS.get(item.reason, "an automatic scan takes no more")
            yield Advice(item.path, item.reason, f"not read, searched or recalled: {message}")


def _of_index(snapshot: MemoryQuerySnapshot, config: Config) -> Iterable[Advice]:
    outside = capacity_of(snapshot, config).outside
    for name in outside:
        yield Advice(_INDEX, "outside_index", f'"{name}" falls outside the limits of the index')
    hidden = [name for name in not_injected_of(snapshot, config) if name not in outside]
    if hidden:
        more = f" and {len(hidden) - _NAMED:,} more" if len(hidden) > _NAMED else ""
        names = ", ".join(f'"{name}"' for name in hidden[:_NAMED])
        message = (
            "memIndexInjectMaxLines and memIndexInjectMaxBytes are smaller than the index may grow, "
            f"so no agent is shown {names}{more}"
        )
        yield Advice(_INDEX, "outside_injection", message)
    found = drift_of(snapshot)
    for kind, files, message in (
        ("unindexed", found.unindexed, "an entry without a line in the index"),
        ("dead_line", found.dead_lines, "a line of the index without a file"),
        ("duplicate_line", found.duplicate_lines, "more than one line of the index for this file"),
        ("stale_line", found.stale_lines, "its line in the index has another name or description"),
    ):
        for file in files:
            yield Advice(f"project/{file}", kind, f"{message}; `pony-memory repair` mends it")


def _of_names(snapshot: MemoryQuerySnapshot) -> Iterable[Advice]:
    """Entries are found by their exact name, so a second one of a name is out of reach of every tool."""
    first: dict[str, str] = {}
    for entry in snapshot.entries:
        other = first.setdefault(entry.name, entry.file)
        if other != entry.file:
            message = f'it has the same name as {other}, "{entry.name}"; a write by that name reaches only one of them'
            yield Advice(f"project/{entry.file}", "duplicate_name", message)


def _told(notice: Notice) -> str:
    return f"{notice.message}. {notice.hint}" if notice.hint else notice.message


def _of_lock(lock: LockState) -> Iterable[Advice]:
    match lock:
        case Free() | Held():
            return
        case Abandoned():
            holder = lock.holder
            yield Advice(
                "",
                "abandoned_lock",
                f"the .lock of {holder.op} (pid {holder.pid} on {holder.hostname}, started {holder.started_at}) "
                "was left by a process that is gone, and stops every write; run `pony-memory unlock`",
            )
        case Unreadable():
            yield Advice("", "unreadable_lock", f"the .lock cannot be read ({lock.reason}); run `pony-memory unlock`")
        case _:
            assert_never(lock)
