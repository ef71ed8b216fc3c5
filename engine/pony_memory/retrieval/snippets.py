"""The lines of a hit that show why it was found (SPEC §5)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from pony_memory.limits import SNIPPET_MAX_CHARS, SNIPPETS_PER_HIT
from pony_memory.retrieval.tokens import STOP_WORDS, analysed, is_single_cjk, normalised, pieces

#: Lines looked at closely in one hit, and terms looked for. Enough for any note a person wrote; bounds hostile ones.
_MAX_LINES: Final = 2_000
_MAX_LINES_A_TERM: Final = 100
_MAX_TERMS: Final = 64
_CUT: Final = "…"
_KEY: Final = re.compile(r"\s*[\w-]+\s*:")


@dataclass(frozen=True, slots=True)
class Snippet:
    """One matching line: its 1-based number in the file, and at most 200 characters of it around the match."""

    line: int
    text: str


def snippets(text: str, first_line: int, weights: Mapping[str, float], *, header_lines: int = 0) -> tuple[Snippet, ...]:
    """At most 3 lines of ``text`` in order, those that hold most of ``weights`` (term → idf).

    ``first_line`` is the 1-based line of the file on which ``text`` starts. Of the first ``header_lines`` lines only
    the values are searched: that every header has a ``name`` makes no line of it a match for "name".
    """
    if not weights:
        return ()
    if len(weights) > _MAX_TERMS:
        heaviest = sorted(weights, key=lambda term: (-weights[term], term))[:_MAX_TERMS]
        weights = {term: weights[term] for term in heaviest}
    literal = [term for term in weights if is_single_cjk(term) or term in STOP_WORDS]
    lines = text.split("\n")
    best: list[int] = []
    for index in _candidates(text, len(lines), weights):
        line = lines[index]
        if index < header_lines:
            line = line.partition(":")[2] if _KEY.match(line) else line
        # The candidates come likeliest first: the first three that do match are shown.
        if any(term in weights for term in _terms_of(line)) or (
            literal and any(term in normalised(line).casefold() for term in literal)
        ):
            best.append(index)
            if len(best) >= SNIPPETS_PER_HIT:
                break
    best.sort()
    return tuple([Snippet(first_line + index, _window(lines[index], weights)) for index in best])


def matches(line: str, weights: Mapping[str, float]) -> list[tuple[int, int]]:
    """Where in ``line`` words of the query stand, as (start, end), for highlighting."""
    found: list[tuple[int, int]] = []
    start = 0
    for piece in pieces(line):
        at = line.find(piece, start)
        if at < 0:  # the line was normalised on the way; the piece does not stand in it letter by letter
            continue
        start = at + len(piece)
        terms = analysed(piece)
        if len(terms) > 1 and all(len(term) <= 2 for term in terms):
            found.extend(_pair_spans(piece, at, weights))
        elif any(term in weights for term in terms):
            found.append((at, start))
        else:
            found.extend((at + i, at + i + 1) for i, char in enumerate(piece) if char in weights)
    return found


def _pair_spans(run: str, at: int, weights: Mapping[str, float]) -> Iterator[tuple[int, int]]:
    begin = -1
    for index in range(len(run)):
        hit = (
            run[index : index + 2] in weights or run[max(0, index - 1) : index + 1] in weights or run[index] in weights
        )
        if hit and begin < 0:
            begin = index
        if not hit and begin >= 0:
            yield at + begin, at + index
            begin = -1
    if begin >= 0:
        yield at + begin, at + len(run)


def _candidates(text: str, count: int, weights: Mapping[str, float]) -> list[int]:
    """Indexes of lines worth a close look, likeliest first: those in which roots of the heaviest terms stand."""
    folded = normalised(text).casefold()
    roots: dict[str, float] = {}
    for term, weight in weights.items():
        root = _root(term)
        roots[root] = max(weight, roots.get(root, 0.0))
    scores: dict[int, float] = {}
    for root, weight in roots.items():
        line = last = seen = 0
        at = folded.find(root)
        while at >= 0 and seen < _MAX_LINES_A_TERM:
            line += folded.count("\n", last, at)
            last = at
            scores[line] = scores.get(line, 0.0) + weight
            seen += 1
            end = folded.find("\n", at)
            at = folded.find(root, end) if end >= 0 else -1
    if scores:
        return sorted(scores, key=lambda line: (-scores[line], line))
    # An identifier may match as a whole that stands in the text with its separators: no root shows that.
    return list(range(min(count, _MAX_LINES)))


def _root(term: str) -> str:
    return term[:-1] if len(term) > 3 and term[-1] in "iey" else term


def _terms_of(line: str) -> set[str]:
    found: set[str] = set()
    for piece in pieces(line):
        found.update(analysed(piece))
    return found


def _window(line: str, weights: Mapping[str, float]) -> str:
    line = line.strip()
    if len(line) <= SNIPPET_MAX_CHARS:
        return line
    spans = matches(line, weights)
    first = spans[0][0] if spans else 0
    begin = max(0, min(first - SNIPPET_MAX_CHARS // 4, len(line) - SNIPPET_MAX_CHARS + 1))
    room = SNIPPET_MAX_CHARS - (1 if begin else 0)
    end = min(len(line), begin + room)
    if end < len(line):
        end -= 1
    return f"{_CUT if begin else ''}{line[begin:end]}{_CUT if end < len(line) else ''}"
