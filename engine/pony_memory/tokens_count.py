"""Counting tokens: the one measure that every "tokens" of the contract means (SPEC §7)."""

from __future__ import annotations

import re
from typing import Final, Protocol

#: Han, kana, Hangul, and their marks: one token a character.
CJK_CLASS: Final = (
    "\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303b\u3041-\u3096\u309d-\u309f"
    "\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u3131-\u318e\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\ua960-\ua97f\uac00-\ud7a3\ud7b0-\ud7ff\uf900-\ufaff\uff66-\uff9f\U0001b000-\U0001b16f\U00020000-\U0003fffd"
)
_CJK: Final = re.compile(f"[{CJK_CLASS}]+")


class TokenCounter(Protocol):
    """What an integration supplies to count in its own model's tokens."""

    def count(self, text: str) -> int:
        """The number of tokens in ``text``, never negative."""
        ...


class BuiltinCounter:
    """CJK characters one each, other code points four to a token, rounded up."""

    def count(self, text: str) -> int:
        cjk = 0 if text.isascii() else sum(map(len, _CJK.findall(text)))
        return cjk + (len(text) - cjk + 3) // 4
