"""Where the index and the entries disagree (SPEC §11)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from pony_memory.entries.entry import Entry
from pony_memory.entries.index import Index


@dataclass(frozen=True, slots=True)
class Drift:
    """File names, each once: ``unindexed`` entries have no line; ``dead_lines`` have no file; ``duplicate_lines`` are
    files with more than one line; ``stale_lines`` differ from their entry in name or description.
    """

    unindexed: tuple[str, ...]
    dead_lines: tuple[str, ...]
    duplicate_lines: tuple[str, ...]
    stale_lines: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.unindexed or self.dead_lines or self.duplicate_lines or self.stale_lines)


def drift(index: Index, entries: Iterable[Entry], others: Collection[str] = ()) -> Drift:
    """Compare ``index`` with the ``entries`` of its store.

    ``others`` are files that exist and could not be read as an entry (no entry, unsafe, over a limit): a line that
    names one of them has a file, and is not dead. The reader meets the first line of a file, so that one is compared.
    """
    by_file = {entry.file: entry for entry in entries}
    seen: dict[str, int] = {}
    dead: dict[str, None] = {}
    stale: list[str] = []
    for line in index.lines:
        seen[line.file] = seen.get(line.file, 0) + 1
        entry = by_file.get(line.file)
        if entry is None:
            if line.file not in others:
                dead[line.file] = None
        elif seen[line.file] == 1 and (line.name, line.description) != (entry.name, entry.description):
            stale.append(line.file)
    return Drift(
        unindexed=tuple(sorted(file for file in by_file if file not in seen)),
        dead_lines=tuple(dead),
        duplicate_lines=tuple(file for file, times in seen.items() if times > 1),
        stale_lines=tuple(stale),
    )
