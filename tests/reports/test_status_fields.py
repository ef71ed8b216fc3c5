"""`status`: the figures of SPEC §21, from whatever the disk holds."""

import json
import os
from datetime import UTC, datetime, timedelta

import pytest

from pony_memory.errors import PonyError, Unavailable, UnsafeFile
from pony_memory.files.lock_state import Free, Unreadable
from support.ordinary_user import as_ordinary_user, let_pass

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)


def with_meta(place, text):
    place.entry("one")
    place.write("project/.dream-meta.json", text if isinstance(text, bytes) else json.dumps(text))
    return place.memory().status(now=NOW)


def test_the_last_dream_is_read_as_pi_memory_writes_it(place):
    status = with_meta(place, {"lastDreamAt": "2026-12-01T10:11:12.345Z", "sessionCountAtDream": 41})
    assert (status.last_dream, status.sessions_since_dream) == ("2026-12-01T10:11:12.345Z", 0)
    status = with_meta(place, {"lastDreamAt": "2026-12-01T12:00:00+02:00", "sessionsSinceDream": 3})
    assert (status.last_dream, status.sessions_since_dream) == ("2026-12-01T10:00:00.000Z", 3)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"not json",
        b"[]",
        b"null",
        b"\xff\xfe",
        b"[" * 60_000,
        b'{"sessionsSinceDream": ' + b"9" * 4_000 + b"}",
        b'{"lastDreamAt": 1790000000000, "sessionsSinceDream": "many"}',
        b'{"lastDreamAt": "yesterday", "sessionsSinceDream": -1}',
        b'{"lastDreamAt": "0001-01-01T00:00:00+14:00", "sessionsSinceDream": true}',
        b'{"lastDreamAt": "9999-12-31T23:59:59-14:00", "sessionsSinceDream": 1e999}',
        b'{"lastDreamAt": {"$date": 1}, "sessionsSinceDream": NaN}',
        b" " * 70_000,
    ],
)
def test_a_damaged_record_of_dreams_says_that_there_was_none(place, text):
    status = with_meta(place, text)
    assert (status.last_dream, status.sessions_since_dream, status.nudge) == (None, 0, None)


def test_nothing_unprintable_comes_from_the_record_of_dreams(place):
    status = with_meta(place, {"lastDreamAt": "2026-12-01\x1b10:00"})
    assert status.last_dream == "2026-12-01T10:00:00.000Z"


def test_a_linked_record_of_dreams_is_not_followed(place):
    elsewhere = place.root / "meta.json"
    elsewhere.write_text('{"lastDreamAt": "2026-11-01T00:00:00Z"}')
    (place.project / ".dream-meta.json").symlink_to(elsewhere)
    assert place.memory().status().last_dream is None


def test_a_dream_is_due_by_sessions_by_hours_or_by_capacity(place):
    def nudge(**meta):
        return with_meta(place, meta).nudge

    recent = (NOW - timedelta(hours=23, minutes=59)).isoformat()
    assert nudge() is None
    assert nudge(sessionsSinceDream=4, lastDreamAt=recent) is None
    assert "5 sessions" in nudge(sessionsSinceDream=5, lastDreamAt=recent)
    assert "5 sessions" in nudge(sessionsSinceDream=5)
    assert "24 hours" in nudge(lastDreamAt=(NOW - timedelta(hours=24)).isoformat())
    assert nudge(lastDreamAt=(NOW + timedelta(days=9)).isoformat()) is None
    place.index(*[f"- [m{number}](m{number}.md) — d" for number in range(158)])
    assert nudge(lastDreamAt=recent) is None
    place.index(*[f"- [m{number}](m{number}.md) — d" for number in range(159)])
    assert "80%" in nudge(lastDreamAt=recent)


def test_a_store_without_entries_is_never_due(place):
    place.write("project/.dream-meta.json", '{"sessionsSinceDream": 99}')
    assert place.memory().status().nudge is None


def test_backups_are_counted_as_backups_list_counts_them(place):
    backups = place.project / ".backups"
    for name in ("2026-10-02T08-14-03-120Z-add", "2026-10-02T08-14-04Z-remove", "migrate-2025", "nonsense", ".tmp-1"):
        (backups / name).mkdir(parents=True)
    (backups / "2026-10-02T08-14-05-120Z-file").write_text("x")
    assert place.memory().status().backups == 3


def test_agent_notes_are_measured_in_each_notes_scope(place):
    place.write("user/agent_notes.md", "- 2026-01-01T00:00:00Z  x\n")
    sizes = place.memory().status().agent_notes
    assert {scope: (size.bytes, size.soft_limit, size.hard_limit) for scope, size in sizes.items()} == {
        "user": (26, 65_536, 131_072),
        "workspace": (0, 65_536, 131_072),
    }


def test_index_lines_of_files_that_are_there_but_not_read_are_not_called_dead(place):
    (place.project / "big.md").write_bytes(b"x" * 131_073)
    place.write("project/old.md", "no header")
    place.index("- [big](big.md) — d", "- [old](old.md) — d", "- [gone](gone.md) — d")
    assert place.memory().status().drift.dead_lines == ("gone.md",)


def test_a_store_that_may_not_be_looked_into_is_told_and_its_lock_not_called_free(place):
    let_pass(place.root)
    os.chmod(place.home, 0o755)
    place.memory().status()  # what is imported on the way an ordinary user may not be able to read
    place.memory().doctor()
    place.entry("one")
    place.write("project/.lock", "{}")
    seen = {}
    for mode in (0o000, 0o444, 0o111):
        place.project.chmod(mode)

        def look():
            memory = place.memory()
            status = memory.status()
            assert memory.doctor().advice
            try:
                lock = type(memory.lock_state()).__name__
            except PonyError as error:
                lock = error.code
            return [type(status.lock).__name__, lock, bool(status.left_out), memory.doctor().safe]

        seen[mode] = as_ordinary_user(look)
    place.project.chmod(0o700)
    assert seen == {
        0o000: ["Unreadable", "unsafe_file", True, False],
        0o444: ["Unreadable", "Unreadable", True, False],
        0o111: ["Unreadable", "unsafe_file", True, False],
    }


def test_where_there_can_be_no_store_asking_for_its_lock_says_so(place):
    place.extra = {"HOME": ""}
    from pony_memory.memory import Memory

    memory = Memory.open(cwd=str(place.workspace), environ=place.environ, workspace=str(place.workspace))
    assert memory.status().dir is None
    assert isinstance(memory.status().lock, Free)
    with pytest.raises(Unavailable):
        memory.lock_state()


def test_a_store_whose_place_leads_nowhere_is_told(place):
    place.project.rmdir()
    place.project.symlink_to(place.root / "unmounted")
    memory = place.memory()
    status = memory.status()
    assert [(item.path, item.reason) for item in status.left_out] == [("project/", "symlink")]
    assert isinstance(status.lock, Unreadable)
    with pytest.raises(UnsafeFile):
        memory.unlock(status.lock, force_live=True)


def test_a_configuration_that_cannot_be_read_is_a_state_and_names_no_models(place):
    config = place.home / ".pi" / "agent" / "memory.json"
    config.parent.mkdir(parents=True)
    config.write_text('{"enabled": "maybe"}')
    status = place.memory(tolerant=True).status()
    assert status.state == "misconfigured"
    assert "enabled" in status.errors[0]
    assert status.models == {}
