"""`repair` mends line by line, `rebuild_index` writes anew; both say first what they would do (SPEC §11)."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from pony_memory.entries.drift import drift
from pony_memory.entries.mending import Mend, plan_rebuild, plan_repair, rebuild_change, repair_change
from pony_memory.entries.state import StoreState

HAND = """# Our memories

<!-- by hand -->
- [A](a.md) — about a
## Servers

- [Gone](gone.md) — no file
- [Old name](b.md) — about b
- [A](a.md) — about a, twice
- [Unreadable](odd.md) — a file that is no entry
a remark
"""


def entry_file(name: str, modified: str = "2026-10-01T00:00:00.000Z") -> bytes:
    return (
        f"---\nname: {name}\ndescription: about {name.lower()}\ntype: project\ncreated: 2026-07-13\n"
        f"modified: {modified}\n---\n\nbody\n"
    ).encode()


def state(index: str = HAND) -> StoreState:
    files = {
        "a.md": entry_file("A", "2026-10-03T00:00:00.000Z"),
        "b.md": entry_file("B", "2026-10-02T00:00:00+08:00"),
        "c.md": entry_file("C", "2026-10-02T00:00:00.000Z"),
        "d.md": entry_file("D", "2026-10-01T00:00:00.000Z"),
        "odd.md": b"# no entry\n",
    }
    return StoreState(files, index.encode(), unsafe={"closed.md": "not_permitted"})


def test_repair_mends_each_line_and_keeps_the_rest() -> None:
    plan = plan_repair(state())
    assert plan.changes == (
        Mend("dead_line", "gone.md"),
        Mend("stale_line", "b.md"),
        Mend("duplicate_line", "a.md"),
        Mend("unindexed", "d.md"),
        Mend("unindexed", "c.md"),
    )
    assert plan.after.decode() == (
        "# Our memories\n\n<!-- by hand -->\n- [A](a.md) — about a\n## Servers\n\n- [B](b.md) — about b\n"
        "- [Unreadable](odd.md) — a file that is no entry\n- [D](d.md) — about d\n- [C](c.md) — about c\na remark\n"
    )
    assert "-- [Gone](gone.md) — no file\n" in plan.diff


def test_repair_of_a_sound_index_changes_nothing() -> None:
    mended = state().after(repair_change(state()))
    assert plan_repair(mended).changes == ()
    assert repair_change(mended).files == ()
    crlf = StoreState(mended.files, (mended.index or b"").replace(b"\n", b"\r\n"), mended.unsafe)
    assert repair_change(crlf).files == ()


def test_a_line_of_a_file_that_cannot_be_read_stays() -> None:
    kept = state("- [Closed](closed.md) — not permitted\n- [Odd](odd.md) — no entry\n")
    assert [mend for mend in plan_repair(kept).changes if mend.kind != "unindexed"] == []


def test_a_rebuild_keeps_the_top_and_orders_by_modified_then_file() -> None:
    plan = plan_rebuild(state())
    assert (plan.entries, plan.header_lines) == (4, 3)
    assert plan.after.decode() == (
        "# Our memories\n\n<!-- by hand -->\n"
        "- [D](d.md) — about d\n- [B](b.md) — about b\n- [C](c.md) — about c\n- [A](a.md) — about a\n"
    )


def test_a_rebuild_says_which_hand_written_text_goes() -> None:
    plan = plan_rebuild(state())
    assert plan.dropped == ("## Servers", "a remark")
    for text in plan.dropped:
        assert f"-{text}\n" in plan.diff + "\n"


def test_a_rebuild_without_a_hand_written_top_gets_the_default_one() -> None:
    for index in (None, b"", b"\n\n"):
        plan = plan_rebuild(StoreState({"a.md": entry_file("A")}, index))
        assert plan.after.decode() == "# Memory Index\n\n- [A](a.md) — about a\n"
        assert plan.header_lines == 2
    assert plan_rebuild(StoreState({})).after == b"# Memory Index\n\n"


_LINES = st.sampled_from(
    ["", "# H", "- [A](a.md) — about a", "- [A](a.md) — x", "- [B](b.md) — about b", "- [gone](g.md) — x", "prose"]
)


@settings(max_examples=200, deadline=None)
@given(st.lists(_LINES, max_size=12), st.sampled_from(["\n", "\r\n", "\r"]))
def test_both_leave_no_drift_and_repair_keeps_every_other_line(lines: list[str], end: str) -> None:
    before = state(end.join(lines))
    for change in (repair_change(before), rebuild_change(before)):
        after = before.after(change)
        assert not drift(after.parsed_index, after.entries.values(), {*after.not_entries, *after.unsafe})
    other = [line for line in lines if line in ("# H", "prose")]
    repaired = before.after(repair_change(before)).parsed_index
    assert [row.decode() for row in repaired.rows if row.decode() in ("# H", "prose")] == other
