"""What a store holds at one moment, and what an operation would change in it: values, no disk.

The operations of :mod:`pony_memory.entries.operations` go from a :class:`StoreState` to a :class:`Change`. The store
reads the one from the disk and applies the other to it under its locks; a dream keeps both in memory (SPEC §18).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from pony_memory.canonical import INDEX_FILE
from pony_memory.entries.entry import Entry, NotAnEntry, parse_entry
from pony_memory.entries.index import Index
from pony_memory.errors import OverLimit
from pony_memory.limits import MAX_FILE_BYTES
from pony_memory.notices import Notice

Action = Literal["add", "replace", "rename", "remove", "rebuild_index", "repair"]


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file before and after; ``None`` = it is not there."""

    file: str
    before: bytes | None
    after: bytes | None


@dataclass(frozen=True, slots=True)
class Change:
    """What an operation does to a store.

    ``files`` are in the order in which they are to be made, the index last: a crash between two of them leaves every
    memory readable and at most a drift. ``name`` and ``file`` are the entry's after it (for ``remove``: before it;
    for the index's own operations the index). ``created`` and ``modified`` are empty where no entry was written.
    ``texts`` are the texts that enter the store by it: what is looked through for credentials.
    """

    action: Action
    name: str
    file: str
    files: tuple[FileChange, ...]
    created: str = ""
    modified: str = ""
    texts: tuple[str, ...] = ()
    notices: tuple[Notice, ...] = ()

    @property
    def index_after(self) -> bytes | None:
        """The new index, or ``None`` if it stays as it is."""
        return next((change.after for change in self.files if change.file == INDEX_FILE), None)


@dataclass(frozen=True, slots=True)
class StoreState:
    """The files of a store.

    ``files`` are the readable `.md` files without the index, by file name; ``index`` is ``None`` where there is none;
    ``unsafe`` gives the reason for each file the boundary declined. ``exists`` and ``same_file`` ask the disk, so that
    a file system that folds case or normalises Unicode is heard (SPEC §10); without them names are compared as they
    are.
    """

    files: Mapping[str, bytes]
    index: bytes | None = None
    unsafe: Mapping[str, str] = field(default_factory=dict)
    exists: Callable[[str], bool] | None = None
    same_file: Callable[[str, str], bool] | None = None
    entries: Mapping[str, Entry] = field(init=False)
    not_entries: Mapping[str, NotAnEntry] = field(init=False)

    def __post_init__(self) -> None:
        entries: dict[str, Entry] = {}
        not_entries: dict[str, NotAnEntry] = {}
        for file in sorted(self.files):
            parsed = parse_entry(file, self.files[file])
            if isinstance(parsed, Entry):
                entries[file] = parsed
            else:
                not_entries[file] = parsed
        object.__setattr__(self, "entries", entries)
        object.__setattr__(self, "not_entries", not_entries)

    @property
    def parsed_index(self) -> Index:
        return Index.parse(self.index or b"")

    def named(self, name: str) -> tuple[Entry, ...]:
        """The entries with exactly this name, the one modified first in front, as pi-memory finds them."""
        found = [entry for entry in self.entries.values() if entry.name == name]
        return tuple(sorted(found, key=lambda entry: entry.order))

    def taken(self, file: str) -> bool:
        """Whether a file of this name is there, under whatever spelling the file system takes for the same."""
        if file in self.files or file in self.unsafe:
            return True
        return self.exists is not None and self.exists(file)

    def is_same(self, one: str, other: str) -> bool:
        """Whether two names are one file to the file system."""
        return one == other or (self.same_file is not None and self.same_file(one, other))

    def after(self, change: Change) -> StoreState:
        """The state in which ``change`` is made. What was asked of the disk is not known of it, so names count."""
        files = dict(self.files)
        index = self.index
        for made in change.files:
            if made.file == INDEX_FILE:
                index = made.after
            elif made.after is None:
                files.pop(made.file, None)
            else:
                files[made.file] = made.after
        return StoreState(files, index, self.unsafe)


def changed_files(state: StoreState, *changes: FileChange | bytes) -> tuple[FileChange, ...]:
    """The changes of files, and of the index where the bytes given for it differ from what it is.

    Raises :class:`OverLimit` for a file that could not be read again (SPEC §3).
    """
    files: list[FileChange] = []
    for change in changes:
        if isinstance(change, bytes):
            change = FileChange(INDEX_FILE, state.index, change)
            if change.after == (change.before or b""):
                continue
        if change.after is not None and len(change.after) > MAX_FILE_BYTES:
            what = "the index" if change.file == INDEX_FILE else "the entry"
            raise OverLimit(
                f"{what} {change.file} would be {len(change.after):,} bytes; a file of over {MAX_FILE_BYTES:,} bytes"
                " is refused everywhere, so nothing was written",
                hint="Split the memory, or merge and remove entries.",
            )
        files.append(change)
    return tuple(files)
