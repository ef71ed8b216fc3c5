"""The paragraph of a note that answers a query best, within a token budget (SPEC §7).

A passage is one paragraph: lines between blank lines, a heading taken together with what it heads. A paragraph over
the budget is cut around its best match, not at its start, at sentence or line ends where there are any.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from pony_memory.tokens_count import TokenCounter

#: Splits a text into the terms the index knows.
Tokenise = Callable[[str], Iterable[str]]

CUT_MARK: Final = "…"
_HEADING = re.compile(r"#{1,6}(\s|\Z)")
#: Where a long paragraph may be cut: after a line, or after a sentence in either script.
_UNIT_END = re.compile(r"\n|(?<=[.!?;])\s+|(?<=[。！？；])")
#: A unit longer than this is split further, at white space if there is any.
_UNIT_MAX_CHARS: Final = 240


@dataclass(frozen=True, slots=True)
class Passage:
    """``text`` of at most the budget's tokens; 1-based inclusive lines of the file it came from."""

    text: str
    start_line: int
    end_line: int
    tokens: int
    cut: bool


@dataclass(frozen=True, slots=True)
class _Paragraph:
    text: str
    start_line: int


def best_passage(
    body: str,
    body_line: int,
    weights: Mapping[str, float],
    *,
    tokenise: Tokenise,
    counter: TokenCounter,
    max_tokens: int,
) -> Passage:
    """The paragraph of ``body`` that matches ``weights`` (query term → idf) best; the first one if none matches.

    ``body_line`` is the 1-based line of the file at which ``body`` starts.
    """
    paragraphs = _paragraphs(body, body_line)
    if not paragraphs:
        return Passage("", body_line, body_line, 0, False)
    best = paragraphs[0] if len(paragraphs) == 1 else _best(paragraphs, weights, tokenise)
    tokens = counter.count(best.text)
    if tokens <= max_tokens:
        return Passage(best.text, best.start_line, best.start_line + best.text.count("\n"), tokens, False)
    return _cut(best, weights, tokenise, counter, max_tokens)


def _paragraphs(body: str, first_line: int) -> list[_Paragraph]:
    found: list[_Paragraph] = []
    lines: list[str] = []
    start = first_line
    only_headings = True
    fence = ""
    for number, line in enumerate(body.split("\n"), first_line):
        stripped = line.strip()
        if stripped[:3] in ("```", "~~~"):
            fence = "" if fence else stripped[:3]
        if not stripped and not fence:
            if lines and not only_headings:
                found.append(_Paragraph("\n".join(lines), start))
                lines, only_headings = [], True
            continue
        if not lines:
            start = number
        elif number > start + len(lines):  # blank lines between a heading and what it heads stay
            lines.extend([""] * (number - start - len(lines)))
        lines.append(line)
        only_headings = only_headings and _HEADING.match(stripped) is not None
    if lines:
        found.append(_Paragraph("\n".join(lines).rstrip(), start))
    return found


def _best(paragraphs: list[_Paragraph], weights: Mapping[str, float], tokenise: Tokenise) -> _Paragraph:
    counted: list[tuple[dict[str, int], int]] = []
    for paragraph in paragraphs:
        counts: dict[str, int] = {}
        length = 0
        for term in tokenise(paragraph.text):
            length += 1
            if term in weights:
                counts[term] = counts.get(term, 0) + 1
        counted.append((counts, length))
    average = sum(length for _, length in counted) / len(counted) or 1.0

    def score(index: int) -> float:
        counts, length = counted[index]
        norm = 1.5 * (0.25 + 0.75 * length / average)
        return sum(weights[term] * count * 2.5 / (count + norm) for term, count in counts.items())

    # max() keeps the first of equals: the earlier paragraph.
    return paragraphs[max(range(len(paragraphs)), key=score)]


