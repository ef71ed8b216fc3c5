"""Ranking the documents of a snapshot for a query (SPEC §5)."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pony_memory.canonical import CanonicalPath, ScopeName
from pony_memory.errors import InvalidRequest
from pony_memory.files.text import decode
from pony_memory.limits import (
    FIELD_WEIGHTS,
    LINK_MAX_ADDED,
    LINK_SCORE_FACTOR,
    SEARCH_LIMIT_DEFAULT,
    SEARCH_LIMIT_MAX,
    SEARCH_LIMIT_MIN,
)
from pony_memory.retrieval.bm25 import Postings
from pony_memory.retrieval.documents import Document, Kind
from pony_memory.retrieval.links import link_targets
from pony_memory.retrieval.snippets import Snippet, snippets
from pony_memory.retrieval.tokens import is_single_cjk, stop_words_of, term_counts, tokenise

if TYPE_CHECKING:
    from pony_memory.retrieval.snapshot import MemoryQuerySnapshot

#: What is read of a query; the rest of a longer one cannot change what a person or an agent means.
MAX_QUERY_CHARS: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Via:
    """The link that brought a hit: the name it was linked by, and the canonical path of the linking document."""

    name: str
    source: CanonicalPath


@dataclass(frozen=True, slots=True)
class Hit:
    """One found document. ``normalized`` is its share of the best score. ``terms`` (term → field → gain) adds up to
    the score when an explanation was asked for, and is empty otherwise and for a linked hit."""

    path: CanonicalPath
    kind: Kind
    score: float
    normalized: float
    snippets: tuple[Snippet, ...]
    via: Via | None
    terms: Mapping[str, Mapping[str, float]]
    document: Document

    @property
    def scope(self) -> ScopeName:
        return self.path.scope


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Best first. ``documents`` is the number of documents the statistics are of (the whole snapshot)."""

    query: str
    documents: int
    hits: tuple[Hit, ...]


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """The distinct terms of a query that some document holds, with their postings and idf, and those none holds."""

    known: Mapping[str, tuple[Postings, float]]
    unknown: tuple[str, ...]
    #: Terms counted by reading through the documents: stop words searched as they are, single CJK characters.
    lazy: frozenset[str] = frozenset()


def query_terms(snapshot: MemoryQuerySnapshot, query: str) -> QueryTerms:
    """Analyse ``query``. One of stop words alone is taken as it is (SPEC §5)."""
    query = query[:MAX_QUERY_CHARS]
    index = snapshot.index
    known: dict[str, tuple[Postings, float]] = {}
    unknown: list[str] = []
    lazy: set[str] = set()
    terms = list(dict.fromkeys(tokenise(query)))
    as_they_are = not terms
    if as_they_are:
        terms = stop_words_of(query)
    for term in terms:
        if as_they_are or is_single_cjk(term):
            lazy.add(term)
        postings = snapshot.lazy_postings(term) if term in lazy else index.postings(term)
        if postings[0]:
            known[term] = (postings, index.idf(len(postings[0])))
        else:
            unknown.append(term)
    return QueryTerms(known, tuple(unknown), frozenset(lazy))


