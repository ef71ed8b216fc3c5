"""What text from memories goes through before it enters a prompt (SPEC §15). Files never change by it.

Invisible characters are removed and angle brackets escaped, so that no memory can forge the end of its own block
(``</recalled_memory>``, ``</relevant_memories>``) or the start of another's (``<system>``). ``&`` is left as it
is, which makes the function idempotent.
"""

from __future__ import annotations

import re
from typing import Final

#: Code points that are invisible or reorder text: general category Cf (Unicode 15), the other default-ignorable
#: code points, and the two separators U+2028 and U+2029. Written out, for a scan by a compiled class is many times
#: faster than asking for each character's category; a test compares the class with ``unicodedata``.
_INVISIBLE: Final = re.compile(
    "["
    "\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "]"
)


def sanitise(text: str) -> str:
    """``text`` without invisible characters and with ``<`` and ``>`` escaped. Idempotent."""
    return _INVISIBLE.sub("", text).replace("<", "&lt;").replace(">", "&gt;")


def sanitise_attribute(text: str) -> str:
    """The same for a value between double quotes on one line, such as a path."""
    return sanitise(text).replace('"', "&quot;").replace("\n", " ")
