"""SPEC §3, §22: a person edits a note in their editor; nothing they did not touch changes, nothing is lost."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pony_memory.canonical import CanonicalPath
from pony_memory.errors import (
    Conflict,
    InvalidRequest,
    NotFound,
    OverLimit,
    SensitiveContent,
    Undecodable,
    UnsafeFile,
)
from pony_memory.limits import MAX_FILE_BYTES
from pony_memory.writes.history import Actor, Who, text_of
from pony_memory.writes.restore import restore_event
from pony_memory.writes.user_notes import EditCopy, PutBack, discard, edit_copy, put_back
from support.notes_places import Here, tree

ACTOR = Actor(Who.PERSON, None, 1)
SECRET = "ghp_" + "a1B2c3D4e5" * 4


@pytest.fixture
def here(tmp_path: Path) -> Here:
    return Here.below(tmp_path)


def note(here: Here, data: bytes, name: str = "a.md") -> Path:
    path = here.root("workspace") / "notes" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def copy_of(here: Here, name: str = "a.md", **options: bool) -> EditCopy:
    return edit_copy(here.scopes, CanonicalPath.parse(f"workspace/notes/{name}"), **options)


def back(here: Here, copy: EditCopy, **options: bool) -> PutBack:
    return put_back(here.scopes, copy, actor=ACTOR, environ=here.environ, **options)


def test_the_copy_is_owner_only_and_goes_when_it_is_put_back(here: Here) -> None:
    path = note(here, b"one\ntwo\n")
    path.chmod(0o640)
    copy = copy_of(here)
    made = Path(copy.copy)
    assert made.name == "a.md"
    assert stat.S_IMODE(made.stat().st_mode) == 0o600
    assert stat.S_IMODE(made.parent.stat().st_mode) == 0o700
    made.write_text("one\n2\n")
    done = back(here, copy)
    assert (done.changed, done.bytes) == (True, 6)
    assert path.read_bytes() == b"one\n2\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert not made.parent.exists()


def test_an_edit_is_backed_up_recorded_and_can_be_taken_back(here: Here) -> None:
    path = note(here, b"one\n")
    copy = copy_of(here)
    Path(copy.copy).write_text("two\n")
    done = back(here, copy)
    (event,) = here.history("workspace").events
    assert (event.who, event.action, str(event.path), event.backup) == (
        "person",
        "edit",
        "workspace/notes/a.md",
        done.backup,
    )
    assert text_of(here.place("workspace").records, str(event.before)) == b"one\n"
    restore_event(here.place("workspace"), event.n, actor=ACTOR)
    assert path.read_bytes() == b"one\n"


def test_an_unchanged_copy_writes_nothing(here: Here) -> None:
    path = note(here, b"\xef\xbb\xbfone\r\ntwo\rthree")
    before = path.stat()
    done = back(here, copy_of(here))
    assert not done.changed
    assert path.stat() == before
    assert here.history("workspace").events == ()


@pytest.mark.parametrize(
    ("data", "edited", "after"),
    [
        (b"\xef\xbb\xbfone\r\ntwo\r\n", "one\n2\n", b"\xef\xbb\xbfone\r\n2\r\n"),
        (b"one\r\ntwo\nthree\r\n", "one\ntwo\nthree\nfour\n", b"one\r\ntwo\nthree\r\nfour\r\n"),
        (b"one\rtwo\r", "zero\none\ntwo\n", b"zero\rone\rtwo\r"),
        (b"one\r\ntwo", "one\ntwo\nthree", b"one\r\ntwo\r\nthree"),
        (b"one\ntwo\n", "two\n", b"two\n"),
        (b"one\ntwo\n", "one\ntwo", b"one\ntwo"),
        (b"one\n", "", b""),
        (b"one\r\ntwo\r\n", "one\r\nzwei\r\n", b"one\r\nzwei\r\n"),
        (b"a\r\nb\nc\r\n", "c\nb\na\n", None),
        (b"a\rb\n\nc\n", "a\n\nb\n\nc\n", b"a\r\rb\n\nc\n"),
    ],
)
def test_what_was_not_edited_keeps_its_bytes(here: Here, data: bytes, edited: str, after: bytes | None) -> None:
    path = note(here, data)
    copy = copy_of(here)
    Path(copy.copy).write_bytes(edited.encode())
    back(here, copy)
    if after is not None:
        assert path.read_bytes() == after
    assert path.read_bytes().replace(b"\r\n", b"\n").replace(b"\r", b"\n").removeprefix(b"\xef\xbb\xbf") == (
        edited.replace("\r\n", "\n").encode()
    )


LINES = st.lists(st.tuples(st.text("ab\u4e00 ", max_size=4), st.sampled_from(("\n", "\r\n", "\r"))), max_size=8)


@given(LINES, st.data())
@settings(max_examples=50, deadline=None)
def test_any_edit_reads_back_as_it_was_typed(
    tmp_path_factory: pytest.TempPathFactory, lines: list[tuple[str, str]], data: st.DataObject
) -> None:
    here = Here.below(tmp_path_factory.mktemp("edit"))
    path = note(here, "".join(line + end for line, end in lines).encode())
    copy = copy_of(here)
    shown = Path(copy.copy).read_text().split("\n")
    for _ in range(data.draw(st.integers(0, 3))):
        place = data.draw(st.integers(0, len(shown)))
        if data.draw(st.booleans()) or place == len(shown):
            shown.insert(place, data.draw(st.text("abc", max_size=3)))
        else:
            shown[place : place + 1] = []
    edited = "\n".join(shown)
    Path(copy.copy).write_text(edited)
    back(here, copy)
    text = path.read_bytes().replace(b"\r\n", b"\n").replace(b"\r", b"\n").decode()
    assert text == edited


def test_a_file_that_changed_meanwhile_stays_and_so_does_the_edit(here: Here) -> None:
    path = note(here, b"one\n")
    copy = copy_of(here)
    Path(copy.copy).write_text("mine\n")
    path.write_bytes(b"theirs\n")
    with pytest.raises(Conflict) as refused:
        back(here, copy)
    assert copy.copy in refused.value.message
    assert path.read_bytes() == b"theirs\n"
    assert Path(copy.copy).read_text() == "mine\n"
    path.unlink()
    with pytest.raises(Conflict):
        back(here, copy)
    assert not path.exists()
    discard(copy)
    assert not Path(copy.copy).parent.exists()


def test_what_is_not_utf8_is_refused_on_both_ways(here: Here) -> None:
    note(here, b"bad \xff\n")
    before = tree(here.workspace)
    with pytest.raises(Undecodable):
        copy_of(here)
    assert tree(here.workspace) == before
    path = note(here, b"good\n")
    copy = copy_of(here)
    Path(copy.copy).write_bytes(b"bad \xff\n")
    with pytest.raises(Undecodable):
        back(here, copy)
    assert path.read_bytes() == b"good\n"


def test_a_credential_on_an_edited_line_is_refused_and_an_old_one_can_be_mended(here: Here) -> None:
    path = note(here, f"one\nold {SECRET}\n".encode())
    copy = copy_of(here)
    Path(copy.copy).write_text(f"1\nold {SECRET}\n")
    assert back(here, copy).changed
    copy = copy_of(here)
    Path(copy.copy).write_text(f"1\nold {SECRET}\nnew {SECRET}\n")
    with pytest.raises(SensitiveContent) as refused:
        back(here, copy)
    assert SECRET not in f"{refused.value} {refused.value.hint} {refused.value.__cause__}"
    assert path.read_bytes() == f"1\nold {SECRET}\n".encode()
    assert back(here, copy, allow_secret=True).changed


def test_a_note_over_the_limit_is_refused(here: Here) -> None:
    path = note(here, b"one\n")
    copy = copy_of(here)
    Path(copy.copy).write_bytes(b"x" * MAX_FILE_BYTES)
    assert back(here, copy).changed
    copy = copy_of(here)
    Path(copy.copy).write_bytes(b"x" * (MAX_FILE_BYTES + 1))
    with pytest.raises(OverLimit):
        back(here, copy)
    assert path.stat().st_size == MAX_FILE_BYTES


def test_a_large_note_rewritten_from_end_to_end_comes_back(here: Here) -> None:
    note(here, b"a\r\n" * 40_000)
    copy = copy_of(here)
    Path(copy.copy).write_bytes(b"b\n" * 40_000)
    assert back(here, copy).bytes == 120_000


def test_a_new_note_is_made_owner_only(here: Here) -> None:
    copy = copy_of(here, "deep/new.md", new=True)
    Path(copy.copy).write_text("hello\n")
    assert back(here, copy).changed
    path = here.root("workspace") / "notes" / "deep" / "new.md"
    assert path.read_bytes() == b"hello\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    with pytest.raises(Conflict):
        copy_of(here, "deep/new.md", new=True)


def test_an_empty_new_note_is_not_made(here: Here) -> None:
    copy = copy_of(here, "new.md", new=True)
    assert not back(here, copy).changed
    assert not (here.root("workspace") / "notes" / "new.md").exists()


def test_no_link_is_followed(here: Here, tmp_path: Path) -> None:
    (tmp_path / "outside.md").write_text("elsewhere\n")
    path = note(here, b"one\n")
    copy = copy_of(here)
    Path(copy.copy).write_text("two\n")
    path.unlink()
    path.symlink_to(tmp_path / "outside.md")
    with pytest.raises(UnsafeFile):
        back(here, copy)
    with pytest.raises(UnsafeFile):
        copy_of(here)
    (here.root("workspace") / "notes" / "sub").symlink_to(tmp_path)
    new = copy_of(here, "b.md", new=True)
    Path(new.copy).write_text("x\n")
    os.rename(here.root("workspace") / "notes", here.root("workspace") / "gone")
    (here.root("workspace") / "notes").symlink_to(tmp_path)
    with pytest.raises(UnsafeFile):
        back(here, new)
    assert (tmp_path / "outside.md").read_text() == "elsewhere\n"
    assert not (tmp_path / "b.md").exists()


def test_a_copy_that_is_gone_is_said(here: Here) -> None:
    note(here, b"one\n")
    copy = copy_of(here)
    discard(copy)
    with pytest.raises(NotFound):
        back(here, copy)


def test_entries_and_blocks_are_edited_otherwise(here: Here) -> None:
    for path in ("project/A.md", "workspace/agent_notes.md#entry-1"):
        with pytest.raises(InvalidRequest):
            edit_copy(here.scopes, CanonicalPath.parse(path))
    with pytest.raises(NotFound):
        copy_of(here, "missing.md")
