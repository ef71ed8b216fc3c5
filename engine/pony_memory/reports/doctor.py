"""``doctor``: can every file be read safely? That alone decides its verdict; everything else is advice (SPEC §4)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, assert_never

from pony_memory.entries.drift import Drift
from pony_memory.files.file_lock import Abandoned, Free, Held, LockState, Unreadable
from pony_memory.notices import Notice
from pony_memory.retrieval.snapshot import MemoryQuerySnapshot


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


def examine(
    snapshot: MemoryQuerySnapshot,
    *,
    found_drift: Drift,
    outside: Iterable[str],
    lock: LockState,
    notices: Iterable[Notice],
) -> Doctor:
    """Judge what the snapshot read, and what it did not."""
    checks = [DoctorCheck(path.scope, str(path), "ok", None) for path in snapshot.files]
    for item in snapshot.left_out:
        checks.append(
            DoctorCheck(item.scope, item.path, "unsafe" if item.unsafe else "ok", item.reason if item.unsafe else None)
        )
    advice = [*_of_files(snapshot), *_of_supersedes(snapshot), *_of_limits(snapshot, outside)]
    advice += _of_drift(found_drift)
    advice += _of_lock(lock)
    advice += [Advice("", notice.code, notice.message) for notice in notices]
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


def _of_supersedes(snapshot: MemoryQuerySnapshot) -> Iterable[Advice]:
    for removed in snapshot.tombstones.removed:
        kind = "superseded_across_scopes" if removed.cross_scope else "superseded"
        yield Advice(str(removed.path), kind, f'out of the index: {removed.by} supersedes "{removed.name}"')
    for circle in snapshot.tombstones.cycles:
        names = ", ".join(str(path) for path in circle)
        yield Advice(str(circle[0]), "supersedes_cycle", f"supersede one another, so none is removed: {names}")


def _of_limits(snapshot: MemoryQuerySnapshot, outside: Iterable[str]) -> Iterable[Advice]:
    for item in snapshot.left_out:
        if not item.unsafe:
            yield Advice(item.path, item.reason, "not read: past the limits of an automatic scan")
    for name in outside:
        yield Advice("project/MEMORY.md", "outside_index", f'"{name}" falls outside the limits of the index')


def _of_drift(found: Drift) -> Iterable[Advice]:
    for kind, files, message in (
        ("unindexed", found.unindexed, "an entry without a line in the index"),
        ("dead_line", found.dead_lines, "a line of the index without a file"),
        ("duplicate_line", found.duplicate_lines, "more than one line of the index for this file"),
        ("stale_line", found.stale_lines, "its line in the index has another name or description"),
    ):
        for file in files:
            yield Advice(f"project/{file}", kind, f"{message}; `pony-memory repair` mends it")


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
