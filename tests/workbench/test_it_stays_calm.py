"""Nothing the engine raises ends the app, and hostile content is shown as text (SPEC §22, §24)."""

import re
import shutil

import pytest

from pony_workbench.panes.reader import ReaderPane
from support.workbench import make_app, opened, press, screen_text, type_text, until

HOSTILE = "x \x1b[2J\x1b]0;owned\x07[red]markup[/] [@click=app.quit]q[/] \u202egnp.exe \u200bzero \x9b31m end"
MOVES = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u200b-\u200f]")


def prepare_nothing(place):
    pass


def without_home(place):
    place.extra = {"HOME": ""}


def disabled(place):
    config = place.home / ".pi" / "agent" / "memory.json"
    config.parent.mkdir(parents=True)
    config.write_text('{"enabled": false}')


def misconfigured(place):
    disabled(place)
    (place.home / ".pi" / "agent" / "memory.json").write_text('{"enabled": "maybe"}')


def pony_is_a_link(place):
    (place.workspace / ".pony").symlink_to("/etc")


def store_is_a_file(place):
    place.project.rmdir()
    place.project.write_text("not a directory")


@pytest.mark.parametrize(
    "prepare", [prepare_nothing, without_home, disabled, misconfigured, pony_is_a_link, store_is_a_file]
)
async def test_it_opens_on_any_machine(place, prepare):
    prepare(place)
    async with opened(place, size=(80, 24), tolerant=True) as (app, pilot):
        for key in "123456":
            if app.query_one("#query").has_focus:
                await type_text(pilot, "anything")
                await press(pilot, "escape")
            await press(pilot, key)
            assert screen_text(app).strip()
        assert app.is_running


async def test_empty_scopes_say_where_to_put_notes(place):
    async with opened(place) as (app, _):
        shown = screen_text(app)
        assert "no notes yet" in shown
        assert "no entries yet" in shown


async def test_scopes_that_vanish_and_return_do_not_end_it(place):
    place.write("user/notes/a.md", "alpha")
    async with opened(place) as (app, pilot):
        app.query_one(ReaderPane).open("user/notes/a.md")
        shutil.rmtree(place.home / ".pony")
        await until(pilot, lambda: "no notes yet" in screen_text(app), "the empty scope")
        place.write("user/notes/b.md", "beta")
        await until(pilot, lambda: "b  4 B" in screen_text(app), "the return")


async def test_an_error_nobody_thought_of_is_told_and_survived(place, monkeypatch):
    place.write("user/notes/a.md", "alpha")
    async with opened(place) as (app, pilot):

        def broken(*_arguments, **_options):
            raise ZeroDivisionError("[red]never[/]")

        monkeypatch.setattr(app.memory, "status", broken)
        app.action_refresh_store()
        await until(pilot, lambda: "something unexpected" in screen_text(app), "the notice")
        assert app.is_running
        monkeypatch.undo()
        place.write("user/notes/b.md", "beta")
        await until(pilot, lambda: "b  4 B" in screen_text(app), "going on")


async def test_hostile_text_is_text_in_every_pane(place):
    name = HOSTILE.replace("/", "").replace("\x1b", "").replace("\x07", "").replace("\x9b", "")
    place.write(f"user/notes/{name[:60]}.md", f"---\nname: {HOSTILE}\ndescription: {HOSTILE}\n---\nneedle {HOSTILE}\n")
    place.write("user/notes/plain.md", f"needle {HOSTILE}\n\n# {HOSTILE}\n")
    place.write("workspace/agent_notes.md", f"- 2026-01-01T00:00:00Z  needle {HOSTILE}\n")
    place.entry("evil", f"needle {HOSTILE}", description=f"d {HOSTILE}", file="evil.md")
    place.index(f"- [gone {HOSTILE}](gone{name[:20]}.md) — {HOSTILE}")
    place.write("project/.lock", '{"pid": 1, "hostname": "\\u001b[2J[red]h", "startedAt": "[b]x", "op": "\\u202e[u]"}')
    async with opened(place, size=(200, 50)) as (app, pilot):
        app.query_one(ReaderPane).open("user/notes/plain.md")
        await press(pilot, "2")
        await until(pilot, lambda: "needle" in screen_text(app))
        seen = [screen_text(app)]
        assert "[red]markup[/]" in seen[0]
        assert "\\x1b[2J" in seen[0]
        assert "<U+202E>" in seen[0]
        await press(pilot, "m")
        await until(pilot, lambda: app.query_one(ReaderPane).rendered)
        for _ in range(10):
            await pilot.pause(0.02)
        seen.append(screen_text(app))
        assert "[red]markup" in seen[-1]
        await press(pilot, "slash")
        await type_text(pilot, "needle")
        await until(pilot, lambda: "of 4 documents" in screen_text(app))
        seen.append(screen_text(app))
        await press(pilot, "escape", "4", "u")
        for _ in range(10):
            await pilot.pause(0.02)
        seen.append(screen_text(app))
        assert app.is_running
        for shown in seen:
            assert not MOVES.search(shown.replace("\n", ""))


async def test_a_light_and_a_dark_theme_and_a_resize(place):
    place.write("user/notes/a.md", "alpha")
    app = make_app(place)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app._view is not None)
        app.theme = "pony-light"
        await pilot.resize_terminal(120, 40)
        await until(pilot, lambda: "4 Status" in screen_text(app) and "1 Scopes" in screen_text(app), "three panes")
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: "4 Status" not in screen_text(app), "one pane")
