"""SPEC §13: backups are whole and bounded; a restore reverts only what still is as the write left it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pony_memory.entries.drift import drift
from pony_memory.entries.store import EntryStore, StoreSettings
from pony_memory.errors import NotFound, PonyError, UnsafeFile
from pony_memory.files import syscalls
from pony_memory.files.boundary import Root
from pony_memory.limits import BACKUPS_KEPT, DREAM_BACKUPS_KEPT
from pony_memory.writes import backups as backups_module
from pony_memory.writes.backups import (
    Backup,
    backup_before_write,
    backup_count,
    backup_everything,
    contents_of,
    find_backup,
    list_backups,
)
from pony_memory.writes.history import Actor, Who, history
from pony_memory.writes.restore import Restored, restore_backup, restore_event
from support.notes_places import PERSON, Here, modes

ACTOR = Actor(Who.PERSON, None, 1)


@pytest.fixture
def here(tmp_path: Path) -> Here:
    return Here.below(tmp_path)


def store_of(here: Here, **options: int) -> EntryStore:
    return EntryStore(here.scopes.get("project").spec, actor=ACTOR, environ={}, settings=StoreSettings(**options))


def files(here: Here) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in here.root("project").iterdir() if not path.name.startswith(".")}


def root_of(here: Here) -> Root:
    return here.place("project").files


def paths(restored: Restored) -> list[str]:
    return [str(path) for path in restored.restored]


def conflicts(restored: Restored) -> list[str]:
    return [str(conflict.path) for conflict in restored.conflicts]


def has_drift(here: Here) -> bool:
    state = store_of(here).read()
    return bool(drift(state.parsed_index, state.entries.values(), {*state.not_entries, *state.unsafe}))


# Backups ----------------------------------------------------------------------------------------------------------


def test_a_write_leaves_the_files_it_changes_and_the_index(here: Here) -> None:
    store_of(here).add("A", "one")
    before = files(here)
    backup = store_of(here).replace("A", "two").backup
    assert backup is not None
    found = find_backup(root_of(here), backup)
    assert (found.label, found.files) == ("replace", ("A.md", "MEMORY.md"))
    assert found.id == found.time.replace(":", "-").replace(".", "-") + "-replace"
    assert {parts[0]: data for parts, data in contents_of(root_of(here), backup).items()} == before
    assert set(modes(here.root("project") / ".backups").values()) == {0o600, 0o700}


def test_the_newest_five_stay_with_the_last_three_dreams_and_every_migration(here: Here) -> None:
    store_of(here).add("A", "one")
    root = root_of(here)
    kept_for_good = here.root("project") / ".backups" / "migrate-2026-01-01T00-00-00-000Z" / "originals"
    kept_for_good.mkdir(parents=True)
    (kept_for_good / "topic.md").write_text("old")
    (here.root("project") / ".backups" / "somebody-elses").mkdir()
    dreams = [backup_everything(root) for _ in range(DREAM_BACKUPS_KEPT + 1)]
    made = [backup_before_write(root, "add", ["A.md"]) for _ in range(BACKUPS_KEPT + 3)]
    found = [backup.id for backup in list_backups(root)]
    assert found == [
        *reversed(made[-BACKUPS_KEPT:]),
        *reversed(dreams[-DREAM_BACKUPS_KEPT:]),
        kept_for_good.parent.name,
    ]
    assert backup_count(root) == len(found)
    assert list_backups(root)[-1] == Backup(kept_for_good.parent.name, "migrate", "", ("originals/topic.md",))
    assert (here.root("project") / ".backups" / "somebody-elses").is_dir()


@pytest.mark.parametrize("keep", [0, 1, 2])
def test_fewer_can_be_kept_but_never_none(here: Here, keep: int) -> None:
    store_of(here).add("A", "one")
    for _ in range(4):
        last = backup_before_write(root_of(here), "add", ["A.md"], keep)
    found = list_backups(root_of(here))
    assert len(found) == max(keep, 1)
    assert found[0].id == last


def test_a_clock_set_back_never_prunes_the_newest(here: Here) -> None:
    store_of(here).add("A", "one")
    root = root_of(here)
    future = here.root("project") / ".backups" / "2099-12-31T23-59-59-999Z-add"
    future.mkdir()
    one = backup_before_write(root, "add", ["A.md"], 1)
    assert one == "2100-01-01T00-00-00-000Z-add"
    assert [backup.id for backup in list_backups(root)] == [one]


def test_a_dream_backup_has_the_whole_directory(here: Here) -> None:
    for name in ("A", "B"):
        store_of(here).add(name, name)
    (here.root("project") / "legacy.md").write_text("no entry")
    backup = backup_everything(root_of(here))
    assert find_backup(root_of(here), backup).files == ("A.md", "B.md", "MEMORY.md", "legacy.md")


def test_no_link_gets_into_a_backup(here: Here, tmp_path: Path) -> None:
    store_of(here).add("A", "one")
    (tmp_path / "outside").write_text("secret")
    path = here.root("project") / "A.md"
    path.unlink()
    path.symlink_to(tmp_path / "outside")
    with pytest.raises(UnsafeFile):
        backup_before_write(root_of(here), "add", ["A.md"])
    assert backup_everything(root_of(here))
    for found in list_backups(root_of(here)):
        assert b"secret" not in contents_of(root_of(here), found.id).values()


def test_what_a_killed_writer_left_half_made_is_no_backup_and_goes(here: Here) -> None:
    store_of(here).add("A", "one")
    half = here.root("project") / ".backups" / ".tmp-0123456789abcdef"
    (half / "sub").mkdir(parents=True)
    (half / "sub" / "A.md").write_text("half")
    assert len(list_backups(root_of(here))) == 1
    backup_before_write(root_of(here), "add", ["A.md"])
    assert not half.exists()


def test_a_backup_that_cannot_be_made_is_an_error(here: Here) -> None:
    store_of(here).add("A", "one")
    backups = here.root("project") / ".backups"
    shutil.rmtree(backups)

    def full(call: str, phase: str, detail: str) -> None:
        if (call, phase) == ("write", "before"):
            raise OSError(28, os.strerror(28))

    syscalls.set_hook(full)
    try:
        with pytest.raises(PonyError, match="nothing was written") as refused:
            backup_before_write(root_of(here), "add", ["A.md"])
    finally:
        syscalls.set_hook(None)
    assert refused.value.code == "backup_failed"
    assert list_backups(root_of(here)) == ()


def test_an_old_backup_that_cannot_be_removed_stops_no_write(here: Here) -> None:
    store_of(here).add("A", "one")

    def stuck(call: str, phase: str, detail: str) -> None:
        if call in ("unlink", "rmdir") and phase == "before":
            raise OSError(13, os.strerror(13))

    made = [backup_before_write(root_of(here), "add", ["A.md"]) for _ in range(BACKUPS_KEPT)]
    syscalls.set_hook(stuck)
    try:
        last = backup_before_write(root_of(here), "add", ["A.md"])
    finally:
        syscalls.set_hook(None)
    assert [backup.id for backup in list_backups(root_of(here))] == [last, *reversed(made[1:])]


def test_an_unknown_backup_is_not_found(here: Here) -> None:
    store_of(here).add("A", "one")
    for name in ("nothing", "../..", ".", ".tmp-x", "2026-01-01T00-00-00-000Z-add"):
        with pytest.raises(NotFound):
            contents_of(root_of(here), name)
    assert list_backups(None) == ()
    assert backups_module.backup_count(None) == 0


# Restore ----------------------------------------------------------------------------------------------------------

UNDOABLE = {
    "add": lambda store: store.add("New", "new text"),
    "overwrite": lambda store: store.add("A", "another text"),
    "replace": lambda store: store.replace("B", description="changed"),
    "rename": lambda store: store.rename("B", "Renamed"),
    "remove": lambda store: store.remove("A"),
}


@pytest.mark.parametrize("write", UNDOABLE)
@pytest.mark.parametrize("by", ["event", "backup"])
def test_undone_at_once_is_as_before_to_the_byte_and_can_be_redone(here: Here, write: str, by: str) -> None:
    for name in ("A", "B", "C"):
        store_of(here).add(name, f"text of {name}")
    index = here.root("project") / "MEMORY.md"
    index.write_bytes(b"# By hand\n\n" + index.read_bytes() + b"\ntail \xff\n")
    before = files(here)
    backup = UNDOABLE[write](store_of(here)).backup
    after = files(here)
    place = here.place("project")
    n = history(place.records).events[0].n
    undone = restore_event(place, n, actor=ACTOR) if by == "event" else restore_backup(place, backup, actor=ACTOR)
    assert files(here) == before
    assert (undone.conflicts, undone.notices) == ((), ())
    event = history(place.records).events[0]
    assert (event.action, event.who, event.undoes, event.backup) == (
        "restore",
        "person",
        str(n) if by == "event" else backup,
        undone.backup,
    )
    redone = restore_event(place, event.n, actor=ACTOR)
    assert files(here) == after
    assert redone.conflicts == ()


def test_an_old_removal_is_taken_back_among_later_writes(here: Here) -> None:
    """A background agent judged two memories alike and removed one; weeks later the person finds out."""
    for name in ("A", "B"):
        store_of(here).add(name, f"text of {name}")
    old = files(here)["A.md"]
    store_of(here).remove("A")
    n = here.history("project").events[0].n
    for number in range(BACKUPS_KEPT + 2):
        store_of(here).add(f"Later {number}", "x")
    undone = restore_event(here.place("project"), n, actor=ACTOR)
    assert files(here)["A.md"] == old
    assert "project/A.md" in paths(undone)
    assert undone.conflicts == ()
    assert not has_drift(here)
    assert {"A", "B", "Later 0"} <= {entry.name for entry in store_of(here).entries()}


def test_a_rename_taken_back_later_keeps_its_place_in_the_index(here: Here) -> None:
    for name in ("A", "B", "C"):
        store_of(here).add(name, name)
    order = [line.file for line in store_of(here).read().parsed_index.lines]
    store_of(here).rename("B", "Renamed")
    n = here.history("project").events[0].n
    store_of(here).add("D", "D")
    restore_event(here.place("project"), n, actor=ACTOR)
    assert [line.file for line in store_of(here).read().parsed_index.lines] == [*order, "D.md"]
    assert not has_drift(here)


def test_what_was_changed_since_is_a_conflict_and_stays(here: Here) -> None:
    store_of(here).add("A", "one")
    store_of(here).replace("A", "two")
    n = here.history("project").events[0].n
    store_of(here).replace("A", "three")
    before = files(here)
    result = restore_event(here.place("project"), n, actor=ACTOR)
    assert (paths(result), conflicts(result), result.backup) == ([], ["project/A.md"], None)
    assert files(here) == before
    assert here.history("project").events[0].action == "replace"


def test_an_edit_by_hand_is_a_conflict_and_the_rest_goes_back(here: Here) -> None:
    for name in ("A", "B"):
        store_of(here).add(name, name)
    place = here.place("project")
    backup = backup_everything(place.files)
    from pony_memory.canonical import CanonicalPath
    from pony_memory.writes.history import WriteEvent, record

    changed = {}
    for name in ("A", "B"):
        path = here.root("project") / f"{name}.md"
        before = path.read_bytes()
        path.write_bytes(before + b"dreamt\n")
        changed[name] = before
        event = WriteEvent(ACTOR, "replace", CanonicalPath.parse(f"project/{name}.md"), name, backup)
        record(place.records, event, before, path.read_bytes())
    (here.root("project") / "A.md").write_bytes(b"by hand")
    result = restore_backup(place, backup, actor=ACTOR)
    assert (paths(result), conflicts(result)) == (["project/B.md"], ["project/A.md"])
    assert files(here)["A.md"] == b"by hand"
    assert files(here)["B.md"] == changed["B"]


def test_restoring_twice_is_restoring_once(here: Here) -> None:
    store_of(here).add("A", "one")
    store_of(here).remove("A")
    n = here.history("project").events[0].n
    restore_event(here.place("project"), n, actor=ACTOR)
    before = files(here)
    again = restore_event(here.place("project"), n, actor=ACTOR)
    assert (again.restored, again.conflicts, again.backup) == ((), (), None)
    assert files(here) == before


def test_a_text_that_is_no_longer_kept_is_a_conflict(here: Here) -> None:
    store_of(here).add("A", "one")
    store_of(here).remove("A")
    n = here.history("project").events[0].n
    shutil.rmtree(here.root("project") / ".history")
    shutil.rmtree(here.root("project") / ".backups")
    result = restore_event(here.place("project"), n, actor=ACTOR)
    assert conflicts(result) == ["project/A.md"]
    assert "no longer kept" in result.conflicts[0].reason


def without_history(here: Here) -> None:
    """As pi-memory leaves a store: backups, and nothing else."""
    (here.root("project") / ".history.jsonl").unlink()
    shutil.rmtree(here.root("project") / ".history", ignore_errors=True)


def test_a_backup_without_history_brings_back_what_is_gone(here: Here) -> None:
    store_of(here).add("A", "one")
    before = files(here)
    backup = store_of(here).remove("A").backup
    without_history(here)
    result = restore_backup(here.place("project"), str(backup), actor=ACTOR)
    assert files(here)["A.md"] == before["A.md"]
    assert conflicts(result) == []
    assert not has_drift(here)


def test_a_backup_without_history_reverts_only_what_a_later_backup_vouches_for(here: Here) -> None:
    store_of(here).add("A", "one")
    store_of(here).add("B", "one")
    first = files(here)["A.md"]
    backup = store_of(here).replace("A", "two").backup
    store_of(here).replace("B", "two")
    without_history(here)
    unknown = restore_backup(here.place("project"), str(backup), actor=ACTOR)
    assert conflicts(unknown) == ["project/A.md"]
    assert "nothing tells" in unknown.conflicts[0].reason
    shutil.rmtree(here.root("project") / ".backups" / "x", ignore_errors=True)
    backup_before_write(root_of(here), "replace", ["A.md"])
    known = restore_backup(here.place("project"), str(backup), actor=ACTOR)
    assert paths(known)[0] == "project/A.md"
    assert files(here)["A.md"] == first


def test_originals_of_a_migration_are_shown_and_never_put_back(here: Here) -> None:
    store_of(here).add("A", "one")
    directory = here.root("project") / ".backups" / "migrate-2026-01-01T00-00-00-000Z"
    (directory / "originals").mkdir(parents=True)
    (directory / "originals" / "topic.md").write_text("old")
    (directory / "topic.md").write_text("old")
    before = files(here)
    result = restore_backup(here.place("project"), directory.name, actor=ACTOR)
    assert files(here) == {**before, "topic.md": b"old"}
    assert paths(result) == ["project/topic.md"]


def test_a_saved_note_can_be_taken_back_and_only_as_the_last(here: Here) -> None:
    here.store().save("one", "workspace", PERSON)
    before = here.agent_notes("workspace").read_bytes()
    here.store().save("two", "workspace", PERSON)
    place = here.place("workspace")
    events = history(place.records).events
    assert conflicts(restore_event(place, events[1].n, actor=ACTOR)) == ["workspace/agent_notes.md"]
    assert paths(restore_event(place, events[0].n, actor=ACTOR)) == ["workspace/agent_notes.md"]
    assert here.agent_notes("workspace").read_bytes() == before
    restore_event(place, history(place.records).events[0].n, actor=ACTOR)
    restore_event(place, events[0].n, actor=ACTOR)
    restore_event(place, events[1].n, actor=ACTOR)
    assert not here.agent_notes("workspace").exists()


def test_an_editor_that_saves_during_the_restore_wins(here: Here) -> None:
    store_of(here).add("A", "one")
    store_of(here).replace("A", "two")
    path = here.root("project") / "A.md"
    edited: list[int] = []

    def edit(call: str, phase: str, detail: str) -> None:
        # After the backup: the first temporary file in the store itself is the text that goes back.
        if (call, phase) == ("create", "before") and detail.startswith(".tmp-") and not edited:
            edited.append(1)
            path.write_bytes(b"by hand")

    n = here.history("project").events[0].n
    syscalls.set_hook(edit)
    try:
        result = restore_event(here.place("project"), n, actor=ACTOR)
    finally:
        syscalls.set_hook(None)
    assert edited
    assert "project/A.md" in conflicts(result)
    assert path.read_bytes() == b"by hand"


def test_a_link_in_the_place_of_a_file_is_a_conflict(here: Here, tmp_path: Path) -> None:
    store_of(here).add("A", "one")
    store_of(here).replace("A", "two")
    (tmp_path / "outside").write_text("elsewhere")
    (here.root("project") / "A.md").unlink()
    (here.root("project") / "A.md").symlink_to(tmp_path / "outside")
    result = restore_event(here.place("project"), here.history("project").events[0].n, actor=ACTOR)
    assert conflicts(result) == ["project/A.md"]
    assert (tmp_path / "outside").read_text() == "elsewhere"


@given(
    st.lists(
        st.tuples(st.sampled_from("ABC"), st.sampled_from(("add", "replace", "remove", "hand"))), min_size=1, max_size=6
    ),
    st.integers(1, 6),
)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_restore_loses_what_was_written_since(
    tmp_path_factory: pytest.TempPathFactory, writes: list[tuple[str, str]], number: int
) -> None:
    here = Here.below(tmp_path_factory.mktemp("restore"))
    for turn, (name, action) in enumerate(writes):
        try:
            if action == "hand":
                path = here.root("project") / f"{name}.md"
                path.write_bytes(path.read_bytes() + b"by hand\n")
            elif action == "remove":
                store_of(here).remove(name)
            elif action == "add":
                store_of(here).add(name, f"text {turn}")
            else:
                store_of(here).replace(name, f"text {turn}")
        except (NotFound, FileNotFoundError):
            pass
    events = here.history("project").events if here.root("project").exists() else ()
    event = next((event for event in events if event.n == number), None)
    if event is None:
        return
    before = files(here)
    result = restore_event(here.place("project"), number, actor=ACTOR)
    after = files(here)
    for name in before.keys() | after.keys():
        if before.get(name) != after.get(name):
            assert f"project/{name}" in paths(result)
    # Whatever went away is in the restore's own backup.
    if result.backup is not None:
        kept = {parts[0]: data for parts, data in contents_of(root_of(here), result.backup).items()}
        for path in result.restored:
            assert kept.get(path.parts[0]) == before.get(path.parts[0])
