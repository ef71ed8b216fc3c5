"""Who changed which memory, when, and from what (SPEC §13).

Each durable write appends one line to ``.history.jsonl``; the texts before it are kept once each, by their sha256, in
``.history/``: 16 MiB in all, those whose last event is oldest out first. The log itself is cut to its newer half when
it passes 4 MiB; numbers of events go on and are never given twice.

The caller holds the place's lock while it records; reading needs none.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

from pony_memory.canonical import CanonicalPath
from pony_memory.errors import BadPath, NotFound, PonyError, UnsafeFile
from pony_memory.files import syscalls
from pony_memory.files.atomic import append_line, make_private_directory, replace_file
from pony_memory.files.boundary import Root
from pony_memory.limits import HISTORY_LOG_MAX_BYTES, HISTORY_TEXTS_MAX_BYTES
from pony_memory.notices import Notice
from pony_memory.writes import trees

LOG_FILE: Final = ".history.jsonl"
TEXTS_DIRECTORY: Final = ".history"

#: What is freed at a time beyond the limit, so that the oldest are not looked up anew at every write.
_EVICTION_SLACK_BYTES: Final = HISTORY_TEXTS_MAX_BYTES // 16
#: A log that another hand let grow is read up to this size.
_LOG_READ_MAX_BYTES: Final = 4 * HISTORY_LOG_MAX_BYTES
_SHA256: Final = re.compile(r"[0-9a-f]{64}")


class Who(StrEnum):
    """Who wrote. ``AGENT``: an agent that said openly it answers for a person (SPEC §20)."""

    PERSON = "person"
    TOOL = "tool"
    EXTRACTION = "extraction"
    DREAM = "dream"
    AGENT = "agent"


@dataclass(frozen=True, slots=True)
class Actor:
    """Who writes: the kind, the agent session if there is one, the process id."""

    kind: Who
    session: str | None
    process: int

    @classmethod
    def here(cls, kind: Who, session: str | None = None) -> Actor:
        return cls(kind, session, os.getpid())


@dataclass(frozen=True, slots=True)
class Edit:
    """One file before and after a write; ``None`` = it is not there."""

    path: CanonicalPath
    before: bytes | None
    after: bytes | None


@dataclass(frozen=True, slots=True)
class WriteEvent:
    """What is known of a write besides its texts. ``name`` is the entry's, ``backup`` the id of the backup made for it,
    ``undoes`` the event or backup that a restore took back.
    """

    actor: Actor
    action: str
    path: CanonicalPath
    name: str = ""
    backup: str | None = None
    undoes: str | None = None


@dataclass(frozen=True, slots=True)
class FileChange:
    """A recorded change: sha256 before and after, ``None`` = the file was not there."""

    path: CanonicalPath
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class Event:
    """One line of the history. ``changes`` starts with the file the event is named for.

    ``edited_between``: the text before it is not what the last recorded write of that file left, so it was edited by
    hand, or by a program that keeps no history.
    """

    n: int
    time: str
    who: str
    session: str | None
    process: int | None
    action: str
    name: str
    changes: tuple[FileChange, ...]
    backup: str | None
    undoes: str | None
    edited_between: bool = False

    @property
    def path(self) -> CanonicalPath:
        return self.changes[0].path

    @property
    def before(self) -> str | None:
        return self.changes[0].before

    @property
    def after(self) -> str | None:
        return self.changes[0].after


@dataclass(frozen=True, slots=True)
class History:
    """Events, newest first; ``damaged`` counts the lines that could not be read."""

    events: tuple[Event, ...]
    damaged: int


def sha256_of(data: bytes | None) -> str | None:
    return None if data is None else hashlib.sha256(data).hexdigest()


def record(
    root: Root,
    event: WriteEvent,
    before: bytes | None,
    after: bytes | None,
    *,
    others: Sequence[Edit] = (),
    keep_texts: bool = True,
) -> int:
    """Append one event to the history in ``root``; returns its number.

    ``before`` and ``after`` are those of ``event.path``; ``others`` are further files of the same write (the old file
    of a rename, the index). Texts of the index are not kept: its lines can be told from the entries, and 25 KiB a
    write would push out the memories. ``keep_texts=False`` keeps none (a purge). Raises :class:`PonyError`
    (``history_failed``) when the disk refuses.
    """
    edits = (Edit(event.path, before, after), *others)
    try:
        with root.open_dir() as directory:
            for edit in edits:
                if keep_texts and edit.before is not None and not edit.path.is_index:
                    _keep_text(directory, edit.before)
            last = _last_number(root)
            line = json.dumps(_as_json(last + 1, event, edits), ensure_ascii=False, separators=(",", ":"))
            append_line(directory, LOG_FILE, line.encode("utf-8", "backslashreplace"), sync=True)
            _shorten_log(root, directory)
            _evict_texts(root, directory)
    except (OSError, UnsafeFile) as error:
        why = error.strerror if isinstance(error, OSError) else error.message
        raise PonyError(f"the history could not be written: {why}", code="history_failed") from None
    return last + 1


def recorded(root: Root, event: WriteEvent, edits: Sequence[Edit], *, keep_texts: bool = True) -> tuple[Notice, ...]:
    """:func:`record` for a write that has been made: it stands, so a history that fails is a notice, not an error."""
    try:
        record(root, event, edits[0].before, edits[0].after, others=edits[1:], keep_texts=keep_texts)
    except PonyError as error:
        return (Notice(error.code, f"the write was made, but {error.message}"),)
    return ()


def history(root: Root | None, *, path: CanonicalPath | None = None, limit: int | None = None) -> History:
    """The history in ``root``, newest first; of one file, or of ``limit`` events at most.

    Damaged lines are skipped and counted. A missing history is an empty one.
    """
    if root is None:
        return History((), 0)
    parsed = [_parsed(line) for line in _log_lines(root)]
    events = _marked([event for event in parsed if event is not None])
    wanted = [event for event in reversed(events) if path is None or any(c.path == path.file for c in event.changes)]
    return History(tuple(wanted[:limit]), len(parsed) - len(events))


def event_number(root: Root | None, n: int) -> Event:
    """The event ``n``. Raises :class:`NotFound`."""
    found = next((event for event in history(root).events if event.n == n), None)
    if found is None:
        raise NotFound(f"the history has no event {n}", hint="`pony-memory history` shows what there is.")
    return found


def text_of(root: Root, sha256: str) -> bytes | None:
    """A kept text by its sha256; ``None`` if it is no longer kept, or is damaged."""
    if _SHA256.fullmatch(sha256) is None:
        return None
    try:
        data = root.read((TEXTS_DIRECTORY, sha256)).data
    except (NotFound, UnsafeFile):
        return None
    return data if sha256_of(data) == sha256 else None


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _as_json(n: int, event: WriteEvent, edits: Sequence[Edit]) -> dict[str, Any]:
    first = edits[0]
    line: dict[str, Any] = {
        "n": n,
        "time": _now(),
        "who": event.actor.kind.value,
        "session": event.actor.session,
        "process": event.actor.process,
        "action": event.action,
        "name": event.name,
        "path": str(first.path.file),
        "file": "/".join(first.path.parts),
        "before": sha256_of(first.before),
        "after": sha256_of(first.after),
    }
    if len(edits) > 1:
        line["others"] = [
            {"path": str(edit.path.file), "before": sha256_of(edit.before), "after": sha256_of(edit.after)}
            for edit in edits[1:]
        ]
    if event.backup is not None:
        line["backup"] = event.backup
    if event.undoes is not None:
        line["undoes"] = event.undoes
    return line


def _parsed(line: bytes) -> Event | None:
    try:
        value = json.loads(line)
        if not isinstance(value, dict):
            return None
        others = value.get("others", [])
        changes = tuple(_change(part) for part in (value, *others))
        return Event(
            n=_typed(value["n"], int),
            time=_typed(value["time"], str),
            who=_typed(value["who"], str),
            session=_optional(value.get("session"), str),
            process=_optional(value.get("process"), int),
            action=_typed(value["action"], str),
            name=_typed(value.get("name", ""), str),
            changes=changes,
            backup=_optional(value.get("backup"), str),
            undoes=_optional(value.get("undoes"), str),
        )
    except (ValueError, KeyError, TypeError, RecursionError, BadPath):
        return None


def _change(value: Any) -> FileChange:
    before, after = value["before"], value["after"]
    for sha in (before, after):
        if sha is not None and _SHA256.fullmatch(sha) is None:
            raise ValueError("not a sha256")
    return FileChange(CanonicalPath.parse(_typed(value["path"], str)), before, after)


def _typed(value: Any, kind: type[Any]) -> Any:
    if type(value) is not kind:
        raise TypeError("of another type")
    return value


def _optional(value: Any, kind: type[Any]) -> Any:
    return None if value is None else _typed(value, kind)


def _marked(events: list[Event]) -> list[Event]:
    left: dict[CanonicalPath, str | None] = {}
    marked: list[Event] = []
    for event in events:
        between = any(change.path in left and left[change.path] != change.before for change in event.changes)
        left.update((change.path, change.after) for change in event.changes)
        marked.append(replace(event, edited_between=True) if between else event)
    return marked


def _log_lines(root: Root) -> Iterator[bytes]:
    try:
        data = root.read((LOG_FILE,), limit=_LOG_READ_MAX_BYTES).data
    except NotFound:
        return
    yield from (line for line in data.split(b"\n") if line.strip())


def _last_number(root: Root) -> int:
    lines = list(_log_lines(root))
    for line in reversed(lines):
        event = _parsed(line)
        if event is not None:
            return event.n
    return len(lines)


def _keep_text(directory: int, data: bytes) -> None:
    make_private_directory(directory, TEXTS_DIRECTORY)
    sha = hashlib.sha256(data).hexdigest()
    with trees.opened(directory, TEXTS_DIRECTORY) as texts:
        # A killed writer leaves a text that no event speaks of: neither eviction nor a reader would ever find it.
        trees.remove_leftovers(texts)
        try:
            status = os.stat(sha, dir_fd=texts, follow_symlinks=False)
        except FileNotFoundError:
            replace_file(texts, sha, data)
        else:
            if status.st_size != len(data):
                replace_file(texts, sha, data)


def _shorten_log(root: Root, directory: int) -> None:
    if os.stat(LOG_FILE, dir_fd=directory, follow_symlinks=False).st_size <= HISTORY_LOG_MAX_BYTES:
        return
    kept: list[bytes] = []
    size = 0
    for line in reversed(list(_log_lines(root))):
        size += len(line) + 1
        if kept and size > HISTORY_LOG_MAX_BYTES // 2:
            break
        kept.append(line)
    replace_file(directory, LOG_FILE, b"\n".join([*reversed(kept), b""]))


def _evict_texts(root: Root, directory: int) -> None:
    texts = [item for item in trees.listing(root, (TEXTS_DIRECTORY,)) if item.is_file]
    total = sum(item.size for item in texts)
    if total <= HISTORY_TEXTS_MAX_BYTES:
        return
    last_event: dict[str, int] = {}
    for event in history(root).events:
        for change in event.changes:
            if change.before is not None:
                last_event.setdefault(change.before, event.n)
    newest = max(last_event.values(), default=0)
    with trees.opened(directory, TEXTS_DIRECTORY) as kept:
        for item in sorted(texts, key=lambda item: (last_event.get(item.name, 0), item.name)):
            if total <= HISTORY_TEXTS_MAX_BYTES - _EVICTION_SLACK_BYTES or last_event.get(item.name) == newest:
                break
            syscalls.unlink(item.name, kept)
            total -= item.size
        syscalls.fsync(kept)
