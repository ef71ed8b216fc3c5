"""`status` and `doctor` name what others lose in silence (SPEC §21), and the public reports behind it."""

import json
import os
import socket
import subprocess
import sys

from pony_memory.errors import Disabled
from pony_memory.files.lock_state import Abandoned, Unreadable

LINE = "- [m{0}](m{0}.md) — memory number {0}"


def advice(doctor):
    return {(item.path, item.kind) for item in doctor.advice}


def test_the_newest_lines_that_fall_past_the_limit_are_named(place):
    for number in range(205):
        place.entry(f"m{number}", description=f"memory number {number}")
    place.index(*[LINE.format(number) for number in range(205)])
    status = place.memory().status()
    assert status.index.lines == 206
    assert status.index.outside == tuple(f"m{number}" for number in range(199, 205))
    assert ("project/MEMORY.md", "outside_index") in advice(place.memory().doctor())


def test_entries_past_the_byte_limit_are_named_too(place):
    place.index(*[f"- [m{number}](m{number}.md) — {'x' * 1_000}" for number in range(30)])
    assert place.memory().status().index.outside[-1] == "m29"
    assert place.memory().status().index.lines < 200


def test_564_files_without_a_line_are_named_in_their_three_stores(tmp_path):
    from support.places import Place

    named = 0
    for store, count in (("a", 188), ("b", 188), ("c", 188)):
        place = Place(tmp_path / store)
        for number in range(count):
            place.entry(f"m{number}")
        status = place.memory().status()
        assert status.entries == count
        named += len(status.drift.unindexed)
    assert named == 564


def test_each_kind_of_drift_is_named(place):
    place.entry("unlined")
    place.entry("twice", description="d")
    place.entry("stale", description="new")
    place.index(
        "- [twice](twice.md) — d",
        "- [twice](twice.md) — d",
        "- [stale](stale.md) — old",
        "- [gone](gone.md) — was here",
    )
    drift = place.memory().status().drift
    assert drift.unindexed == ("unlined.md",)
    assert drift.duplicate_lines == ("twice.md",)
    assert drift.stale_lines == ("stale.md",)
    assert drift.dead_lines == ("gone.md",)
    kinds = {kind for _, kind in advice(place.memory().doctor())}
    assert {"unindexed", "duplicate_line", "stale_line", "dead_line"} <= kinds


def test_files_that_are_no_entries_are_named_with_the_reason_and_may_be_looked_at(place):
    place.write("project/old.md", "---\nname: Old\nupdated: 2025-01-01\n---\n## x\n")
    memory = place.memory()
    (item,) = memory.status().not_entries
    assert item.file == "old.md"
    assert "created" in item.reason
    assert "## x" in memory.read("project/old.md").text
    (row,) = [row for row in memory.list_files() if row.path == "project/old.md"]
    assert (row.kind, row.status) == ("other", "not_an_entry")


def test_the_lock_of_a_dead_process_is_named_with_its_holder(place):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    record = {"pid": gone.pid, "hostname": socket.gethostname(), "startedAt": "2026-11-01T10:00:00.000Z", "op": "add"}
    place.write("project/.lock", json.dumps(record))
    memory = place.memory()
    lock = memory.status().lock
    assert isinstance(lock, Abandoned)
    assert (lock.holder.pid, lock.holder.op) == (gone.pid, "add")
    assert ("", "abandoned_lock") in advice(memory.doctor())
    assert memory.unlock(lock).removed
    assert not os.path.lexists(place.project / ".lock")


def test_an_unreadable_lock_is_named(place):
    place.write("project/.lock", "not json")
    memory = place.memory()
    assert isinstance(memory.status().lock, Unreadable)
    assert ("", "unreadable_lock") in advice(memory.doctor())


