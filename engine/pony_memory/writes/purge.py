"""Remove a text, or everything about a memory, from every file the product owns (SPEC §13).

A plan tells what would go; the purge does it under the locks, leaves one line of history without content, and makes no
backup. What it cannot reach is named: git, providers, transcripts of agents, copies made by other programs, and files
of ours that belong to places that were not opened.
"""

from __future__ import annotations

import glob
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

from pony_memory.canonical import AGENT_NOTES_FILE, INDEX_FILE, CanonicalPath
from pony_memory.entries.entry import Entry, parse_entry
from pony_memory.errors import InvalidRequest, NotFound, PonyError, UnsafeFile
from pony_memory.files.boundary import Root, RootSpec, printable
from pony_memory.files.text import decode
from pony_memory.limits import LOCK_TIMEOUT_MS
from pony_memory.notes.agent_notes import parse_blocks
from pony_memory.notices import Notice
from pony_memory.scopes.place import Scopes, cache_directory, home_of
from pony_memory.writes.backups import contents_of, list_backups
from pony_memory.writes.history import Actor, Edit, WriteEvent, history, recorded, text_of
from pony_memory.writes.places import Place, disk_errors, exclusive, place_of
from pony_memory.writes.purge_match import Wanted, probe_of, text_wanted
from pony_memory.writes.purge_sweep import PurgeItem, PurgeKind, Sweep

ACTION: Final = "purge"

__all__ = ["PurgeItem", "PurgeKind", "Purged", "Target", "apply_purge", "plan_purge"]


@dataclass(frozen=True, slots=True)
class Target:
    """What to purge: a memory by its path (one block of Agent Notes by ``#entry-N``), or a text wherever it is."""

    path: CanonicalPath | None = None
    matching: str | None = None


@dataclass(frozen=True, slots=True)
class Purged:
    """What goes, or went. ``unreachable`` says where the text may still be, ``failed`` which files of ours refused."""

    items: tuple[PurgeItem, ...]
    unreachable: tuple[str, ...]
    failed: tuple[tuple[str, str], ...]
    notices: tuple[Notice, ...] = ()


def plan_purge(
    scopes: Scopes, target: Target, *, environ: Mapping[str, str], session_directories: Sequence[str] = ()
) -> Purged:
    """What :func:`apply_purge` would do; nothing is changed.

    ``session_directories`` are the configuration's places for transcripts of sub-sessions. Raises
    :class:`InvalidRequest` for a text that is too short, :class:`NotFound` for a path of which nothing is known.
    """
    places = _places(scopes, environ)
    wanted = _wanted(places, target)
    sweep = Sweep(wanted, apply=False)
    for place in places:
        sweep.memories(place, place.files.check)
        sweep.records(place)
    _elsewhere(sweep, environ, session_directories)
    return _result(sweep, scopes, places, environ)


def apply_purge(
    scopes: Scopes,
    target: Target,
    *,
    actor: Actor,
    environ: Mapping[str, str],
    session_directories: Sequence[str] = (),
    timeout_ms: int = LOCK_TIMEOUT_MS,
) -> Purged:
    """Remove it. Raises as :func:`plan_purge`, and ``Locked``; running it again finishes what was stopped."""
    notices: list[Notice] = []
    places = _places(scopes, environ)
    with disk_errors("the purge was stopped; run it again to finish it"), ExitStack() as locks:
        # All locks first: no writer may carry the text from one place into another behind the sweep.
        checks = [locks.enter_context(exclusive(place, ACTION, timeout_ms=timeout_ms)) for place in places]
        wanted = _wanted(places, target)
        sweep = Sweep(wanted, apply=True)
        _elsewhere(sweep, environ, session_directories)
        for place, check in zip(places, checks, strict=True):
            found = len(sweep.items)
            sweep.records(place)
            # The memory itself last: if this is stopped, it still tells what is to be looked for.
            edits = sweep.memories(place, check)
            if len(sweep.items) > found:
                notices += _record(place, wanted, target, actor, edits)
    result = _result(sweep, scopes, places, environ)
    return Purged(result.items, result.unreachable, result.failed, tuple(notices))


def _places(scopes: Scopes, environ: Mapping[str, str]) -> list[Place]:
    found = (place_of(scopes, name, environ) for name in scopes.names)
    return [place for place in found if place is not None]


def _wanted(places: Sequence[Place], target: Target) -> Wanted:
    if target.matching is not None:
        return text_wanted(target.matching)
    assert target.path is not None, "a target is a path or a text"
    path = target.path
    if path.is_index:
        raise InvalidRequest(
            f"{path} is made from the entries; purge the entries, or a text with --matching",
        )
    place = next((place for place in places if place.scope == path.scope), None)
    if place is None:
        raise NotFound(f"nothing is known of {path}: the scope {path.scope} has no files yet")
    if path.block is not None:
        return text_wanted(_block_text(place, path))
    paths, shas = _known(place, path)
    versions = list(_versions(place, paths, shas))
    if not versions and not shas and not any(c.path in paths for e in history(place.records).events for c in e.changes):
        raise NotFound(f"nothing is known of {path}: no file, no backup, no history")
    return Wanted(paths=frozenset(paths), shas=frozenset(shas), probe=probe_of(_bodies(path, versions)))


