"""The headless engine of pony-memory: what an agent integration imports.

Public names are loaded when they are first used, so that ``import pony_memory`` costs next to nothing. The errors are
all in :mod:`pony_memory.errors`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pony_memory.canonical import CanonicalPath as CanonicalPath
    from pony_memory.entries.entry import Entry as Entry
    from pony_memory.errors import PonyError as PonyError
    from pony_memory.memory import Memory as Memory
    from pony_memory.notices import Notice as Notice
    from pony_memory.paging import Page as Page
    from pony_memory.reports.doctor import Doctor as Doctor
    from pony_memory.reports.listing import FileRow as FileRow
    from pony_memory.reports.review import Review as Review
    from pony_memory.reports.status import Status as Status
    from pony_memory.retrieval.search import Hit as Hit
    from pony_memory.retrieval.search import SearchResult as SearchResult
    from pony_memory.retrieval.snapshot import MemoryQuerySnapshot as MemoryQuerySnapshot
    from pony_memory.tokens_count import TokenCounter as TokenCounter

_PUBLIC = {
    "CanonicalPath": "canonical",
    "Doctor": "reports.doctor",
    "Entry": "entries.entry",
    "FileRow": "reports.listing",
    "Hit": "retrieval.search",
    "Memory": "memory",
    "MemoryQuerySnapshot": "retrieval.snapshot",
    "Notice": "notices",
    "Page": "paging",
    "PonyError": "errors",
    "Review": "reports.review",
    "SearchResult": "retrieval.search",
    "Status": "reports.status",
    "TokenCounter": "tokens_count",
}

__all__ = [
    "CanonicalPath",
    "Doctor",
    "Entry",
    "FileRow",
    "Hit",
    "Memory",
    "MemoryQuerySnapshot",
    "Notice",
    "Page",
    "PonyError",
    "Review",
    "SearchResult",
    "Status",
    "TokenCounter",
]


def __getattr__(name: str) -> Any:
    try:
        module = _PUBLIC[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    from importlib import import_module  # noqa: PLC0415 - importing the package alone needs none of it

    value = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value  # asked for once
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_PUBLIC})
