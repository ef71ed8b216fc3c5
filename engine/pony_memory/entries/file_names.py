"""The file name of an entry, derived from its name (SPEC §10).

The same name always gives the same file name, as pi-memory gives it. The mapping is not injective (``a/b`` and
``a:b`` are both ``a_b.md``); only such a collision of file names adds ``-2``, ``-3`` ….
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import Final

from pony_memory.canonical import INDEX_FILE
from pony_memory.limits import ENTRY_FILE_NAME_MAX_BYTES

ENTRY_SUFFIX: Final = ".md"

_NOT_IN_A_FILE_NAME = frozenset('/\\:*?"<>|')
_ENDS = re.compile(r"\A[\s.\ufeff]+|[\s.\ufeff]+\Z")
_WHITE_SPACE = re.compile(r"[\s\ufeff]+")


def file_name_for(name: str) -> str:
    """The file name that ``name`` would get in an empty store.

    Control characters of every range become ``_`` (pi-memory: C0 and DEL only), since no canonical path may hold one.
    """
    safe = "".join("_" if _unsafe(char) else char for char in name)
    stem = _cut(_WHITE_SPACE.sub("-", _ENDS.sub("", safe)), ENTRY_FILE_NAME_MAX_BYTES)
    if not stem:
        stem = "entry-" + hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return stem + ENTRY_SUFFIX


def candidates(name: str) -> Iterator[str]:
    """``file_name_for(name)``, then the same with ``-2``, ``-3`` …, without end; never the index's own name."""
    first = file_name_for(name)
    stem = first.removesuffix(ENTRY_SUFFIX)
    if not is_index_name(first):
        yield first
    number = 2
    while True:
        yield f"{stem}-{number}{ENTRY_SUFFIX}"
        number += 1


def free_file_name(name: str, taken: Callable[[str], bool]) -> str:
    """The first candidate that is not ``taken``.

    ``taken`` must ask the disk, not a list of names: a file system that folds case or normalises Unicode may hold
    another entry under a name that compares different (SPEC §10).
    """
    return next(candidate for candidate in candidates(name) if not taken(candidate))


def is_index_name(file: str) -> bool:
    """Whether ``file`` is `MEMORY.md` for some file system: compared case-folded and without compatibility forms."""
    return unicodedata.normalize("NFKC", file).casefold() == INDEX_FILE.casefold()


def _unsafe(char: str) -> bool:
    return char in _NOT_IN_A_FILE_NAME or unicodedata.category(char) in ("Cc", "Cs")


def _cut(text: str, limit: int) -> str:
    """``text`` cut to ``limit`` UTF-8 bytes at a code-point border."""
    encoded = text.encode("utf-8")
    return text if len(encoded) <= limit else encoded[:limit].decode("utf-8", "ignore")
