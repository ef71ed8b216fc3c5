"""Reading a memory in pages (SPEC §8).

A page ends at the first of 2,000 lines, 50 KiB of UTF-8, or the token budget, at the end of a line where it can. The
``text`` of all pages joined is exactly the LF-normalised source (or range of lines); paging always advances.
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass
from typing import Final

from pony_memory.errors import BadContinuation, InvalidRequest, SourceChanged
from pony_memory.limits import PAGE_MAX_BYTES, PAGE_MAX_LINES, READ_MAX_TOKENS
from pony_memory.tokens_count import BuiltinCounter, TokenCounter

_CHECK_BYTES: Final = 8
_MAX_TOKEN_CHARS: Final = 16_384
#: A hint for every refused token: there is one way on.
_START_AGAIN: Final = "Read the memory again from its start, without a continuation."


@dataclass(frozen=True, slots=True)
class Page:
    """One page. ``start`` and ``end`` are the 1-based lines its first and last characters are in, 0 for an empty
    source; ``sha256`` is of the raw bytes of the file, or of the block; ``continuation`` is ``None`` on the last."""

    path: str
    start: int
    end: int
    total_lines: int
    sha256: str
    text: str
    continuation: str | None


@dataclass(frozen=True, slots=True)
class Source:
    """What is paged: the LF-normalised ``text``, and the raw bytes' hash, by which a change is told."""

    path: str
    text: str
    sha256: str

    @classmethod
    def of(cls, path: str, text: str, raw: bytes) -> Source:
        return cls(path, text, hashlib.sha256(raw).hexdigest())


def read_page(
    source: Source,
    start: int = 1,
    end: int | None = None,
    continuation: str | None = None,
    *,
    max_tokens: int = READ_MAX_TOKENS,
    counter: TokenCounter | None = None,
) -> Page:
    """The page at line ``start``, or at ``continuation``.

    ``start`` and ``end`` are 1-based and inclusive; an ``end`` past the last line means the last line. With a
    continuation they are not used: the token carries the range. Raises :class:`InvalidRequest` for a range that
    cannot be, :class:`BadContinuation` for a token that is damaged or of another path, :class:`SourceChanged` when
    the source is not what the token was made of.
    """
    text = source.text
    total = text.count("\n") + (0 if text.endswith("\n") or not text else 1)
    if continuation is not None:
        position, stop = _resume(source, continuation)
    else:
        position, stop = _range(text, start, end, total)
    cut = _page_end(text, position, stop, max_tokens, counter or BuiltinCounter())
    first = text.count("\n", 0, position) + 1 if text else 0
    # An LF belongs to the line it ends.
    last = first + text.count("\n", position, cut - 1) if text else 0
    continuation = _token(source, cut, stop) if cut < stop else None
    return Page(source.path, first, last, total, source.sha256, text[position:cut], continuation)


def _range(text: str, start: int, end: int | None, total: int) -> tuple[int, int]:
    if start < 1:
        raise InvalidRequest(f"lines are counted from 1; start is {start}", code="out_of_range")
    if end is not None and end < start:
        raise InvalidRequest(f"the range ends before it starts: {start} to {end}", code="out_of_range")
    if start > max(total, 1):
        raise InvalidRequest(f"start is line {start:,}, and there are {total:,} lines", code="out_of_range")
    position = _line_offset(text, start - 1)
    stop = len(text) if end is None or end >= total else position + _line_offset(text[position:], end - start + 1)
    return position, stop


def _line_offset(text: str, lines: int) -> int:
    """Where the line after the first ``lines`` lines begins."""
    offset = 0
    for _ in range(lines):
        found = text.find("\n", offset)
        if found < 0:
            return len(text)
        offset = found + 1
    return offset


def _page_end(text: str, position: int, stop: int, max_tokens: int, counter: TokenCounter) -> int:
    if position >= stop:
        return stop
    cut = min(stop, position + _line_offset(text[position:stop], PAGE_MAX_LINES))
    room = text[position:cut]
    data = room.encode("utf-8", "surrogatepass")
    if len(data) > PAGE_MAX_BYTES:
        border = PAGE_MAX_BYTES
        while data[border] & 0xC0 == 0x80:  # inside a character
            border -= 1
        room = _at_line_end(room, len(data[:border].decode("utf-8", "surrogatepass")))
    if counter.count(room) > max_tokens:
        low, high = 1, len(room)
        while low < high:  # the longest prefix within the budget; one character at least, so that paging advances
            middle = (low + high + 1) // 2
            if counter.count(room[:middle]) <= max_tokens:
                low = middle
            else:
                high = middle - 1
        room = _at_line_end(room, low)
    return position + len(room)


def _at_line_end(text: str, length: int) -> str:
    """At most ``length`` characters: whole lines if one fits, else a part of the line."""
    whole = text.rfind("\n", 0, length) + 1
    return text[: whole or length]


def _token(source: Source, position: int, stop: int) -> str:
    payload = json.dumps([source.path, position, stop, source.sha256], ensure_ascii=False)
    return _encoded(payload.encode("utf-8", "surrogatepass"))


def _encoded(payload: bytes) -> str:
    return base64.urlsafe_b64encode(_check(payload) + payload).decode("ascii").rstrip("=")


def _check(payload: bytes) -> bytes:
    return hashlib.sha256(b"pony-memory page " + payload).digest()[:_CHECK_BYTES]


def _resume(source: Source, token: str) -> tuple[int, int]:
    path, position, stop, sha256 = _decoded(token)
    if path != source.path:
        raise BadContinuation("the continuation is of another path", hint=_START_AGAIN)
    if sha256 != source.sha256:
        raise SourceChanged(f"{source.path} changed since the page before", hint=_START_AGAIN)
    if not 0 <= position < stop <= len(source.text):
        raise BadContinuation("the continuation is damaged", hint=_START_AGAIN)
    return position, stop


def _decoded(token: str) -> tuple[str, int, int, str]:
    damaged = BadContinuation("the continuation is damaged", hint=_START_AGAIN)
    if len(token) > _MAX_TOKEN_CHARS:
        raise damaged
    try:
        data = base64.urlsafe_b64decode(token.encode("ascii") + b"=" * (-len(token) % 4))
        payload = data[_CHECK_BYTES:]
        # Several texts decode to the same bytes; only the one that was given out counts.
        fields = json.loads(payload.decode("utf-8", "surrogatepass")) if _encoded(payload) == token else None
    except (ValueError, RecursionError):  # every fault of the base64, the UTF-8 and the JSON is a ValueError
        raise damaged from None
    match fields:
        case [str(path), int(position), int(stop), str(sha256)]:
            return path, position, stop, sha256
    raise damaged
