"""The one way by which entries and the index are written (SPEC §10, §11).

Every write: logical lock → `.lock` → read, decide, backup, check, atomic replace with fsync, index line → unlock. What
is decided (:mod:`operations`, :mod:`mending`) is decided on the bytes that are on the disk now, never on what an
earlier call saw: a file edited by hand meanwhile is taken as it is. The entry is written before its index line, so a
crash at any point leaves a store that reads, with at most a drift that `status` names and `repair` mends.

Promised is exclusion among programs that take `.lock`. An editor takes no lock: each file is compared with what was
read right before it is replaced, and the whole write is decided anew if it changed; between that look and the rename
lie some microseconds in which an editor's save could be replaced. The backup would have the version before it only.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

from pony_memory.canonical import INDEX_FILE, CanonicalPath
from pony_memory.entries.capacity import Capacity, capacity, capacity_notices
from pony_memory.entries.disk import Seen
from pony_memory.entries.entry import Entry
from pony_memory.entries.index import Index
from pony_memory.entries.mending import (
    RebuildPlan,
    RepairPlan,
    plan_rebuild,
    plan_repair,
    rebuild_change,
    repair_change,
)
from pony_memory.entries.operations import add, remove, rename, replace
from pony_memory.entries.state import Change, FileChange, StoreState
from pony_memory.errors import Conflict, NotFound, PonyError
from pony_memory.files.atomic import ensure_private_path, remove_file, replace_file
from pony_memory.files.boundary import Root, RootSpec, printable
from pony_memory.files.file_lock import FileLock
from pony_memory.files.logical_lock import logical_lock
from pony_memory.limits import BACKUPS_KEPT, INDEX_MAX_BYTES, INDEX_MAX_LINES, LOCK_TIMEOUT_MS, READ_AGAIN_TIMES
from pony_memory.notices import Notice
from pony_memory.writes.backups import backup_before_write
from pony_memory.writes.history import Actor, Edit, WriteEvent, recorded
from pony_memory.writes.secrets import check_text


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """What `memory.json` says about writing (SPEC §14): limits of the index, wait for a lock, backups kept."""

    max_lines: int = INDEX_MAX_LINES
    max_bytes: int = INDEX_MAX_BYTES
    lock_timeout_ms: int = LOCK_TIMEOUT_MS
    backups_kept: int = BACKUPS_KEPT


@dataclass(frozen=True, slots=True)
class Written:
    """A write that is on the disk.

    ``created`` and ``modified`` are empty for `remove` and the index's own operations. ``backup`` names the backup
    made before it, ``None`` where nothing was there to save or nothing changed. ``warnings`` say what is worth
    knowing: over capacity, headroom, several entries of one name, a file that is no entry.
    """

    action: str
    name: str
    file: str
    created: str
    modified: str
    backup: str | None
    capacity: Capacity
    warnings: tuple[Notice, ...]

    @property
    def path(self) -> str:
        """The canonical path of the file."""
        return f"project/{self.file}"


class _ChangedMeanwhile(Conflict):
    """A file is no longer what was decided on. If nothing was written yet, all is decided anew."""


def timestamp() -> str:
    """Now, in UTC with milliseconds, as `modified` is written."""
    seconds, nanoseconds = divmod(time.time_ns(), 1_000_000_000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{nanoseconds // 1_000_000:03}Z"


class EntryStore:
    """A project's entries and their index in one directory.

    ``place`` is a pinned directory, or where it is to be found: then it is looked up anew for each call, and the first
    `add` creates it (0700). Methods that write may raise :class:`Locked`, :class:`SensitiveContent`,
    :class:`UnsafeFile`, :class:`Conflict` and :class:`PonyError` (the disk) besides what they name.
    """

    def __init__(
        self,
        place: Root | RootSpec,
        *,
        actor: Actor,
        settings: StoreSettings | None = None,
        environ: Mapping[str, str] | None = None,
        now: Callable[[], str] = timestamp,
    ) -> None:
        self._place = place
        self._actor = actor
        self._settings = settings or StoreSettings()
        self._environ = os.environ if environ is None else environ
        self._now = now

    def read(self) -> StoreState:
        """What is on the disk now; empty where there is no directory. Takes no lock."""
        root = self._root()
        return StoreState({}) if root is None else Seen.of(root).state

    def entries(self) -> tuple[Entry, ...]:
        """Every entry by (modified, file)."""
        return tuple(sorted(self.read().entries.values(), key=lambda entry: entry.order))

    def add(
        self,
        name: str,
        content: str,
        description: str | None = None,
        type: str | None = None,  # noqa: A002 - the field's name in the contract
        *,
        allow_secret: bool = False,
    ) -> Written:
        """See :func:`operations.add`. ``allow_secret`` is a person's override; no tool may reach it."""
        texts = (name, content, description or "")
        return self._checked_run(
            "add",
            lambda state: add(state, name, content, description, type, now=self._now()),
            texts,
            allow_secret=allow_secret,
            create=True,
        )

    def replace(
        self,
        name: str,
        content: str | None = None,
        description: str | None = None,
        type: str | None = None,  # noqa: A002 - the field's name in the contract
        *,
        allow_secret: bool = False,
    ) -> Written:
        """See :func:`operations.replace`."""
        return self._checked_run(
            "replace",
            lambda state: replace(state, name, content, description, type, now=self._now()),
            (content or "", description or ""),
            allow_secret=allow_secret,
        )

    def rename(self, name: str, new_name: str, *, allow_secret: bool = False) -> Written:
        """See :func:`operations.rename`."""
        return self._checked_run(
            "rename",
            lambda state: rename(state, name, new_name, now=self._now()),
            (new_name,),
            allow_secret=allow_secret,
        )

    def remove(self, name: str) -> Written:
        """See :func:`operations.remove`."""
        return self.run("remove", lambda state: remove(state, name))

    def plan_rebuild(self) -> RebuildPlan:
        """What `rebuild_index` would write, and which hand-written text would go."""
        return plan_rebuild(self.read())

    def rebuild_index(self, plan: RebuildPlan | None = None) -> Written:
        """Write the whole index anew. With a ``plan`` that a person saw: that or :class:`Conflict`."""

        def decide(state: StoreState) -> Change:
            _same_plan(plan, plan_rebuild(state))
            return rebuild_change(state)

        return self.run("rebuild_index", decide)

    def plan_repair(self) -> RepairPlan:
        """What `repair` would mend, line by line."""
        return plan_repair(self.read())

    def repair(self, plan: RepairPlan | None = None) -> Written:
        """Mend the index line by line. With a ``plan`` that a person saw: that or :class:`Conflict`."""

        def decide(state: StoreState) -> Change:
            _same_plan(plan, plan_repair(state))
            return repair_change(state)

        return self.run("repair", decide)

    def run(
        self,
        op: str,
        decide: Callable[[StoreState], Change],
        *,
        create: bool = False,
        backup: bool = True,
        logical: bool = True,
        allow_secret: bool = False,
        already_checked: tuple[str, ...] = (),
    ) -> Written:
        """Decide on what the disk holds and write it, under the locks. The way of every write, a dream's groups too.

        ``decide`` may be called more than once and must touch nothing. A dream's apply holds the logical lock and has
        its own backup: ``logical=False``, ``backup=False``. ``change.texts`` are looked through for credentials
        unless they are among ``already_checked``.
        """
        with self._said(), self._locked(op, logical=logical, create=create) as (root, lock):
            for _ in range(1 + READ_AGAIN_TIMES):
                seen = Seen.of(root)
                change = decide(seen.state)
                for text in change.texts:
                    if text not in already_checked:
                        check_text(text, environ=self._environ, allow=allow_secret)
                if not change.files:
                    return self._written(change, seen.state, None)
                kept = None
                if backup:
                    files = dict.fromkeys([*(made.file for made in change.files), INDEX_FILE])
                    kept = backup_before_write(root, op, files, self._settings.backups_kept)
                if seen.changed(change.files) is not None:
                    continue
                try:
                    self._apply(lock, seen, change)
                except _ChangedMeanwhile:
                    continue
                return self._written(change, seen.state, kept, *self._recorded(root, change, kept))
            raise Conflict(
                "the files of this write kept changing while it was made; nothing was written",
                hint="Another program is editing the store. Try again when it has finished.",
            )

    def _checked_run(
        self,
        op: str,
        decide: Callable[[StoreState], Change],
        texts: tuple[str, ...],
        *,
        allow_secret: bool,
        create: bool = False,
    ) -> Written:
        # Before any lock: the detectors take longer to load than a write may hold `.lock`.
        for text in texts:
            check_text(text, environ=self._environ, allow=allow_secret)
        # A request that is wrong by itself creates no directory and takes no lock.
        if create and self._root() is None:
            decide(StoreState({}))
        return self.run(op, decide, create=create, allow_secret=allow_secret, already_checked=texts)

    def _apply(self, lock: FileLock, seen: Seen, change: Change) -> None:
        done: list[str] = []
        for number, made in enumerate(change.files):

            def check(left: tuple[FileChange, ...] = change.files[number:]) -> None:
                lock.check_owned()
                changed = seen.changed(left)
                if changed is not None:
                    raise _ChangedMeanwhile(f"{printable(changed)} was changed by another program at that moment")

            try:
                if made.after is None:
                    check()
                    remove_file(lock.directory, made.file)
                else:
                    replace_file(lock.directory, made.file, made.after, before_rename=check)
            except (OSError, PonyError) as error:
                if not done:
                    raise
                raise _half_done(change, done, made.file, error) from error
            done.append(made.file)

    def _recorded(self, root: Root, change: Change, backup: str | None) -> tuple[Notice, ...]:
        """Write the history. It comes after the write, so a history that cannot be written is a warning, no failure."""
        event = WriteEvent(self._actor, change.action, _path(change.files[0]), change.name, backup)
        return recorded(root, event, [Edit(_path(made), made.before, made.after) for made in change.files])

    def _written(self, change: Change, state: StoreState, backup: str | None, *more: Notice) -> Written:
        after = change.index_after
        found = capacity(
            Index.parse((state.index or b"") if after is None else after),
            self._settings.max_lines,
            self._settings.max_bytes,
        )
        return Written(
            action=change.action,
            name=change.name,
            file=change.file,
            created=change.created,
            modified=change.modified,
            backup=backup,
            capacity=found,
            warnings=(*change.notices, *more, *capacity_notices(found)),
        )

    def _root(self) -> Root | None:
        return self._place if isinstance(self._place, Root) else Root.resolve(self._place)

    @contextmanager
    def _locked(self, op: str, *, logical: bool, create: bool) -> Iterator[tuple[Root, FileLock]]:
        root = self._root()
        if root is None and create and isinstance(self._place, RootSpec):
            ensure_private_path(self._place.path)
            root = self._root()
        if root is None:
            raise NotFound(
                "there is no project store yet, so it holds no entry", hint="The first `entry add` creates it."
            )
        timeout_ms = self._settings.lock_timeout_ms
        with (
            logical_lock(root.path, timeout_ms=timeout_ms) if logical else nullcontext(),
            FileLock(root, op, timeout_ms) as lock,
        ):
            yield root, lock

    @contextmanager
    def _said(self) -> Iterator[None]:
        """The system's errors in the engine's words."""
        try:
            yield
        except OSError as error:
            raise PonyError(
                f"the project store could not be written: {error.strerror or error}",
                hint="Nothing that was there before was lost. Check free space and permissions of the directory"
                " that `pony-memory status` names.",
            ) from error


def _same_plan(seen: RebuildPlan | RepairPlan | None, now: RebuildPlan | RepairPlan) -> None:
    if seen is not None and (seen.before, seen.after) != (now.before, now.after):
        raise Conflict(
            "the store changed since the plan was shown; nothing was written", hint="Look at the new plan first."
        )


def _half_done(change: Change, done: list[str], file: str, error: OSError | PonyError) -> PonyError:
    why = error.message if isinstance(error, PonyError) else error.strerror or str(error)
    return PonyError(
        f"{change.action} stopped halfway: {', '.join(map(printable, done))} done, {printable(file)} not ({why})",
        hint="Every memory is still readable. Free space or give permission; `pony-memory repair` mends the index.",
    )


def _path(made: FileChange) -> CanonicalPath:
    return CanonicalPath.of("project", (made.file,))