def _block_text(place: Place, path: CanonicalPath) -> str:
    text = decode(place.files.read(path.file.parts).data).text
    block = next((block for block in parse_blocks(text) if block.number == path.block), None)
    if block is None:
        raise NotFound(f"no such block: {path}")
    return block.text


def _known(place: Place, path: CanonicalPath) -> tuple[set[CanonicalPath], set[str]]:
    """The path with the names it had before renames, and the hashes of its texts."""
    paths = {path}
    shas: set[str] = set()
    for event in history(place.records).events:
        mine = [change for change in event.changes if not change.path.is_index]
        if event.action == "rename" and any(change.path in paths and change.before is None for change in mine):
            paths.update(change.path for change in mine)
        for change in mine:
            if change.path in paths:
                shas.update(sha for sha in (change.before, change.after) if sha is not None)
    return paths, shas


def _versions(place: Place, paths: set[CanonicalPath], shas: set[str]) -> Iterator[bytes]:
    for path in paths:
        try:
            yield place.files.read(path.parts).data
        except (NotFound, UnsafeFile):
            continue
    yield from (text for sha in shas if (text := text_of(place.records, sha)) is not None)
    for backup in list_backups(place.records):
        if any("/".join(path.parts) in backup.files for path in paths):
            contents = contents_of(place.records, backup.id)
            yield from (contents[path.parts] for path in paths if path.parts in contents)


def _bodies(path: CanonicalPath, versions: Sequence[bytes]) -> Iterator[str]:
    for data in versions:
        entry = parse_entry(path.parts[-1], data) if path.scope == "project" else None
        yield entry.body.strip() if isinstance(entry, Entry) else decode(data).text.strip()


def _elsewhere(sweep: Sweep, environ: Mapping[str, str], session_directories: Sequence[str]) -> None:
    home = home_of(environ)
    if home is not None:
        sweep.journals(os.path.join(home, ".pony", "recall"))
    cache = cache_directory(environ)
    if cache is not None:
        sweep.cache(cache)
    for directory in session_directories:
        sweep.transcripts(directory)


def _record(place: Place, wanted: Wanted, target: Target, actor: Actor, edits: Sequence[Edit]) -> tuple[Notice, ...]:
    """One line that says when, who and which files; no text is kept, and no name that holds what was purged."""
    told = [edit for edit in edits if not wanted.in_name(str(edit.path))]
    told = told or [Edit(_name_of(place, target), None, None)]
    return recorded(place.records, WriteEvent(actor, ACTION, told[0].path), told, keep_texts=False)


def _name_of(place: Place, target: Target) -> CanonicalPath:
    if target.path is not None and target.path.scope == place.scope:
        return target.path.file
    return CanonicalPath(place.scope, (INDEX_FILE if place.scope == "project" else AGENT_NOTES_FILE,))


def _result(sweep: Sweep, scopes: Scopes, places: Sequence[Place], environ: Mapping[str, str]) -> Purged:
    return Purged(tuple(sweep.items), tuple(_unreachable(sweep, scopes, places, environ)), tuple(sweep.failed))


def _unreachable(sweep: Sweep, scopes: Scopes, places: Sequence[Place], environ: Mapping[str, str]) -> Iterator[str]:
    if os.path.lexists(os.path.join(scopes.workspace, ".git")):
        yield f"the history of the git repository {printable(scopes.workspace)}, if it was ever committed there"
    yield "model providers to whom it was sent, with recalled memory or in a conversation"
    yield "transcripts and checkpoints that coding agents keep of their sessions"
    yield "backups and snapshots of the disk, other clones, and copies that editors make"
    if sweep.wanted.text is None:
        return
    for root, what in _other_places(scopes, places, environ):
        if sweep.holds(root):
            yield f"{what}: {printable(root.path)} holds it"


def _other_places(scopes: Scopes, places: Sequence[Place], environ: Mapping[str, str]) -> Iterator[tuple[Root, str]]:
    """Directories of ours that were not opened: other projects' stores, records of other workspaces, editor copies."""
    own = {(root.device, root.inode) for place in places for root in (place.files, place.records)}
    home = home_of(environ)
    patterns = [
        (os.path.join(glob.escape(tempfile.gettempdir()), "pony-memory-*"), "a copy that was made for an editor")
    ]
    if home is not None:
        patterns.append((os.path.join(glob.escape(home), ".pony", "state", "*"), "records of another workspace"))
    if scopes.project is not None and scopes.project.kind != "explicit":
        stores = os.path.dirname(os.path.dirname(scopes.project.path))
        patterns += [
            (os.path.join(glob.escape(stores), kind, "*"), "the store of another project (open it with --project-dir)")
            for kind in ("git", "local")
        ]
    for pattern, what in patterns:
        for directory in sorted(glob.glob(pattern)):
            try:
                root = Root.resolve(RootSpec(directory, (), follow_trusted=True))
            except PonyError:
                continue
            if root is not None and (root.device, root.inode) not in own:
                yield root, what
