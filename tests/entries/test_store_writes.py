"""The store on a real disk: every write of SPEC §10 and §11 from the locks to the last byte."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pony_memory.entries.drift import drift
from pony_memory.entries.entry import Entry, parse_entry
from pony_memory.entries.state import Change, StoreState
from pony_memory.entries.store import EntryStore, StoreSettings, timestamp
from pony_memory.errors import BadName, Conflict, InvalidRequest, NotFound, PonyError, SensitiveContent, UnsafeFile
from pony_memory.files import syscalls
from pony_memory.files.boundary import Root, RootSpec
from pony_memory.writes.backups import contents_of, list_backups
from pony_memory.writes.history import Actor, Who, history, text_of
from support.ordinary_user import as_ordinary_user, let_pass

GOLDEN = Path(__file__).parent / "golden"
NOW = "2026-10-02T08:14:03.120Z"


def spec(path: Path) -> RootSpec:
    return RootSpec(str(path), (), follow_trusted=True)


def opened(path: Path, now: str = NOW, **settings: int) -> EntryStore:
    return EntryStore(
        spec(path),
        actor=Actor.here(Who.TOOL, "session-1"),
        settings=StoreSettings(**settings),
        environ={},
        now=lambda: now,
    )


def root_of(path: Path) -> Root:
    root = Root.resolve(spec(path))
    assert root is not None
    return root


def files(path: Path) -> dict[str, bytes]:
    """The memories and the index, without the store's own records."""
    return {item.name: item.read_bytes() for item in sorted(path.iterdir()) if not item.name.startswith(".")}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "memory" / "git" / "example.org__a__b"


def filled(place: Path, *names: str) -> EntryStore:
    store = opened(place)
    for name in names:
        store.add(name, f"The text of {name}.")
    return store


def test_what_is_written_follows_the_grammar_of_pi_memory_to_the_byte(place: Path) -> None:
    """The same steps as in the golden store; a change here is a change of the format others read."""
    opened(place, "2026-10-02T08:14:00.120Z").add(
        "SSH port on staging",
        "staging 的 SSH 用 2222 端口，密钥在 ~/.ssh/staging。\n",
        "staging SSH listens on 2222, not 22; key at ~/.ssh/staging",
        "project",
    )
    board = "See [the board](https://example.org/board). Ask there."
    opened(place, "2026-10-02T08:14:01.120Z").add("a/b (draft) [1]", board, type="reference")
    opened(place, "2026-10-02T08:14:02.120Z").add(
        "a:b (draft) [1]", "The second name that makes the same file name.", "…"
    )
    opened(place, "2026-10-02T08:14:03.120Z").add("MEMORY", "## \n", type="user")
    opened(place, "2026-10-02T08:14:04.120Z").add("Old name", "- run `make unit`\r\n- not `pytest`")
    opened(place, "2026-10-02T08:14:05.120Z").rename("Old name", "Test command")
    opened(place, "2026-10-02T08:14:06.120Z").replace("MEMORY", description="reaches no index")
    written = files(place)
    golden = GOLDEN / "written"
    assert list(written) == sorted(path.name for path in golden.iterdir())
    for path in golden.iterdir():
        assert written[path.name].decode() == path.read_text(encoding="utf-8"), path.name


def test_a_write_reports_what_it_did(place: Path) -> None:
    written = opened(place).add("Test command", "Run make unit.")
    assert (written.name, written.file, written.path) == ("Test command", "Test-command.md", "project/Test-command.md")
    assert (written.created, written.modified) == ("2026-10-02", NOW)
    assert written.warnings == ()
    removed = opened(place).remove("Test command")
    assert (removed.name, removed.file, removed.created, removed.modified) == (
        "Test command",
        "Test-command.md",
        "",
        "",
    )
    assert files(place) == {"MEMORY.md": b"# Memory Index\n\n"}


def test_modified_is_set_by_the_store_alone_and_created_is_kept(place: Path) -> None:
    opened(place, "2026-10-01T00:00:00.000Z").add("A", "one")
    again = opened(place, "2026-10-03T00:00:00.000Z").add("A", "---\nmodified: 1999-01-01\n---\ntwo")
    assert (again.created, again.modified) == ("2026-10-01", "2026-10-03T00:00:00.000Z")
    (entry,) = opened(place).entries()
    assert (entry.created, entry.modified) == ("2026-10-01", "2026-10-03T00:00:00.000Z")


