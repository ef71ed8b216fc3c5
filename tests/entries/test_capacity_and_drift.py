"""What other stores lose in silence has a name here: lines past a limit, entries without a line (SPEC §11)."""

from __future__ import annotations

import pytest

from pony_memory.entries.capacity import capacity, capacity_notices
from pony_memory.entries.drift import Drift, drift
from pony_memory.entries.entry import Entry
from pony_memory.entries.index import Index


def entry(name: str, description: str = "d") -> Entry:
    return Entry(f"{name}.md", name, description, "feedback", "2026-01-01", "2026-01-01T00:00:00.000Z", "body", 9)


def index(*names: str, heading: str = "# Memory Index\n\n") -> Index:
    return Index.parse((heading + "".join(f"- [{name}]({name}.md) — d\n" for name in names)).encode())


def test_the_newest_lines_past_the_limit_are_named() -> None:
    """Reported elsewhere: the newest memories fell past the 200 lines, and no one noticed for weeks."""
    names = [f"memory-{number}" for number in range(1, 206)]
    found = capacity(index(*names))
    assert (found.lines, found.max_lines, found.over, found.headroom) == (206, 200, True, True)
    assert found.outside == tuple(names[199:])


def test_about_199_memories_fit_below_the_heading() -> None:
    assert capacity(index(*map(str, range(199)))).outside == ()
    assert not capacity(index(*map(str, range(199)))).over
    assert capacity(index(*map(str, range(200)))).outside == ("199",)


def test_hand_written_lines_count_and_blank_ones_do_not() -> None:
    found = capacity(index("a", "b", heading="# H\n\n\n## G\n<!-- c -->\n"), max_lines=4)
    assert (found.lines, found.unrecognized, found.outside) == (5, 3, ("b",))


def test_lines_past_the_bytes_are_named_to_the_byte() -> None:
    two = index("a", "b", heading="")
    end = two.lines[1].end
    assert capacity(two, max_bytes=end).outside == ()
    assert capacity(two, max_bytes=end - 1).outside == ("b",)
    assert capacity(two, max_bytes=end).over and not capacity(two, max_bytes=end + 1).over


def test_wide_text_is_counted_in_bytes_of_the_file() -> None:
    found = capacity(Index.parse("- [发布](发布.md) — 每周二\r\n".encode()))
    assert (found.bytes, found.lines) == (len("- [发布](发布.md) — 每周二\r\n".encode()), 1)


@pytest.mark.parametrize(("lines", "told"), [(159, False), (160, True), (200, True)])
def test_headroom_is_told_from_80_percent_of_the_lines(lines: int, told: bool) -> None:
    assert capacity(index(*["a"] * lines, heading="")).headroom is told


@pytest.mark.parametrize(("size", "told"), [(20_479, False), (20_480, True)])
def test_headroom_is_told_from_80_percent_of_the_bytes(size: int, told: bool) -> None:
    assert capacity(Index.parse(b"x" * size)).headroom is told


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (3, "1 memory falls outside and is not loaded: 2"),
        (5, "3 memories fall outside and are not loaded: 2, 3, 4"),
        (20, "18 memories fall outside and are not loaded: 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 8 more"),
    ],
)
def test_the_warning_names_what_falls_outside(names: int, said: str) -> None:
    (notice,) = capacity_notices(capacity(index(*map(str, range(names)), heading=""), max_lines=2))
    assert (notice.code, notice.message.endswith(f"The write succeeded; {said}")) == ("over_capacity", True)
    assert f"{names}/2 lines" in notice.message


def test_hand_written_lines_alone_may_be_outside() -> None:
    found = capacity(Index.parse("- [a](a.md) — d\n# one\n# two\n".encode()), max_lines=2)
    (notice,) = capacity_notices(found)
    assert notice.message.endswith("what is outside are hand-written lines")


def test_entries_without_a_line_are_named_in_every_store() -> None:
    """Reported elsewhere: 564 files in three stores had no index line, so no session ever saw them."""
    sizes = (200, 300, 64)
    stores = [[entry(f"{store}-{number:03}") for number in range(size)] for store, size in enumerate(sizes)]
    found = [drift(index(), entries).unindexed for entries in stores]
    assert [len(files) for files in found] == list(sizes)
    assert found[2] == tuple(f"2-{number:03}.md" for number in range(64))


def test_each_kind_of_drift_is_named_once() -> None:
    text = (
        "- [a](a.md) — d\n- [a](a.md) — d\n- [a](a.md) — d\n- [gone](gone.md) — d\n- [gone](gone.md) — d\n"
        "- [old name](b.md) — d\n- [c](c.md) — old\n- [broken](broken.md) — d\n"
    )
    found = drift(
        Index.parse(text.encode()),
        [entry("new"), entry("a"), entry("b"), entry("c", "new"), entry("also-new")],
        others=("broken.md",),
    )
    assert found == Drift(
        unindexed=("also-new.md", "new.md"),
        dead_lines=("gone.md",),
        duplicate_lines=("a.md", "gone.md"),
        stale_lines=("b.md", "c.md"),
    )
    assert found and not drift(index("a"), [entry("a")])
