"""The grammar of an entry file is pi-memory 2.1's (SPEC §10): literal values, five fields, or no entry at all."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pony_memory.entries.drift import Drift, drift
from pony_memory.entries.entry import Entry, NotAnEntry, instant, parse_entry
from pony_memory.entries.file_names import candidates
from pony_memory.entries.index import Index

GOLDEN = Path(__file__).parent / "golden" / "pi-memory-2.1"
FIELDS = {
    "name": "SSH port",
    "description": "staging SSH listens on 2222",
    "type": "project",
    "created": "2026-07-13",
    "modified": "2026-10-02T08:14:03.120Z",
}


def entry_file(body: str = "The body.", **fields: str | None) -> bytes:
    header = [f"{key}: {value}" for key, value in {**FIELDS, **fields}.items() if value is not None]
    return "\n".join(["---", *header, "---", "", body, ""]).encode()


def reason(data: bytes) -> str:
    parsed = parse_entry("x.md", data)
    assert isinstance(parsed, NotAnEntry)
    assert parsed.file == "x.md"
    return parsed.reason


def read(data: bytes) -> Entry:
    parsed = parse_entry("x.md", data)
    assert isinstance(parsed, Entry)
    return parsed


def test_the_example_of_the_contract_reads() -> None:
    assert parse_entry("SSH-port-on-staging.md", (GOLDEN / "SSH-port-on-staging.md").read_bytes()) == Entry(
        file="SSH-port-on-staging.md",
        name="SSH port on staging",
        description="staging SSH listens on 2222, not 22; key at ~/.ssh/staging",
        type="project",
        created="2026-07-13",
        modified="2026-10-02T08:14:03.120Z",
        body="staging 的 SSH 用 2222 端口，密钥在 ~/.ssh/staging。",
        body_line=9,
    )


def test_a_store_that_pi_memory_wrote_reads_without_drift() -> None:
    files = {path.name: path.read_bytes() for path in sorted(GOLDEN.iterdir())}
    index = Index.parse(files.pop("MEMORY.md"))
    parsed = [parse_entry(file, data) for file, data in files.items()]
    entries = [entry for entry in parsed if isinstance(entry, Entry)]
    assert [entry for entry in parsed if isinstance(entry, NotAnEntry)] == [
        NotAnEntry("legacy-topic.md", "missing created, modified", "Legacy topic")
    ]
    assert drift(index, entries) == Drift((), (), (), ())
    assert (len(index.lines), index.unrecognized) == (6, 3)
    for entry in entries:
        assert entry.file in [name for name, _ in zip(candidates(entry.name), range(2), strict=False)]
        lines = files[entry.file].decode().split("\n")
        assert "\n".join(lines[entry.body_line - 1 :]).strip() == entry.body


def test_values_are_literal_after_the_first_colon() -> None:
    entry = read(entry_file(name='"a": b # c', description="  'x: y'  ", type="feedback "))
    assert (entry.name, entry.description, entry.type) == ('"a": b # c', "'x: y'", "feedback")


def test_a_description_may_be_empty_and_must_be_there() -> None:
    assert read(entry_file(description="")).description == ""
    assert reason(entry_file(description=None)) == "missing description"


def test_unknown_header_keys_are_named_and_other_lines_of_the_header_do_no_harm() -> None:
    data = entry_file().replace(b"type:", b"x-source: chat\n# a comment\n  - item\ntags: [a]\ntype:")
    assert read(data).unknown_headers == ("x-source", "tags")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "empty file"),
        (b" \n\n", "empty file"),
        (b"# Just a document\n", "no header"),
        (b"\n---\nname: a\n---\n", "no header"),
        (b"---\nname: a\n", "header never closed"),
        (b"---\n---\n", "missing name, description, type, created, modified"),
        (entry_file(created=None), "missing created"),
        (entry_file(name=""), "missing name"),
        (entry_file(created=None, modified=None), "missing created, modified"),
        (entry_file(type="Project"), "bad type: it is not one of user, feedback, project, reference"),
        (entry_file(created="13.7.2026"), "bad created date: it is not YYYY-MM-DD"),
        (entry_file(created="2026-13-01"), "bad created date: it is not YYYY-MM-DD"),
        (entry_file(created="2026-07-13T00:00:00Z"), "bad created date: it is not YYYY-MM-DD"),
        (entry_file(modified="yesterday"), "bad modified time: it is not ISO 8601"),
        (entry_file(modified="2026-10-02T25:00:00Z"), "bad modified time: it is not ISO 8601"),
        (entry_file(name="A](x.md) — fake"), "bad name: an index line cannot carry ']('"),
    ],
)
def test_what_is_no_entry_says_why(data: bytes, why: str) -> None:
    assert reason(data) == why


def test_a_file_that_is_no_entry_keeps_the_name_it_gives_itself() -> None:
    parsed = parse_entry("x.md", entry_file(created=None))
    assert isinstance(parsed, NotAnEntry) and parsed.name == "SSH port"


@pytest.mark.parametrize(
    ("modified", "utc"),
    [
        ("2026-10-02T08:14:03.120Z", "2026-10-02T08:14:03.120Z"),
        ("2026-10-02T08:14:03Z", "2026-10-02T08:14:03.000Z"),
        ("2026-10-02T08:14:03+08:00", "2026-10-02T00:14:03.000Z"),
        ("2026-10-02 08:14", "2026-10-02T08:14:00.000Z"),
        ("2026-10-02", "2026-10-02T00:00:00.000Z"),
        ("2026-02-31", "2026-02-31"),
        ("0001-01-01T00:00:00+23:00", "0001-01-01T00:00:00+23:00"),
    ],
)
def test_times_of_hands_are_read_and_order_as_instants(modified: str, utc: str) -> None:
    assert instant(read(entry_file(modified=modified)).modified) == utc


def test_bom_crlf_and_bad_bytes_are_read() -> None:
    plain = read(entry_file())
    assert read(b"\xef\xbb\xbf" + entry_file().replace(b"\n", b"\r\n")) == plain
    assert read(entry_file().replace(b"\n", b"\r")) == plain
    assert read(entry_file().replace(b"The", b"\xff\xfeThe")).body == "\ufffd\ufffdThe body."


@settings(max_examples=300, deadline=None)
@given(st.binary() | st.binary().map(lambda data: b"---\n" + data + b"\n---\n"))
def test_any_bytes_are_an_entry_or_say_why(data: bytes) -> None:
    parsed = parse_entry("x.md", data)
    assert isinstance(parsed, Entry) or parsed.reason


@settings(max_examples=200, deadline=None)
@given(st.text(), st.text())
def test_body_line_is_a_line_of_the_file(description: str, body: str) -> None:
    parsed = parse_entry("x.md", entry_file(body, description=description.replace("\n", " ").replace("\r", " ")))
    assert isinstance(parsed, Entry)
    lines = entry_file(body, description="").decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    assert parsed.body_line <= len(lines.split("\n"))
    assert parsed.body == "\n".join(lines.split("\n")[parsed.body_line - 1 :]).strip()
