"""The headless engine of pony-memory: what an agent integration imports.

Public names are loaded when they are first used, so that ``import pony_memory`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pony_memory.canonical import CanonicalPath as CanonicalPath
    from pony_memory.errors import PonyError as PonyError
    from pony_memory.memory import Memory as Memory
    from pony_memory.retrieval.search import SearchResult as SearchResult
    from pony_memory.retrieval.snapshot import MemoryQuerySnapshot as MemoryQuerySnapshot

_PUBLIC = {
    "CanonicalPath": "pony_memory.canonical",
    "Memory": "pony_memory.memory",
    "MemoryQuerySnapshot": "pony_memory.retrieval.snapshot",
    "PonyError": "pony_memory.errors",
    "SearchResult": "pony_memory.retrieval.search",
}

__all__ = ["CanonicalPath", "Memory", "MemoryQuerySnapshot", "PonyError", "SearchResult"]


def __getattr__(name: str) -> Any:
    try:
        module = _PUBLIC[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    return getattr(import_module(module), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_PUBLIC])
