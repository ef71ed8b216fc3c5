"""``list``: every file of every scope, the ones that are not read included (SPEC §21)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal

from pony_memory.canonical import CanonicalPath, ScopeName
from pony_memory.retrieval.inventory import LeftOut
from pony_memory.retrieval.snapshot import LoadedFile, MemoryQuerySnapshot

FileKind = Literal["note", "agent_notes", "entry", "index", "other"]


@dataclass(frozen=True, slots=True)
class FileRow:
    """One file. ``status`` is ``ok``, ``superseded``, ``not_an_entry``, or the reason why it is not read; ``bytes``
    and ``modified`` (ISO 8601, UTC) are ``None`` where they could not be had.

    ``type`` is the header's, ``detail`` a few words on the status; both are for people.
    """

    path: str
    scope: ScopeName
    kind: FileKind
    bytes: int | None
    modified: str | None
    title: str
    status: str
    type: str | None = None
    detail: str | None = None


def list_rows(snapshot: MemoryQuerySnapshot, scopes: Iterable[ScopeName]) -> tuple[FileRow, ...]:
    """Rows in the order user, workspace, project, canonical within each."""
    wanted = tuple(scopes)
    removed = {item.path: item for item in snapshot.tombstones.removed}
    rows: list[tuple[int, str, FileRow]] = []
    for path, file in snapshot.files.items():
        if path.scope not in wanted:
            continue
        row = _row(path, file)
        if path in removed:
            row = replace(row, status="superseded", detail=f"superseded by {removed[path].by}")
        rows.append((wanted.index(path.scope), row.path, row))
    for item in snapshot.left_out:
        if item.scope in wanted:
            rows.append((wanted.index(item.scope), item.path, _left_out_row(item)))
    return tuple([row for _, _, row in sorted(rows, key=lambda item: item[:2])])


def iso_time(mtime_ns: int) -> str:
    """A file time as ISO 8601, UTC, milliseconds; a time no calendar holds is shown as its nearest end."""
    try:
        time = datetime.fromtimestamp(mtime_ns / 1e9, UTC)
    except (OverflowError, ValueError, OSError):
        time = datetime.max.replace(tzinfo=UTC) if mtime_ns > 0 else datetime.min.replace(tzinfo=UTC)
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _row(path: CanonicalPath, file: LoadedFile) -> FileRow:
    kind: FileKind
    status, type_, detail = "ok", None, None
    title = path.stem
    parsed = file.parsed
    if path.is_agent_notes:
        kind, title = "agent_notes", "Agent Notes"
    elif path.is_index:
        kind, title = "index", "Index"
    elif path.scope == "project" and parsed.entry is None:
        kind, status = "other", "not_an_entry"
        if parsed.not_an_entry is not None:
            detail = parsed.not_an_entry.reason
            title = parsed.not_an_entry.name or title
    else:
        kind = "entry" if path.scope == "project" else "note"
        document = parsed.documents[0]
        title, type_ = document.name, document.type
    if not title.strip("- "):  # a header's rule is no title, whoever wrote it there
        title = path.stem
    return FileRow(
        str(path), path.scope, kind, len(file.data), iso_time(file.stamp.mtime_ns), title, status, type_, detail
    )


def _left_out_row(item: LeftOut) -> FileRow:
    name = item.path.rsplit("/", 1)[-1]
    kind: FileKind
    if item.scope == "project":
        kind = "index" if name == "MEMORY.md" else "other"
    else:
        kind = "agent_notes" if item.path == f"{item.scope}/agent_notes.md" else "note"
    size = item.stamp.size if item.stamp is not None else None
    modified = iso_time(item.stamp.mtime_ns) if item.stamp is not None else None
    return FileRow(item.path, item.scope, kind, size, modified, name.removesuffix(".md") or item.path, item.reason)
