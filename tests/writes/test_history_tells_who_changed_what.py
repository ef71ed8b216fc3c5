"""SPEC §13: who changed this memory, when, from what; readable whatever happens to the log."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pony_memory.canonical import CanonicalPath
from pony_memory.entries.store import EntryStore
from pony_memory.errors import NotFound, PonyError
from pony_memory.files.boundary import Root, RootSpec
from pony_memory.limits import HISTORY_LOG_MAX_BYTES, HISTORY_TEXTS_MAX_BYTES, MAX_FILE_BYTES
from pony_memory.writes.history import (
    Actor,
    Edit,
    Who,
    WriteEvent,
    event_number,
    history,
    record,
    sha256_of,
    text_of,
)
from support.notes_places import Here, modes

PATH = CanonicalPath.parse("project/A.md")
ACTOR = Actor(Who.TOOL, "session-1", 42)


@pytest.fixture
def root(tmp_path: Path) -> Root:
    (tmp_path / "store").mkdir()
    found = Root.resolve(RootSpec(str(tmp_path / "store"), (), follow_trusted=True))
    assert found is not None
    return found


def log_of(root: Root) -> Path:
    return Path(root.path, ".history.jsonl")


def texts_of(root: Root) -> list[str]:
    return sorted(os.listdir(Path(root.path, ".history"))) if Path(root.path, ".history").exists() else []


def write(root: Root, before: bytes | None, after: bytes | None, action: str = "replace") -> int:
    return record(root, WriteEvent(ACTOR, action, PATH, "A", "backup-1"), before, after)


def test_a_day_of_writes_by_many_hands_can_be_told_apart(tmp_path: Path) -> None:
    here = Here.below(tmp_path)
    spec = here.scopes.get("project").spec

    def by(who: Who, session: str | None) -> EntryStore:
        return EntryStore(spec, actor=Actor(who, session, 7), environ={})

    by(Who.PERSON, None).add("Port", "2222")
    by(Who.TOOL, "s1").replace("Port", "22")
    by(Who.DREAM, "d1").rename("Port", "SSH port")
    by(Who.EXTRACTION, "s2").remove("SSH port")
    found = here.history("project")
    assert found.damaged == 0
    assert [(event.n, event.who, event.session, event.action) for event in found.events] == [
        (4, "extraction", "s2", "remove"),
        (3, "dream", "d1", "rename"),
        (2, "tool", "s1", "replace"),
        (1, "person", None, "add"),
    ]
    removed = found.events[0]
    assert str(removed.path) == "project/SSH-port.md"
    assert removed.after is None and removed.before is not None
    text = text_of(here.place("project").records, removed.before)
    assert text is not None and b"22\n" in text
    about_port = history(here.place("project").records, path=CanonicalPath.parse("project/Port.md"))
    assert [event.n for event in about_port.events] == [3, 2, 1]
    assert [event.n for event in history(here.place("project").records, limit=2).events] == [4, 3]
    assert event_number(here.place("project").records, 3).action == "rename"
    with pytest.raises(NotFound):
        event_number(here.place("project").records, 5)


def test_a_line_is_whole_and_owner_only(root: Root) -> None:
    write(root, b"one", b"two")
    write(root, b"two", None, "remove")
    lines = [json.loads(line) for line in log_of(root).read_text().splitlines()]
    first = dict(lines[0])
    assert first.pop("time").endswith("Z")
    assert first == {
        "n": 1, "who": "tool", "session": "session-1", "process": 42, "action": "replace", "name": "A",
        "path": "project/A.md", "file": "A.md", "before": sha256_of(b"one"), "after": sha256_of(b"two"),
        "backup": "backup-1",
    }  # fmt: skip
    assert lines[1]["after"] is None
    assert set(modes(Path(root.path)).values()) == {0o600, 0o700}
    assert texts_of(root) == sorted((str(sha256_of(b"one")), str(sha256_of(b"two"))))


def test_texts_of_the_index_are_not_kept(root: Root) -> None:
    index = CanonicalPath.parse("project/MEMORY.md")
    record(root, WriteEvent(ACTOR, "add", PATH), None, b"new", others=[Edit(index, b"old index", b"new index")])
    assert texts_of(root) == []
    (event,) = history(root).events
    assert [str(change.path) for change in event.changes] == ["project/A.md", "project/MEMORY.md"]


def test_an_edit_by_hand_in_between_is_seen(root: Root) -> None:
    write(root, None, b"one", "add")
    write(root, b"one", b"two")
    write(root, b"edited by hand", b"three")
    write(root, b"three", b"four")
    assert [event.edited_between for event in history(root).events] == [False, True, False, False]


def test_damaged_lines_are_skipped_and_counted(root: Root) -> None:
    write(root, None, b"one", "add")
    good = log_of(root).read_bytes()
    bad = [
        b"not json", b"[]", b"{}", b"\xff\xfe", good.strip()[:-20], good.replace(b'"n":1', b'"n":"1"').strip(),
        good.replace(b"project/A.md", b"project/../../etc/passwd").strip(),
        good.replace(b"project/A.md", b"/etc/passwd").strip(),
        good.replace(b'"after":"', b'"after":"zz').strip(), b'{"n":' + b"[" * 100_000,
    ]  # fmt: skip
    log_of(root).write_bytes(good + b"\n".join(bad) + b"\n")
    found = history(root)
    assert ([event.n for event in found.events], found.damaged) == ([1], len(bad))
    assert write(root, b"one", b"two") == 2


def test_a_torn_last_line_damages_only_itself(root: Root) -> None:
    write(root, None, b"one", "add")
    whole = log_of(root).read_bytes()
    write(root, b"one", b"two")
    torn = log_of(root).read_bytes()[:-30]
    log_of(root).write_bytes(torn)
    assert write(root, b"one", b"two") == 2
    found = history(root)
    assert ([event.n for event in found.events], found.damaged) == ([2, 1], 1)
    assert log_of(root).read_bytes().startswith(whole)


@given(st.binary(max_size=300))
@settings(max_examples=30, deadline=None)
def test_any_bytes_are_read_without_an_error(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    directory = tmp_path_factory.mktemp("random")
    (directory / ".history.jsonl").write_bytes(data)
    found = Root.resolve(RootSpec(str(directory), (), follow_trusted=True))
    assert history(found).events == ()
    assert found is not None
    assert write(found, b"x", b"y") >= 1
    assert len(history(found).events) == 1


def test_a_changed_text_is_not_believed(root: Root) -> None:
    write(root, b"one", b"two")
    sha = str(sha256_of(b"one"))
    assert text_of(root, sha) == b"one"
    Path(root.path, ".history", sha).write_bytes(b"eno")
    assert text_of(root, sha) is None
    assert text_of(root, "../../etc/passwd") is None
    write(root, b"one!", b"two")
    write(root, b"one", b"three")


def test_texts_stay_within_16_mib_oldest_event_out_first(root: Root) -> None:
    size = MAX_FILE_BYTES
    count = HISTORY_TEXTS_MAX_BYTES // size
    again = b"kept alive by its last event".ljust(size)
    write(root, again, b"x")
    for number in range(count - 1):
        write(root, str(number).encode().ljust(size), b"x")
    write(root, again, b"x")
    assert len(texts_of(root)) == count
    newest = b"newest".ljust(size)
    write(root, newest, b"x")
    kept = texts_of(root)
    total = sum(Path(root.path, ".history", name).stat().st_size for name in kept)
    assert total <= HISTORY_TEXTS_MAX_BYTES
    assert sha256_of(newest) in kept
    assert sha256_of(again) in kept
    assert sha256_of(b"0".ljust(size)) not in kept
    assert sha256_of(str(count - 2).encode().ljust(size)) in kept
    assert len(history(root).events) == count + 2


def test_a_long_log_keeps_its_newer_half_and_its_numbers(root: Root) -> None:
    write(root, None, b"one", "add")
    line = log_of(root).read_text()
    many = HISTORY_LOG_MAX_BYTES // len(line) + 1
    log_of(root).write_text("".join(line.replace('"n":1,', f'"n":{n},') for n in range(1, many + 1)))
    assert write(root, b"one", b"two") == many + 1
    found = history(root)
    assert found.events[0].n == many + 1
    assert found.damaged == 0
    assert HISTORY_LOG_MAX_BYTES // 4 < log_of(root).stat().st_size <= HISTORY_LOG_MAX_BYTES // 2
    assert [event.n for event in found.events] == list(range(many + 1, many + 1 - len(found.events), -1))
    assert write(root, b"two", b"three") == many + 2


def test_a_history_that_cannot_be_written_says_so(root: Root) -> None:
    log_of(root).mkdir()
    with pytest.raises(PonyError, match="history") as refused:
        write(root, None, b"one")
    assert refused.value.code == "history_failed"


def test_a_log_that_is_a_link_is_neither_read_nor_written(root: Root, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("secret\n")
    log_of(root).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PonyError):
        write(root, None, b"one")
    with pytest.raises(PonyError):
        history(root)
    assert (tmp_path / "elsewhere").read_text() == "secret\n"


def test_no_history_is_an_empty_one(root: Root) -> None:
    assert history(None).events == history(root).events == ()
