"""Bring back what a write changed, from a backup or from the history, without losing anything written since (SPEC §13).

A file goes back only if it still is what the operation left; every other one is a conflict, named and left alone. The
restore has its own backup and its own event, so it can be undone the same way.

What an operation left is known from the history. A backup without an event (pi-memory made it) is asked differently:
the next backup that holds the file shows what was there after; a file that is gone lost nothing by coming back.

The index is made of lines: if it changed since, only the lines of the files that went back are mended.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final

from pony_memory.canonical import INDEX_FILE, CanonicalPath
from pony_memory.errors import BadPath, Conflict, NotFound, UnsafeFile
from pony_memory.files.atomic import make_private_directory, remove_file, replace_file
from pony_memory.files.boundary import Parts, Root
from pony_memory.limits import BACKUPS_KEPT, LOCK_TIMEOUT_MS
from pony_memory.notices import Notice
from pony_memory.writes.backups import backup_before_write, contents_of, list_backups
from pony_memory.writes.history import (
    Actor,
    Edit,
    Event,
    FileChange,
    WriteEvent,
    event_number,
    history,
    recorded,
    sha256_of,
    text_of,
)
from pony_memory.writes.places import Place, disk_errors, exclusive

_CHANGED: Final = "it was changed since"
_UNKNOWN: Final = "nothing tells what the write left, so a later change could be lost"
_NOT_KEPT: Final = "its earlier text is no longer kept"


@dataclass(frozen=True, slots=True)
class FileConflict:
    """A file that was left alone, and why."""

    path: CanonicalPath
    reason: str


@dataclass(frozen=True, slots=True)
class Restored:
    """``restored`` went back (those that already were as before are not named); ``backup`` is the restore's own, or
    ``None`` if nothing had to be changed.
    """

    restored: tuple[CanonicalPath, ...]
    conflicts: tuple[FileConflict, ...]
    backup: str | None
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True)
class _Step:
    """Put ``target`` (``None``: nothing) in place of a file that still has the sha256 ``left`` (``None``: no file)."""

    path: CanonicalPath
    target: bytes | None
    left: str | None
    wanted: str | None  # sha256 of the target, known even where the text no longer is
    blocked: str | None = None


def restore_event(
    place: Place, n: int, *, actor: Actor, keep: int = BACKUPS_KEPT, timeout_ms: int = LOCK_TIMEOUT_MS
) -> Restored:
    """Take back the write that the history numbers ``n``. Raises :class:`NotFound`, ``Locked``, ``PonyError``."""
    event = event_number(place.records, n)
    steps = tuple(_step_of(place, change, change.after, event.backup) for change in event.changes)
    return _restore(
        place, steps, _Source(str(n), event.action, event.name), actor=actor, keep=keep, timeout_ms=timeout_ms
    )


def restore_backup(
    place: Place, identifier: str, *, actor: Actor, keep: int = BACKUPS_KEPT, timeout_ms: int = LOCK_TIMEOUT_MS
) -> Restored:
    """Take back what was written after the backup ``identifier`` was made for it. Raises as :func:`restore_event`."""
    contents = contents_of(place.records, identifier)
    events = [event for event in history(place.records).events if event.backup == identifier]
    steps = _steps_by_events(place, identifier, events) if events else _steps_by_backups(place, identifier, contents)
    name = events[-1].name if len(events) == 1 else ""
    return _restore(place, steps, _Source(identifier, "backup", name), actor=actor, keep=keep, timeout_ms=timeout_ms)


@dataclass(frozen=True, slots=True)
class _Source:
    undoes: str
    action: str
    name: str


def _steps_by_events(place: Place, identifier: str, newest_first: Sequence[Event]) -> tuple[_Step, ...]:
    first: dict[CanonicalPath, FileChange] = {}
    left: dict[CanonicalPath, str | None] = {}
    for event in reversed(newest_first):
        for change in event.changes:
            first.setdefault(change.path, change)
            left[change.path] = change.after
    return tuple(_step_of(place, change, left[path], identifier) for path, change in first.items())


def _step_of(place: Place, change: FileChange, left: str | None, backup: str | None) -> _Step:
    if change.before is None:
        return _Step(change.path, None, left, None)
    text = text_of(place.records, change.before)
    if text is None and backup is not None:
        text = _from_backup(place, backup, change)
    if text is None:
        return _Step(change.path, None, left, change.before, blocked=_NOT_KEPT)
    return _Step(change.path, text, left, change.before)


def _from_backup(place: Place, backup: str, change: FileChange) -> bytes | None:
    try:
        data = contents_of(place.records, backup).get(change.path.parts)
    except NotFound:
        return None
    return data if sha256_of(data) == change.before else None


def _steps_by_backups(place: Place, identifier: str, contents: Mapping[Parts, bytes]) -> tuple[_Step, ...]:
    later: dict[Parts, str] = {}
    for backup in list_backups(place.records):
        if backup.id == identifier or not backup.time:
            break
        later.update((parts, str(sha256_of(data))) for parts, data in contents_of(place.records, backup.id).items())
    steps: list[_Step] = []
    for parts, data in contents.items():
        try:
            path = CanonicalPath.of(place.scope, parts)
        except BadPath:
            continue  # A file of another kind, such as the originals/ of a migration: to be looked at, not put back.
        if parts in later:
            steps.append(_Step(path, data, later[parts], sha256_of(data)))
        else:
            gone = _read(place.files, parts) is None
            steps.append(_Step(path, data, None, sha256_of(data), blocked=None if gone else _UNKNOWN))
    return tuple(steps)


def _restore(
    place: Place, steps: tuple[_Step, ...], source: _Source, *, actor: Actor, keep: int, timeout_ms: int
) -> Restored:
    with disk_errors("the restore could not be made"), exclusive(place, "restore", timeout_ms=timeout_ms) as check:
        edits, conflicts = _judged(place, steps)
        if place.scope == "project":
            edits += _index_edit(place, steps, tuple(edits), bool(conflicts))
        if not edits:
            return Restored((), tuple(conflicts), None)
        backup = backup_before_write(
            place.files, "restore", [_file(edit.path) for edit in edits], keep, into=place.records
        )
        done: list[Edit] = []
        notices: list[Notice] = []
        try:
            for edit in edits:
                try:
                    _put(place, edit, check)
                except Conflict as conflict:
                    conflicts.append(FileConflict(edit.path, conflict.message))
                else:
                    done.append(edit)
        finally:
            # Also when the disk gives out half-way: what went back is in the history, whatever the error says.
            if done:
                event = WriteEvent(actor, "restore", done[0].path, source.name, backup, source.undoes)
                notices += recorded(place.records, event, done)
        return Restored(tuple(edit.path for edit in done), tuple(conflicts), backup, tuple(notices))


def _judged(place: Place, steps: tuple[_Step, ...]) -> tuple[list[Edit], list[FileConflict]]:
    """What is to go back, and what must not; the index is left to :func:`_index_edit`."""
    edits: list[Edit] = []
    conflicts: list[FileConflict] = []
    for step in steps:
        if step.path.is_index:
            continue
        try:
            current = _read(place.files, step.path.parts)
        except UnsafeFile as error:
            conflicts.append(FileConflict(step.path, error.message))
            continue
        sha = sha256_of(current)
        if sha == step.wanted:
            continue
        reason = step.blocked or (None if sha == step.left else _CHANGED)
        if reason is None:
            edits.append(Edit(step.path, current, step.target))
        else:
            conflicts.append(FileConflict(step.path, reason))
    return edits, conflicts


def _index_edit(place: Place, steps: tuple[_Step, ...], edits: tuple[Edit, ...], conflicts: bool) -> tuple[Edit, ...]:
    path = CanonicalPath("project", (INDEX_FILE,))
    current = _read(place.files, path.parts)
    step = next((step for step in steps if step.path.is_index), None)
    if step is not None and step.blocked is None and not conflicts and sha256_of(current) == step.left:
        after = step.target
    elif edits:
        after = _mended(current or b"", edits)
    else:
        return ()
    return () if after == current else (Edit(path, current, after),)


def _mended(index: bytes, edits: tuple[Edit, ...]) -> bytes:
    """The index with the lines of these files as they have to be once the files have gone back."""
    from pony_memory.entries.entry import Entry, parse_entry  # noqa: PLC0415 - notes scopes do without
    from pony_memory.entries.index import Index  # noqa: PLC0415

    gone = [edit for edit in edits if edit.after is None]
    back = [(edit, parse_entry(_file(edit.path), edit.after)) for edit in edits if edit.after is not None]
    if len(gone) == 1 and len(back) == 1 and isinstance(entry := back[0][1], Entry):
        # A rename taken back: the line keeps its place.
        return Index.parse(index).with_renamed(_file(gone[0].path), entry.file, entry.name, entry.description)
    for edit in gone:
        index = Index.parse(index).without(_file(edit.path))
    for _, entry in back:
        if isinstance(entry, Entry):
            index = Index.parse(index).with_line(entry.file, entry.name, entry.description)
    return index


def _put(place: Place, edit: Edit, check: Callable[[], None]) -> None:
    def unchanged() -> None:
        check()
        # An editor knows nothing of our locks: this is the last moment to see what it wrote.
        if _read(place.files, edit.path.parts) != edit.before:
            raise Conflict("it was changed while it was being restored")

    with _directory_of(place, edit.path.parts) as directory:
        if edit.after is None:
            unchanged()
            remove_file(directory, edit.path.parts[-1])
        else:
            private = place.scope == "project" or edit.path.is_agent_notes
            replace_file(directory, edit.path.parts[-1], edit.after, keep_mode=not private, before_rename=unchanged)


def _directory_of(place: Place, parts: Parts) -> AbstractContextManager[int]:
    for depth, name in enumerate(parts[:-1]):
        with place.files.open_dir(parts[:depth]) as directory:
            make_private_directory(directory, name)
    return place.files.open_dir(parts[:-1])


def _read(root: Root, parts: Parts) -> bytes | None:
    try:
        return root.read(parts).data
    except NotFound:
        return None


def _file(path: CanonicalPath) -> str:
    return "/".join(path.parts)
