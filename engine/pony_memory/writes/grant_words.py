"""Does a user plainly ask to remember? English, Chinese, and both mixed (SPEC §9).

The prompt is read as a person would skim it. What is not the user speaking is taken out first: code, quotations,
pasted text. What is left is cut into clauses, and a clause asks if it *begins* as a request: fillers ("and please
also", 麻烦帮我), then "remember …" or "save … to memory". So "the login form should remember the user" and 他说要记住
do not ask, whatever words they hold. A negation, a question or talk about the phrase never asks, and "don't save
that" after a request takes it back.

When in doubt there is no grant: the agent is told how to get one, and the user says it plainly.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache
from itertools import islice
from typing import Final

from pony_memory.writes import grant_grammar as grammar
from pony_memory.writes.grant_grammar import CUT, compiled

NOTHING: Final = "it does not plainly ask to remember anything"
NEGATED: Final = "it says not to remember"
QUESTION: Final = "it asks about remembering and does not ask to remember"
EMPTY: Final = "/remember has nothing to remember after it"

_TRADITIONAL: Final = str.maketrans(
    "記別請幫這個們儲憶寫進為嗎麼應該後說話無須誰裡裏讓錄備過還東經會時樣對點將給",
    "记别请帮这个们储忆写进为吗么应该后说话无须谁里里让录备过还东经会时样对点将给",
)


class _Verdict(Enum):
    NOTHING = auto()
    ASKS = auto()
    NEGATED = auto()
    TAKES_BACK = auto()
    QUESTION = auto()


@dataclass(frozen=True, slots=True)
class _Clause:
    """``text``: the rest of the sentence from here on, fillers in front taken off (``polite`` tells of what kind).

    ``before``: what the clause between two commas has before it; ``sentence``: what the whole sentence has.
    ``joined``: it begins at an "and", not at a break. ``question``: its sentence ends as one.
    """

    text: str
    polite: bool
    before: str
    sentence: str
    joined: bool
    question: bool


def asks_to_remember(prompt: str) -> str | None:
    """``None`` if ``prompt`` plainly asks to remember something, else why not: one of this module's phrases."""
    stripped = prompt.strip()
    command = compiled(r"(?i)/remember(?![\w/-])").match(stripped)
    if command is not None:
        return None if stripped[command.end() :].strip() else EMPTY
    asked = False
    seen = set()
    for clause in _clauses(_own_words(stripped)):
        verdict = _judge(clause)
        seen.add(verdict)
        # In the order of the words: what takes back counts for what was asked before it.
        asked = verdict is _Verdict.ASKS or (asked and verdict is not _Verdict.TAKES_BACK)
    if asked:
        return None
    if seen & {_Verdict.NEGATED, _Verdict.TAKES_BACK}:
        return NEGATED
    return QUESTION if _Verdict.QUESTION in seen else NOTHING


def _own_words(prompt: str) -> str:
    """The prompt without code, quotations and pasted text, lower-case, in simplified characters."""
    text = prompt.replace("\r\n", "\n").replace("\r", "\n")
    text = _without_markup(_without_inline_code(_without_blocks(text)))
    for pattern in _quotations():
        text = pattern.sub(f" {CUT} ", text)
    # Runs of white space tell nothing from here on, and some patterns would try each of its ends.
    text = re.sub(r"[^\S\n]+", " ", text)
    text = text.translate(_TRADITIONAL).replace("’", "'").lower()
    return "\n".join(_without_pasted(text))


_FENCE: Final = re.compile(r"[ \t]*(`{3,}(?=[^`]*\Z)|~{3,})")


def _without_blocks(text: str) -> str:
    """Cut fenced blocks (one that never ends runs to the end), quoted lines and indented code."""
    kept: list[str] = []
    fence = ""
    after_blank = True
    for line in text.split("\n"):
        found = _FENCE.match(line)
        if fence:
            if found is not None and found.group(1).startswith(fence) and not line.strip(" \t`~"):
                fence = ""
            continue
        indented = after_blank and line.startswith(("    ", "\t")) and bool(line.strip())
        if found is not None and not indented:
            fence = found.group(1)
        cut = bool(fence) or indented or line.lstrip().startswith(">")
        # Code goes on in the lines below it that are indented as well.
        after_blank = not line.strip() or cut
        kept.append(CUT if cut else line)
    return "\n".join(kept)