def test_the_clock_of_the_store_is_utc_with_milliseconds() -> None:
    parsed = parse_entry(
        "a.md",
        f"---\nname: a\ndescription:\ntype: user\ncreated: {timestamp()[:10]}\nmodified: {timestamp()}\n---\n".encode(),
    )
    assert isinstance(parsed, Entry) and len(parsed.modified) == len(NOW) and parsed.modified.endswith("Z")


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o177])
def test_what_is_created_is_for_the_owner_alone_whatever_the_umask(place: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        filled(place, "A", "B").rename("A", "C")
    finally:
        os.umask(before)
    for path in [place, *place.rglob("*"), place.parent, place.parent.parent]:
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path


def test_a_store_behind_the_users_own_links_is_used_in_place(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "memory").symlink_to(tmp_path / "dotfiles")
    filled(tmp_path / "home" / "memory" / "local" / "x", "A")
    assert (tmp_path / "dotfiles" / "local" / "x" / "A.md").is_file()


def test_only_an_add_creates_a_store_and_only_one_that_is_right(place: Path) -> None:
    store = opened(place)
    assert store.entries() == ()
    for write in (lambda: store.remove("A"), lambda: store.replace("A", "x"), lambda: store.rename("A", "B")):
        with pytest.raises(NotFound):
            write()
    with pytest.raises(BadName):
        store.add("", "text")
    with pytest.raises(InvalidRequest):
        store.add("A", " ")
    assert not place.parent.parent.exists()


def test_a_hand_edit_between_two_writes_is_never_overwritten_from_memory(place: Path) -> None:
    """Reported elsewhere: a store kept its own copy, wrote over a hand edit and reported success."""
    store = filled(place, "A", "B")
    file = place / "A.md"
    file.write_bytes(file.read_bytes().replace(b"type: feedback", b"type: user\nby: hand") + b"\nA line of a hand.\n")
    index = place / "MEMORY.md"
    index.write_bytes(index.read_bytes().replace(b"- [B]", b"## A group\n\n- [B]"))
    store.replace("A", description="new")
    assert file.read_text().endswith("The text of A.\n\nA line of a hand.\n")
    assert "type: user\nby: hand\n" in file.read_text()
    assert index.read_text() == "# Memory Index\n\n- [A](A.md) — new\n## A group\n\n- [B](B.md) — The text of B.\n"


def test_one_replace_drops_no_other_entry(place: Path) -> None:
    """Reported elsewhere: another store dropped 23 of 28 entries in one replace."""
    store = filled(place, *(f"memory {number}" for number in range(28)))
    before = files(place)
    store.replace("memory 7", "changed")
    after = files(place)
    assert [name for name in before if after.get(name) != before[name]] == ["memory-7.md"]
    assert len(store.entries()) == 28


@pytest.mark.parametrize("edited", ["A.md", "MEMORY.md"])
def test_an_edit_in_the_middle_of_a_write_makes_it_decide_anew(place: Path, edited: str) -> None:
    store = filled(place, "A")
    edits = iter([True, False])

    def decide(state: StoreState) -> Change:
        from pony_memory.entries.operations import replace

        change = replace(state, "A", description="new", now=NOW)
        if next(edits):
            path = place / edited
            path.write_bytes(path.read_bytes() + b"\na line of a hand\n")
        return change

    store.run("replace", decide)
    assert (place / edited).read_text().endswith("\na line of a hand\n")
    assert store.entries()[0].description == "new"
    assert "— new" in (place / "MEMORY.md").read_text()


@pytest.fixture
def at_step() -> Iterator[Callable[[str, str, Callable[[], object]], None]]:
    """Do something right before the first disk-changing call of a kind on a name that starts as given."""

    def watch(call: str, name: str, act: Callable[[], object]) -> None:
        def hook(made: str, phase: str, detail: str) -> None:
            if made == call and phase == "before" and detail.startswith(name):
                syscalls.set_hook(None)
                act()

        syscalls.set_hook(hook)

    yield watch
    syscalls.set_hook(None)


@pytest.mark.parametrize("edited", ["A.md", "MEMORY.md"])
def test_an_edit_at_the_last_moment_is_never_overwritten(
    place: Path, at_step: Callable[[str, str, Callable[[], object]], None], edited: str
) -> None:
    store = filled(place, "A")
    path = place / edited
    at_step("fsync", ".tmp-", lambda: path.write_bytes(path.read_bytes() + b"a line of a hand\n"))
    store.replace("A", description="new")
    assert path.read_text().endswith("a line of a hand\n")
    assert store.entries()[0].description == "new"


def test_an_edit_of_the_index_after_the_entry_is_written_stops_the_write_with_a_named_drift(
    place: Path, at_step: Callable[[str, str, Callable[[], object]], None]
) -> None:
    store = filled(place, "A")
    index = place / "MEMORY.md"

    def edit() -> None:
        index.write_bytes(index.read_bytes() + b"a line of a hand\n")

    at_step("rename", "A.md", lambda: at_step("fsync", ".tmp-", edit))
    with pytest.raises(PonyError, match=r"halfway: A\.md done, MEMORY\.md not .*another program"):
        store.replace("A", description="new")
    assert index.read_text().endswith("a line of a hand\n")
    state = store.read()
    assert drift(state.parsed_index, state.entries.values()).stale_lines == ("A.md",)
    store.repair()
    assert "— new\n" in index.read_text() and index.read_text().endswith("a line of a hand\n")


def test_a_writer_whose_lock_was_cleared_stops_before_it_changes_anything(
    place: Path, at_step: Callable[[str, str, Callable[[], object]], None]
) -> None:
    store = filled(place, "A", "B")
    index = place / "MEMORY.md"
    stale = index.read_bytes().replace(b"text of", b"words of")
    index.write_bytes(stale)
    before = files(place)
    for write in (
        lambda: store.replace("A", "x"),
        lambda: store.add("C", "x"),
        lambda: store.rename("A", "C"),
        lambda: store.remove("A"),
        store.rebuild_index,
    ):
        at_step("mkdir", ".tmp-", (place / ".lock").unlink)
        with pytest.raises(Conflict, match="cleared by someone else"):
            write()
        assert files(place) == before


def test_a_file_that_keeps_changing_is_a_conflict_and_stays(place: Path) -> None:
    store = filled(place, "A")
    rounds: list[int] = []

    def decide(state: StoreState) -> Change:
        from pony_memory.entries.operations import replace

        rounds.append(len(rounds))
        (place / "A.md").write_bytes(state.files["A.md"] + b"again\n")
        return replace(state, "A", content="lost?", now=NOW)

    with pytest.raises(Conflict, match="kept changing"):
        store.run("replace", decide)
    assert len(rounds) == 3
    assert b"lost?" not in (place / "A.md").read_bytes()


def test_every_write_leaves_a_backup_and_a_line_of_history(place: Path) -> None:
    store = filled(place, "A")
    before = files(place)
    kept = store.replace("A", "changed").backup
    assert kept is not None
    backup = contents_of(root_of(place), kept)
    assert {"/".join(parts): data for parts, data in backup.items()} == before
    store.rename("A", "B")
    store.remove("B")
    events = history(root_of(place)).events
    assert [(event.action, event.name, event.path.parts[0]) for event in events] == [
        ("remove", "B", "B.md"),
        ("rename", "B", "B.md"),
        ("replace", "A", "A.md"),
        ("add", "A", "A.md"),
    ]
    assert {(event.who, event.session) for event in events} == {("tool", "session-1")}
    assert [event.backup for event in events if event.action == "replace"] == [kept]
    assert not any(event.edited_between for event in events)
    sha = events[2].before
    assert sha is not None and text_of(root_of(place), sha) == before["A.md"]


def test_as_many_backups_stay_as_configured(place: Path) -> None:
    store = opened(place, backups_kept=3)
    for number in range(6):
        store.add("A", f"text {number}")
    assert len(list_backups(root_of(place))) == 3


def test_a_write_whose_backup_fails_does_not_happen(place: Path) -> None:
    store = filled(place, "A")
    before = files(place)
    for item in (place / ".backups").iterdir():
        for kept in item.iterdir():
            kept.unlink()
        item.rmdir()
    (place / ".backups").rmdir()
    (place / ".backups").write_text("in the way")
    with pytest.raises(PonyError):
        store.replace("A", "changed")
    assert files(place) == before
    assert not (place / ".lock").exists()


def test_a_history_that_cannot_be_written_is_a_warning(place: Path) -> None:
    store = filled(place, "A")
    (place / ".history.jsonl").unlink()
    (place / ".history.jsonl").mkdir()
    written = store.replace("A", "changed")
    assert [notice.code for notice in written.warnings] == ["history_failed"]
    assert store.entries()[0].body == "changed"


SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2


def test_credentials_enter_by_no_write(place: Path) -> None:
    store = filled(place, "A")
    before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    for write in (
        lambda: store.add("B", f"token {SECRET}"),
        lambda: store.add("B", "text", f"token {SECRET}"),
        lambda: store.add(SECRET, "text"),
        lambda: store.replace("A", f"token {SECRET}"),
        lambda: store.replace("A", description=SECRET),
        lambda: store.rename("A", SECRET),
    ):
        with pytest.raises(SensitiveContent) as refused:
            write()
        assert SECRET not in str(refused.value)
    assert {path: path.read_bytes() for path in place.rglob("*") if path.is_file()} == before
    store.add("B", f"token {SECRET}", allow_secret=True)
    store.replace("B", description="a person said yes once; what stays is not looked through again")


def test_a_secret_of_the_environment_is_refused(place: Path) -> None:
    store = EntryStore(
        spec(place), actor=Actor.here(Who.TOOL), environ={"MY_API_KEY": "plain-words-here"}, now=timestamp
    )
    with pytest.raises(SensitiveContent):
        store.add("A", "it is plain-words-here, really")
    assert not place.exists()


def test_over_capacity_the_write_succeeds_and_says_what_falls_outside(place: Path) -> None:
    store = opened(place, max_lines=4)
    for name in ("A", "B", "C"):
        store.add(name, "x")
    written = store.add("D", "x")
    assert (place / "D.md").is_file()
    (warning,) = written.warnings
    assert warning.code == "over_capacity"
    assert "5/4 lines" in warning.message and "1 memory falls outside" in warning.message
    assert warning.message.endswith(": D") and warning.hint is not None and "Merge or remove" in warning.hint
    assert written.capacity.outside == ("D",)


def test_from_80_percent_each_write_tells_the_headroom(place: Path) -> None:
    store = opened(place, max_lines=5)
    assert store.add("A", "x").warnings == ()
    assert store.add("B", "x").warnings == ()
    for written in (store.add("C", "x"), store.replace("C", "y"), store.rename("C", "D")):
        (notice,) = written.warnings
        assert notice.code == "headroom"
        assert "1 more lines" in notice.message and "4/5 lines" in notice.message
    assert store.remove("D").warnings == ()


def test_rebuild_and_repair_write_what_a_person_saw_or_nothing(place: Path) -> None:
    store = filled(place, "A", "B")
    index = place / "MEMORY.md"
    index.write_text("# Ours\n\n- [B](B.md) — old\n- [Gone](gone.md) — x\n## Group\n")
    rebuild, repair = store.plan_rebuild(), store.plan_repair()
    assert rebuild.dropped == ("## Group",)
    index.write_text(index.read_text() + "a remark\n")
    for write in (lambda: store.rebuild_index(rebuild), lambda: store.repair(repair)):
        with pytest.raises(Conflict, match="changed since the plan"):
            write()
    assert index.read_text().endswith("## Group\na remark\n")
    store.repair(store.plan_repair())
    mended = "# Ours\n\n- [B](B.md) — The text of B.\n- [A](A.md) — The text of A.\n"
    assert index.read_text() == mended + "## Group\na remark\n"
    written = store.rebuild_index()
    assert index.read_text() == "# Ours\n- [A](A.md) — The text of A.\n- [B](B.md) — The text of B.\n"
    assert (written.action, written.file) == ("rebuild_index", "MEMORY.md")
    assert [event.action for event in history(root_of(place)).events][:2] == ["rebuild_index", "repair"]
    assert store.repair().backup is None


def test_an_index_that_cannot_be_read_is_not_replaced(place: Path) -> None:
    store = filled(place, "A")
    target = place.parent / "elsewhere.md"
    target.write_text("not ours\n")
    (place / "MEMORY.md").unlink()
    (place / "MEMORY.md").symlink_to(target)
    with pytest.raises(UnsafeFile, match="symlink"):
        store.add("B", "text")
    assert (place / "MEMORY.md").is_symlink() and target.read_text() == "not ours\n"
    assert not (place / "B.md").exists()


def test_what_stands_in_the_way_of_a_file_name_is_never_overwritten(place: Path) -> None:
    store = filled(place, "A")
    target = place.parent / "elsewhere.md"
    target.write_text("not ours\n")
    (place / "B.md").symlink_to(target)
    (place / "C.md").mkdir()
    os.mkfifo(place / "D.md")
    (place / "E.md").write_text("# no entry\n")
    for name in "BCDE":
        assert store.add(name, "text").file == f"{name}-2.md"
    assert target.read_text() == "not ours\n" and (place / "E.md").read_text() == "# no entry\n"


def test_a_read_only_store_says_so_and_stays_as_it_is(place: Path) -> None:
    """As an ordinary user: to root no directory is read-only."""
    filled(place, "A")
    before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    for path in [place, *place.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    let_pass(place)
    store = opened(place)

    def act() -> list[str]:
        said = []
        for write in (lambda: store.add("B", "x"), lambda: store.replace("A", "x"), lambda: store.remove("A")):
            with pytest.raises(PonyError) as refused:
                write()
            said.append(str(refused.value))
        return [*said, store.entries()[0].name]

    *said, name = as_ordinary_user(act)
    assert name == "A"
    assert len(said) == 3 and all("Permission denied" in message for message in said), said
    assert {path: path.read_bytes() for path in place.rglob("*") if path.is_file()} == before
