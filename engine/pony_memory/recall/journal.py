"""The journal of recall decisions, followed live by the workbench and by ``watch`` (SPEC §7).

One file a project, one JSON line a decision, two generations of 256 KiB. Writers of all processes take turns by a
kernel lock, so that rotation loses no line; readers take no lock and rely on whole lines only.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Literal

from pony_memory.errors import NotFound, UnsafeFile
from pony_memory.files import atomic, syscalls
from pony_memory.files.boundary import FILE_FLAGS, Root, RootSpec
from pony_memory.files.flock import flocked
from pony_memory.limits import (
    JOURNAL_MAX_BYTES,
    JOURNAL_MAX_CANDIDATES,
    JOURNAL_MAX_DAYS,
    JOURNAL_QUERY_MAX_CHARS,
    JOURNAL_RECORD_MAX_BYTES,
)

if TYPE_CHECKING:
    from pony_memory.recall.decisions import Recall

Source = Literal["recall", "surfacing"]

_OLDER_SUFFIX: Final = ".1"
_LOCK_SUFFIX: Final = ".lock"
_READ_CHUNK_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class JournalPlace:
    """Where a project's journal is: ``directory`` is ``~/.pony/recall/<git or local>``, ``name`` ends in ``.jsonl``."""

    directory: str
    name: str

    @classmethod
    def of(cls, home: str, kind: str, project: str) -> JournalPlace:
        """The journal of a project directory ``<kind>/<project>``. Raises ``ValueError`` for a name with a slash."""
        if "/" in project or not project or kind not in ("git", "local"):
            raise ValueError(f"not a project directory: {kind}/{project}")
        return cls(os.path.join(home, ".pony", "recall", kind), f"{project}.jsonl")


@dataclass(frozen=True, slots=True)
class JournalCandidate:
    path: str
    rank: int
    score: float
    normalized: float
    verdict: str
    tokens: int
    terms: tuple[str, ...]
    lines: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class JournalRecord:
    """One decision as it was written; ``rest`` counts by verdict the candidates past the first 20."""

    source: Source
    time: str
    session: str
    pid: int
    query: str
    threshold: float
    best: float
    tokens: int
    candidates: tuple[JournalCandidate, ...]
    rest: dict[str, int]

    @property
    def kept(self) -> tuple[JournalCandidate, ...]:
        return tuple(candidate for candidate in self.candidates if candidate.verdict == "kept")


def encode(recall: Recall, *, source: Source, session: str, pid: int, time: datetime) -> bytes:
    """One journal line of at most 8 KiB, secrets redacted by their prefixes, the newline included."""
    from pony_memory.writes.secret_prefixes import redact_prefixes  # noqa: PLC0415 - compiled on first use only

    redacted = redact_prefixes(recall.query)
    shown = redacted[:JOURNAL_QUERY_MAX_CHARS].encode("utf-8", "replace").decode("utf-8")
    # A term is a piece of the query: where the query held a secret, its pieces must not stand in the terms either.
    with_terms = redacted == recall.query
    candidates: list[dict[str, Any]] = []
    for decision in recall.decisions[:JOURNAL_MAX_CANDIDATES]:
        lines = None
        if decision.passage is not None:
            lines = [decision.passage.start_line, decision.passage.end_line]
        candidates.append(
            {
                "path": redact_prefixes(decision.path),
                "rank": decision.rank,
                "score": round(decision.score, 6),
                "normalized": round(decision.normalized, 6),
                "verdict": decision.verdict.value,
                "tokens": decision.tokens,
                "terms": list(decision.terms) if with_terms else [],
                "lines": lines,
            }
        )
    record: dict[str, Any] = {
        "source": source,
        "time": _iso(time),
        "session": session[:200],
        "pid": pid,
        "query": shown,
        "threshold": round(recall.threshold, 6),
        "best": round(recall.best_score, 6),
        "tokens": recall.tokens,
        "candidates": candidates,
        "rest": dict(Counter(d.verdict.value for d in recall.decisions[JOURNAL_MAX_CANDIDATES:])),
    }
    return _within_limit(record)


def _within_limit(record: dict[str, Any]) -> bytes:
    """Give up the least telling first: terms past the third, then all terms, then the last candidates."""

    def line() -> bytes:
        return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"

    data = line()
    for keep in (3, 0):
        if len(data) <= JOURNAL_RECORD_MAX_BYTES:
            return data
        for candidate in record["candidates"]:
            candidate["terms"] = candidate["terms"][:keep]
        data = line()
    while len(data) > JOURNAL_RECORD_MAX_BYTES and record["candidates"]:
        dropped = record["candidates"].pop()
        record["rest"][dropped["verdict"]] = record["rest"].get(dropped["verdict"], 0) + 1
        data = line()
    return data


class Journal:
    """Appends decisions; every file it makes is 0600 in directories of 0700."""

    def __init__(self, place: JournalPlace) -> None:
        self._place = place

    def append(self, line: bytes, *, now: datetime | None = None) -> None:
        """Append one encoded line. Raises ``OSError``, ``Locked`` or ``UnsafeFile`` when that cannot be done."""
        now = now or datetime.now(UTC)
        name = self._place.name
        atomic.ensure_private_path(self._place.directory)
        root = Root.resolve(RootSpec(self._place.directory, (), follow_trusted=True))
        if root is None:
            raise FileNotFoundError(self._place.directory)
        with root.open_dir() as descriptor, flocked(descriptor, f".{name}{_LOCK_SUFFIX}", what="the recall journal"):
            _expire(root, descriptor, name, now)
            _expire(root, descriptor, name + _OLDER_SUFFIX, now)
            with suppress(FileNotFoundError):
                status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
                if status.st_size + len(line) + 1 > JOURNAL_MAX_BYTES:
                    syscalls.rename(name, name + _OLDER_SUFFIX, descriptor)
            atomic.append_line(descriptor, name, line)


