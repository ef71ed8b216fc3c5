"""Every pane does what its keys say (SPEC §22)."""

import json
import os
import socket
import subprocess
import sys

import pytest
from textual.widgets import Button, Input

from pony_workbench.dialogs.help import HelpDialog, TargetDialog
from pony_workbench.dialogs.unlock import UnlockDialog
from pony_workbench.panes.reader import RENDERED_LINES, ReaderPane
from pony_workbench.panes.recall import RecallPane
from pony_workbench.panes.scopes import ScopesPane
from pony_workbench.panes.search import SearchPane
from support.workbench import opened, press, screen_text, type_text, until


@pytest.fixture
def filled(place):
    place.write("user/notes/a.md", "---\nname: Alpha\ndescription: the first\ntags: [x]\n---\nneedle, see [[bee]]\n")
    place.write("user/notes/bee.md", "# Bee\n\nhttps://example.org/hive\n\nbuzz\n")
    place.write("workspace/notes/d/deep.md", "deep needle\n")
    place.write("workspace/agent_notes.md", "- 2026-01-02T03:04:05Z  block one\n- 2026-01-03T03:04:05Z  needle two\n")
    place.entry("SSH port", "It is 2222.", description="staging listens on 2222")
    place.index("- [SSH port](SSH-port.md) — staging listens on 2222")
    return place


def leave_lock(place, pid):
    record = {"pid": pid, "hostname": socket.gethostname(), "startedAt": "2026-11-30T10:00:00.000Z", "op": "add"}
    place.write("project/.lock", json.dumps(record))


def dead_pid():
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    return gone.pid


def reader_text(app):
    return "\n".join(app.query_one(ReaderPane).lines.lines)


async def open_note(pilot, app, path, line=1):
    app.query_one(ReaderPane).open(path, line)
    app.action_show_pane("reader")
    await until(pilot, lambda: app.query_one(ReaderPane).path == path and app.query_one(ReaderPane)._pages, path)
    await pilot.pause()


async def test_the_tree_opens_a_note_by_keys(filled):
    async with opened(filled) as (app, pilot):
        tree = app.query_one(ScopesPane).scope_tree
        assert tree.has_focus
        await press(pilot, "j", "j")
        assert tree.cursor_node.data.key == "user/notes/a.md"
        await press(pilot, "k", "j", "enter")
        await until(pilot, lambda: "needle" in reader_text(app))
        assert app.current == "reader"
        assert "the first" in screen_text(app)


async def test_vi_keys_fold_and_unfold_the_tree(filled):
    async with opened(filled) as (app, pilot):
        tree = app.query_one(ScopesPane).scope_tree
        await press(pilot, "h")
        assert not tree.cursor_node.is_expanded
        await press(pilot, "l")
        assert tree.cursor_node.is_expanded
        await press(pilot, "G")
        last = tree.cursor_line
        await press(pilot, "g")
        assert tree.cursor_line == 0 < last


async def test_the_tree_follows_the_disk_and_keeps_cursor_and_folds(filled):
    async with opened(filled) as (app, pilot):
        tree = app.query_one(ScopesPane).scope_tree
        await press(pilot, "j", "j", "j")
        assert tree.cursor_node.data.key == "user/notes/bee.md"
        items = app.query_one(ScopesPane)._items
        items["workspace:note/d"].collapse()
        filled.write("user/notes/aaa.md", "new")
        await until(pilot, lambda: "user/notes/aaa.md" in app.query_one(ScopesPane)._items, "the new note")
        await pilot.pause()
        assert tree.cursor_node.data.key == "user/notes/bee.md"
        assert not app.query_one(ScopesPane)._items["workspace:note/d"].is_expanded
        (filled.home / ".pony/memory/notes/aaa.md").unlink()
        await until(pilot, lambda: "user/notes/aaa.md" not in app.query_one(ScopesPane)._items, "its removal")
        await pilot.pause()
        assert tree.cursor_node.data.key == "user/notes/bee.md"


