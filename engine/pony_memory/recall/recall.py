"""Which memories go into a prompt, and why not the others (SPEC §7)."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from pony_memory.canonical import NOTES_SCOPES, CanonicalPath, ScopeName
from pony_memory.limits import (
    BM25_K1,
    LINK_MAX_ADDED,
    LINK_SCORE_FACTOR,
    RECALL_MIN_SCORE,
    RECALL_PASSAGE_TOKENS,
    RECALL_SKIP_RECENT_TURNS,
    RECALL_TOP_K,
    RECALL_TOTAL_TOKENS,
)
from pony_memory.recall.decisions import Decision, Recall, Verdict
from pony_memory.recall.gate import has_evidence
from pony_memory.recall.passages import Passage, best_passage
from pony_memory.retrieval.bm25 import Weighed
from pony_memory.retrieval.documents import Document
from pony_memory.retrieval.links import link_targets
from pony_memory.retrieval.search import QueryTerms, query_terms
from pony_memory.retrieval.snapshot import MemoryQuerySnapshot
from pony_memory.retrieval.tokens import tokenise
from pony_memory.sanitise import sanitise, sanitise_attribute
from pony_memory.tokens_count import BuiltinCounter, TokenCounter

_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class RecallLimits:
    """The ``recall`` section of the configuration; tokens are those of the counter in use."""

    top_k: int = RECALL_TOP_K
    min_score: float = RECALL_MIN_SCORE
    max_passage_tokens: int = RECALL_PASSAGE_TOKENS
    max_tokens: int = RECALL_TOTAL_TOKENS
    skip_recent_turns: int = RECALL_SKIP_RECENT_TURNS
    scopes: tuple[ScopeName, ...] = NOTES_SCOPES


@dataclass(frozen=True, slots=True)
class RecallQuery:
    """What recall looks for: the user's input, the active goal, and the paths of recent files."""

    prompt: str
    goal: str = ""
    files: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return "\n".join([part for part in (self.prompt, self.goal, *self.files) if part])


@dataclass(frozen=True, slots=True)
class _Candidate:
    document: Document
    score: float
    terms: tuple[str, ...]
    evidence: bool
    via: str | None = None
    by: str | None = None


def recall(
    snapshot: MemoryQuerySnapshot,
    query: RecallQuery,
    *,
    limits: RecallLimits | None = None,
    recent: Collection[str] = (),
    counter: TokenCounter | None = None,
) -> Recall:
    """Decide about every document that shares a term with ``query``, and render what is kept.

    ``recent`` are the canonical paths this session recalled in its last turns: they are left out, and count for the
    best score all the same. A linked note is judged by the evidence of the note that links to it.
    """
    limits = limits or RecallLimits()
    terms = query_terms(snapshot, query.text)
    candidates = _candidates(snapshot, terms, limits)
    eligible = [item.score for item in candidates if item.evidence and item.by is None]
    best = max(eligible, default=0.0)
    chooser = _Chooser(limits, frozenset(recent), best, terms, counter or BuiltinCounter())
    decisions = tuple([chooser.decide(rank, item) for rank, item in enumerate(candidates, 1)])
    context = "\n".join(chooser.blocks)
    return Recall(query.text, decisions, context, chooser.counter.count(context), best, best * limits.min_score)


def _candidates(snapshot: MemoryQuerySnapshot, terms: QueryTerms, limits: RecallLimits) -> list[_Candidate]:
    """Every document of the scopes that holds a term, what tombstones removed included; best score first."""
    masses = {term: idf for term, (_, idf) in terms.known.items()}
    # A term that no document holds is still a part of what was asked.
    masses |= dict.fromkeys(terms.unknown, snapshot.index.idf(0))
    matched: dict[int, list[str]] = {}
    for term, ((numbers, _), _) in terms.known.items():
        for number in numbers:
            matched.setdefault(number, []).append(term)
    scores = snapshot.index.scores(terms.known.values())
    found: list[_Candidate] = []
    for number, score in scores.items():
        document = snapshot.by_number[number]
        if document.path.scope in limits.scopes:
            held = _heaviest(matched[number], masses)
            found.append(_Candidate(document, score, held, has_evidence(held, masses)))
    found += _removed(snapshot, terms, masses, limits)
    found.sort(key=_order)
    direct = {item.document.path for item in found}
    top = heapq.nsmallest(limits.top_k, [item for item in found if item.by is None and item.evidence], key=_order)
    found += _linked(snapshot, top, direct, limits)
    found.sort(key=_order)
    return found