def search(
    snapshot: MemoryQuerySnapshot,
    query: str,
    *,
    scopes: Collection[ScopeName] | None = None,
    limit: int = SEARCH_LIMIT_DEFAULT,
    explain: bool = False,
    with_snippets: bool = True,
) -> SearchResult:
    """The best ``limit`` documents, and up to 3 that those link to.

    ``scopes`` only filters: the statistics are those of the whole snapshot. Raises :class:`InvalidRequest` for a
    limit outside 1 to 20.
    """
    if not SEARCH_LIMIT_MIN <= limit <= SEARCH_LIMIT_MAX:
        raise InvalidRequest(
            f"the limit {limit} is out of range: allowed is {SEARCH_LIMIT_MIN} to {SEARCH_LIMIT_MAX}",
            code="out_of_range",
        )
    terms = query_terms(snapshot, query)
    scores = snapshot.index.scores(terms.known.values())
    by_number = snapshot.by_number
    order = snapshot.order
    wanted = (
        scores
        if scopes is None
        else {number: score for number, score in scores.items() if by_number[number].path.scope in scopes}
    )
    best = _best(wanted, order, limit)
    ranked: list[tuple[float, Document, Via | None, int | None]] = [
        (wanted[number], by_number[number], None, number) for number in best
    ]
    ranked += _linked(snapshot, ranked, scopes)
    ranked.sort(key=lambda item: (-item[0], item[1].path.sort_key))
    top = ranked[0][0] if ranked else 0.0
    return SearchResult(
        query,
        snapshot.index.documents,
        tuple(
            [
                Hit(
                    document.path,
                    document.kind,
                    score,
                    score / top if top else 0.0,
                    _snippets(snapshot, document, number, terms) if with_snippets else (),
                    via,
                    explanation(snapshot, document, number, terms) if explain and number is not None else {},
                    document,
                )
                for score, document, via, number in ranked
            ]
        ),
    )


def _best(scores: Mapping[int, float], order: Mapping[int, int], limit: int) -> list[int]:
    """The numbers of the ``limit`` best, ties by canonical path. Only those that tie at the border are compared."""
    if len(scores) <= limit:
        found = list(scores)
    else:
        least = heapq.nlargest(limit, scores.values())[-1]
        found = [number for number, score in scores.items() if score >= least]
    found.sort(key=lambda number: (-scores[number], order[number]))
    return found[:limit]


def explanation(
    snapshot: MemoryQuerySnapshot, document: Document, number: int, terms: QueryTerms
) -> dict[str, dict[str, float]]:
    """Term → field → gain: a term's gain split over the fields in proportion to weight · count (SPEC §5)."""
    per_field = {field: term_counts(text) for field, text in document.field_texts()}
    found: dict[str, dict[str, float]] = {}
    for term, ((numbers, frequencies), idf) in terms.known.items():
        try:
            frequency = frequencies[numbers.index(number)]
        except ValueError:
            continue
        gain = snapshot.index.gain(number, frequency, idf)
        shares = {
            field: FIELD_WEIGHTS[field] * count for field, counts in per_field.items() if (count := counts.get(term, 0))
        }
        if sum(shares.values()) != frequency:  # a term counted as it stands: a stop word, a single character
            shares = snapshot.lazy_shares(document, term)
        found[term] = {field: gain * share / frequency for field, share in shares.items()}
    return dict(sorted(found.items(), key=lambda item: (-sum(item[1].values()), item[0])))


def _linked(
    snapshot: MemoryQuerySnapshot,
    direct: list[tuple[float, Document, Via | None, int | None]],
    scopes: Collection[ScopeName] | None,
) -> list[tuple[float, Document, Via | None, int | None]]:
    seen = {document.path for _, document, _, _ in direct}
    added: list[tuple[float, Document, Via | None, int | None]] = []
    for score, source, _, _ in direct:
        if "[[" not in source.body:
            continue
        for name in link_targets(source.body):
            target = snapshot.links.resolve(name, source)
            if target is None or target.path in seen or (scopes is not None and target.path.scope not in scopes):
                continue
            seen.add(target.path)
            added.append((score * LINK_SCORE_FACTOR, target, Via(name, source.path), None))
            if len(added) >= LINK_MAX_ADDED:
                return added
    return added


def _snippets(
    snapshot: MemoryQuerySnapshot, document: Document, number: int | None, terms: QueryTerms
) -> tuple[Snippet, ...]:
    held = snapshot.terms_of(document)
    weights = {
        term: idf
        for term, (postings, idf) in terms.known.items()
        if term in held or (term in terms.lazy and number is not None and number in postings[0])
    }
    if document.kind is Kind.AGENT_BLOCK:
        return snippets(document.body, document.body_line, weights)
    text = decode(snapshot.raw(document.path)).text
    return snippets(text, 1, weights, header_lines=document.body_line - 1)
