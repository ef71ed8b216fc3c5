"""Go through the files the product owns, and find or remove what is to be purged (SPEC §13).

One walk serves both: without ``apply`` it only tells what would go, so the plan a person saw and the purge that follows
cannot differ in where they look. Each file is replaced or removed in one step; a purge that was stopped is finished by
running it again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from pony_memory.canonical import AGENT_NOTES_FILE, INDEX_FILE, NOTES_DIRECTORY, NOTES_SCOPES, CanonicalPath
from pony_memory.errors import BadPath, NotFound, PonyError, UnsafeFile
from pony_memory.files import syscalls
from pony_memory.files.atomic import TEMPORARY_PREFIX, remove_file, replace_file
from pony_memory.files.boundary import Parts, Root, RootSpec, printable
from pony_memory.files.flock import flocked
from pony_memory.writes import trees
from pony_memory.writes.backups import BACKUPS_DIRECTORY
from pony_memory.writes.history import LOG_FILE, TEXTS_DIRECTORY, Edit
from pony_memory.writes.places import Place
from pony_memory.writes.purge_match import PURGED, Wanted

DREAM_DIRECTORY: Final = ".dream"
SESSIONS_DIRECTORY: Final = "sessions"
_READ_MAX_BYTES: Final = 256 * 1024 * 1024


class PurgeKind(StrEnum):
    """What kind of file something goes from."""

    MEMORY = "memory"
    INDEX = "index"
    BACKUP = "backup"
    HISTORY = "history"
    TEXT = "earlier text"
    PROPOSAL = "proposal"
    JOURNAL = "recall journal"
    SESSION = "session transcript"
    CACHE = "cache"
    LEFTOVER = "leftover"


@dataclass(frozen=True, slots=True)
class PurgeItem:
    """``where`` is the path shown to people, ``what`` says what goes ("the file", "2 lines", "3 places")."""

    kind: PurgeKind
    where: str
    what: str


@dataclass(slots=True)
class Sweep:
    """One pass. ``failed`` names files that could not be looked into or changed, with the reason."""

    wanted: Wanted
    apply: bool
    items: list[PurgeItem] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)

    def memories(self, place: Place, check: Callable[[], None]) -> list[Edit]:
        """The memories themselves, and the lines of the index that go with them."""
        edits: list[Edit] = []
        gone: list[str] = []
        for path in self._memory_paths(place):
            with self._named(f"{path}"):
                data = place.files.read(path.parts).data
                if path in self.wanted.paths or self.wanted.in_name("/".join(path.parts)):
                    self._add(PurgeKind.MEMORY, str(path), "the file")
                    gone.append(path.parts[-1])
                    edits.append(Edit(path, data, None))
                    self._remove(place.files, path.parts, check)
                elif not path.is_index:
                    edits += self._cut_memory(place, path, data, PurgeKind.MEMORY, check)
        if place.scope == "project":
            edits += self._index(place, gone, check)
        return edits

    def records(self, place: Place) -> None:
        """Backups, history, kept texts; in a project store also proposals, transcripts and leftovers."""
        root = place.records
        for parts in self._below(root, BACKUPS_DIRECTORY):
            self._backup_copy(place, parts)
        for parts in self._below(root, TEXTS_DIRECTORY):
            self._whole(root, parts, PurgeKind.TEXT, parts[-1] in self.wanted.shas)
        self._history_lines(root)
        self._leftovers(root, ())
        if place.scope == "project":
            for parts in self._below(root, DREAM_DIRECTORY):
                self._document(root, parts, PurgeKind.PROPOSAL)
            for parts in self._below(root, SESSIONS_DIRECTORY):
                self._lines(root, parts, PurgeKind.SESSION)
        elif place.files != root:
            self._leftovers(place.files, ())
            for directory in place.files.walk(below=(NOTES_DIRECTORY,)).directories:
                self._leftovers(place.files, directory)

    def transcripts(self, directory: str) -> None:
        """The transcripts of sub-sessions in a directory of the configuration's."""
        root = self._root(directory)
        if root is not None:
            for parts in trees.files_below(root, ()):
                if parts[-1].endswith(".jsonl"):
                    self._lines(root, parts, PurgeKind.SESSION)

    def journals(self, directory: str) -> None:
        """The recall journals, each under its writers' lock."""
        root = self._root(directory)
        if root is None:
            return
        for parts in trees.files_below(root, ()):
            name = parts[-1]
            if name.endswith(".lock"):
                continue
            lock = f".{name.removesuffix('.1')}.lock"
            with self._named(self._shown(root, parts)), root.open_dir(parts[:-1]) as folder:
                if self.apply:
                    with flocked(folder, lock, what="the recall journal"):
                        self._lines(root, parts, PurgeKind.JOURNAL)
                else:
                    self._lines(root, parts, PurgeKind.JOURNAL)

    def cache(self, directory: str) -> None:
        """The cache may hold the text in any form; it is rebuilt from the memories, so all of it goes."""
        root = self._root(directory)
        files = () if root is None else trees.files_below(root, ())
        if root is None or not files:
            return
        self._add(PurgeKind.CACHE, root.path, f"all {len(files):,} files")
        for parts in files:
            with self._named(self._shown(root, parts)):
                self._remove(root, parts)

    def holds(self, root: Root, parts: Parts = ()) -> bool:
        """Whether the text is in any file below a directory that is not ours to change from here."""
        for found in trees.files_below(root, parts):
            try:
                data = root.read((*parts, *found), limit=_READ_MAX_BYTES).data
            except (NotFound, UnsafeFile):
                continue
            if self.wanted.in_bytes(data) or self.wanted.in_json(data):
                return True
        return False

    def _memory_paths(self, place: Place) -> list[CanonicalPath]:
        if place.scope == "project":
            walk = place.files.walk(recursive=False)
        else:
            walk = place.files.walk(below=(NOTES_DIRECTORY,))
        found: list[CanonicalPath] = []
        for parts in [file.parts for file in walk.files] + ([] if place.scope == "project" else [(AGENT_NOTES_FILE,)]):
            try:
                found.append(CanonicalPath.of(place.scope, parts))
            except BadPath as error:
                self.failed.append((printable("/".join(parts)), error.message))
        self.failed += [(f"{place.scope}/{skipped.shown}", f"not read: {skipped.reason}") for skipped in walk.skipped]
        return found

    def _cut_memory(
        self, place: Place, path: CanonicalPath, data: bytes, kind: PurgeKind, check: Callable[[], None]
    ) -> list[Edit]:
        after, count = self.wanted.cut(data)
        if not count:
            return []
        self._add(kind, str(path), _places(count))
        if self.apply:
            private = place.scope == "project" or path.is_agent_notes
            with place.files.open_dir(path.parts[:-1]) as directory:
                replace_file(directory, path.parts[-1], after, keep_mode=not private, before_rename=check)
        return [Edit(path, data, after)]

    def _index(self, place: Place, gone: list[str], check: Callable[[], None]) -> list[Edit]:
        from pony_memory.entries.index import Index  # noqa: PLC0415 - notes scopes do without

        path = CanonicalPath(place.scope, (INDEX_FILE,))
        names = {*gone, *(path.parts[-1] for path in self.wanted.paths if path.scope == "project")}
        with self._named(str(path)):
            data = place.files.read(path.parts).data
            after, count = data, 0
            for name in sorted(names):
                index = Index.parse(after)
                if index.line_of(name) is not None:
                    after, count = index.without(name), count + 1
            after, cut = self.wanted.cut(after)
            if count or cut:
                self._add(PurgeKind.INDEX, str(path), f"{count} lines" if not cut else _places(count + cut))
                self._replace(place.files, path.parts, after, check)
                return [Edit(path, data, after)]
        return []

    def _backup_copy(self, place: Place, parts: Parts) -> None:
        root = place.records
        below = parts[2:]
        if parts[-1].startswith(TEMPORARY_PREFIX):
            self._leftover(root, parts)
            return
        with self._named(self._shown(root, parts)):
            data = root.read(parts, limit=_READ_MAX_BYTES).data
            if any(path.scope == place.scope and path.parts == below for path in self.wanted.paths) or any(
                self.wanted.in_name(name) for name in below
            ):
                self._add(PurgeKind.BACKUP, self._shown(root, parts), "the file")
                self._remove(root, parts)
                return
            after, count = data, 0
            if below == (INDEX_FILE,) and place.scope == "project":
                after, count = self._index_copy(data)
            after, cut = self.wanted.cut(after)
            if count or cut:
                self._add(PurgeKind.BACKUP, self._shown(root, parts), _places(count + cut))
                self._replace(root, parts, after)

    def _index_copy(self, data: bytes) -> tuple[bytes, int]:
        from pony_memory.entries.index import Index  # noqa: PLC0415

        count = 0
        for name in sorted(path.parts[-1] for path in self.wanted.paths if path.scope == "project"):
            index = Index.parse(data)
            if index.line_of(name) is not None:
                data, count = index.without(name), count + 1
        return data, count

    def _history_lines(self, root: Root) -> None:
        """A line stays, without a word of what is purged: its number, time, who, and hashes are no content."""
        with self._named(self._shown(root, (LOG_FILE,))):
            lines = root.read((LOG_FILE,), limit=_READ_MAX_BYTES).data.split(b"\n")
            after = [self._history_line(line) for line in lines]
            changed = sum(one != other for one, other in zip(lines, after, strict=True))
            if changed:
                self._add(PurgeKind.HISTORY, self._shown(root, (LOG_FILE,)), _lines_said(changed))
                self._replace(root, (LOG_FILE,), b"\n".join(line for line in after if line is not None))

    def _history_line(self, line: bytes) -> bytes | None:
        if not line.strip() or not self.wanted.in_json(line):
            return line
        try:
            value = json.loads(line)
            if not isinstance(value, dict):
                return None
        except (ValueError, RecursionError):
            return None
        if value.get("name", "") == "" and not self.wanted.text:
            return line
        value = self.wanted.scrubbed(value)
        if self.wanted.paths:
            value["name"] = ""
        for change in (value, *(other for other in value.get("others", ()) if isinstance(other, dict))):
            change["path"] = _parseable(change.get("path"))
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogateescape")

    def _whole(self, root: Root, parts: Parts, kind: PurgeKind, known: bool = False) -> None:
        with self._named(self._shown(root, parts)):
            if known or self.wanted.in_bytes(root.read(parts, limit=_READ_MAX_BYTES).data):
                self._add(kind, self._shown(root, parts), "the file")
                self._remove(root, parts)

    def _document(self, root: Root, parts: Parts, kind: PurgeKind) -> None:
        with self._named(self._shown(root, parts)):
            data = root.read(parts, limit=_READ_MAX_BYTES).data
            if self.wanted.in_json(data) or self.wanted.in_bytes(data):
                self._add(kind, self._shown(root, parts), "the file")
                self._remove(root, parts)

    def _lines(self, root: Root, parts: Parts, kind: PurgeKind) -> None:
        with self._named(self._shown(root, parts)):
            lines = root.read(parts, limit=_READ_MAX_BYTES).data.split(b"\n")
            kept = [line for line in lines if not line.strip() or not self.wanted.in_json(line)]
            dropped = len(lines) - len(kept)
            if not dropped:
                return
            self._add(kind, self._shown(root, parts), _lines_said(dropped))
            if any(line.strip() for line in kept):
                self._replace(root, parts, b"\n".join(kept))
            else:
                self._remove(root, parts)

    def _leftovers(self, root: Root, parts: Parts) -> None:
        """Half-made files of a writer that was killed; under the lock no other writer has any."""
        for item in trees.listing(root, parts):
            if item.is_file and item.name.startswith(TEMPORARY_PREFIX):
                self._leftover(root, (*parts, item.name))

    def _leftover(self, root: Root, parts: Parts) -> None:
        with self._named(self._shown(root, parts)):
            if self.wanted.paths or self.wanted.in_bytes(root.read(parts, limit=_READ_MAX_BYTES).data):
                self._add(PurgeKind.LEFTOVER, self._shown(root, parts), "the file")
            self._remove(root, parts)

    def _below(self, root: Root, directory: str) -> Iterator[Parts]:
        try:
            found = trees.files_below(root, (directory,))
        except UnsafeFile as error:
            self.failed.append((self._shown(root, (directory,)), error.message))
            return
        yield from ((directory, *parts) for parts in found)

    def _root(self, directory: str) -> Root | None:
        try:
            return Root.resolve(RootSpec(directory, (), follow_trusted=True))
        except UnsafeFile as error:
            self.failed.append((printable(directory), error.message))
            return None

    def _add(self, kind: PurgeKind, where: str, what: str) -> None:
        # A name may hold the text itself; what is told must not.
        shown = where if self.wanted.text is None else self.wanted.text.sub(PURGED, where)
        self.items.append(PurgeItem(kind, shown, what))

    def _remove(self, root: Root, parts: Parts, check: Callable[[], None] | None = None) -> None:
        if not self.apply:
            return
        if check is not None:
            check()
        with root.open_dir(parts[:-1]) as directory:
            remove_file(directory, parts[-1])
        # A directory whose name holds the text goes as soon as it is empty.
        for depth in range(len(parts) - 2, -1, -1):
            if self.wanted.in_name(parts[depth]):
                with suppress(OSError), root.open_dir(parts[:depth]) as parent:
                    syscalls.rmdir(parts[depth], parent)

    def _replace(self, root: Root, parts: Parts, data: bytes, check: Callable[[], None] | None = None) -> None:
        if self.apply:
            with root.open_dir(parts[:-1]) as directory:
                replace_file(directory, parts[-1], data, before_rename=check)

    @contextmanager
    def _named(self, where: str) -> Iterator[None]:
        """One file that fails is named; the others are purged all the same."""
        try:
            yield
        except NotFound:
            return
        except (UnsafeFile, OSError) as error:
            why = error.message if isinstance(error, PonyError) else error.strerror or str(error)
            self.failed.append((where if self.wanted.text is None else self.wanted.text.sub(PURGED, where), why))

    def _shown(self, root: Root, parts: Parts) -> str:
        return printable(os.path.join(root.path, *parts))


def _parseable(path: object) -> str:
    """A canonical path that is still one with the text cut out of it, or one that says nothing."""
    scope = str(path).partition("/")[0]
    try:
        return str(CanonicalPath.parse(str(path)))
    except PonyError:
        return "project/purged.md" if scope not in NOTES_SCOPES else f"{scope}/{NOTES_DIRECTORY}/purged.md"


def _places(count: int) -> str:
    return "1 place" if count == 1 else f"{count:,} places"


def _lines_said(count: int) -> str:
    return "1 line" if count == 1 else f"{count:,} lines"
