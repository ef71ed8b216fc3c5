"""The description an entry gets when none is given (SPEC §10): the first sentence of its content, else its name."""

from __future__ import annotations

import re
from typing import Final

from pony_memory.limits import DEFAULT_DESCRIPTION_MAX_CHARS

_ELLIPSIS: Final = "…"

#: What opens a line and is no part of its text: quotes, headings, list marks, check boxes.
_OPENING_MARK = re.compile(r"(?:>|#{1,6}(?=\s)|[-*+](?=\s)|\d{1,9}[.)](?=\s)|\[[ xX]\](?=\s))\s*")
#: A line that is all mark: rules, fences, the line under a heading, the dashes of a table.
_ONLY_MARKS = re.compile(r"[\s\-*_=~`#>+|:]*\Z")
_FENCE = re.compile(r"(`{3,}|~{3,})")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)")
_WIKI_LINK = re.compile(r"\[\[(?:[^\[\]|]*\|)?([^\[\]|]+)\]\]")
_CODE = re.compile(r"`+([^`]+)`+")
_EMPHASIS = re.compile(r"(?<![\w*])(\*\*\*|\*\*|\*|~~)(?=\S)(.+?)(?<=\S)\1(?![\w*])")
#: With a space inside: `__init__` and `_id_` are names, and in notes on code more often so than emphasis.
_UNDERSCORES = re.compile(r"(?<!\w)(___|__|_)(?=\S)([^_]+\s[^_]+)(?<=\S)\1(?!\w)")
#: A dot ends a sentence before white space that no small letter follows: not in `v2.1`, `~/.ssh` or "e.g. this".
_SENTENCE_END = re.compile(r"[。！？]|[!?](?=\s|\Z)|\.(?=\s+[^\sa-z]|\s*\Z)")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def default_description(content: str, name: str) -> str:
    """One line for the index: at most 200 characters of ``content``'s first sentence, or ``name``."""
    text = _first_text(content)
    end = _SENTENCE_END.search(text)
    sentence = (text[: end.end()] if end is not None else text).strip()
    if len(sentence) > DEFAULT_DESCRIPTION_MAX_CHARS:
        sentence = sentence[: DEFAULT_DESCRIPTION_MAX_CHARS - 1].rstrip() + _ELLIPSIS
    return sentence or name


def _first_text(content: str) -> str:
    """The first line that has text, without Markdown marks; the lines of a fenced block only if there is no other."""
    fenced = ""
    fence = ""
    for line in content.splitlines():
        bare = line.strip()
        mark = _FENCE.match(bare)
        if mark is not None and (not fence or bare.startswith(fence)):
            fence = "" if fence else mark.group(1)
            continue
        if fence:
            fenced = fenced or bare
            continue
        text = _without_marks(bare)
        if text:
            return text
    return " ".join(_CONTROL.sub(" ", fenced).split())


def _without_marks(line: str) -> str:
    # A line may be as long as a file; its description ends far earlier, and the marks are looked for by patterns.
    line = line[: 4 * DEFAULT_DESCRIPTION_MAX_CHARS]
    if _ONLY_MARKS.match(line):
        return ""
    while (mark := _OPENING_MARK.match(line)) is not None:
        line = line[mark.end() :]
    line = _WIKI_LINK.sub(r"\1", _LINK.sub(r"\1", line))
    line = _CODE.sub(r"\1", line)
    line = _UNDERSCORES.sub(r"\2", _EMPHASIS.sub(r"\2", line))
    return " ".join(_CONTROL.sub(" ", line).split())
