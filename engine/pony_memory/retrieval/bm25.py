"""The inverted index and the formula of SPEC §5.

An index is never changed once it is in use: :meth:`Bm25Index.updated` gives a new one that shares every posting list
the change does not touch, so that a snapshot keeps answering as it did while the next one is made, and one changed
file of many costs little.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pony_memory.limits import BM25_B, BM25_K1

#: Two parallel lists: document numbers, ascending, and the weighted frequency f in each.
Postings = tuple[list[int], list[int]]

_EMPTY: Postings = ([], [])
#: Scores are added up in a list when the postings are at least this share of the documents (1 in 4).
_DENSE_FACTOR = 4


@dataclass(frozen=True, slots=True)
class Weighed:
    """One document as the index sees it: term → f, and its length in tokens."""

    terms: Mapping[str, int]
    length: int


class Bm25Index:
    """Postings over numbered documents. Numbers of removed documents are not used again."""

    def __init__(self, postings: dict[str, Postings], lengths: dict[int, int], next_number: int) -> None:
        self._postings = postings
        self._lengths = lengths
        self._next_number = next_number
        self.documents = len(lengths)
        total = sum(lengths.values())
        self.average_length = total / len(lengths) if lengths else 0.0
        self._norms: list[float] | None = None

    @classmethod
    def build(cls, documents: Sequence[Weighed]) -> Bm25Index:
        """An index of ``documents``, numbered from 0 in their order."""
        postings: dict[str, Postings] = {}
        for number, document in enumerate(documents):
            for term, frequency in document.terms.items():
                found = postings.get(term)
                if found is None:
                    postings[term] = ([number], [frequency])
                else:
                    found[0].append(number)
                    found[1].append(frequency)
        lengths = {number: document.length for number, document in enumerate(documents)}
        return cls(postings, lengths, len(documents))

    def updated(self, removed: Iterable[tuple[int, Weighed]], added: Sequence[Weighed]) -> tuple[Bm25Index, range]:
        """The index after a change, and the numbers of the documents ``added``. This index stays as it is."""
        postings = self._postings.copy()
        lengths = self._lengths.copy()
        own: set[str] = set()

        def mine(term: str) -> Postings:
            if term not in own:
                own.add(term)
                old = postings.get(term, _EMPTY)
                postings[term] = (old[0].copy(), old[1].copy())
            return postings[term]

        for number, document in removed:
            del lengths[number]
            for term in document.terms:
                numbers, frequencies = mine(term)
                place = numbers.index(number)
                del numbers[place], frequencies[place]
        first = self._next_number
        for number, document in enumerate(added, first):
            lengths[number] = document.length
            for term, frequency in document.terms.items():
                numbers, frequencies = mine(term)
                numbers.append(number)
                frequencies.append(frequency)
        for term in own:
            if not postings[term][0]:
                del postings[term]
        return Bm25Index(postings, lengths, first + len(added)), range(first, first + len(added))

    def postings(self, term: str) -> Postings:
        """Where ``term`` occurs; empty lists for an unknown one. Not to be changed."""
        return self._postings.get(term, _EMPTY)

    def idf(self, document_frequency: int) -> float:
        """ln((N − df + 0.5)/(df + 0.5) + 1), never negative."""
        return math.log((self.documents - document_frequency + 0.5) / (document_frequency + 0.5) + 1.0)

    def gain(self, number: int, frequency: int, idf: float) -> float:
        """What one term of that weighted frequency adds to the score of a document."""
        return idf * frequency * (BM25_K1 + 1.0) / (frequency + self._norm()[number])

    def scores(self, terms: Iterable[tuple[Postings, float]]) -> dict[int, float]:
        """Document number → score, for the documents that hold any of the terms, given as (postings, idf)."""
        terms = list(terms)
        norms = self._norm()
        if len(terms) > 1 and _DENSE_FACTOR * sum(len(postings[0]) for postings, _ in terms) > self._next_number:
            return self._dense_scores(terms, norms)
        scores: dict[int, float] = {}
        get = scores.get
        for (numbers, frequencies), idf in terms:
            factor = idf * (BM25_K1 + 1.0)
            for number, frequency in zip(numbers, frequencies, strict=True):
                scores[number] = get(number, 0.0) + factor * frequency / (frequency + norms[number])
        return scores

    def _dense_scores(self, terms: list[tuple[Postings, float]], norms: list[float]) -> dict[int, float]:
        """The same where many documents are touched: adding in a list is cheaper than in a mapping."""
        totals = [0.0] * self._next_number
        for (numbers, frequencies), idf in terms:
            factor = idf * (BM25_K1 + 1.0)
            for number, frequency in zip(numbers, frequencies, strict=True):
                totals[number] += factor * frequency / (frequency + norms[number])
        return {number: total for number, total in enumerate(totals) if total}

    def norm_of(self, length: int) -> float:
        """k1·(1 − b + b·len/avglen) for a document of ``length`` tokens, in the index or not."""
        share = length / self.average_length if self.average_length else 0.0
        return BM25_K1 * (1.0 - BM25_B + BM25_B * share)

    def _norm(self) -> list[float]:
        # Computed at the first search: it depends on the average length, so every change of the store changes it.
        norms = self._norms
        if norms is None:
            base = BM25_K1 * (1.0 - BM25_B)
            slope = BM25_K1 * BM25_B / self.average_length if self.average_length else 0.0
            norms = [0.0] * self._next_number
            for number, length in self._lengths.items():
                norms[number] = base + slope * length
            self._norms = norms
        return norms