def test_unsafe_files_are_in_doctor_list_and_status_and_their_content_nowhere(place):
    secret = place.root / "secret.txt"
    secret.write_text("TOP-SECRET needle")
    notes = place.scope_root("workspace") / "notes"
    notes.mkdir(parents=True)
    (notes / "link.md").symlink_to(secret)
    os.link(secret, notes / "hard.md")
    os.mkfifo(notes / "pipe.md")
    (notes / "big.md").write_bytes(b"x" * (128 * 1024 + 1))
    place.write("workspace/notes/good.md", "needle")
    memory = place.memory()
    reasons = {"link": "symlink", "hard": "hard_link", "pipe": "fifo", "big": "too_large"}
    expected = {f"workspace/notes/{name}.md": reason for name, reason in reasons.items()}
    doctor = memory.doctor()
    assert {check.path: check.reason for check in doctor.checks if check.status == "unsafe"} == expected
    assert not doctor.safe
    assert {item.path: item.reason for item in memory.status().left_out} == expected
    assert {row.path: row.status for row in memory.list_files() if row.status != "ok"} == expected
    assert "TOP-SECRET" not in repr(memory.snapshot().files)
    assert [str(hit.path) for hit in memory.search("needle").hits] == ["workspace/notes/good.md"]


def test_doubtful_headers_are_advice_and_nothing_is_rewritten(place):
    texts = {
        "colon": "---\ndescription: Constraints (REQ): read the spec\n---\nbody",
        "open": "---\nname: never closed\nbody",
        "anchors": "---\nname: &a x\ndescription:\n  nested: *a\n---\nbody",
        "big": "---\nname: x\ndescription: |\n" + "  long line\n" * 1_000 + "---\nbody",
        "crlf": "---\r\nname: windows\r\n---\r\nbody\r\n",
        "bom": b"\xef\xbb\xbf---\nname: bom\n---\nbody",
        "latin": b"---\nname: x\n---\nna\xefve",
    }
    files = {name: place.write(f"user/notes/{name}.md", text) for name, text in texts.items()}
    before = {name: file.read_bytes() for name, file in files.items()}
    doctor = place.memory().doctor()
    assert doctor.safe
    paths = {item.path for item in doctor.advice}
    assert {f"user/notes/{name}.md" for name in ("open", "anchors", "big", "latin")} <= paths
    assert not {f"user/notes/{name}.md" for name in ("colon", "crlf", "bom")} & paths
    assert {name: file.read_bytes() for name, file in files.items()} == before
    titles = {row.path: row.title for row in place.memory().list_files()}
    assert len(titles) == len(texts)
    assert "---" not in titles.values()


def test_a_workspace_that_hides_a_user_note_is_flagged(place):
    place.write("workspace/notes/evil.md", "---\nsupersedes: [mine]\n---\n")
    place.write("user/notes/mine.md", "important")
    assert ("user/notes/mine.md", "superseded_across_scopes") in advice(place.memory().doctor())


def test_an_empty_machine_has_a_calm_status(place):
    status = place.memory().status()
    assert (status.entries, status.index.lines, status.nudge, status.backups) == (0, 0, None, 0)
    assert place.memory().list_files() == ()
    assert place.memory().doctor().checks == ()


def test_without_home_the_user_scope_says_why(place):
    place.extra = {"HOME": ""}
    memory = place.memory()
    assert dict(memory.scopes.unavailable).keys() == {"user"}
    assert memory.status().unavailable


def test_disabled_memory_keeps_the_notes_scopes_and_unlock(place):
    config = place.home / ".pi" / "agent" / "memory.json"
    config.parent.mkdir(parents=True)
    config.write_text('{"enabled": false}')
    place.write("user/notes/a.md", "needle")
    place.entry("e", "needle")
    place.write("project/.lock", "not json")
    memory = place.memory()
    assert memory.status().state == "disabled"
    assert [str(hit.path) for hit in memory.search("needle").hits] == ["user/notes/a.md"]
    try:
        memory.entries()
    except Disabled as error:
        assert "enabled" in (error.hint or "")
    else:
        raise AssertionError("entries() must be refused")
    assert memory.unlock(memory.lock_state(), force_live=True).removed


def test_a_configured_machine_without_a_model_is_misconfigured_in_the_contracts_words(place):
    config = place.home / ".pi" / "agent" / "memory.json"
    config.parent.mkdir(parents=True)
    config.write_text("{}")
    status = place.memory().status()
    assert status.state == "misconfigured"
    assert 'no model for dream — set "dream.model" or "defaults.model" in memory.json' in status.errors
    config.write_text('{"defaults": {"model": "nobody/none"}}')
    assert (
        'model "nobody/none" for dream is not resolvable (unknown id or missing credentials)'
        in place.memory().status().errors
    )
