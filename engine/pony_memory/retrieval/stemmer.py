"""Light English stemming: the plural, past and progressive forms, and the commonest derivations.

Written after the published description of the Snowball English stemmer (steps 1a to 4, without its list of
irregular words). Each word is stemmed once in a process; callers memoise.
"""

from __future__ import annotations

from typing import Final

_VOWELS: Final = frozenset("aeiouy")
_DOUBLES: Final = frozenset(("bb", "dd", "ff", "gg", "mm", "nn", "pp", "rr", "tt"))
_LI_ENDINGS: Final = frozenset("cdeghkmnrt")

#: Words that start so would lose what tells them apart; their first region starts behind the prefix.
_PREFIXES: Final = ("gener", "commun", "arsen", "past", "univers", "later", "emerg", "organ")

#: Suffix and what takes its place when the suffix lies in R1; longest first.
_STEP_2: Final = (
    ("ization", "ize"),
    ("ational", "ate"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("iveness", "ive"),
    ("tional", "tion"),
    ("biliti", "ble"),
    ("lessli", "less"),
    ("entli", "ent"),
    ("ation", "ate"),
    ("alism", "al"),
    ("aliti", "al"),
    ("ousli", "ous"),
    ("iviti", "ive"),
    ("fulli", "ful"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("abli", "able"),
    ("izer", "ize"),
    ("ator", "ate"),
    ("alli", "al"),
    ("bli", "ble"),
)
_STEP_3: Final = (
    ("ational", "ate"),
    ("tional", "tion"),
    ("alize", "al"),
    ("icate", "ic"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ness", ""),
    ("ful", ""),
)
_STEP_4: Final = (
    "ement",
    "ance",
    "ence",
    "able",
    "ible",
    "ment",
    "ant",
    "ent",
    "ism",
    "ate",
    "iti",
    "ous",
    "ive",
    "ize",
    "al",
    "er",
    "ic",
)


def stem(word: str) -> str:
    """The stem of a lower-case ASCII word; words of up to two letters, and with digits, are their own stems."""
    if len(word) <= 2 or not word.isascii() or not word.isalpha():
        return word
    word = _mark_consonant_y(word)
    r1 = next((len(prefix) for prefix in _PREFIXES if word.startswith(prefix)), 0) or _region(word, 0)
    r2 = _region(word, r1)
    word = _step_1a(word)
    word = _step_1b(word, r1)
    word = _step_1c(word)
    word = _replace(word, _STEP_2, r1)
    if word.endswith("li") and len(word) - 2 >= r1 and word[-3:-2] in _LI_ENDINGS:
        word = word[:-2]
    word = _replace(word, _STEP_3, r1)
    word = _step_4(word, r2)
    word = _step_5(word, r1, r2)
    return word.lower()


def _mark_consonant_y(word: str) -> str:
    letters = list(word)
    for index, letter in enumerate(letters):
        if letter == "y" and (index == 0 or letters[index - 1] in _VOWELS):
            letters[index] = "Y"
    return "".join(letters)


def _region(word: str, start: int) -> int:
    """Where the region after the first consonant that follows a vowel begins."""
    for index in range(start + 1, len(word)):
        if word[index] not in _VOWELS and word[index - 1] in _VOWELS:
            return index + 1
    return len(word)


def _has_vowel(text: str) -> bool:
    return any(letter in _VOWELS for letter in text)


def _step_1a(word: str) -> str:
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith(("ied", "ies")):
        return word[:-2] if len(word) > 4 else word[:-1]
    if word.endswith(("us", "ss")) or not word.endswith("s"):
        return word
    return word[:-1] if _has_vowel(word[:-2]) else word


def _step_1b(word: str, r1: int) -> str:
    for suffix in ("eedly", "eed"):
        if word.endswith(suffix):
            return word[: -len(suffix)] + "ee" if len(word) - len(suffix) >= r1 else word
    for suffix in ("ingly", "edly", "ing", "ed"):
        if word.endswith(suffix):
            base = word[: -len(suffix)]
            if not _has_vowel(base):
                return word
            if base.endswith(("at", "bl", "iz")):
                return base + "e"
            if base[-2:] in _DOUBLES and len(base) > 3:
                return base[:-1]
            if _is_short(base, r1):
                return base + "e"
            return base
    return word


def _is_short(word: str, r1: int) -> bool:
    if r1 < len(word):
        return False
    if len(word) == 2:
        return word[0] in _VOWELS and word[1] not in _VOWELS
    return (
        len(word) > 2
        and word[-1] not in _VOWELS
        and word[-1] not in "wxY"
        and word[-2] in _VOWELS
        and word[-3] not in _VOWELS
    )


def _step_1c(word: str) -> str:
    if len(word) > 2 and word[-1] in "yY" and word[-2] not in _VOWELS:
        return word[:-1] + "i"
    return word


def _replace(word: str, rules: tuple[tuple[str, str], ...], region: int) -> str:
    for suffix, replacement in rules:
        if word.endswith(suffix):
            return word[: -len(suffix)] + replacement if len(word) - len(suffix) >= region else word
    return word


def _step_4(word: str, r2: int) -> str:
    for suffix in _STEP_4:
        if word.endswith(suffix):
            return word[: -len(suffix)] if len(word) - len(suffix) >= r2 else word
    if word.endswith("ion") and len(word) - 3 >= r2 and word[-4:-3] in ("s", "t"):
        return word[:-3]
    return word


def _step_5(word: str, r1: int, r2: int) -> str:
    if word.endswith("e"):
        cut = len(word) - 1
        if cut >= r2 or (cut >= r1 and not _is_short(word[:-1], r1)):
            return word[:-1]
        return word
    if word.endswith("ll") and len(word) - 1 >= r2:
        return word[:-1]
    return word