def _units(text: str) -> list[tuple[int, int]]:
    """Consecutive spans that cover ``text``: sentences and lines, none much longer than ``_UNIT_MAX_CHARS``."""
    spans: list[tuple[int, int]] = []
    start = 0
    for match in _UNIT_END.finditer(text):
        spans.append((start, match.end()))
        start = match.end()
    spans.append((start, len(text)))
    short: list[tuple[int, int]] = []
    for begin, end in spans:
        while end - begin > _UNIT_MAX_CHARS:
            blank = text.rfind(" ", begin + 1, begin + _UNIT_MAX_CHARS)
            middle = blank + 1 if blank > begin else begin + _UNIT_MAX_CHARS
            short.append((begin, middle))
            begin = middle
        if end > begin:
            short.append((begin, end))
    return short


def _cut(
    paragraph: _Paragraph, weights: Mapping[str, float], tokenise: Tokenise, counter: TokenCounter, max_tokens: int
) -> Passage:
    text = paragraph.text
    units = _units(text)
    found: list[frozenset[str]] = []
    for begin, end in units:
        # One character of the next unit too, so that a bigram over the border is seen.
        found.append(frozenset(term for term in tokenise(text[begin : end + 1]) if term in weights))
    budget = max_tokens - 2 * counter.count(CUT_MARK)
    costs = [counter.count(text[begin:end]) for begin, end in units]

    first, last = _window(found, costs, weights, budget)
    begin, end = units[first][0], units[last][1]
    shown = _marked(text, begin, end)
    tokens = counter.count(shown)
    while tokens > max_tokens and end - begin > 1:
        # One unit alone may be over the budget, or rounding was against us: give up the tail, a share at a time.
        end = begin + max(1, min(end - begin - 1, (end - begin) * max_tokens // tokens))
        shown = _marked(text, begin, end)
        tokens = counter.count(shown)
    start_line = paragraph.start_line + text.count("\n", 0, begin)
    return Passage(shown, start_line, start_line + text[begin:end].rstrip().count("\n"), tokens, True)


def _window(
    found: list[frozenset[str]], costs: list[int], weights: Mapping[str, float], budget: int
) -> tuple[int, int]:
    """First and last unit of the run within ``budget`` that holds the most of the query.

    Each distinct term counts once and each further unit that holds it a little, so that a run which covers the
    whole query wins over one that repeats a single word of it.
    """
    best: tuple[float, int, int] = (-1.0, 0, 0)
    held: dict[str, int] = {}
    gain = repeats = 0.0
    cost = first = 0
    for last, terms in enumerate(found):
        cost += costs[last]
        for term in terms:
            held[term] = held.get(term, 0) + 1
            if held[term] == 1:
                gain += weights[term]
            else:
                repeats += weights[term]
        while cost > budget and first < last:
            cost -= costs[first]
            for term in found[first]:
                held[term] -= 1
                if held[term] == 0:
                    gain -= weights[term]
                else:
                    repeats -= weights[term]
            first += 1
        score = gain + 0.01 * repeats
        if score > best[0] + 1e-12:
            best = (score, first, last)
    _, first, last = best
    return _grown(found, costs, budget, first, last)


def _grown(found: list[frozenset[str]], costs: list[int], budget: int, first: int, last: int) -> tuple[int, int]:
    """Drop units without a match from both ends, then spend what is left of the budget evenly on both sides."""
    while first < last and not found[first]:
        first += 1
    while last > first and not found[last]:
        last -= 1
    cost = sum(costs[first : last + 1])
    grew = True
    while grew:
        grew = False
        if first > 0 and cost + costs[first - 1] <= budget:
            first -= 1
            cost += costs[first]
            grew = True
        if last + 1 < len(costs) and cost + costs[last + 1] <= budget:
            last += 1
            cost += costs[last]
            grew = True
    return first, last


def _marked(text: str, begin: int, end: int) -> str:
    before = CUT_MARK if begin > 0 else ""
    after = CUT_MARK if end < len(text) else ""
    return f"{before}{text[begin:end].strip()}{after}"
