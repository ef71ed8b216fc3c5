"""The engine's front door: one place, its scopes, and everything a person or an agent asks of them.

The command line, the workbench and integrations open a :class:`Memory` and hold no rules of their own.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from pony_memory.canonical import NOTES_SCOPES, SCOPE_NAMES, CanonicalPath, ScopeName
from pony_memory.config.load import Config, load_config
from pony_memory.errors import Disabled, InvalidRequest, Misconfigured, NotFound, Unavailable, UnsafeFile
from pony_memory.files.boundary import Root
from pony_memory.limits import SEARCH_LIMIT_DEFAULT
from pony_memory.notices import Notice
from pony_memory.retrieval.cache import SnapshotCache
from pony_memory.retrieval.inventory import DEFAULT_LIMITS, ScanLimits
from pony_memory.scopes.place import Scope, Scopes, home_of
from pony_memory.scopes.scopes import resolve_scopes
from pony_memory.scopes.workspace import discover_workspace

# A method imports what it alone needs: a search, or the hook of an agent's turn, pays for no report (SPEC §23).
# ruff: noqa: PLC0415

if TYPE_CHECKING:
    from datetime import datetime

    from pony_memory.entries.entry import Entry
    from pony_memory.entries.store import EntryStore
    from pony_memory.files.lock_state import LockState
    from pony_memory.files.unlock import Unlocked
    from pony_memory.paging import Page, Source
    from pony_memory.recall.deciding import Recalled
    from pony_memory.recall.journal import JournalPlace
    from pony_memory.reports.doctor import Doctor
    from pony_memory.reports.listing import FileRow
    from pony_memory.reports.review import Review
    from pony_memory.reports.status import Status
    from pony_memory.retrieval.search import SearchResult
    from pony_memory.retrieval.snapshot import MemoryQuerySnapshot
    from pony_memory.tokens_count import TokenCounter
    from pony_memory.writes.agent_notes_store import AgentNotesStore
    from pony_memory.writes.history import Actor


class Memory:
    """The memories of one place.

    Made by :meth:`open`. Nothing is read before it is asked for, and every answer is of the disk as it is then. May be
    used from several threads. Reading raises no error for a single bad file: it is named in the answer.
    """

    def __init__(
        self,
        scopes: Scopes,
        config: Config,
        *,
        environ: Mapping[str, str],
        config_error: Misconfigured | None = None,
        limits: ScanLimits = DEFAULT_LIMITS,
        counter: TokenCounter | None = None,
    ) -> None:
        self.scopes = scopes
        self.config = config
        self.config_error = config_error
        self.environ = environ
        self.counter = counter
        self._cache = SnapshotCache(limits, cross_scope_supersedes=config.recall.cross_scope_supersedes)

    @classmethod
    def open(
        cls,
        *,
        cwd: str | None = None,
        environ: Mapping[str, str] | None = None,
        workspace: str | None = None,
        project_dir: str | None = None,
        want: Iterable[ScopeName] = SCOPE_NAMES,
        tolerant: bool = False,
        counter: TokenCounter | None = None,
    ) -> Memory:
        """Find the scopes of ``cwd`` (default: the working directory) and read the configuration.

        ``workspace`` and ``project_dir`` are what the options of the same names say; ``want`` leaves out scopes that
        are not needed, and what finding them costs. ``counter`` is an integration's own, by which all tokens are
        counted (SPEC §7). Raises :class:`Misconfigured` for a configuration that cannot be
        used, unless ``tolerant``: then the built-in one holds, the error is in ``config_error``, and the project
        store, whose place is not known, is unavailable unless ``project_dir`` names it.
        """
        environ = dict(os.environ) if environ is None else environ
        cwd = cwd if cwd is not None else _working_directory()
        wanted = set(want)
        found = discover_workspace(
            cwd=cwd, environ=environ, override=workspace, need_toplevel="project" in wanted and project_dir is None
        )
        error: Misconfigured | None = None
        try:
            config = load_config(environ=environ, workspace=found.path)
        except Misconfigured as problem:
            if not tolerant:
                raise
            error, config = problem, Config()
            if project_dir is None:
                wanted.discard("project")
        scopes = resolve_scopes(
            cwd=cwd,
            environ=environ,
            workspace=found,
            project_dir=project_dir,
            memory_dir=config.memory_dir,
            want=wanted,
        )
        return cls(scopes, config, environ=environ, config_error=error, counter=counter)

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What a person should know of this place whatever they ask."""
        return (*self.scopes.notices, *self.config.notices)

    def snapshot(self) -> MemoryQuerySnapshot:
        """The memories as they are now. One turn should take one snapshot and use it throughout (SPEC §6)."""
        return self._cache.get(self._open_scopes())

    def list_files(
        self, scope: ScopeName | None = None, *, snapshot: MemoryQuerySnapshot | None = None
    ) -> tuple[FileRow, ...]:
        """Every file of the scopes, or of one; of ``snapshot``, if one was taken already.

        Raises :class:`Unavailable` for a scope that is not here.
        """
        from pony_memory.reports.listing import list_rows

        return list_rows(snapshot or self.snapshot(), self._names(scope))

    def read(self, path: str, start: int = 1, end: int | None = None, continuation: str | None = None) -> Page:
        """One page of a memory (SPEC §8).

        Raises :class:`BadPath`, :class:`Unavailable`, :class:`Disabled`, :class:`NotFound` or :class:`UnsafeFile` for
        the path, and what :func:`~pony_memory.paging.read_page` raises for the range and the continuation.
        """
        from pony_memory.paging import read_page

        source = self._source(CanonicalPath.parse(path))
        limit = self.config.read.max_tokens
        return read_page(source, start, end, continuation, max_tokens=limit, counter=self.counter)

    def search(
        self,
        query: str,
        scopes: Iterable[ScopeName] | None = None,
        limit: int = SEARCH_LIMIT_DEFAULT,
        explain: bool = False,
    ) -> SearchResult:
        """The best hits, of all scopes or of the ones given (SPEC §5)."""
        wanted = None
        if scopes is not None:
            wanted = frozenset(name for scope in scopes for name in self._names(scope))
        return self.snapshot().search(query, scopes=wanted, limit=limit, explain=explain)

    def review(self, scope: ScopeName | None = None) -> Review:
        """The Agent Notes blocks of both notes scopes, or of one."""
        if scope == "project":
            raise InvalidRequest("the project scope has entries, not Agent Notes; choose workspace or user")
        from pony_memory.reports.review import review

        return review(self.snapshot(), self._names(scope))

    def entries(self) -> tuple[Entry, ...]:
        """The project's entries by file name. Raises :class:`Disabled` or :class:`Unavailable`."""
        self._require_entries()
        return self.snapshot().entries

    def status(self, *, snapshot: MemoryQuerySnapshot | None = None, now: datetime | None = None) -> Status:
        """The state of the place; of ``snapshot``, if one was taken already.

        Never raises for what is on the disk or for the configuration: it says so.
        """
        from pony_memory.reports.status import report_status

        return report_status(
            snapshot or self.snapshot(),
            scopes=self.scopes,
            config=self.config,
            config_error=self.config_error,
            environ=self.environ,
            root=self._readable_project_root(),
            lock=self._lock_as_far_as_it_can_be_told(),
            now=now,
        )

    def doctor(self) -> Doctor:
        """Every file through the boundary, and advice. Never raises for what is on the disk."""
        from pony_memory.reports.doctor import examine

        notices = list(self.notices)
        if self.config_error is not None:
            notices.append(Notice(self.config_error.code, str(self.config_error), self.config_error.hint))
        return examine(self.snapshot(), config=self.config, lock=self._lock_as_far_as_it_can_be_told(), notices=notices)

    def lock_state(self) -> LockState:
        """The project store's ``.lock``; free where there is no store yet.

        Raises :class:`Unavailable` where there can be no store, and :class:`UnsafeFile` for one that cannot be looked
        into: a lock that could not be seen is not called free.
        """
        from pony_memory.files.lock_state import Free, lock_state

        root = Root.resolve(self.scopes.get("project").spec)
        return Free() if root is None else lock_state(root)

    def unlock(self, seen: LockState, *, force_live: bool = False) -> Unlocked:
        """Remove the lock that was ``seen`` (SPEC §12). Works when memory is disabled. Raises as :meth:`lock_state`,
        and as :func:`pony_memory.files.unlock.unlock`."""
        from pony_memory.files.unlock import Unlocked, unlock

        root = Root.resolve(self.scopes.get("project").spec)
        if root is None:
            return Unlocked(removed=False, holder=None)
        return unlock(root, seen, force_live=force_live)

    def recall(
        self,
        prompt: str,
        *,
        goal: str = "",
        files: Iterable[str] = (),
        session: str = "",
        record: bool = False,
    ) -> Recalled:
        """What would go into the prompt of a turn, and why not the rest (SPEC §7); ``record`` makes it count."""
        from pony_memory.recall.deciding import decide
        from pony_memory.recall.recall import RecallQuery

        return decide(
            self.snapshot(),
            RecallQuery(prompt, goal, tuple(files)),
            config=self.config,
            environ=self.environ,
            journal=self.journal_place(),
            session=session,
            record=record,
            counter=self.counter,
        )

    def journal_place(self) -> JournalPlace | None:
        """Where the recall journal is; ``None`` without a home or a project. An explicit store goes by its path."""
        from pony_memory.recall.journal import JournalPlace
        from pony_memory.scopes.project_name import directory_name

        home = home_of(self.environ)
        project = self.scopes.project
        if home is None or project is None:
            return None
        if project.kind == "explicit":
            return JournalPlace.of(home, "local", directory_name(project.path))
        return JournalPlace.of(home, project.kind, project.name)

    def entry_store(self, actor: Actor) -> EntryStore:
        """The write side of the project's entries, for ``actor``. Raises :class:`Disabled` or :class:`Unavailable`."""
        from pony_memory.entries.store import EntryStore, StoreSettings

        self._require_entries()
        settings = StoreSettings(
            self.config.mem_index_max_lines,
            self.config.mem_index_max_bytes,
            self.config.lock.timeout_ms,
            self.config.lock.snapshot_keep,
        )
        spec = self.scopes.get("project").spec
        return EntryStore(spec, actor=actor, settings=settings, environ=self.environ)

    def agent_notes(self) -> AgentNotesStore:
        """The write side of the Agent Notes, for a person; agents bring their own book of grants."""
        from pony_memory.writes.agent_notes_store import AgentNotesStore

        return AgentNotesStore(
            self.scopes,
            environ=self.environ,
            keep=self.config.lock.snapshot_keep,
            timeout_ms=self.config.lock.timeout_ms,
            counter=self.counter,
        )

    def records(self, scope: ScopeName) -> Root | None:
        """Where the scope's backups and history are, for reading; ``None`` before its first write."""
        from pony_memory.writes.places import records_of_notes

        root = Root.resolve(self.scopes.get(scope).spec)
        home = home_of(self.environ)
        if root is None or scope == "project":
            return root
        return records_of_notes(home, root) if home is not None else None

    def _open_scopes(self) -> tuple[Scope, ...]:
        if self.config.enabled:
            return self.scopes.available
        return tuple([scope for scope in self.scopes.available if scope.name in NOTES_SCOPES])

    def _names(self, scope: ScopeName | None) -> tuple[ScopeName, ...]:
        if scope is None:
            return tuple([found.name for found in self._open_scopes()])
        if scope == "project":
            self._require_entries()
        return (self.scopes.get(scope).name,)

    def _require_entries(self) -> None:
        if not self.config.enabled:
            raise Disabled(
                "memory is disabled: there is no entry store",
                hint='Set "enabled": true in memory.json and start again. The notes scopes still work.',
            )
        self.scopes.get("project")

    def _readable_project_root(self) -> Root | None:
        try:
            return Root.resolve(self.scopes.get("project").spec)
        except (Unavailable, UnsafeFile):
            return None  # the snapshot's `left_out` and the scopes' `unavailable` say why

    def _lock_as_far_as_it_can_be_told(self) -> LockState:
        from pony_memory.files.lock_state import Free, LockIdentity, Unreadable

        try:
            return self.lock_state()
        except (Unavailable, NotFound):
            return Free()  # no store, or one that went away between two looks
        except UnsafeFile as error:
            return Unreadable(error.message, LockIdentity(0, 0, 0, None), may_live=True)

    def _source(self, path: CanonicalPath) -> Source:
        from pony_memory.files.text import decode
        from pony_memory.paging import Source

        if path.scope == "project":
            self._require_entries()
        root = Root.resolve(self.scopes.get(path.scope).spec)
        if root is None:
            raise NotFound(f"no such memory: {path}; the scope {path.scope} has no files yet")
        try:
            raw = root.read(path.parts)
        except NotFound:
            raise NotFound(f"no such memory: {path}", hint="`pony-memory list` shows what there is.") from None
        text = decode(raw.data).text
        if path.block is None:
            return Source.of(str(path), text, raw.data)
        from pony_memory.notes.agent_notes import parse_blocks

        blocks = parse_blocks(text)
        if path.block > len(blocks):
            raise NotFound(
                f"no such block: {path}; {path.file} has {len(blocks):,} blocks",
                hint=f"`pony-memory review --scope {path.scope}` shows them.",
            )
        block = blocks[path.block - 1]
        # Bytes are cut into lines where the reading view has its line ends: at LF, CR and CRLF.
        lines = raw.data.splitlines(keepends=True)[block.start_line - 1 : block.end_line]
        return Source.of(str(path), block.raw, b"".join(lines).rstrip(b"\r\n"))


def _working_directory() -> str:
    try:
        return os.getcwd()
    except OSError as error:
        raise NotFound(
            f"the working directory cannot be found: {error.strerror}", hint="Change to a directory that exists."
        ) from None
