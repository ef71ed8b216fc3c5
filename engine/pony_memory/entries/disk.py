"""A store as it is on the disk now, and whether it still is (SPEC §3, §10)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from pony_memory.canonical import INDEX_FILE
from pony_memory.entries.state import FileChange, StoreState
from pony_memory.errors import NotFound, OverLimit, UnsafeFile
from pony_memory.files.boundary import Root, Stamp, stamp_of

#: More names than this are not looked through, and a name cannot be said to be free without having looked.
MAX_STORE_NAMES: Final = 100_000


@dataclass(frozen=True, slots=True)
class Seen:
    """A state with what is needed to tell later whether the disk still is in it."""

    root: Root
    state: StoreState
    stamps: Mapping[str, Stamp] = field(default_factory=dict)

    @classmethod
    def of(cls, root: Root) -> Seen:
        walk = root.walk(recursive=False, max_names=MAX_STORE_NAMES)
        if not walk.complete:
            raise OverLimit(
                f"the project store holds more than {MAX_STORE_NAMES:,} names, too many to tell which are free",
                hint="Move files that are no memories out of the store's directory.",
            )
        files: dict[str, bytes] = {}
        stamps: dict[str, Stamp] = {}
        unsafe = {skipped.parts[-1]: skipped.reason.value for skipped in walk.skipped if skipped.parts}
        with root.reader() as reader:
            for found in walk.files:
                file = found.parts[-1]
                try:
                    raw = reader.read(found.parts)
                except NotFound:
                    continue
                except UnsafeFile as error:
                    unsafe[file] = error.reason
                    continue
                files[file] = raw.data
                stamps[file] = raw.stamp
        index = files.pop(INDEX_FILE, None)
        if INDEX_FILE in unsafe:
            raise UnsafeFile(
                f"the index {INDEX_FILE} cannot be read ({unsafe[INDEX_FILE]}), so it is not written either",
                reason=unsafe[INDEX_FILE],
                hint="`pony-memory doctor` says what is wrong with it.",
            )
        state = StoreState(
            files,
            index,
            unsafe,
            exists=lambda file: _stamp(root, file) is not None,
            same_file=lambda one, other: _is_one_file(root, one, other),
        )
        return cls(root, state, stamps)

    def changed(self, changes: tuple[FileChange, ...]) -> str | None:
        """The first file of ``changes`` that is not as it was seen."""
        return next((made.file for made in changes if _stamp(self.root, made.file) != self.stamps.get(made.file)), None)


def _stamp(root: Root, file: str) -> Stamp | None:
    """The stamp of whatever has this name; ``None`` if nothing has."""
    with root.open_dir() as directory:
        try:
            return stamp_of(os.stat(file, dir_fd=directory, follow_symlinks=False))
        except FileNotFoundError:
            return None


def _is_one_file(root: Root, one: str, other: str) -> bool:
    first, second = _stamp(root, one), _stamp(root, other)
    return first is not None and second is not None and (first.device, first.inode) == (second.device, second.inode)
