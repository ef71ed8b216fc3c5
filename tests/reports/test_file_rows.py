"""`list` names every file, the ones that are not read included, by titles and paths a person can look at (SPEC §21)."""

import os

import pytest

from pony_memory.reports.listing import iso_time


def rows(place, scope=None):
    return {row.path: row for row in place.memory().list_files(scope)}


def test_every_kind_of_file_is_named_as_what_it_is(place):
    place.write("user/notes/deep/er/a.md", "x")
    place.write("user/agent_notes.md", "- 2026-01-01T00:00:00Z  x\n")
    place.write("workspace/notes/b.md", "x")
    place.entry("an entry")
    place.write("project/loose.md", "no header")
    place.index()
    found = rows(place)
    assert {path: row.kind for path, row in found.items()} == {
        "user/notes/deep/er/a.md": "note",
        "user/agent_notes.md": "agent_notes",
        "workspace/notes/b.md": "note",
        "project/an-entry.md": "entry",
        "project/loose.md": "other",
        "project/MEMORY.md": "index",
    }
    assert list(found) == [
        "user/agent_notes.md",
        "user/notes/deep/er/a.md",
        "workspace/notes/b.md",
        "project/MEMORY.md",
        "project/an-entry.md",
        "project/loose.md",
    ]
    assert rows(place, "workspace").keys() == {"workspace/notes/b.md"}


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("---\nname: Deploy days\n---\nx", "Deploy days"),
        ("---\ndescription: no name\n---\nx", "stem"),
        ("no header", "stem"),
        ("---\nnever closed", "stem"),
        ("---\n---\nx", "stem"),
        ("---\nname: ---\n---\nx", "stem"),
        ("---\nname:\n---\nx", "stem"),
        ("\n\n---\nname: too late\n---\n", "stem"),
        ("", "stem"),
    ],
)
def test_a_title_is_the_headers_name_or_the_stem_and_never_a_rule(place, text, title):
    place.write("user/notes/stem.md", text)
    assert rows(place)["user/notes/stem.md"].title == title


def test_what_is_no_entry_goes_by_the_name_it_gives_itself(place):
    place.write("project/old.md", "---\nname: Old topic\nupdated: 2025-01-01\n---\nx")
    place.write("project/rule.md", "---\nname: ---\n---\nx")
    found = rows(place)
    assert (found["project/old.md"].title, found["project/old.md"].status) == ("Old topic", "not_an_entry")
    assert "created" in (found["project/old.md"].detail or "")
    assert found["project/rule.md"].title == "rule"


def test_what_is_superseded_is_listed_and_says_by_what(place):
    place.write("user/notes/old.md", "x")
    place.write("user/notes/new.md", "---\nsupersedes: [old]\n---\nx")
    row = rows(place)["user/notes/old.md"]
    assert (row.status, row.detail) == ("superseded", "superseded by user/notes/new.md")
    assert row.bytes == 1


def test_refused_files_are_listed_with_the_reason_and_hostile_names_are_printable(place):
    notes = place.scope_root("workspace") / "notes"
    place.write("workspace/notes/good.md", "x")
    (notes / "big.md").write_bytes(b"x" * 131_073)
    (notes / "esc\x1b[31m.md").write_text("x")
    with open(os.fsencode(notes) + b"/\xff.md", "wb") as file:
        file.write(b"x")
    (notes / "link.md").symlink_to("good.md")
    (notes / "dir.md").mkdir()
    found = rows(place)
    assert {path: row.status for path, row in found.items()} == {
        "workspace/notes/big.md": "too_large",
        "workspace/notes/esc\\x1b[31m.md": "bad_name",
        "workspace/notes/\\xff.md": "bad_name",
        "workspace/notes/good.md": "ok",
        "workspace/notes/link.md": "symlink",
    }
    assert all(f"{row.path}{row.title}".isprintable() for row in found.values())
    assert found["workspace/notes/big.md"].bytes == 131_073
    assert found["workspace/notes/big.md"].modified


def test_files_past_the_scan_limits_are_listed_with_the_limit(place):
    for number in range(515):
        place.write(f"workspace/notes/{number:03}.md", "x")
    place.write("user/notes/mine.md", "x")
    left = {path: row.status for path, row in rows(place).items() if row.status != "ok"}
    assert left == {f"workspace/notes/{number}.md": "over_file_limit" for number in range(511, 515)}


def test_a_time_no_calendar_holds_is_shown_as_its_nearest_end():
    assert iso_time(1_767_225_600_123_456_789) == "2026-01-01T00:00:00.123Z"
    assert iso_time(-(10**30)) == "0001-01-01T00:00:00.000Z"
    assert iso_time(10**30).startswith("9999-12-31T23:59:59")


def test_agent_notes_that_are_not_read_are_told_where_they_are_reviewed(place):
    notes = place.write("user/agent_notes.md", "- 2026-01-01T00:00:00Z  TOP-SECRET\n")
    assert place.memory().review().notices == ()
    notes.rename(place.root / "elsewhere.md")
    notes.symlink_to(place.root / "elsewhere.md")
    found = place.memory().review()
    assert found.blocks == ()
    assert [notice.message for notice in found.notices] == ["user/agent_notes.md is not read: symlink"]
    assert place.memory().review("workspace").notices == ()
