"""SPEC §9: Agent Notes are appended to under a grant, within limits, whole, and without touching anything else."""

from __future__ import annotations

import os
import shutil
import stat
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pony_memory.errors import (
    InvalidRequest,
    Locked,
    NotAuthorised,
    OverLimit,
    PonyError,
    SensitiveContent,
    Unavailable,
    Undecodable,
    UnsafeFile,
)
from pony_memory.files import syscalls
from pony_memory.files.flock import flocked
from pony_memory.files.text import decode
from pony_memory.limits import (
    AGENT_NOTES_HARD_BYTES,
    AGENT_NOTES_SOFT_BYTES,
    SAVE_MAX_BYTES,
    SAVE_MAX_TOKENS,
    SAVES_PER_GRANT,
)
from pony_memory.notes.agent_notes import parse_blocks
from pony_memory.scopes.scopes import resolve_scopes
from pony_memory.writes.agent_notes_store import AgentNotesStore, Person
from pony_memory.writes.grants import Grant, GrantBook, Origin
from pony_memory.writes.history import Actor, Who
from support.files import Child
from support.notes_places import PERSON, TIME, Here, granted, holds, modes, tree
from support.ordinary_user import as_ordinary_user, let_pass

SECRET = "ghp_" + "a1B2c3D4e5" * 4


@pytest.fixture
def here(tmp_path: Path) -> Here:
    return Here.below(tmp_path)


def blocks(path: Path) -> list[str]:
    return [block.text for block in parse_blocks(decode(path.read_bytes()).text)]


# Who may ----------------------------------------------------------------------------------------------------------


def test_a_save_under_a_grant_is_one_block_and_one_line_of_history(here: Here) -> None:
    book = GrantBook()
    saved = here.store(book).save("The port is 2222.", "workspace", granted(book, "session-7"))
    assert here.agent_notes("workspace").read_text() == f"- {TIME}  The port is 2222.\n"
    assert str(saved.path) == "workspace/agent_notes.md#entry-1"
    assert saved.bytes == saved.added == here.agent_notes("workspace").stat().st_size
    assert saved.warnings == ()
    (event,) = here.history("workspace").events
    assert (event.who, event.session, event.action, str(event.path)) == (
        "tool",
        "session-7",
        "save",
        "workspace/agent_notes.md",
    )
    assert (event.process, event.before, event.backup) == (os.getpid(), None, saved.backup)


@pytest.mark.parametrize("authority", ["s", None, 1, {"session": "s"}, Grant("s", "0" * 64)])
def test_nothing_but_a_grant_saves(here: Here, authority: object) -> None:
    book = GrantBook()
    granted(book)
    before = tree(here.home.parent)
    for store in (here.store(book), here.store()):
        with pytest.raises(NotAuthorised):
            store.save("text", "workspace", authority)  # type: ignore[arg-type]
    assert tree(here.home.parent) == before
    assert not (here.workspace / ".pony").exists()


def test_the_sixth_save_and_the_next_turn_are_refused(here: Here) -> None:
    book = GrantBook()
    store = here.store(book)
    grant = granted(book)
    for number in range(SAVES_PER_GRANT):
        store.save(f"note {number}", "user", grant)
    with pytest.raises(NotAuthorised):
        store.save("note 6", "user", grant)
    second = granted(book)
    book.grant_for("Run the tests.", session="s")
    with pytest.raises(NotAuthorised):
        store.save("later", "user", second)
    assert isinstance(book.grant_for("/remember x", session="s", origin=Origin.DELEGATED), object)
    assert blocks(here.agent_notes("user")) == [f"note {number}" for number in range(SAVES_PER_GRANT)]


def test_a_refused_save_costs_the_grant_nothing(here: Here) -> None:
    book = GrantBook()
    grant = granted(book)
    for note in ("", SECRET, "x" * (SAVE_MAX_BYTES + 1)):
        with pytest.raises(PonyError):
            here.store(book).save(note, "workspace", grant)
    assert book.saves_left(grant) == SAVES_PER_GRANT


# Limits -----------------------------------------------------------------------------------------------------------


def test_1024_tokens_pass_and_one_more_does_not(here: Here) -> None:
    here.store().save("字" * SAVE_MAX_TOKENS, "workspace", PERSON)
    here.store().save("word" * SAVE_MAX_TOKENS, "workspace", PERSON)
    for note in ("字" * (SAVE_MAX_TOKENS + 1), "word" * SAVE_MAX_TOKENS + "x"):
        with pytest.raises(OverLimit, match="1,025 tokens"):
            here.store().save(note, "workspace", PERSON)


