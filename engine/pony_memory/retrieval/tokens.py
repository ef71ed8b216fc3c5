"""From text to terms, alike for documents and queries (SPEC §5).

- Unicode words after NFKC, case-folded, lightly stemmed; a short list of English function words is left out.
- Runs of Han, kana and Hangul become overlapping pairs of characters; a run of one character is itself.
- An identifier (``snake_case``, ``camelCase``, ``kebab-case``) is one term without its separators, and its parts.

Analysis is memoised a word, for the words of a store repeat: most of the cost of a text is then splitting it.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from typing import Final

from pony_memory.retrieval.marks import MARKS_CLASS
from pony_memory.retrieval.stemmer import stem
from pony_memory.tokens_count import CJK_CLASS

#: Function words that say nothing about what a note is about. Negations stay: they carry facts.
STOP_WORDS: Final = frozenset(
    """
    a about all also am an and any are aren't as at be because been being both but by can could couldn't did didn't do
    does doesn't doing don't for from had has hasn't have haven't having he her here hers him his how i i'd i'll i'm
    i've if in into is isn't it it's its just let's like me my of on or our ours she should so some such than that
    that's the their them then there there's these they they're this those to too us very was wasn't we we're we've
    were weren't what what's when where which while who whom whose why will with would wouldn't you you're your yours
    """.split()
)
#: Pairs of characters that Chinese questions are made of, and that say nothing by themselves.
STOP_PAIRS: Final = frozenset(
    """
    什么 怎么 怎样 么样 这个 那个 哪个 哪里 哪些 我们 你们 他们 她们 它们 一个 一下 一些 可以 是否 是不 不是 如何
    为什 没有 就是 但是 因为 所以 如果 以及 或者 并且 还是 这样 那样
    这些 那些 的话 的是 是什 请问 能否 需要 应该
    """.split()
)

_WORD_CLASS: Final = rf"\w{MARKS_CLASS}"
_PIECES: Final = re.compile(
    rf"[{CJK_CLASS}]+"
    rf"|(?:(?![{CJK_CLASS}])[{_WORD_CLASS}])+(?:[-'’](?:(?![{CJK_CLASS}])[{_WORD_CLASS}])+)*"
)
_ASCII_PIECES: Final = re.compile(r"[A-Za-z0-9_]+(?:[-'][A-Za-z0-9_]+)*")
_CJK_START: Final = re.compile(f"[{CJK_CLASS}]")
_SEPARATORS: Final = re.compile(r"[-_]+")
_SIMPLE: Final = re.compile(r"[a-z]+|[0-9]+|[A-Z][a-z]*|[A-Z]+")

#: A word longer than this is no word anybody searches for (a base64 blob, a hash); it is kept by its start.
MAX_WORD_CHARS: Final = 64
#: How many analysed words are remembered before the memory is emptied.
_MEMO_MAX_WORDS: Final = 200_000

_memo: dict[str, tuple[str, ...]] = {}


def normalised(text: str) -> str:
    """NFKC without the lone surrogates that no file can hold."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", text)


def tokenise(text: str) -> list[str]:
    """The terms of ``text`` in order, stop words left out."""
    found: list[str] = []
    for piece in pieces(text):
        found.extend(analysed(piece))
    return found


def term_counts(text: str) -> dict[str, int]:
    """Term → how often it occurs in ``text``; the same terms as :func:`tokenise`, several times faster."""
    counts: dict[str, int] = {}
    for piece, times in Counter(pieces(text)).items():
        for term in analysed(piece):
            counts[term] = counts.get(term, 0) + times
    return counts


def pieces(text: str) -> list[str]:
    """Words and CJK runs of ``text`` as they stand, before analysis."""
    if text.isascii():
        return _ASCII_PIECES.findall(text)
    return _PIECES.findall(normalised(text))


def analysed(piece: str) -> tuple[str, ...]:
    """The terms of one word or CJK run; empty for a stop word."""
    terms = _memo.get(piece)
    if terms is None:
        terms = _analyse(piece)
        if len(_memo) >= _MEMO_MAX_WORDS:
            _memo.clear()
        _memo[piece] = terms
    return terms


def stop_words_of(text: str) -> list[str]:
    """The distinct stop words of ``text`` as they are, case-folded, in order. For a query that has nothing else."""
    found: dict[str, None] = {}
    for piece in pieces(text):
        if _CJK_START.match(piece):
            for term in _pairs(piece):
                if term in STOP_PAIRS:
                    found[term] = None
        elif (word := _folded(piece)) in STOP_WORDS:
            found[word] = None
    return list(found)


def is_single_cjk(term: str) -> bool:
    """Whether ``term`` is one CJK character, which also matches inside longer runs."""
    return len(term) == 1 and _CJK_START.match(term) is not None


def _folded(word: str) -> str:
    return word.casefold().replace("’", "'")


def _pairs(run: str) -> tuple[str, ...]:
    if len(run) == 1:
        return (run,)
    return tuple([run[index : index + 2] for index in range(len(run) - 1)])


def _analyse(piece: str) -> tuple[str, ...]:
    if _CJK_START.match(piece):
        return tuple([pair for pair in _pairs(piece.casefold()) if pair not in STOP_PAIRS])
    if _SIMPLE.fullmatch(piece):  # the common case: nothing to take apart
        return _word(piece)
    word = _folded(piece)
    if word in STOP_WORDS:
        return ()
    piece = piece.replace("’", "'")
    for ending in ("'s", "'S", "'ll", "'re", "'ve", "'d", "'m"):
        piece = piece.removesuffix(ending)
    parts = [part for segment in _SEPARATORS.split(piece.replace("'", "")) for part in _camel_parts(segment)]
    if len(parts) <= 1:
        return _word(piece.replace("'", "").strip("_-"))
    whole = "".join(parts).casefold()[:MAX_WORD_CHARS]
    found = [stem(whole)]
    for part in parts:
        found.extend(_word(part))
    return tuple(found)


def _camel_parts(word: str) -> list[str]:
    """``getUserName`` → get, User, Name; ``XMLHttpRequest`` → XML, Http, Request; digits stay with what they follow."""
    if not word:
        return []
    if word.islower() or word.isupper() or (word[-1] == "s" and word[:-1].isupper()):
        return [word]
    parts: list[str] = []
    start = 0
    for index in range(1, len(word)):
        if not word[index].isupper():
            continue
        next_is_lower = index + 1 < len(word) and word[index + 1].islower()
        if not word[index - 1].isupper() or next_is_lower:
            parts.append(word[start:index])
            start = index
    parts.append(word[start:])
    return parts


def _word(word: str) -> tuple[str, ...]:
    folded = unicodedata.normalize("NFKC", word.casefold()) if not word.isascii() else word.lower()
    if not folded or folded in STOP_WORDS:
        return ()
    return (stem(folded[:MAX_WORD_CHARS]),)
