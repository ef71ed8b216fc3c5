"""SPEC §13: a purged text is in no file of the product any more, and what cannot be reached is named."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from pony_memory.canonical import CanonicalPath
from pony_memory.entries.drift import drift
from pony_memory.entries.store import EntryStore
from pony_memory.errors import InvalidRequest, Locked, NotFound
from pony_memory.files.file_lock import FileLock
from pony_memory.scopes.scopes import resolve_scopes
from pony_memory.writes.backups import backup_everything, list_backups
from pony_memory.writes.history import Actor, Who, history
from pony_memory.writes.purge import Purged, PurgeKind, Target, apply_purge, plan_purge
from pony_memory.writes.restore import restore_event
from support.notes_places import PERSON, Here, holds, modes, tree

TEXT = "xyzzy-plugh-4711"
ACTOR = Actor(Who.PERSON, None, 1)


@pytest.fixture
def here(tmp_path: Path) -> Here:
    return Here.below(tmp_path)


def store_of(here: Here) -> EntryStore:
    return EntryStore(here.scopes.get("project").spec, actor=ACTOR, environ={})


def journal(here: Here, name: str, *records: object) -> Path:
    path = here.home / ".pony" / "recall" / "git" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def planted(here: Here, text: str = TEXT) -> None:
    """``text`` in every kind of file the product owns, with its neighbours in each."""
    store = store_of(here)
    store.add("Keep", "Nothing of it here.")
    store.add("Planted", f"Before it: {text} and after.", description=f"about {text} and more")
    store.replace("Planted", f"A second text with {text} in it.")
    store.add("Gone", f"{text}")
    store.remove("Gone")
    store.add(f"Named {text}", "A name gives it away.")
    backup_everything(here.place("project").files)
    here.store().save(f"first\nsecond {text}", "workspace", PERSON)
    here.store().save("another note", "workspace", PERSON)
    here.store().save(text, "user", PERSON)
    for name, body in (("a.md", f"# A\r\n\r\n{text}\r\nlast ".encode() + b"\xff"), ("b.md", b"untouched\n")):
        note = here.root("workspace") / "notes" / text / name
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_bytes(body)
        (here.root("workspace") / "notes" / name).write_bytes(body)
    root = here.root("project")
    (root / ".dream").mkdir()
    (root / ".dream" / "1.json").write_text(json.dumps({"groups": [{"after": f"text\n{text}"}]}))
    (root / ".dream" / "2.json").write_text(json.dumps({"groups": []}))
    (root / "sessions").mkdir()
    (root / "sessions" / "s.jsonl").write_text(f'{{"text": "hello"}}\n{{"text": "{text}"}}\n')
    (root / ".backups" / ".tmp-0123456789abcdef").mkdir()
    (root / ".backups" / ".tmp-0123456789abcdef" / "Planted.md").write_text(text)
    (root / ".tmp-0123456789abcdef").write_text(f"half made {text}")
    (here.root("user") / ".tmp-0123456789abcdef").write_text(f"half made {text}")
    journal(here, "p.jsonl", {"query": f"what is {text}?"}, {"query": "other"}, {"query": "q", "terms": {text: 1}})
    journal(here, "p.jsonl.1", {"query": text})
    cache = here.home / ".cache" / "pony-memory" / "index"
    cache.mkdir(parents=True)
    (cache / "x.bin").write_bytes(text[::-1].encode())


def purge(here: Here, **target: str) -> Purged:
    path = target.get("path")
    wanted = Target(CanonicalPath.parse(path) if path else None, target.get("matching"))
    return apply_purge(here.scopes, wanted, actor=ACTOR, environ=here.environ)


def no_drift(here: Here) -> bool:
    state = store_of(here).read()
    return not drift(state.parsed_index, state.entries.values(), {*state.not_entries, *state.unsafe})


@pytest.mark.parametrize("text", [TEXT, "密码本里的第三行", 'it said "yes" twice', "two words\nand a second line"])
def test_a_purged_text_is_nowhere_in_the_tree(here: Here, text: str) -> None:
    one_line = " ".join(text.split())
    if "\n" in text or '"' in text:
        store_of(here).add("Planted", f"Before it: {text} and after.")
        store_of(here).replace("Planted", f"again {text}")
        here.store().save(f"first\n{text}", "workspace", PERSON)
        journal(here, "p.jsonl", {"query": text}, {"query": "other"})
    else:
        planted(here, text)
    probe = "second line" if "\n" in text else text
    assert holds(here.home.parent, probe)
    result = purge(here, matching=text)
    assert result.failed == ()
    assert holds(here.home.parent, probe) == []
    assert holds(here.home.parent, json.dumps(text)[1:-1]) == []
    assert not any(one_line in item.where or one_line in item.what for item in result.items)
    again = plan_purge(here.scopes, Target(matching=text), environ=here.environ)
    assert again.items == ()


def test_the_neighbours_stay(here: Here) -> None:
    planted(here)
    keep = (here.root("project") / "Keep.md").read_bytes()
    purge(here, matching=TEXT)
    root = here.root("project")
    assert (root / "Keep.md").read_bytes() == keep
    assert b"Before it" not in (root / "Planted.md").read_bytes()
    assert b"A second text with [purged] in it." in (root / "Planted.md").read_bytes()
    assert (here.root("workspace") / "notes" / "a.md").read_bytes() == b"# A\r\n\r\n[purged]\r\nlast \xff"
    assert (here.root("workspace") / "notes" / "b.md").read_bytes() == b"untouched\n"
    assert not (here.root("workspace") / "notes" / TEXT).exists()
    assert "another note" in here.agent_notes("workspace").read_text()
    assert "first\n  second [purged]" in here.agent_notes("workspace").read_text()
    assert (root / ".dream" / "2.json").exists()
    assert (root / "sessions" / "s.jsonl").read_text() == '{"text": "hello"}\n'
    assert (here.home / ".pony" / "recall" / "git" / "p.jsonl").read_text() == '{"query": "other"}\n'
    assert not (here.home / ".cache" / "pony-memory" / "index" / "x.bin").exists()
    assert no_drift(here)
    for directory in (root, here.home / ".pony" / "state"):
        assert set(modes(directory).values()) <= {0o600, 0o700, 0o644, 0o755}


def test_the_history_keeps_its_events_without_content(here: Here) -> None:
    planted(here)
    before = here.history("project")
    purge(here, matching=TEXT)
    after = here.history("project")
    assert after.damaged == 0
    assert [event.n for event in after.events][1:] == [event.n for event in before.events]
    assert after.events[0].action == "purge"
    assert after.events[0].who == "person"
    assert {event.name for event in after.events if "purged" in event.name} == {"Named [purged]"}
    assert [event.time for event in after.events][1:] == [event.time for event in before.events]


def test_nothing_that_was_purged_can_be_restored(here: Here) -> None:
    planted(here)
    numbers = [event.n for event in here.history("project").events]
    purge(here, matching=TEXT)
    for n in [here.history("project").events[0].n, *numbers]:
        restore_event(here.place("project"), n, actor=ACTOR)
    for backup in list_backups(here.place("project").files):
        assert TEXT not in str(backup)
    assert holds(here.home.parent, TEXT) == []


def test_a_plan_lists_what_goes_and_changes_nothing(here: Here) -> None:
    planted(here)
    here.place("project"), here.place("user"), here.place("workspace")
    before = tree(here.home.parent)
    plan = plan_purge(here.scopes, Target(matching=TEXT), environ=here.environ)
    assert tree(here.home.parent) == before
    assert {item.kind for item in plan.items} == set(PurgeKind)
    done = purge(here, matching=TEXT)
    # Locks are files too, and the sweep of leftovers is the same one.
    assert sorted(done.items, key=str) == sorted(plan.items, key=str)


def test_a_path_goes_with_all_its_versions_and_nothing_else(here: Here) -> None:
    store = store_of(here)
    secret_one, secret_two = f"first version {TEXT}", f"second version {TEXT}"
    store.add("Other", "An entry that stays.")
    store.add("Old name", secret_one, description="a line of the index")
    store.replace("Old name", secret_two)
    store.rename("Old name", "New name")
    store.replace("Other", "It still stays.")
    (here.root("project") / ".dream").mkdir()
    (here.root("project") / ".dream" / "1.json").write_text(json.dumps({"groups": [{"target": "New-name.md"}]}))
    journal(here, "p.jsonl", {"query": "q", "candidates": [{"path": "project/New-name.md"}]}, {"query": "other"})
    other = (here.root("project") / "Other.md").read_bytes()
    result = purge(here, path="project/New-name.md")
    assert result.failed == ()
    for text in (TEXT, "a line of the index", "Old name", "New name"):
        assert holds(here.home.parent, text) == []
    assert (here.root("project") / "Other.md").read_bytes() == other
    assert no_drift(here)
    assert not (here.root("project") / ".dream" / "1.json").exists()
    assert journal_lines(here) == ['{"query": "other"}']
    events = here.history("project").events
    assert (events[0].action, str(events[0].path), events[0].after) == ("purge", "project/New-name.md", None)
    assert {event.name for event in events} == {"", "Other"}


def journal_lines(here: Here) -> list[str]:
    return (here.home / ".pony" / "recall" / "git" / "p.jsonl").read_text().splitlines()


def test_a_memory_that_is_gone_already_can_still_be_purged(here: Here) -> None:
    store_of(here).add("A", TEXT)
    store_of(here).remove("A")
    assert holds(here.home.parent, TEXT)
    purge(here, path="project/A.md")
    assert holds(here.home.parent, TEXT) == []


def test_one_block_of_agent_notes_can_be_purged(here: Here) -> None:
    for note in ("one", f"two\n{TEXT}", "three"):
        here.store().save(note, "user", PERSON)
    purge(here, path="user/agent_notes.md#entry-2")
    assert holds(here.home.parent, TEXT) == []
    assert here.agent_notes("user").read_text().count("\n- ") == 2
    assert "three" in here.agent_notes("user").read_text()


def test_a_user_note_goes_by_its_path(here: Here) -> None:
    note = here.root("user") / "notes" / "a.md"
    note.parent.mkdir(parents=True)
    note.write_text(TEXT)
    purge(here, path="user/notes/a.md")
    assert not note.exists()


@pytest.mark.parametrize("text", ["", "   ", "abc", "a b c", "purged", "[purged]"])
def test_a_text_that_would_take_half_of_everything_is_refused(here: Here, text: str) -> None:
    store_of(here).add("A", "abc purged")
    with pytest.raises(InvalidRequest):
        purge(here, matching=text)


def test_what_is_unknown_is_said(here: Here) -> None:
    with pytest.raises(NotFound):
        purge(here, path="project/A.md")
    store_of(here).add("B", "x")
    with pytest.raises(NotFound):
        purge(here, path="project/A.md")
    with pytest.raises(InvalidRequest):
        purge(here, path="project/MEMORY.md")


def test_what_cannot_be_reached_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = Here.below(tmp_path)
    subprocess.run(["git", "init", "-q", str(here.workspace)], check=True)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp" / "pony-memory-x").mkdir(parents=True)
    (tmp_path / "tmp" / "pony-memory-x" / "a.md").write_text(TEXT)
    (here.home / ".pony" / "state" / "0123456789abcdef" / ".history").mkdir(parents=True)
    (here.home / ".pony" / "state" / "0123456789abcdef" / ".history" / "x").write_text(TEXT)
    other = here.home / ".pi" / "memory" / "git" / "example.org__a__b"
    other.mkdir(parents=True)
    (other / "A.md").write_text(TEXT)
    scopes = resolve_scopes(cwd=str(here.workspace), environ=here.environ, workspace=str(here.workspace))
    result = plan_purge(scopes, Target(matching=TEXT), environ=here.environ)
    told = "\n".join(result.unreachable)
    for part in ("git repository", "providers", "transcripts", "pony-memory-x", "0123456789abcdef", str(other)):
        assert part in told
    nothing = plan_purge(scopes, Target(matching="nowhere to be found"), environ=here.environ)
    assert str(other) not in "\n".join(nothing.unreachable)


def test_a_file_that_cannot_be_looked_into_is_named_and_the_rest_goes(here: Here, tmp_path: Path) -> None:
    planted(here)
    (tmp_path / "outside.md").write_text(TEXT)
    (here.root("project") / "link.md").symlink_to(tmp_path / "outside.md")
    big = here.root("workspace") / "notes" / "big.md"
    big.write_bytes(TEXT.encode() + b"x" * 200_000)
    result = purge(here, matching=TEXT)
    assert {where for where, _ in result.failed} == {"project/link.md", "workspace/notes/big.md"}
    assert holds(here.home.parent, TEXT) == sorted(["outside.md", str(big.relative_to(here.home.parent))])


def test_another_writer_is_waited_for_and_nothing_is_done_without_the_locks(here: Here) -> None:
    planted(here)
    place = here.place("project")
    before = tree(here.home.parent)
    with FileLock(place.files, "add", 1_000), pytest.raises(Locked):
        apply_purge(here.scopes, Target(matching=TEXT), actor=ACTOR, environ=here.environ, timeout_ms=1)
    after = tree(here.home.parent)
    assert {name: data for name, data in after.items() if "lock" not in name} == {
        name: data for name, data in before.items() if "lock" not in name
    }


def test_a_journal_query_that_was_cut_inside_the_text_goes(here: Here) -> None:
    store_of(here).add("A", TEXT)
    journal(here, "p.jsonl", {"query": ("x" * 490 + TEXT)[:500]}, {"query": "x" * 500}, {"query": "other"})
    purge(here, matching=TEXT)
    assert len(journal_lines(here)) == 2


def test_transcripts_in_a_configured_directory_are_reached(here: Here, tmp_path: Path) -> None:
    sessions = tmp_path / "elsewhere"
    sessions.mkdir()
    (sessions / "s.jsonl").write_text(f'{{"text": "hello"}}\n{{"text": "{TEXT}"}}\nnot json {TEXT}\n')
    (sessions / "other.txt").write_text(TEXT)
    apply_purge(
        here.scopes,
        Target(matching=TEXT),
        actor=ACTOR,
        environ=here.environ,
        session_directories=[str(sessions), str(tmp_path / "missing")],
    )
    assert (sessions / "s.jsonl").read_text() == '{"text": "hello"}\n'
    assert (sessions / "other.txt").read_text() == TEXT


def test_trust_and_configuration_are_not_touched(here: Here) -> None:
    planted(here)
    for name in (".pony/trust.json", ".pi/agent/memory.json"):
        path = here.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"x": TEXT}))
    purge(here, matching=TEXT)
    assert holds(here.home.parent, TEXT) == ["home/.pi/agent/memory.json", "home/.pony/trust.json"]


def test_a_damaged_history_line_with_the_text_goes(here: Here) -> None:
    store_of(here).add("A", "fine")
    log = here.root("project") / ".history.jsonl"
    with log.open("a") as file:
        file.write(f"damaged {TEXT}\n" + json.dumps({"n": 2, "path": f"project/{TEXT}/x", "name": TEXT}) + "\n")
    purge(here, matching=TEXT)
    assert holds(here.home.parent, TEXT) == []
    assert history(here.place("project").records).events[-1].action == "add"


def test_a_purge_elsewhere_makes_no_store(here: Here) -> None:
    shutil.rmtree(here.root("project"), ignore_errors=True)
    scopes = replace(here.scopes)
    result = apply_purge(scopes, Target(matching=TEXT), actor=ACTOR, environ=here.environ)
    assert result.items == ()
    assert not os.path.exists(here.root("project"))
    assert not here.root("user").exists()