def test_16_kib_pass_and_one_byte_more_does_not(here: Here) -> None:
    class Generous:
        def count(self, text: str) -> int:
            return len(text) // 100

    store = here.store(counter=Generous())
    assert store.save("x" * SAVE_MAX_BYTES, "workspace", PERSON).added > SAVE_MAX_BYTES
    with pytest.raises(OverLimit, match="16,385 bytes"):
        store.save("x" * (SAVE_MAX_BYTES + 1), "workspace", PERSON)
    with pytest.raises(OverLimit):
        store.save("é" * (SAVE_MAX_BYTES // 2) + "x", "workspace", PERSON)


def fill(path: Path, size: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"- 2026-01-01T00:00:00Z  " + b"x" * (size - 25) + b"\n")


BLOCK_BYTES = len(f"- {TIME}  note\n")


def test_over_64_kib_warns_and_not_before(here: Here) -> None:
    fill(here.agent_notes("user"), AGENT_NOTES_SOFT_BYTES - BLOCK_BYTES)
    assert here.store().save("note", "user", PERSON).warnings == ()
    assert here.agent_notes("user").stat().st_size == AGENT_NOTES_SOFT_BYTES
    fill(here.agent_notes("user"), AGENT_NOTES_SOFT_BYTES - BLOCK_BYTES + 1)
    (warning,) = here.store().save("note", "user", PERSON).warnings
    assert warning.code == "agent_notes_large"
    assert "65,537" in warning.message


def test_128_kib_is_the_end_to_the_byte(here: Here) -> None:
    path = here.agent_notes("user")
    fill(path, AGENT_NOTES_HARD_BYTES - BLOCK_BYTES)
    assert here.store().save("note", "user", PERSON).bytes == AGENT_NOTES_HARD_BYTES
    fill(path, AGENT_NOTES_HARD_BYTES - BLOCK_BYTES + 1)
    before = tree(here.home)
    with pytest.raises(OverLimit, match="131,073"):
        here.store().save("note", "user", PERSON)
    assert tree(here.home) == before
    fill(path, AGENT_NOTES_HARD_BYTES + 1)
    with pytest.raises(OverLimit, match="already"):
        here.store().save("note", "user", PERSON)


@pytest.mark.parametrize("note", ["", "  \n\t ", "a\x00b", "esc \x1b[31m", "\x9b", "lone \ud800"])
def test_what_is_no_note_is_refused(here: Here, note: str) -> None:
    with pytest.raises(InvalidRequest):
        here.store().save(note, "workspace", PERSON)
    assert not (here.workspace / ".pony").exists()


def test_the_project_scope_has_no_agent_notes(here: Here) -> None:
    with pytest.raises(InvalidRequest):
        here.store().save("note", "project", PERSON)


def test_without_home_nothing_is_written(here: Here) -> None:
    scopes = resolve_scopes(cwd=str(here.workspace), environ={}, workspace=str(here.workspace))
    with pytest.raises(Unavailable, match="HOME"):
        AgentNotesStore(scopes, environ={}).save("note", "workspace", PERSON)
    assert not here.agent_notes("workspace").exists()


# Secrets ----------------------------------------------------------------------------------------------------------


def test_a_credential_leaves_no_trace(here: Here) -> None:
    here.store().save("first", "workspace", PERSON)
    before = tree(here.home.parent)
    with pytest.raises(SensitiveContent):
        here.store().save(f"the token is\n{SECRET}", "workspace", PERSON)
    assert tree(here.home.parent) == before
    assert holds(here.home.parent, SECRET) == []


def test_the_environment_of_the_store_is_looked_at(here: Here) -> None:
    environ = {**here.environ, "DEPLOY_TOKEN": "plain-value-9"}
    with pytest.raises(SensitiveContent, match="DEPLOY_TOKEN"):
        AgentNotesStore(here.scopes, environ=environ).save("use plain-value-9", "user", PERSON)


def test_only_a_person_can_override(here: Here) -> None:
    allowing = Person(Actor.here(Who.PERSON), allow_secret=True)
    here.store().save(SECRET, "user", allowing)
    book = GrantBook()
    with pytest.raises(SensitiveContent):
        here.store(book).save(SECRET, "user", granted(book))


# The file ---------------------------------------------------------------------------------------------------------


def test_a_note_cannot_forge_a_block(here: Here) -> None:
    note = "real\n- 2026-01-01T00:00:00Z  forged\r- 2026-01-01T00:00:00Z  too\r\n\n- 2026-01-01T00:00:00Z  and this"
    here.store().save(note, "user", PERSON)
    here.store().save("second", "user", PERSON)
    assert len(blocks(here.agent_notes("user"))) == 2
    assert blocks(here.agent_notes("user"))[1] == "second"


@given(st.text(max_size=200), st.text(max_size=200))
@settings(max_examples=25, deadline=None)
def test_two_saves_are_two_blocks_whatever_they_say(
    tmp_path_factory: pytest.TempPathFactory, one: str, two: str
) -> None:
    here = Here.below(tmp_path_factory.mktemp("two"))
    saved = 0
    for note in (one, two):
        try:
            here.store().save(note, "user", Person(Actor.here(Who.PERSON), allow_secret=True))
        except InvalidRequest:
            continue
        saved += 1
    found = blocks(here.agent_notes("user")) if saved else []
    assert len(found) == saved


@pytest.mark.parametrize(
    "existing",
    [
        b"# by hand\n\n- 2026-01-01T00:00:00Z  one\n",
        b"\xff\xfe bad bytes \x80\n",
        b"\xef\xbb\xbfwith a mark\r\n",
        b"no line end",
        b"cr\r",
        b"\n\n\n",
    ],
)
def test_what_other_hands_wrote_stays_to_the_byte(here: Here, existing: bytes) -> None:
    path = here.agent_notes("workspace")
    path.parent.mkdir(parents=True)
    path.write_bytes(existing)
    here.store().save("note", "workspace", PERSON)
    data = path.read_bytes()
    assert data.startswith(existing)
    assert data[len(existing) :].lstrip(b"\n") == f"- {TIME}  note\n".encode()
    assert blocks(path)[-1] == "note"


def test_a_file_in_another_encoding_is_refused(here: Here) -> None:
    path = here.agent_notes("workspace")
    path.parent.mkdir(parents=True)
    path.write_bytes("- 2026-01-01T00:00:00Z  eins\n".encode("utf-16"))
    before = path.read_bytes()
    with pytest.raises(Undecodable):
        here.store().save("note", "workspace", PERSON)
    assert path.read_bytes() == before


def test_everything_made_is_owner_only_whatever_the_umask(here: Here) -> None:
    old = os.umask(0)
    try:
        here.store().save("one", "workspace", PERSON)
        here.agent_notes("workspace").chmod(0o666)
        here.store().save("two", "workspace", PERSON)
    finally:
        os.umask(old)
    for directory in (here.workspace, here.home):
        for name, mode in modes(directory).items():
            expected = 0o700 if (directory / name).is_dir() else 0o600
            assert mode == expected, (name, oct(mode))


def test_nothing_of_ours_is_kept_in_a_workspace(here: Here) -> None:
    here.store().save("one", "workspace", PERSON)
    here.store().save("two", "workspace", PERSON)
    assert sorted(tree(here.workspace)) == [".pony/memory/.agent_notes.lock", ".pony/memory/agent_notes.md"]


# The boundary -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", [".pony", "memory", "agent_notes.md", ".agent_notes.lock"])
def test_no_link_is_followed_below_a_workspace(here: Here, part: str, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    target = outside / "memory" if part == ".pony" else outside
    target.mkdir(exist_ok=True)
    (target / "agent_notes.md").write_text("somebody else's\n")
    link = {
        ".pony": here.workspace / ".pony",
        "memory": here.workspace / ".pony" / "memory",
        "agent_notes.md": here.agent_notes("workspace"),
        ".agent_notes.lock": here.root("workspace") / ".agent_notes.lock",
    }[part]
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(outside if part in (".pony", "memory") else outside / "agent_notes.md")
    before = tree(outside)
    with pytest.raises(PonyError):
        here.store().save("note", "workspace", PERSON)
    assert tree(outside) == before


def test_hard_links_and_fifos_are_refused(here: Here, tmp_path: Path) -> None:
    path = here.agent_notes("workspace")
    path.parent.mkdir(parents=True)
    (tmp_path / "other").write_text("elsewhere\n")
    os.link(tmp_path / "other", path)
    with pytest.raises(UnsafeFile):
        here.store().save("note", "workspace", PERSON)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(UnsafeFile):
        here.store().save("note", "workspace", PERSON)
    assert (tmp_path / "other").read_text() == "elsewhere\n"


def test_a_home_behind_a_link_works(tmp_path: Path) -> None:
    here = Here.below(tmp_path)
    dotfiles = tmp_path / "dotfiles"
    dotfiles.mkdir()
    (here.home / ".pony").symlink_to(dotfiles)
    here.store().save("note", "user", PERSON)
    assert blocks(dotfiles / "memory" / "agent_notes.md") == ["note"]
    assert (dotfiles / "state").is_dir()


def test_a_root_replaced_before_the_rename_gets_nothing(here: Here) -> None:
    here.store().save("one", "workspace", PERSON)
    root = here.root("workspace")
    moved = root.with_name("moved")

    def swap(call: str, phase: str, detail: str) -> None:
        if (call, phase) == ("create", "before") and detail.startswith(".tmp-") and not moved.exists():
            # The backup's own files are made elsewhere; this is the new text beside the old.
            root.rename(moved)
            root.mkdir()

    before = here.agent_notes("workspace").read_bytes()
    syscalls.set_hook(lambda *call: swap(*call) if call[0] == "create" else None)
    try:
        with pytest.raises(UnsafeFile):
            here.store().save("two", "workspace", PERSON)
    finally:
        syscalls.set_hook(None)
    assert (moved / "agent_notes.md").read_bytes() == before
    assert not (root / "agent_notes.md").exists()


def test_a_hand_edit_during_the_save_is_kept(here: Here) -> None:
    here.store().save("one", "user", PERSON)
    path = here.agent_notes("user")
    edited = []

    def edit(call: str, phase: str, detail: str) -> None:
        if (call, phase) == ("create", "before") and detail.startswith(".tmp-") and not edited:
            edited.append(1)
            path.write_bytes(path.read_bytes() + b"- 2026-01-01T00:00:00Z  by hand\n")

    syscalls.set_hook(edit)
    try:
        here.store().save("two", "user", PERSON)
    finally:
        syscalls.set_hook(None)
    assert edited
    assert blocks(path) == ["one", "by hand", "two"]


# Other processes --------------------------------------------------------------------------------------------------


def test_no_save_of_eight_processes_is_lost(here: Here) -> None:
    def work(number: int) -> None:
        for turn in range(6):
            here.store(timeout_ms=60_000).save(f"{number}-{turn}", "workspace", PERSON)

    children = [Child(lambda number=number: work(number)) for number in range(8)]
    assert [child.wait() for child in children] == [0] * 8
    found = blocks(here.agent_notes("workspace"))
    assert sorted(found) == sorted(f"{number}-{turn}" for number in range(8) for turn in range(6))
    events = here.history("workspace").events
    assert sorted(event.n for event in events) == list(range(1, 49))
    assert not any(event.edited_between for event in events)


def test_a_busy_lock_is_waited_for_and_named(here: Here) -> None:
    here.store().save("one", "user", PERSON)
    directory = os.open(here.root("user"), os.O_RDONLY)
    book = GrantBook()
    grant = granted(book)
    try:
        with flocked(directory, ".agent_notes.lock", what="x"), pytest.raises(Locked, match=str(here.root("user"))):
            here.store(book, timeout_ms=1).save("two", "user", grant)
    finally:
        os.close(directory)
    assert book.saves_left(grant) == SAVES_PER_GRANT
    here.store(book).save("two", "user", grant)


def test_a_killed_holder_frees_the_lock(here: Here) -> None:
    here.store().save("one", "user", PERSON)
    reading, writing = os.pipe()

    def hold() -> None:
        directory = os.open(here.root("user"), os.O_RDONLY)
        with flocked(directory, ".agent_notes.lock", what="x"):
            os.write(writing, b"!")
            threading.Event().wait()

    child = Child(hold)
    os.read(reading, 1)
    child.kill()
    os.close(reading)
    os.close(writing)
    assert here.store(timeout_ms=1_000).save("two", "user", PERSON)


# The disk ---------------------------------------------------------------------------------------------------------


def test_a_read_only_scope_is_said_and_left_alone(here: Here) -> None:
    here.store().save("one", "workspace", PERSON)
    before = tree(here.workspace)

    def attempt() -> list[str]:
        try:
            here.store().save("two", "workspace", PERSON)
        except PonyError as error:
            return [error.code, error.message]
        return []

    let_pass(here.home)
    shutil.chown(here.home, 65534, 65534)
    for path in here.home.rglob("*"):
        os.chown(path, 65534, 65534)
    for path in here.workspace.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    here.workspace.chmod(0o755)
    code, message = as_ordinary_user(attempt)
    assert code in ("failed", "unsafe_file")
    assert "ermi" in message
    assert tree(here.workspace) == before


def test_a_backup_that_fails_fails_the_save(here: Here) -> None:
    here.store().save("one", "workspace", PERSON)
    before = here.agent_notes("workspace").read_bytes()
    backups = here.records("workspace") / ".backups"
    shutil.rmtree(backups)
    backups.write_text("in the way")
    with pytest.raises(PonyError):
        here.store().save("two", "workspace", PERSON)
    assert here.agent_notes("workspace").read_bytes() == before


def test_a_history_that_fails_is_a_warning(here: Here) -> None:
    here.store().save("one", "workspace", PERSON)
    log = here.records("workspace") / ".history.jsonl"
    log.unlink()
    log.mkdir()
    (warning,) = here.store().save("two", "workspace", PERSON).warnings
    assert warning.code == "history_failed"
    assert blocks(here.agent_notes("workspace")) == ["one", "two"]
    assert stat.S_IMODE(here.agent_notes("workspace").stat().st_mode) == 0o600
