"""Reuse of a snapshot across turns, never of stale content (SPEC §6)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from typing import Final

from pony_memory.canonical import CanonicalPath
from pony_memory.errors import NotFound, UnsafeFile
from pony_memory.files.boundary import Reader, Stamp
from pony_memory.limits import COARSE_CLOCK_NS
from pony_memory.retrieval.bm25 import Bm25Index, Weighed
from pony_memory.retrieval.documents import Document, parse_file, weigh
from pony_memory.retrieval.inventory import (
    DEFAULT_LIMITS,
    Inventory,
    LeftOut,
    ScanLimits,
    ScopeInventory,
    take_inventory,
)
from pony_memory.retrieval.snapshot import LoadedFile, MemoryQuerySnapshot
from pony_memory.retrieval.tombstones import find_tombstones
from pony_memory.scopes.place import Scope

#: With more changed documents than this share of the store, building the index anew is cheaper.
_REBUILD_SHARE: Final = 0.25


class SnapshotCache:
    """Gives the snapshot of the scopes as they are now, doing as little as that takes.

    An unchanged inventory gives the last snapshot itself. Otherwise only files with a new stamp, and those changed so
    shortly before the last inventory that the clock could not have told, are read again; what is not read again is
    shared with the last snapshot. ``clock`` gives nanoseconds since the epoch, as ctimes are counted. May be called
    from several threads.
    """

    def __init__(
        self,
        limits: ScanLimits = DEFAULT_LIMITS,
        *,
        cross_scope_supersedes: bool = True,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self._clock = clock
        self._limits = limits
        self._cross_scope = cross_scope_supersedes
        self._lock = threading.Lock()
        self._last: MemoryQuerySnapshot | None = None
        self._settled = False
        self._hot: frozenset[CanonicalPath] = frozenset()

    def get(self, scopes: Iterable[Scope]) -> MemoryQuerySnapshot:
        """The current snapshot. Never raises for what is on the disk: what cannot be read is in its ``left_out``."""
        with self._lock:
            # Taken before the walk: a file that changes during it counts as changed within the clock's grain.
            now = self._clock()
            inventory = take_inventory(scopes, self._limits)
            last = self._last
            if last is not None and self._settled and not self._hot and last.signature == inventory.signature:
                return last
            snapshot, steady, hot = self._load(inventory, last, now)
            self._last = snapshot
            self._hot = hot
            self._settled = inventory.safe and steady
            return snapshot

    def _load(
        self, inventory: Inventory, last: MemoryQuerySnapshot | None, now: int
    ) -> tuple[MemoryQuerySnapshot, bool, frozenset[CanonicalPath]]:
        files: dict[CanonicalPath, LoadedFile] = {}
        left_out = list(inventory.left_out)
        steady = True
        for scope in inventory.scopes:
            steady &= self._load_scope(scope, last, files, left_out)
        # Judged by what was read, which may be newer than the inventory.
        hot = frozenset([path for path, file in files.items() if file.stamp.ctime_ns > now - COARSE_CLOCK_NS])
        snapshot = _assemble(inventory, files, tuple(left_out), last, cross_scope=self._cross_scope)
        return snapshot, steady, hot

    def _load_scope(
        self,
        scope: ScopeInventory,
        last: MemoryQuerySnapshot | None,
        files: dict[CanonicalPath, LoadedFile],
        left_out: list[LeftOut],
    ) -> bool:
        """Read what has to be read; false if the store changed under the load."""
        known = last.files if last is not None else {}
        wanted: list[tuple[CanonicalPath, Stamp]] = []
        for item in scope.taken:
            old = known.get(item.path)
            if old is not None and old.stamp == item.stamp and item.path not in self._hot:
                files[item.path] = old
            else:
                wanted.append((item.path, item.stamp))
        if not wanted or scope.root is None:
            return True
        steady = True
        try:
            with scope.root.reader() as reader:
                for path, stamp in wanted:
                    steady &= _load_file(reader, path, stamp, known.get(path), files, left_out)
        except (UnsafeFile, NotFound) as error:
            reason = error.reason if isinstance(error, UnsafeFile) else "root_changed"
            left_out.append(LeftOut(f"{scope.scope.name}/", scope.scope.name, reason, True))
            return False
        return steady


def _load_file(
    reader: Reader,
    path: CanonicalPath,
    stamp: Stamp,
    old: LoadedFile | None,
    files: dict[CanonicalPath, LoadedFile],
    left_out: list[LeftOut],
) -> bool:
    try:
        raw = reader.read(path.parts)
    except NotFound:
        return False
    except UnsafeFile as error:
        left_out.append(LeftOut(str(path), path.scope, error.reason, True))
        return False
    if old is not None and old.data == raw.data:
        files[path] = LoadedFile(raw.stamp, old.data, old.parsed, old.weighed)
    else:
        parsed = parse_file(path, raw.data)
        weighed = tuple([Weighed(*weigh(document)) for document in parsed.documents])
        files[path] = LoadedFile(raw.stamp, raw.data, parsed, weighed)
    return raw.stamp == stamp


def _assemble(
    inventory: Inventory,
    files: dict[CanonicalPath, LoadedFile],
    left_out: tuple[LeftOut, ...],
    last: MemoryQuerySnapshot | None,
    *,
    cross_scope: bool,
) -> MemoryQuerySnapshot:
    ordered = {item.path: files[item.path] for scope in inventory.scopes for item in scope.taken if item.path in files}
    everything = [document for file in ordered.values() for document in file.parsed.documents]
    tombstones = find_tombstones(everything, cross_scope=cross_scope)
    gone = {removed.path for removed in tombstones.removed}
    wanted = [
        (document, weighed)
        for file in ordered.values()
        for document, weighed in zip(file.parsed.documents, file.weighed, strict=True)
        if document.path not in gone
    ]
    index, numbers = _index(wanted, last)
    numbered = {
        document.path: (number, weighed, document) for (document, weighed), number in zip(wanted, numbers, strict=True)
    }
    return MemoryQuerySnapshot(
        scopes=tuple([scope.scope.name for scope in inventory.scopes]),
        files=ordered,
        index=index,
        numbered=dict(sorted(numbered.items(), key=lambda item: item[0].sort_key)),
        tombstones=tombstones,
        left_out=left_out,
        directories=inventory.directories,
        signature=inventory.signature,
    )


def _index(wanted: list[tuple[Document, Weighed]], last: MemoryQuerySnapshot | None) -> tuple[Bm25Index, list[int]]:
    """The index over ``wanted``, made from the last one where little changed, and each document's number in it."""
    known = last.numbered if last is not None else {}
    numbers: list[int] = []
    fresh: list[int] = []
    kept: set[CanonicalPath] = set()
    for place, (document, weighed) in enumerate(wanted):
        old = known.get(document.path)
        if old is not None and old[1] is weighed:
            numbers.append(old[0])
            kept.add(document.path)
        else:
            numbers.append(-1)
            fresh.append(place)
    removed = [(number, weighed) for path, (number, weighed, _) in known.items() if path not in kept]
    if last is None or len(fresh) + len(removed) > _REBUILD_SHARE * len(wanted) + 1:
        return Bm25Index.build([weighed for _, weighed in wanted]), list(range(len(wanted)))
    if not fresh and not removed:
        return last.index, numbers
    index, new = last.index.updated(removed, [wanted[place][1] for place in fresh])
    for place, number in zip(fresh, new, strict=True):
        numbers[place] = number
    return index, numbers