def _expire(root: Root, descriptor: int, name: str, now: datetime) -> None:
    """Drop what is over 30 days old. Lines are in order of time, so the first one tells whether anything is."""
    try:
        data = root.read((name,), limit=2 * JOURNAL_MAX_BYTES).data
    except NotFound:
        return
    except UnsafeFile as error:
        if error.reason != "too_large":
            raise
        atomic.remove_file(descriptor, name)
        return
    oldest = _iso(now - timedelta(days=JOURNAL_MAX_DAYS))
    first = parse_line(data.split(b"\n", 1)[0])
    if not data or (first is not None and first.time >= oldest):
        return
    kept = [
        line
        for line in data.splitlines(keepends=True)
        if (record := parse_line(line.rstrip(b"\n"))) is None or record.time >= oldest
    ]
    kept = kept if any(parse_line(line.rstrip(b"\n")) is not None for line in kept) else []
    if len(kept) == data.count(b"\n"):
        return
    if kept:
        atomic.replace_file(descriptor, name, b"".join(kept))
    else:
        atomic.remove_file(descriptor, name)


def parse_line(line: bytes) -> JournalRecord | None:
    """A record, or ``None`` for a line that is none: damaged, torn, or of another make."""
    try:
        data = json.loads(line)
        candidates = tuple(
            JournalCandidate(
                str(item["path"]),
                int(item["rank"]),
                float(item["score"]),
                float(item["normalized"]),
                str(item["verdict"]),
                int(item["tokens"]),
                tuple(str(term) for term in item["terms"]),
                (int(item["lines"][0]), int(item["lines"][1])) if item["lines"] else None,
            )
            for item in data["candidates"]
        )
        return JournalRecord(
            "surfacing" if data["source"] == "surfacing" else "recall",
            str(data["time"]),
            str(data["session"]),
            int(data["pid"]),
            str(data["query"]),
            float(data["threshold"]),
            float(data["best"]),
            int(data["tokens"]),
            candidates,
            {str(key): int(value) for key, value in data["rest"].items()},
        )
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError, OverflowError):
        return None


@dataclass(frozen=True, slots=True)
class JournalRead:
    """Records in order of writing, and how many lines were skipped as damaged."""

    records: tuple[JournalRecord, ...]
    skipped: int


class JournalFollower:
    """Reads a journal and then what is added to it, through rotation, removal and return.

    :meth:`poll` never blocks and never raises for a journal that is missing or in a bad state.
    """

    def __init__(self, place: JournalPlace, *, from_start: bool = True) -> None:
        self._place = place
        self._descriptor: int | None = None
        self._tail = b""
        self._pending: list[bytes] = []
        if from_start:
            older = self._open(place.name + _OLDER_SUFFIX)
            if older is not None:
                self._descriptor = older
                self._drain()
                self._let_go()
        self._descriptor = self._open(place.name)
        if not from_start and self._descriptor is not None:
            os.lseek(self._descriptor, 0, os.SEEK_END)

    def poll(self) -> JournalRead:
        """What was written since the last call (at the first call, what was there)."""
        self._drain()
        while self._replaced():
            # The file read so far was rotated or removed: it was read to its end, go on with the next generation.
            self._drain()
            self._let_go()
            self._descriptor = self._open(self._place.name)
            if self._descriptor is None:
                break
            self._drain()
        if self._descriptor is None:
            self._descriptor = self._open(self._place.name)
            self._drain()
        lines, self._pending = self._pending, []
        return _read(lines)

    def close(self) -> None:
        self._let_go()

    def _open(self, name: str) -> int | None:
        try:
            descriptor = os.open(os.path.join(self._place.directory, name), FILE_FLAGS)
        except OSError:
            return None
        status = os.fstat(descriptor)
        if status.st_nlink > 1 or status.st_mode & 0o170000 != 0o100000:
            os.close(descriptor)
            return None
        return descriptor

    def _let_go(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        if self._tail:
            self._pending.append(self._tail)
            self._tail = b""

    def _replaced(self) -> bool:
        if self._descriptor is None:
            return False
        held = os.fstat(self._descriptor)
        if held.st_size < os.lseek(self._descriptor, 0, os.SEEK_CUR):
            return True
        try:
            named = os.stat(os.path.join(self._place.directory, self._place.name), follow_symlinks=False)
        except OSError:
            return True
        return (named.st_dev, named.st_ino) != (held.st_dev, held.st_ino)

    def _drain(self) -> None:
        if self._descriptor is None:
            return
        while chunk := os.read(self._descriptor, _READ_CHUNK_BYTES):
            *whole, self._tail = (self._tail + chunk).split(b"\n")
            self._pending.extend(whole)
            if len(self._tail) > JOURNAL_MAX_BYTES:
                self._tail = b""


def read_journal(place: JournalPlace) -> JournalRead:
    """Both generations, oldest record first."""
    follower = JournalFollower(place)
    try:
        return follower.poll()
    finally:
        follower.close()


def _read(lines: Iterable[bytes]) -> JournalRead:
    records: list[JournalRecord] = []
    skipped = 0
    for line in lines:
        if not line:
            continue
        record = parse_line(line)
        if record is None:
            skipped += 1
        else:
            records.append(record)
    return JournalRead(tuple(records), skipped)


def _iso(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
