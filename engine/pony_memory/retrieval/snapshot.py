"""The query snapshot: everything one top-level turn needs to know of the memories, read once (SPEC §6)."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

from pony_memory.canonical import CanonicalPath, ScopeName
from pony_memory.entries.entry import Entry, NotAnEntry
from pony_memory.errors import NotFound
from pony_memory.files.boundary import Stamp
from pony_memory.limits import FIELD_WEIGHTS, SEARCH_LIMIT_DEFAULT
from pony_memory.notices import Notice
from pony_memory.retrieval.bm25 import Bm25Index, Postings, Weighed
from pony_memory.retrieval.documents import Document, ParsedFile
from pony_memory.retrieval.inventory import LeftOut, Signature
from pony_memory.retrieval.links import LinkTable
from pony_memory.retrieval.search import SearchResult, search
from pony_memory.retrieval.tokens import is_single_cjk, normalised
from pony_memory.retrieval.tombstones import Tombstones


@dataclass(frozen=True, slots=True)
class LoadedFile:
    """One file of the snapshot: its bytes, what was parsed from them, and the weighed terms of its documents."""

    stamp: Stamp
    data: bytes
    parsed: ParsedFile
    weighed: tuple[Weighed, ...]

    @property
    def path(self) -> CanonicalPath:
        return self.parsed.path


class MemoryQuerySnapshot:
    """Immutable. The index covers what no tombstone removed; ``left_out`` names every file that was not read.

    ``documents`` are the indexed ones in canonical order; ``files`` maps each file that was read.
    """

    def __init__(
        self,
        *,
        scopes: tuple[ScopeName, ...],
        files: Mapping[CanonicalPath, LoadedFile],
        index: Bm25Index,
        numbered: Mapping[CanonicalPath, tuple[int, Weighed, Document]],
        tombstones: Tombstones,
        left_out: tuple[LeftOut, ...],
        directories: tuple[str, ...],
        signature: Signature,
        notices: tuple[Notice, ...] = (),
    ) -> None:
        self.scopes = scopes
        self.files = files
        self.index = index
        self.numbered = numbered
        self.tombstones = tombstones
        self.left_out = left_out
        self.directories = directories
        self.signature = signature
        self.notices = notices
        self._lazy: dict[str, Postings] = {}

    @cached_property
    def documents(self) -> tuple[Document, ...]:
        return tuple([document for _, _, document in self.numbered.values()])

    @cached_property
    def by_number(self) -> Mapping[int, Document]:
        return {number: document for number, _, document in self.numbered.values()}

    @cached_property
    def order(self) -> Mapping[int, int]:
        """Document number → its place in canonical order, by which ties are broken."""
        return {number: place for place, (number, _, _) in enumerate(self.numbered.values())}

    @cached_property
    def links(self) -> LinkTable:
        return LinkTable(self.documents)

    @cached_property
    def removed_documents(self) -> Mapping[CanonicalPath, tuple[Document, Weighed]]:
        """What tombstones took out of the index."""
        gone = {removed.path for removed in self.tombstones.removed}
        return {
            document.path: (document, weighed)
            for file in self.files.values()
            for document, weighed in zip(file.parsed.documents, file.weighed, strict=True)
            if document.path in gone
        }

    @property
    def entries(self) -> tuple[Entry, ...]:
        return tuple([file.parsed.entry for file in self.files.values() if file.parsed.entry is not None])

    @property
    def not_entries(self) -> tuple[NotAnEntry, ...]:
        return tuple([file.parsed.not_an_entry for file in self.files.values() if file.parsed.not_an_entry is not None])

    def raw(self, path: CanonicalPath) -> bytes:
        """The bytes of the file that ``path`` is in. Raises :class:`NotFound` for one that was not read."""
        try:
            return self.files[path.file].data
        except KeyError:
            raise NotFound(f"no such memory: {path.file}") from None

    def terms_of(self, document: Document) -> Mapping[str, int]:
        """Term → weighted frequency of an indexed document; empty for any other."""
        found = self.numbered.get(document.path)
        return found[1].terms if found is not None else {}

    def search(
        self,
        query: str,
        *,
        scopes: Collection[ScopeName] | None = None,
        limit: int = SEARCH_LIMIT_DEFAULT,
        explain: bool = False,
    ) -> SearchResult:
        """See :func:`pony_memory.retrieval.search.search`."""
        return search(self, query, scopes=scopes, limit=limit, explain=explain)

    def lazy_postings(self, term: str) -> Postings:
        """Postings of a term the index does not hold: a stop word, or one CJK character wherever it stands.

        Found by reading through the documents once, and remembered by the snapshot.
        """
        found = self._lazy.get(term)
        if found is None:
            numbers: list[int] = []
            frequencies: list[int] = []
            for number, _, document in sorted(self.numbered.values(), key=lambda item: item[0]):
                frequency = sum(self.lazy_shares(document, term).values())
                if frequency:
                    numbers.append(number)
                    frequencies.append(frequency)
            found = (numbers, frequencies)
            self._lazy[term] = found
        return found

    def lazy_shares(self, document: Document, term: str) -> dict[str, int]:
        """Field → weight · count of such a term in one document."""
        shares: dict[str, int] = {}
        whole_words = not is_single_cjk(term) and term.isascii()
        pattern = re.compile(rf"(?<![\w'-]){re.escape(term)}(?![\w'-])") if whole_words else None
        for field, text in document.field_texts():
            if text.isascii() and not whole_words:
                continue
            folded = normalised(text).casefold()
            if term not in folded:
                continue
            count = folded.count(term) if pattern is None else len(pattern.findall(folded.replace("’", "'")))
            if count:
                shares[field] = FIELD_WEIGHTS[field] * count
        return shares
