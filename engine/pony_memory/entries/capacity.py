"""How full the index is, and what falls outside (SPEC §11).

Lines past the limit are dropped by whoever loads the index, the newest first, and nobody is told. So the names are.
"""

from __future__ import annotations

from dataclasses import dataclass

from pony_memory.entries.index import Index
from pony_memory.limits import HEADROOM_NOTICE_RATIO, INDEX_MAX_BYTES, INDEX_MAX_LINES


@dataclass(frozen=True, slots=True)
class Capacity:
    """The figures of an index against its limits.

    ``lines`` are non-empty lines of any kind, ``bytes`` the file's. ``outside`` names, in the order of the index, the
    memories whose line is not, or not wholly, within both limits. ``headroom`` is true from 80 % of either limit on.
    """

    lines: int
    max_lines: int
    bytes: int
    max_bytes: int
    unrecognized: int
    outside: tuple[str, ...]
    headroom: bool

    @property
    def over(self) -> bool:
        return self.lines > self.max_lines or self.bytes > self.max_bytes


def capacity(index: Index, max_lines: int = INDEX_MAX_LINES, max_bytes: int = INDEX_MAX_BYTES) -> Capacity:
    """The capacity of ``index``; the limits are `memIndexMaxLines` and `memIndexMaxBytes`."""
    return Capacity(
        lines=index.non_empty,
        max_lines=max_lines,
        bytes=index.bytes,
        max_bytes=max_bytes,
        unrecognized=index.unrecognized,
        outside=tuple(line.name for line in index.lines if line.non_empty_number > max_lines or line.end > max_bytes),
        headroom=index.non_empty >= HEADROOM_NOTICE_RATIO * max_lines
        or index.bytes >= HEADROOM_NOTICE_RATIO * max_bytes,
    )
