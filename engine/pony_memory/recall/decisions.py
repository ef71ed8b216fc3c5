"""Recall decisions: what was considered, and why it was kept or not (SPEC §7)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from pony_memory.recall.passages import Passage


class Verdict(StrEnum):
    """In the order in which they are tried; the first that applies is the decision's."""

    NO_EVIDENCE = "no_evidence"
    SUPERSEDED = "superseded"
    RECENT = "recent"
    BELOW_MIN_SCORE = "below_min_score"
    BELOW_TOP_K = "below_top_k"
    OVER_BUDGET = "over_budget"
    KEPT = "kept"


@dataclass(frozen=True, slots=True)
class Decision:
    """One candidate.

    ``rank`` is 1-based among the candidates by score; ``normalized`` is the score as a share of this query's best;
    ``tokens`` is the cost of the rendered block, 0 where none was rendered; ``terms`` are the query's terms it
    matched, heaviest first; ``via`` is the canonical path of the note whose link brought it, if one did.
    """

    path: str
    rank: int
    score: float
    normalized: float
    verdict: Verdict
    tokens: int
    terms: tuple[str, ...]
    via: str | None = None
    passage: Passage | None = None
    #: For ``superseded``: the canonical path of the note that did it.
    by: str | None = None


@dataclass(frozen=True, slots=True)
class Recall:
    """All decisions of one query, best score first, and what goes into the prompt (``context``, sanitised)."""

    query: str
    decisions: tuple[Decision, ...]
    context: str
    tokens: int
    best_score: float
    threshold: float

    @property
    def kept(self) -> tuple[Decision, ...]:
        return tuple(decision for decision in self.decisions if decision.verdict is Verdict.KEPT)
