"""``[[note-name]]`` and ``[[name|label]]``: one hop from a hit to what it points at (SPEC §5)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from pony_memory.retrieval.documents import Document, Kind

_LINK: Final = re.compile(r"\[\[([^\[\]|\n]{1,200})(?:\|[^\[\]\n]{0,200})?\]\]")
#: Links looked at in one document; a page of nothing but links costs no more than this.
_MAX_LINKS: Final = 200


def link_targets(text: str) -> tuple[str, ...]:
    """The distinct names linked to in ``text``, in order."""
    found: dict[str, None] = {}
    for match in _LINK.finditer(text):
        name = match.group(1).strip()
        if name:
            found[name] = None
        if len(found) >= _MAX_LINKS:
            break
    return tuple(found)


class LinkTable:
    """Finds the documents a name may mean: by name first, then by alias; compared case-folded."""

    def __init__(self, documents: Iterable[Document]) -> None:
        names: dict[str, list[Document]] = {}
        aliases: dict[str, list[Document]] = {}
        for document in documents:
            if document.kind is Kind.AGENT_BLOCK:
                continue
            names.setdefault(document.name.casefold(), []).append(document)
            for alias in document.aliases:
                aliases.setdefault(alias.casefold(), []).append(document)
        self._tables: tuple[Mapping[str, list[Document]], ...] = (names, aliases)

    def resolve(self, name: str, source: Document | None = None) -> Document | None:
        """The document ``name`` means. Of several, one of the source's own scope, then the first by path."""
        folded = name.strip().casefold()
        for table in self._tables:
            found = table.get(folded)
            if found:
                own = source.path.scope if source is not None else None
                return min(found, key=lambda document: (document.path.scope != own, document.path.sort_key))
        return None