async def test_badges_are_words_and_symbols(filled):
    filled.write("project/legacy.md", "---\nname: legacy\n---\n")
    filled.entry("unlined")
    filled.write("workspace/notes/new.md", "---\nsupersedes: [bee]\n---\n")
    (filled.scope_root("user") / "notes" / "link.md").symlink_to("a.md")
    async with opened(filled, size=(120, 50)) as (app, _):
        shown = screen_text(app)
        for part in ("! link  symlink", "? legacy  not an entry", "+ unlined", "~ bee  superseded"):
            assert part in shown, part


async def test_a_note_of_60000_lines_opens_and_pages(filled):
    filled.write("user/notes/long.md", "x\n" * 59_999 + "last\n")
    async with opened(filled) as (app, pilot):
        await open_note(pilot, app, "user/notes/long.md")
        reader = app.query_one(ReaderPane)
        await until(pilot, lambda: len(reader.lines.lines) == 60_000, "all pages")
        assert "line 1 of 60,000 · page 1 of 30" in screen_text(app)
        await press(pilot, "n")
        assert reader.lines.cursor == 2_000
        await press(pilot, "n", "p", "p")
        assert reader.lines.cursor == 0
        await press(pilot, "colon")
        await type_text(pilot, "45678")
        await press(pilot, "enter")
        assert reader.lines.cursor == 45_677
        await press(pilot, "G")
        assert "last" in screen_text(app)
        await press(pilot, "m")
        assert reader.rendered
        # Only what is visible is rendered, however long the note is.
        rendered = reader.query_one("#markdown")
        assert rendered.source.count("\n") < RENDERED_LINES


async def test_find_and_go_on_finding(filled):
    filled.write("user/notes/f.md", "one\nNeedle\nthree\nneedle\nfive\n")
    async with opened(filled) as (app, pilot):
        await open_note(pilot, app, "user/notes/f.md")
        lines = app.query_one(ReaderPane).lines
        await press(pilot, "f")
        await type_text(pilot, "needle")
        await press(pilot, "enter")
        assert lines.cursor == 1
        await press(pilot, "full_stop")
        assert lines.cursor == 3
        await press(pilot, "full_stop")
        assert lines.cursor == 1
        await press(pilot, "comma")
        assert lines.cursor == 3


async def test_links_are_followed_and_back_leads_back(filled):
    async with opened(filled) as (app, pilot):
        await open_note(pilot, app, "user/notes/a.md", 6)
        reader = app.query_one(ReaderPane)
        await press(pilot, "enter")
        await until(pilot, lambda: "buzz" in reader_text(app), "the linked note")
        await press(pilot, "b")
        await until(pilot, lambda: "needle" in reader_text(app), "the way back")
        assert reader.lines.cursor == 5


async def test_a_web_address_is_shown_before_it_opens(filled, monkeypatch):
    visited = []
    monkeypatch.setattr("webbrowser.open", visited.append)
    async with opened(filled) as (app, pilot):
        await open_note(pilot, app, "user/notes/bee.md", 3)
        await press(pilot, "enter")
        await until(pilot, lambda: isinstance(app.screen, TargetDialog))
        assert "https://example.org/hive" in screen_text(app)
        await press(pilot, "n")
        assert visited == []
        await press(pilot, "enter")
        await until(pilot, lambda: isinstance(app.screen, TargetDialog))
        await press(pilot, "y")
        assert visited == ["https://example.org/hive"]


async def test_an_open_note_is_read_again_when_it_changes(filled):
    async with opened(filled) as (app, pilot):
        await open_note(pilot, app, "user/notes/bee.md")
        filled.write("user/notes/bee.md", "changed on disk")
        await until(pilot, lambda: "changed on disk" in reader_text(app), "the change")
        (filled.home / ".pony/memory/notes/bee.md").unlink()
        await until(pilot, lambda: "no such memory" in screen_text(app), "the removal")


async def test_a_change_that_kept_size_and_time_is_seen_too(filled):
    file = filled.write("user/notes/quiet.md", "before")
    async with opened(filled) as (app, pilot):
        await open_note(pilot, app, "user/notes/quiet.md")
        status = file.stat()
        with file.open("r+b") as opened_file:
            opened_file.write(b"after!")
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
        await until(pilot, lambda: "after!" in reader_text(app), "the quiet change")


