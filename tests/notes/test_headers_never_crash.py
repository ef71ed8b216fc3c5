"""No text, however hostile, stops the reader of headers or loses a line of the note (SPEC §4, §24)."""

from __future__ import annotations

import sys

from hypothesis import given, settings
from hypothesis import strategies as st

from pony_memory.notes.header import parse_note

_MARKS = ("---", "- ", "name: ", "tags: ", "tags:", "[a, ", "]", "'", '"', "&a ", "*a", "!t ", "|", ">-", "{", "}")
_ENDS = ("\n", "\r\n", "\r", "  ", "\t", "#", ": ", ",", "x", "…", "\ufeff", "\x00", "\u2028", "\ud800", "<<: ", "...")
_PIECES = st.sampled_from(_MARKS + _ENDS)
_HEADERS = st.lists(_PIECES, max_size=30).map("".join)


@settings(max_examples=400, deadline=None)
@given(st.one_of(st.text(), _HEADERS))
def test_any_header_is_read_or_is_body(inside: str) -> None:
    text = f"---\n{inside}\n---\nthe body"
    parsed = parse_note(text)
    assert parsed.body.endswith("the body")
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    assert "\n".join(lines[parsed.body_line - 1 :]) == parsed.body
    assert parsed.header_readable or parsed.doubts
    for value in (parsed.header.name, parsed.header.type, parsed.header.description, *parsed.header.tags):
        assert value is None or (value and "\n" not in value)


@settings(max_examples=200, deadline=None)
@given(st.binary())
def test_any_bytes_are_read(data: bytes) -> None:
    parse_note(data.decode("utf-8", "replace"))
    parse_note("---\n" + data.decode("latin-1"))
    parse_note("---\n" + data.decode("utf-8", "surrogateescape") + "\n---\n")


def test_work_is_bounded_in_the_longest_file() -> None:
    """What would be quadratic here takes minutes: each line is as long as a file may be."""
    long = 128 * 1024
    for inside in [
        "tags: [" + "'" * long,
        "tags: [" + ",'" * (long // 2),
        "tags: " + "[" * long,
        "extra:\n  " + "[" * 8_000,
        "extra:\n  " + "? " * 4_000,
        "extra:\n  " + "- " * 4_000,
        "name" + " " * long + "x",
        "-" * long,
        "a: b\n" * (long // 5),
        "tags:\n" + "- a\n" * (long // 4),
        "tags:\n" + "\n" * long,
        "# c\n" * (long // 4),
        "a:\n\n" * (long // 4),
    ]:
        parse_note(f"---\n{inside}\n---\nbody")
        parse_note(f"---\n{inside}")
    assert sys.getrecursionlimit() >= 1_000
