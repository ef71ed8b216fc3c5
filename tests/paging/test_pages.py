"""Paging (SPEC §8): joined pages are the source, changes and damage are refused, paging always advances."""

import base64
import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pony_memory.errors import BadContinuation, InvalidRequest, SourceChanged
from pony_memory.paging import Source, read_page
from pony_memory.tokens_count import BuiltinCounter

texts = st.text(alphabet=st.sampled_from("ab\n 中文é😀"), max_size=400)


def source(text, path="user/notes/a.md"):
    return Source.of(path, text, text.encode("utf-8", "surrogatepass"))


def pages(found, **options):
    page = read_page(found, **options)
    yield page
    options = {key: value for key, value in options.items() if key in ("max_tokens", "counter")}
    while page.continuation is not None:
        page = read_page(found, continuation=page.continuation, **options)
        yield page


@given(texts, st.integers(min_value=1, max_value=30))
def test_joined_pages_are_exactly_the_source(text, budget):
    read = list(pages(source(text), max_tokens=budget))
    assert "".join(page.text for page in read) == text
    assert all(page.text for page in read) or text == ""


@given(texts, st.data())
def test_a_range_is_exactly_its_lines(text, data):
    lines = text.split("\n")
    total = len(lines) - (1 if text.endswith("\n") or not text else 0)
    start = data.draw(st.integers(min_value=1, max_value=max(total, 1)))
    end = data.draw(st.integers(min_value=start, max_value=total + 3))
    joined = "".join(page.text for page in pages(source(text), start=start, end=end, max_tokens=7))
    whole = [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    assert joined == "".join(whole[start - 1 : end])


@given(st.text(max_size=300), st.integers(min_value=1, max_value=3))
def test_a_budget_smaller_than_a_character_still_advances(text, budget):
    assert "".join(page.text for page in pages(source(text), max_tokens=budget)) == text


@given(texts, st.integers(min_value=1, max_value=12))
def test_each_page_says_which_lines_its_first_and_last_characters_are_in(text, budget):
    position = 0
    for page in pages(source(text), max_tokens=budget):
        stop = position + len(page.text)
        if text:
            assert page.start == text.count("\n", 0, position) + 1
            assert page.end == text.count("\n", 0, stop - 1) + 1
        position = stop


def test_blank_lines_at_the_end_of_a_page_belong_to_it():
    page = read_page(source("a\n\n\n"))
    assert (page.start, page.end, page.total_lines) == (1, 3, 3)


def test_a_page_ends_at_2000_lines():
    first, second = pages(source("x\n" * 2_001), max_tokens=10**9)
    assert (first.start, first.end, second.start, second.end) == (1, 2_000, 2_001, 2_001)
    assert first.total_lines == 2_001


def test_a_page_ends_at_50_kib_to_the_byte():
    line = "é" * 25 + "\n"  # 51 bytes
    (first, *_) = pages(source(line * 1_500), max_tokens=10**9)
    assert len(first.text.encode()) <= 50 * 1_024 < len(first.text.encode()) + 51
    exactly = ("y" * 1_023 + "\n") * 50
    assert read_page(source(exactly), max_tokens=10**9).continuation is None
    assert read_page(source(exactly + "z"), max_tokens=10**9).continuation is not None


@pytest.mark.parametrize("character", ["é", "中", "😀", "\ud800"])
def test_a_page_is_full_whatever_its_characters_take(character):
    text = character * 60_000
    read = list(pages(source(text), max_tokens=10**9))
    assert "".join(page.text for page in read) == text
    size = len(character.encode("utf-8", "surrogatepass"))
    assert {len(page.text) for page in read[:-1]} == {50 * 1_024 // size}


def test_a_page_ends_at_the_token_budget_at_a_line_end():
    found = source("中文\n" * 100)
    (first, *_) = pages(found, max_tokens=11)
    assert first.text.endswith("\n")
    assert BuiltinCounter().count(first.text) <= 11 < BuiltinCounter().count(first.text + "中文\n")


def test_a_line_longer_than_a_page_is_continued_inside_it():
    text = "a" * 120_000 + "\nend"
    read = list(pages(source(text), max_tokens=10**9))
    assert [page.start for page in read] == [1, 1, 1]
    assert "".join(page.text for page in read) == text
    assert read[-1].end == 2


def test_a_changed_source_is_refused():
    page = read_page(source("x\n" * 5_000))
    with pytest.raises(SourceChanged):
        read_page(source("x\n" * 5_000 + "y"), continuation=page.continuation)


def test_a_damaged_or_foreign_token_is_refused():
    found = source("x\n" * 5_000)
    token = read_page(found).continuation
    assert token is not None
    for damaged in (token[:-2], token[1:], "", "x", token[:10] + ("A" if token[10] != "A" else "B") + token[11:], "é"):
        with pytest.raises(BadContinuation):
            read_page(found, continuation=damaged)
    with pytest.raises(BadContinuation):
        read_page(source(found.text, "user/notes/b.md"), continuation=token)


def test_no_character_of_a_token_can_be_changed():
    # All lengths of path, so that every padding of the encoding comes up.
    for path in ("user/notes/a.md", "user/notes/ab.md", "user/notes/abc.md"):
        found = source("x\n" * 2_001, path)
        token = read_page(found).continuation
        assert token is not None
        changed = [
            token[:at] + other + token[at + 1 :]
            for at in range(len(token))
            for other in "Aab1-_+/="
            if other != token[at]
        ]
        for damaged in (*changed, token + "=", token + "\n", " " + token, token.upper()):
            with pytest.raises(BadContinuation):
                read_page(found, continuation=damaged)


@pytest.mark.parametrize(
    "payload",
    [
        b'["user/notes/a.md", Infinity, 9, "x"]',
        b'["user/notes/a.md", 1.5, 9, "x"]',
        b'["user/notes/a.md", "1", 9, "x"]',
        b'["user/notes/a.md", 1, 9, null]',
        b'["user/notes/a.md", 1, 9]',
        b"{}",
        b"[" * 4_000,
        b"\xff",
        b"9" * 5_000,
    ],
)
def test_a_token_with_the_right_check_and_the_wrong_shape_is_refused(payload):
    check = hashlib.sha256(b"pony-memory page " + payload).digest()[:8]
    token = base64.urlsafe_b64encode(check + payload).decode().rstrip("=")
    with pytest.raises(BadContinuation):
        read_page(source("x\n" * 10), continuation=token)


@given(st.text(max_size=80))
def test_any_text_as_a_token_is_refused_calmly(token):
    with pytest.raises(BadContinuation):
        read_page(source("x\n" * 10), continuation=token)


@pytest.mark.parametrize(("start", "end"), [(0, None), (-1, 3), (3, 2), (12, None)])
def test_an_impossible_range_says_so(start, end):
    with pytest.raises(InvalidRequest):
        read_page(source("x\n" * 11), start, end)


def test_an_empty_source_is_one_empty_page():
    page = read_page(source(""))
    assert (page.start, page.end, page.total_lines, page.text, page.continuation) == (0, 0, 0, "", None)
