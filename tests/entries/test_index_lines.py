"""`MEMORY.md` is parsed to the byte and changed line by line (SPEC §11)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pony_memory.entries.index import Index, format_line, parse_line

HAND = """# Our memories

<!-- newest last -->
## Servers

- [SSH port](SSH-port.md) — 2222, not 22
  a remark of a hand
- [DNS](DNS.md) — two servers

## People
"""


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("- [Name](file.md) — description", ("Name", "file.md", "description")),
        ("- [Name](file.md) — ", ("Name", "file.md", "")),
        ("- [Name](file.md) —", ("Name", "file.md", "")),
        ("-   [ Name ]( file.md )—description  ", ("Name", "file.md", "description")),
        ("- [a [1]](a.md) — d", ("a [1]", "a.md", "d")),
        ("- [a]](b).md) — d", ("a]", "b).md", "d")),
        ("- [a (b)](a-(b).md) — see (c) — and [d](d.md) — e", ("a (b)", "a-(b).md", "see (c) — and [d](d.md) — e")),
        ("- [a)—b](a)—b.md) — d", ("a)—b", "a)—b.md", "d")),
        ("- [a](a.md)— x (b.md) — y", ("a", "a.md", "x (b.md) — y")),
        ("- [a](my notes.md) — d", ("a", "my notes.md", "d")),
        ("- [a](a.txt) — d", ("a", "a.txt", "d")),
        ("- [发布](发布.md) — 每周二", ("发布", "发布.md", "每周二")),
    ],
)
def test_entry_lines(text: str, read: tuple[str, str, str]) -> None:
    line = parse_line(text)
    assert line is not None and (line.name, line.file, line.description) == read


@pytest.mark.parametrize(
    "text",
    [
        "# Memory Index",
        "-[a](a.md) — d",
        "* [a](a.md) — d",
        "  - [a](a.md) — d",
        "- [a](a.md) - d",
        "- [a](a.md)",
        "- [](a.md) — d",
        "- [a]() — d",
        "- a (a.md) — d",
        "- [a] (a.md) — d",
    ],
)
def test_lines_of_another_kind(text: str) -> None:
    assert parse_line(text) is None


def test_counts_are_those_of_the_contract() -> None:
    index = Index.parse(HAND.encode())
    assert [(line.line_number, line.file) for line in index.lines] == [(6, "SSH-port.md"), (8, "DNS.md")]
    assert (index.non_empty, index.unrecognized, index.bytes) == (7, 5, len(HAND.encode()))
    assert (Index.parse(b"").non_empty, Index.parse(b"").bytes) == (0, 0)


def test_crlf_and_cr_end_lines_and_are_counted_as_the_bytes_they_are() -> None:
    for end in (b"\r\n", b"\r"):
        data = HAND.encode().replace(b"\n", end)
        index = Index.parse(data)
        assert (index.non_empty, index.unrecognized, index.bytes) == (7, 5, len(data))
        assert [(line.line_number, line.file) for line in index.lines] == [(6, "SSH-port.md"), (8, "DNS.md")]
        assert all(data[: line.end].endswith(line.description.encode()) for line in index.lines)
        assert index.data() == HAND.encode()


def test_a_changed_line_is_the_only_change() -> None:
    changed = Index.parse(HAND.encode()).with_line("SSH-port.md", "SSH port", "2200 now")
    assert changed.decode() == HAND.replace("— 2222, not 22", "— 2200 now")


def test_a_new_line_goes_after_the_last_recognised_one() -> None:
    added = Index.parse(HAND.encode()).with_line("Mail.md", "Mail", "by the worker")
    assert added.decode() == HAND.replace("— two servers\n", "— two servers\n- [Mail](Mail.md) — by the worker\n")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"", b"# Memory Index\n\n- [a](a.md) \xe2\x80\x94 d\n"),
        (b"\n \n", b"# Memory Index\n\n- [a](a.md) \xe2\x80\x94 d\n"),
        (b"# H", b"# H\n- [a](a.md) \xe2\x80\x94 d\n"),
        (b"# H\n\n", b"# H\n\n- [a](a.md) \xe2\x80\x94 d\n"),
        ("- [b](b.md) — d".encode(), "- [b](b.md) — d\n- [a](a.md) — d\n".encode()),
        ("- [a](a.md) — old".encode(), "- [a](a.md) — d".encode()),
    ],
)
def test_a_new_line_in_an_index_without_a_last_one_or_a_last_line_end(before: bytes, after: bytes) -> None:
    assert Index.parse(before).with_line("a.md", "a", "d") == after


def test_a_removed_line_leaves_the_others_and_takes_its_duplicates() -> None:
    index = Index.parse((HAND + "- [SSH port](SSH-port.md) — again").encode())
    assert index.without("SSH-port.md").decode() == HAND.replace("- [SSH port](SSH-port.md) — 2222, not 22\n", "")
    assert index.without("absent.md") == index.data()
    assert Index.parse("a\n- [b](b.md) — d".encode()).without("b.md") == b"a\n"
    assert Index.parse("- [b](b.md) — d".encode()).without("b.md") == b""


def test_a_renamed_line_keeps_its_place() -> None:
    renamed = Index.parse(HAND.encode()).with_renamed("SSH-port.md", "SSH.md", "SSH", "2222, not 22")
    assert renamed.decode() == HAND.replace("[SSH port](SSH-port.md)", "[SSH](SSH.md)")


def test_a_rename_leaves_no_dead_and_no_second_line() -> None:
    text = HAND + "- [SSH](SSH.md) — left over\n- [SSH port](SSH-port.md) — twice\n"
    renamed = Index.parse(text.encode()).with_renamed("SSH-port.md", "SSH.md", "SSH", "2222, not 22")
    assert renamed.decode() == HAND.replace("[SSH port](SSH-port.md)", "[SSH](SSH.md)")
    unindexed = Index.parse(HAND.encode()).with_renamed("gone.md", "DNS.md", "DNS", "three")
    assert unindexed.decode() == HAND.replace("— two servers", "— three")


def test_undecodable_bytes_elsewhere_stay() -> None:
    data = b"# \xff\xfe\n- [\xff](\xff.md) \xe2\x80\x94 \xff\n" + HAND.encode()
    added = Index.parse(data).with_line("Mail.md", "Mail", "d")
    assert added == data.replace(b"two servers\n", "two servers\n- [Mail](Mail.md) — d\n".encode())


def test_a_bom_stays_and_hides_no_line() -> None:
    data = b"\xef\xbb\xbf" + "- [a](a.md) — d\n- [b](b.md) — d\n".encode()
    index = Index.parse(data)
    assert [line.file for line in index.lines] == ["a.md", "b.md"]
    assert index.with_line("b.md", "b", "e") == data.replace(b"[b](b.md) \xe2\x80\x94 d", b"[b](b.md) \xe2\x80\x94 e")


def test_a_rebuilt_index_keeps_the_block_above_the_first_entry() -> None:
    entries = [("B", "B.md", "b"), ("A", "A.md", "")]
    lines = "- [B](B.md) — b\n- [A](A.md) — \n"
    assert Index.parse(HAND.encode()).rebuilt(entries).decode() == (
        "# Our memories\n\n<!-- newest last -->\n## Servers\n" + lines
    )
    assert Index.parse(b"").rebuilt(entries).decode() == "# Memory Index\n\n" + lines
    assert Index.parse("- [C](C.md) — c\n# H\n".encode()).rebuilt(entries).decode() == "# Memory Index\n\n" + lines
    assert Index.parse(b"# \xff").rebuilt([]) == b"# \xff\n"


_WORDS = st.text(st.sampled_from("ab[]()—-. 中:`*"), min_size=1, max_size=12)
_NAMES = _WORDS.map(str.strip).filter(lambda name: name and "](" not in name)
_FILES = st.text(st.sampled_from("ab[]()—-.中"), min_size=1, max_size=12).map(lambda stem: stem.strip(".") + ".md")


@settings(max_examples=400, deadline=None)
@given(_NAMES, _FILES, _WORDS.map(str.strip))
def test_a_written_line_reads_back_as_it_was(name: str, file: str, description: str) -> None:
    line = parse_line(format_line(name, file, description).decode())
    assert line is not None
    assert (line.name, line.file, line.description) == (name, file, description)


@settings(max_examples=300, deadline=None)
@given(
    st.binary() | st.lists(st.sampled_from([b"\r", b"\n", b"- [a](a.md) \xe2\x80\x94 d", b"\xff", b" "])).map(b"".join)
)
def test_any_bytes_are_read_and_a_write_changes_nothing_else(data: bytes) -> None:
    index = Index.parse(data)
    assert index.unrecognized + len(index.lines) == index.non_empty
    assert index.data() == data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    added = Index.parse(index.with_line("new.md", "new", "d"))
    if index.non_empty:
        assert [row for row in added.rows if row and row not in index.rows] == [format_line("new", "new.md", "d")]
        assert added.without("new.md").rstrip(b"\n") == index.data().rstrip(b"\n")


def test_the_longest_hostile_line_is_read_in_one_pass() -> None:
    for piece in ("](", ")", ") ", "[", "—", ".md) —", " "):
        parse_line("- [a](b" + piece * (128 * 1024 // len(piece)))
        parse_line("- [" + piece * (128 * 1024 // len(piece)))
