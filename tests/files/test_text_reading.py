"""The reading view of bytes: BOM, line ends, bad bytes (SPEC §3)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pony_memory.files.text import Text, decode


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", Text("", 0)),
        (b"\xef\xbb\xbfname", Text("name", 0)),
        (b"\xef\xbb\xbf\xef\xbb\xbfname", Text("\ufeffname", 0)),
        (b"a\r\nb\rc\n\r\n", Text("a\nb\nc\n\n", 0)),
        (b"a\r\r\nb", Text("a\n\nb", 0)),
        (b"\xff ok \xc3", Text("\ufffd ok \ufffd", 2)),
        (b"\xef\xbf\xbd", Text("\ufffd", 0)),
        (b"\xef\xbf\xbd\xff", Text("\ufffd\ufffd", 1)),
        (b"\xe4\xbd\xef\xbf\xbd", Text("\ufffd\ufffd", 1)),
        ("a\u2028b\x85c".encode(), Text("a\u2028b\x85c", 0)),
    ],
)
def test_bytes_are_read_as_the_contract_says(data: bytes, text: Text) -> None:
    assert decode(data) == text


@given(st.binary(max_size=200))
def test_any_bytes_are_read_and_every_replacement_is_counted(data: bytes) -> None:
    text = decode(data)
    assert "\r" not in text.text
    text.text.encode("utf-8")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        assert text.replaced > 0
    else:
        assert text.replaced == 0


@given(st.text(max_size=100).filter(lambda text: "\r" not in text and not text.startswith("\ufeff")))
def test_text_that_needs_no_mending_is_read_as_it_is(text: str) -> None:
    assert decode(text.encode("utf-8")) == Text(text, 0)