@lru_cache(maxsize=1)
def _quotations() -> tuple[re.Pattern[str], ...]:
    return tuple(
        re.compile(pattern, re.MULTILINE)
        for pattern in (
            r'"(?:[^"\n]|\n(?!\s*\n)){0,2000}?"',
            r"“(?:[^”\n]|\n(?!\s*\n)){0,2000}?”",
            r"「[^」]{0,2000}」",
            r"『[^』]{0,2000}』",
            r"《[^》]{0,200}》",
            r"«[^»]{0,2000}»",
            r"‘[^‘’\n]{1,500}’(?![A-Za-z])",
            r"(?<![\w'])'(?=\S)[^'\n]{1,300}?(?:(?<=\w)'(?=\w)[^'\n]{1,300}?){0,5}(?<=\S)'(?![\w'])",
            r'["“「『«][^\n]*',  # a quotation that never ends hides the rest of its line; an apostrophe is none
        )
    )


def _without_inline_code(text: str) -> str:
    """Cut what stands between two equal runs of backticks, within a paragraph."""
    kept: list[str] = []
    for paragraph in re.split(r"(\n[ \t]*\n)", text):
        runs = list(re.finditer("`+", paragraph))
        # For each run the next one of its length: that is where the code it opens would end.
        following: dict[int, int] = {}
        closing: list[int | None] = [None] * len(runs)
        for number in range(len(runs) - 1, -1, -1):
            length = len(runs[number].group())
            closing[number] = following.get(length)
            following[length] = number
        done = 0
        for run, close in zip(runs, closing, strict=True):
            if run.start() >= done and close is not None:
                kept += (paragraph[done : run.start()], f" {CUT} ")
                done = runs[close].end()
        kept.append(paragraph[done:])
    return "".join(kept)


_MAX_TAG_NAMES: Final = 50


def _without_markup(text: str) -> str:
    """Cut pasted elements, ``<document>…</document>``, with all that is in them."""
    kept: list[str] = []
    unclosed: set[str] = set()
    done = 0
    for tag in re.finditer(r"<([A-Za-z][\w-]{0,40})(?:\s[^<>]{0,200})?>", text):
        name = tag.group(1)
        if tag.start() < done or name in unclosed or len(unclosed) > _MAX_TAG_NAMES:
            continue
        end = text.find(f"</{name}>", tag.end())
        if end < 0:
            unclosed.add(name)
            continue
        kept += (text[done : tag.start()], f" {CUT} ")
        done = end + len(name) + 3
    kept.append(text[done:])
    return "".join(kept)


def _without_pasted(text: str) -> Iterator[str]:
    """Leave out what is pasted below a line that ends in a colon: to the next blank line, or all of it if the line
    says what the text is ("Summarise this article:").
    """
    lines = text.split("\n")
    number = 0
    while number < len(lines):
        line = lines[number]
        number += 1
        yield line
        lead = re.sub(r"^\s*(?:[-*+•]|\d{1,3}[.)、])\s+", "", line).strip()
        if lead[-1:] not in (":", "："):
            continue
        lead = re.split(r"[.!?。！？]\s*", lead[-_BACK_CHARS:-1])[-1]
        while number < len(lines) and not lines[number].strip():
            number += 1
        # What was pasted as code or as a quotation is out already.
        if number == len(lines) or lines[number].strip() == CUT or _introduces(lead):
            continue
        if compiled(grammar.TALK).search(lead) is not None:
            return
        while number < len(lines) and lines[number].strip():
            number += 1


#: Bounds on one sentence: what is farther away, or the hundredth "and" of it, is not plainly said. They keep the cost
#: linear in the prompt, whatever is in it.
_AHEAD_CHARS: Final = 400
_BACK_CHARS: Final = 400
_MAX_CLAUSES: Final = 100

_SENTENCE_END: Final = re.compile(r"([.!?]+(?=\s|$)|[。！？…]+|\n+)")
_CLAUSE_BREAK: Final = re.compile(r"[,，;；—–()（）]|\s-\s|(?<!\d)[:：](?!//)|[:：](?=\s|$)")
_JOINT: Final = re.compile(
    r"\s(?:and|then|but|plus|so)\s|(?:并且|然后|顺便|同时|还要|并|再)(?=[^。]*(?:记|存|remember|memory))"
)
_TAG: Final = re.compile(
    r"[,，]?\s*(?:ok(?:ay)?|alright|right|yeah|will you|would you|could you|please"
    r"|好吗|好不好|好么|可以吗|行吗|行不行)\s*$"
)


def _clauses(text: str) -> list[_Clause]:
    found: list[_Clause] = []
    quoted = False
    pieces = _SENTENCE_END.split(text)
    for sentence, end in zip(pieces[::2], [*pieces[1::2], ""], strict=True):
        if not quoted:
            question = "?" in end or "？" in end or re.search(r"[吗么嘛呢]\s*$", sentence) is not None
            bare = re.sub(r"^\s*(?:[-*+•]|\d{1,3}[.)、])\s+", "", sentence)
            # "…, ok?" and …好吗 ask for a nod, not for an answer.
            untagged = _TAG.sub("", bare)
            quoted = _sentence_clauses(untagged, question and untagged == bare, found)
        if "\n" in end:
            quoted = False
    return found


