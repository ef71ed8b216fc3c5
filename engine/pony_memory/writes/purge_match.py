"""What a purge looks for, in bytes, in JSON and in names (SPEC §13)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from pony_memory.canonical import CanonicalPath
from pony_memory.errors import InvalidRequest
from pony_memory.limits import JOURNAL_QUERY_MAX_CHARS

#: What stands where a text was cut out of a file that stays.
PURGED: Final = "[purged]"
MIN_TEXT_CHARS: Final = 4
_MIN_CUT_PREFIX_CHARS: Final = 4
_PROBE_CHARS: Final = 200
_MIN_PROBE_CHARS: Final = 20


@dataclass(frozen=True, slots=True)
class Wanted:
    """Either a text, wherever it is (``text``), or everything about some files (``paths``, by their earlier names too).

    ``shas`` are the kept texts of those files, ``probe`` finds their texts where no path is written. Runs of white
    space match each other: a text of several lines is indented in Agent Notes.
    """

    text: re.Pattern[str] | None = None
    paths: frozenset[CanonicalPath] = frozenset()
    shas: frozenset[str] = frozenset()
    probe: re.Pattern[str] | None = None
    literal: str = ""

    def in_bytes(self, data: bytes) -> bool:
        """Whether the text is in a file that is no JSON."""
        return self.text is not None and self.text.search(_as_text(data)) is not None

    def in_name(self, name: str) -> bool:
        return self.text is not None and self.text.search(name) is not None

    def cut(self, data: bytes) -> tuple[bytes, int]:
        """``data`` without the text, and how often it was there; every other byte stays."""
        if self.text is None:
            return data, 0
        cut, count = self.text.subn(PURGED, _as_text(data))
        return (cut.encode("utf-8", "surrogateescape"), count) if count else (data, 0)

    def in_json(self, data: bytes) -> bool:
        """Whether a JSON document speaks of it. What does not parse is searched as it stands, escapes included."""
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            return self._in_raw(data)
        return any(self._in_string(text) for text in _strings(value))

    def scrubbed(self, value: Any) -> Any:
        """A JSON value with the text cut out of its strings."""
        if isinstance(value, str):
            return value if self.text is None else self.text.sub(PURGED, value)
        if isinstance(value, list):
            return [self.scrubbed(item) for item in value]
        if isinstance(value, dict):
            return {key: self.scrubbed(item) for key, item in value.items()}
        return value

    def _in_string(self, text: str) -> bool:
        if self.text is not None and (self.text.search(text) is not None or self._is_cut_off(text)):
            return True
        if self.probe is not None and self.probe.search(text) is not None:
            return True
        return any(text in (str(path), "/".join(path.parts)) or text.startswith(f"{path}#") for path in self.paths)

    def _is_cut_off(self, text: str) -> bool:
        """The journal cuts long queries: the end of one may be the beginning of the text."""
        if len(text) < JOURNAL_QUERY_MAX_CHARS - 1:
            return False
        tail = text.rstrip("…")
        return any(
            tail.endswith(self.literal[:length])
            for length in range(len(self.literal) - 1, _MIN_CUT_PREFIX_CHARS - 1, -1)
        )

    def _in_raw(self, data: bytes) -> bool:
        text = _as_text(data)
        if self._in_string(text) or any(str(path) in text for path in self.paths):
            return True
        return bool(self.literal) and any(
            json.dumps(self.literal, ensure_ascii=ascii_only)[1:-1] in text for ascii_only in (True, False)
        )


def text_wanted(text: str) -> Wanted:
    """Raises :class:`InvalidRequest` for a text so short that half of everything would go."""
    words = text.split()
    if sum(map(len, words)) < MIN_TEXT_CHARS:
        raise InvalidRequest(f"the text to purge must have at least {MIN_TEXT_CHARS} characters")
    if text.strip() in PURGED:
        raise InvalidRequest(f"{PURGED} is what stands in the place of purged text; it cannot be purged itself")
    return Wanted(text=re.compile(_flexible(words)), literal=text.strip())


def probe_of(texts: Iterator[str]) -> re.Pattern[str] | None:
    """A pattern for the beginnings of texts, where they are long enough to be told from others."""
    probes = {
        _flexible(text[:_PROBE_CHARS].split()) for text in texts if len(text[:_PROBE_CHARS].strip()) >= _MIN_PROBE_CHARS
    }
    return re.compile("|".join(sorted(probes))) if probes else None


def _flexible(words: list[str]) -> str:
    return r"\s+".join(re.escape(word) for word in words)


def _as_text(data: bytes) -> str:
    # Bad bytes survive the way there and back, so a cut changes nothing but what it cuts.
    return data.decode("utf-8", "surrogateescape")


def _strings(value: Any) -> Iterator[str]:
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, list):
            stack += item
        elif isinstance(item, dict):
            stack += item.keys()
            stack += item.values()
