"""Text from memories, shown as text: what would move the cursor, hide, or reorder is made visible.

Shared by the command line and the workbench; imports neither a terminal library nor the engine.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

#: C0 and C1 controls but newline and tab, lone surrogates, and everything that is invisible or reorders text.
_UNSEEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff"
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]"
)


def visible(text: str) -> str:
    """``text`` with controls as ``\\x1b`` and invisible code points as ``<U+202E>``; newline and tab stay."""
    return _UNSEEN.sub(_shown, text) if _UNSEEN.search(text) else text


def visible_line(text: str) -> str:
    """The same on one line: newlines and tabs become spaces."""
    return visible(text).replace("\n", " ").replace("\t", " ")


def cells(text: str) -> int:
    """How many columns of a terminal ``text`` takes."""
    if text.isascii():
        return len(text)
    return sum(_cells_of(char) for char in text)


def fit(text: str, width: int) -> str:
    """``text`` in at most ``width`` columns, its end cut with an ellipsis where it does not fit."""
    if cells(text) <= width:
        return text
    room = width - 1
    kept: list[str] = []
    for char in text:
        room -= _cells_of(char)
        if room < 0:
            break
        kept.append(char)
    return "".join(kept) + "…"


def _cells_of(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


def _shown(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x100:
        return f"\\x{code:02x}"
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return f"<U+{code:04X}>"