def _sentence_clauses(sentence: str, question: bool, found: list[_Clause]) -> bool:
    """Add the clauses of one sentence; true if the rest of the line is somebody else's: "He said: remember …"."""
    breaks = islice(_CLAUSE_BREAK.finditer(sentence), _MAX_CLAUSES)
    starts = [0, *(match.end() for match in breaks)]
    for start, end in zip(starts, [*starts[1:], len(sentence)], strict=True):
        if (
            start
            and sentence[start - 1] in ":："
            and not _introduces(sentence[max(0, start - _BACK_CHARS) : start - 1])
        ):
            lead = sentence[max(0, start - _BACK_CHARS) : start - 1].strip()
            return " " not in lead or compiled(grammar.TALK).search(lead) is not None
        # The rest of the sentence goes along: what is asked for may hold commas.
        found.append(_clause(sentence, start, start, question))
        joints = islice(_JOINT.finditer(sentence, start, end), _MAX_CLAUSES)
        found += (_clause(sentence, start, joint.end(), question) for joint in joints)
    return False


def _clause(sentence: str, comma: int, start: int, question: bool) -> _Clause:
    text, fillers = _without_fillers(sentence[start : start + _AHEAD_CHARS])
    back = max(0, start - _BACK_CHARS)
    return _Clause(
        text,
        grammar.is_polite(fillers),
        sentence[max(comma, back) : start],
        sentence[back:start],
        comma != start,
        question,
    )


def _without_fillers(text: str) -> tuple[str, str]:
    bare = text.strip()
    fillers = ""
    while (match := grammar.filler().match(bare)) is not None:
        fillers += f"{match.group()} "
        bare = bare[match.end() :].lstrip(" ,，、:：")
    return bare, fillers


def _introduces(lead: str) -> bool:
    """Whether what stands before a colon leads to the user's own request, and not to words of somebody else."""
    whole = lead.strip()
    rest, _ = _without_fillers(whole)
    if not rest:
        return True
    # "remember: …" and "save to memory: …" are requests themselves; what follows is their object.
    if _asks(rest + ":") or compiled(grammar.NEGATION).match(rest) is not None:
        return True
    if compiled(grammar.TALK).search(whole) is not None:
        return False
    last = re.split(r"[,，;；]", whole)[-1]
    return compiled(f"(?:{grammar.INTRODUCTION})\\s*").fullmatch(last.strip()) is not None or (
        len(rest) <= 60 and re.search(rf"(?:^|\s)(?:{grammar.INTRODUCTION})$", rest) is not None
    )


def _judge(clause: _Clause) -> _Verdict:
    text = clause.text
    if not clause.joined and compiled(grammar.TAKE_BACK).match(text) is not None:
        return _Verdict.TAKES_BACK
    asks = _asks(text) or _points_back(clause)
    head = _head((clause.before + text) if clause.joined else text)
    if compiled(grammar.NEGATION).match(head) is not None and (clause.joined or not asks):
        took = compiled(grammar.NO_OBJECT).search(_head(text)) is not None
        return _Verdict.TAKES_BACK if took else _Verdict.NEGATED
    if not asks or (clause.joined and not _joint_is_sound(clause)):
        return _Verdict.NOTHING
    if clause.question and not _is_request(clause):
        return _Verdict.QUESTION
    return _Verdict.ASKS


def _asks(text: str) -> bool:
    return any(pattern.match(text) is not None for pattern in grammar.requests())


def _points_back(clause: _Clause) -> bool:
    """ "…, please remember" and …，记住了: what is meant was said just before."""
    if clause.joined or clause.question:
        return False
    return (clause.polite and clause.text == "remember") or (bool(clause.sentence) and clause.text == "记住了")


def _head(text: str) -> str:
    """The clause up to its first break."""
    match = _CLAUSE_BREAK.search(text)
    return (text if match is None else text[: match.start()]).strip()


def _is_request(clause: _Clause) -> bool:
    """Of a question: "Could you remember that …?" asks, "can you remember my name?" and 你能记住东西吗 do not."""
    near = clause.sentence[-12:] + clause.text[:60]
    if not clause.polite and re.search(r"把.{1,40}?[记存写]|可以|能", near) is None:
        return False
    if compiled(grammar.ASKING_FAVOUR).search(clause.sentence[-30:] + clause.text) is not None:
        return True
    return compiled(grammar.ASKING_THIS).match(clause.text) is not None


def _joint_is_sound(clause: _Clause) -> bool:
    """ "Fix the bug and remember that …" asks; "a script that can parse and remember this" does not."""
    if clause.polite:
        return True
    if compiled(grammar.SUBJECT).search(clause.before) is not None:
        return False
    if compiled(grammar.MACHINE).search(clause.sentence) is not None:
        return False
    return compiled(grammar.JOINED).match(clause.text) is not None