async def test_an_unsafe_note_says_why_and_shows_nothing(filled):
    (filled.scope_root("user") / "notes" / "link.md").symlink_to("/etc/passwd")
    async with opened(filled) as (app, pilot):
        app.query_one(ReaderPane).open("user/notes/link.md")
        await press(pilot, "2")
        await until(pilot, lambda: "symbolic link" in screen_text(app), "the reason")
        assert "root:" not in screen_text(app)


async def test_search_is_live_and_opens_at_the_line(filled):
    async with opened(filled) as (app, pilot):
        await press(pilot, "slash")
        await type_text(pilot, "needle")
        pane = app.query_one(SearchPane)
        await until(pilot, lambda: len(pane._hits) == 4, "the hits")
        shown = screen_text(app)
        assert "needl" in shown
        assert "of 6 documents" in shown
        hit = pane._hits[0]
        assert abs(sum(sum(fields.values()) for fields in hit.terms.values()) - hit.score) < 1e-9
        places = [str(hit.path) for hit in pane._hits]
        await press(pilot, "down", *["j"] * places.index("user/notes/a.md"), "enter")
        await until(pilot, lambda: app.query_one(ReaderPane).path == "user/notes/a.md")
        await until(pilot, lambda: app.query_one(ReaderPane).lines.cursor == 5, "the line of the match")


async def test_in_the_field_every_character_is_text_and_esc_leaves(filled):
    async with opened(filled) as (app, pilot):
        await press(pilot, "slash")
        await type_text(pilot, "q1?/6m")
        field = app.query_one("#query", Input)
        assert field.value == "q1?/6m"
        assert app.current == "search"
        assert len(app.screen_stack) == 1
        await press(pilot, "escape")
        assert not field.has_focus
        await press(pilot, "1")
        assert app.current == "scopes"


async def test_scopes_can_be_left_out_of_a_search(filled):
    async with opened(filled) as (app, pilot):
        await press(pilot, "slash")
        await type_text(pilot, "needle")
        pane = app.query_one(SearchPane)
        await until(pilot, lambda: len(pane._hits) == 4)
        await pilot.click("#in-user")
        await until(pilot, lambda: pane._hits and all(hit.scope == "workspace" for hit in pane._hits), "the filter")


async def test_results_follow_the_disk(filled):
    async with opened(filled) as (app, pilot):
        await press(pilot, "slash")
        await type_text(pilot, "zebra")
        pane = app.query_one(SearchPane)
        await until(pilot, lambda: "Nothing found" in screen_text(app), "no hits")
        filled.write("user/notes/z.md", "zebra")
        await until(pilot, lambda: len(pane._hits) == 1, "the new hit")


async def test_status_is_live(filled):
    async with opened(filled) as (app, pilot):
        assert "Lock ○ free" in screen_text(app)
        leave_lock(filled, dead_pid())
        await until(pilot, lambda: "abandoned" in screen_text(app), "the lock")
        filled.entry("unlined")
        await until(pilot, lambda: "unlined.md" in screen_text(app), "the drift")


async def test_unlock_shows_the_holder_and_removes_only_when_told(filled):
    leave_lock(filled, dead_pid())
    lock = filled.project / ".lock"
    async with opened(filled, size=(80, 24)) as (app, pilot):
        await press(pilot, "4", "u")
        await until(pilot, lambda: isinstance(app.screen, UnlockDialog))
        shown = screen_text(app)
        assert "The process is gone" in shown
        assert "2026-11-30T10:00:00.000Z" in shown
        await press(pilot, "escape")
        assert lock.exists()
        await press(pilot, "u")
        await until(pilot, lambda: isinstance(app.screen, UnlockDialog))
        await press(pilot, "y")
        await until(pilot, lambda: not lock.exists(), "the removal")
        await until(pilot, lambda: "○ free" in screen_text(app), "the free lock")