def _order(item: _Candidate) -> tuple[float, tuple[str, int]]:
    return -item.score, item.document.path.sort_key


def _heaviest(terms: Iterable[str], masses: Mapping[str, float]) -> tuple[str, ...]:
    return tuple(sorted(terms, key=lambda term: (-masses[term], term)))


def _removed(
    snapshot: MemoryQuerySnapshot, terms: QueryTerms, masses: Mapping[str, float], limits: RecallLimits
) -> list[_Candidate]:
    """What is out of the index is scored as if it were in it, so that a decision can say that it was considered."""
    by: dict[CanonicalPath, CanonicalPath] = {item.path: item.by for item in snapshot.tombstones.removed}
    found: list[_Candidate] = []
    for path, (document, weighed) in snapshot.removed_documents.items():
        held = [term for term in terms.known if term in weighed.terms]
        if held and path.scope in limits.scopes:
            score = sum(_gain(snapshot, weighed, term, terms.known[term][1]) for term in held)
            ordered = _heaviest(held, masses)
            found.append(_Candidate(document, score, ordered, has_evidence(ordered, masses), by=str(by[path])))
    return found


def _gain(snapshot: MemoryQuerySnapshot, weighed: Weighed, term: str, idf: float) -> float:
    frequency = weighed.terms[term]
    return idf * frequency * (BM25_K1 + 1.0) / (frequency + snapshot.index.norm_of(weighed.length))


def _linked(
    snapshot: MemoryQuerySnapshot, top: list[_Candidate], direct: Collection[CanonicalPath], limits: RecallLimits
) -> list[_Candidate]:
    added: list[_Candidate] = []
    seen = set(direct)
    for source in top:
        if "[[" not in source.document.body:
            continue
        for name in link_targets(source.document.body):
            target = snapshot.links.resolve(name, source.document)
            if target is None or target.path in seen or target.path.scope not in limits.scopes:
                continue
            seen.add(target.path)
            via = str(source.document.path)
            added.append(_Candidate(target, source.score * LINK_SCORE_FACTOR, (), source.evidence, via=via))
            if len(added) >= LINK_MAX_ADDED:
                return added
    return added


class _SanitisedCounter:
    """Counts a text as it will stand in the prompt, escapes included."""

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter

    def count(self, text: str) -> int:
        return self._counter.count(sanitise(text))


class _Chooser:
    def __init__(
        self, limits: RecallLimits, recent: frozenset[str], best: float, terms: QueryTerms, counter: TokenCounter
    ) -> None:
        self.limits = limits
        self.recent = recent
        self.best = best
        self.weights = {term: idf for term, (_, idf) in terms.known.items()}
        self.counter = counter
        self.blocks: list[str] = []
        self.chosen = 0

    def decide(self, rank: int, item: _Candidate) -> Decision:
        path = str(item.document.path)
        share = item.score / self.best if self.best else 0.0
        verdict = self._before_budget(item, path, share)
        passage: Passage | None = None
        tokens = 0
        if verdict is None:
            self.chosen += 1
            passage = best_passage(
                item.document.body,
                item.document.body_line,
                self.weights,
                tokenise=tokenise,
                counter=_SanitisedCounter(self.counter),
                max_tokens=self.limits.max_passage_tokens,
            )
            block = render(path, item.score, passage.text)
            tokens = self.counter.count(block)
            verdict = Verdict.KEPT
            if self.counter.count("\n".join([*self.blocks, block])) > self.limits.max_tokens:
                verdict = Verdict.OVER_BUDGET
            else:
                self.blocks.append(block)
        return Decision(path, rank, item.score, share, verdict, tokens, item.terms, item.via, passage, item.by)

    def _before_budget(self, item: _Candidate, path: str, share: float) -> Verdict | None:
        if not item.evidence:
            return Verdict.NO_EVIDENCE
        if item.by is not None:
            return Verdict.SUPERSEDED
        if path in self.recent:
            return Verdict.RECENT
        if share < self.limits.min_score - _ROUNDING:
            return Verdict.BELOW_MIN_SCORE
        if self.chosen >= self.limits.top_k:
            return Verdict.BELOW_TOP_K
        return None


def render(path: str, score: float, passage: str) -> str:
    """One block of the recalled source, sanitised: nothing in it can end it or open another (SPEC §15)."""
    shown = sanitise(passage)
    return f'<recalled_memory path="{sanitise_attribute(path)}" score="{score:.3f}">{shown}</recalled_memory>'
