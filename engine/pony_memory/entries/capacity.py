"""How full the index is, and what falls outside (SPEC §11).

Lines past the limit are dropped by whoever loads the index, the newest first, and nobody is told. So the names are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pony_memory.entries.index import Index
from pony_memory.limits import HEADROOM_NOTICE_RATIO, INDEX_MAX_BYTES, INDEX_MAX_LINES
from pony_memory.notices import Notice

#: So many of the memories outside the limits are named in a warning; `status` names all.
NAMED_IN_A_WARNING: Final = 10


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


def capacity_notices(found: Capacity) -> tuple[Notice, ...]:
    """What a write says about the index's limits: over one of them, or from 80 % of either on (SPEC §11)."""
    figures = f"{found.lines:,}/{found.max_lines:,} lines, {found.bytes:,}/{found.max_bytes:,} bytes"
    if found.over:
        named = ", ".join(found.outside[:NAMED_IN_A_WARNING])
        more = len(found.outside) - NAMED_IN_A_WARNING
        count = len(found.outside)
        if count == 0:
            outside = "what is outside are hand-written lines"
        elif count == 1:
            outside = f"1 memory falls outside and is not loaded: {named}"
        else:
            rest = f" and {more:,} more" if more > 0 else ""
            outside = f"{count:,} memories fall outside and are not loaded: {named}{rest}"
        return (
            Notice(
                "over_capacity",
                f"the index is over its limit ({figures}). The write succeeded; {outside}",
                "Merge or remove entries, or shorten descriptions; `pony-memory status` names what falls outside.",
            ),
        )
    if found.headroom:
        left = f"{found.max_lines - found.lines:,} more lines and {found.max_bytes - found.bytes:,} bytes"
        return (
            Notice(
                "headroom",
                f"the index has room for {left} ({figures})",
                "Merge or remove entries before it is full.",
            ),
        )
    return ()