async def test_a_holder_that_may_live_needs_a_typed_word(filled):
    lock = filled.project / ".lock"
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as alive:
        leave_lock(filled, alive.pid)
        async with opened(filled) as (app, pilot):
            await press(pilot, "4", "u")
            await until(pilot, lambda: isinstance(app.screen, UnlockDialog))
            assert "exclusion is not promised" in " ".join(screen_text(app).split())
            assert app.screen.query_one("#remove", Button).disabled
            await type_text(pilot, "yes")
            await press(pilot, "enter")
            assert isinstance(app.screen, UnlockDialog)
            app.screen.query_one("#typed", Input).value = ""
            await type_text(pilot, "unlock")
            await press(pilot, "enter")
            await until(pilot, lambda: not lock.exists(), "the removal")
        alive.communicate(b"\n")


async def test_a_lock_that_changed_since_the_question_stays(filled):
    leave_lock(filled, dead_pid())
    lock = filled.project / ".lock"
    async with opened(filled) as (app, pilot):
        await press(pilot, "4", "u")
        await until(pilot, lambda: isinstance(app.screen, UnlockDialog))
        lock.unlink()
        leave_lock(filled, dead_pid())
        await press(pilot, "y")
        await until(pilot, lambda: "changed" in screen_text(app), "the conflict")
        assert lock.exists()


async def test_recall_decisions_appear_as_they_are_made(filled):
    async with opened(filled) as (app, pilot):
        await press(pilot, "6")
        assert "No recall decisions yet" in screen_text(app)
        filled.memory().recall("where is the needle?", session="s", record=True)
        await until(pilot, lambda: "where is the needle?" in screen_text(app), "the decision")
        shown = screen_text(app)
        for part in ("threshold", "kept", "session s"):
            assert part in shown, part
        await press(pilot, "p")
        filled.memory().recall("buzz of the bee", record=True)
        for _ in range(60):
            await pilot.pause(0.02)
        assert "buzz of the bee" not in screen_text(app)
        await press(pilot, "p")
        await until(pilot, lambda: "buzz of the bee" in screen_text(app), "going on")
        await press(pilot, "f")
        await type_text(pilot, "buzz")
        await press(pilot, "enter")
        assert len(app.query_one(RecallPane)._shown) == 1
        await press(pilot, "enter")
        await until(pilot, lambda: app.query_one(ReaderPane).path == "user/notes/bee.md", "the kept note")


async def test_the_dream_pane_says_what_it_will_show(filled):
    async with opened(filled, size=(80, 24)) as (app, pilot):
        await press(pilot, "5")
        assert "No proposals." in screen_text(app)


@pytest.mark.parametrize("key", "123456")
async def test_each_pane_has_help_of_its_own(filled, key):
    async with opened(filled) as (app, pilot):
        await press(pilot, key)
        if key == "3":
            await press(pilot, "escape")
        await press(pilot, "question_mark")
        await until(pilot, lambda: isinstance(app.screen, HelpDialog))
        assert "Everywhere" in screen_text(app)
        await press(pilot, "escape")
        assert len(app.screen_stack) == 1


async def test_the_palette_knows_the_panes(filled):
    async with opened(filled) as (app, pilot):
        await press(pilot, "ctrl+p")
        await type_text(pilot, "go to status")
        await until(pilot, lambda: "Go to status" in screen_text(app), "the command")
        await press(pilot, "enter")
        await until(pilot, lambda: app.current == "status", "the pane")


async def test_one_pane_at_a_time_at_80_columns_and_three_at_120(filled):
    async with opened(filled, size=(80, 24)) as (app, pilot):
        for key, name in zip("123456", ("scopes", "reader", "search", "status", "dream", "recall"), strict=True):
            if app.query_one("#query").has_focus:
                await press(pilot, "escape")
            await press(pilot, key)
            assert [pane.id for pane in app.query("Pane") if pane.display] == [name]
    async with opened(filled) as (app, _):
        assert {pane.id for pane in app.query("Pane") if pane.display} == {"scopes", "reader", "status"}


async def test_the_mouse_opens_a_note_too(filled):
    async with opened(filled) as (app, pilot):
        await pilot.click("#scope-tree", offset=(8, 2))
        await until(pilot, lambda: app.query_one(ReaderPane).path == "user/notes/a.md", "the note under the mouse")


async def test_q_leaves(filled):
    async with opened(filled) as (app, pilot):
        await press(pilot, "q")
        await until(pilot, lambda: app.return_code is not None or not app.is_running, "the end")
