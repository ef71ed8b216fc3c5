"""Pictures of the running app at both sizes, in both themes (SPEC §22). Only text and colour can change one."""

import json

import pytest
from textual.widgets import Input

from pony_workbench.panes.reader import ReaderPane
from support.workbench import make_app, old, press, type_text, until


@pytest.fixture
def pictured(place):
    place.write(
        "user/notes/preferences.md",
        "---\nname: Preferences\ndescription: 代码和提交的习惯\ntags: [style]\n---\n\n# Preferences\n\n"
        "- Small commits; see [[git]].\n- 中文提问就用中文回答。\n",
    )
    place.write("user/notes/shell/git.md", "Rebase, never merge.\n")
    place.write("user/agent_notes.md", "- 2026-08-02T09:14:22.310Z  Prefers real files in tests.\n")
    place.write("workspace/notes/deploy.md", "---\nname: deploy\nsupersedes: [old-deploy]\n---\nTag, build, roll.\n")
    place.write("workspace/notes/old-deploy.md", "By hand.\n")
    place.entry("SSH port", "staging 的 SSH 用 2222 端口。", description="staging SSH listens on 2222")
    place.entry("unlined", "no line in the index")
    place.write("project/legacy.md", "---\nname: legacy\n---\n")
    lines = [f"- [m{number}](m{number}.md) — memory {number}" for number in range(205)]
    place.index("- [SSH port](SSH-port.md) — staging SSH listens on 2222", *lines)
    record = {"pid": 4711, "hostname": "elsewhere", "startedAt": "2026-11-30T10:00:00.000Z", "op": "replace"}
    place.write("project/.lock", json.dumps(record))
    (place.scope_root("workspace") / "notes" / "link.md").symlink_to("deploy.md")
    return old(place)


async def ready(pilot, *keys):
    await until(pilot, lambda: pilot.app._view is not None)
    for field in pilot.app.query(Input):
        field.cursor_blink = False
    await press(pilot, *keys)
    for _ in range(10):
        await pilot.pause(0.02)


SIZES = {"80x24": (80, 24), "120x40": (120, 40)}
THEMES = ("pony-dark", "pony-light")


def shoot(snap_compare, place, size, theme, before):
    app = make_app(place)
    app.theme = theme
    assert snap_compare(app, terminal_size=SIZES[size], run_before=before)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("size", SIZES)
def test_scopes(snap_compare, pictured, size, theme):
    shoot(snap_compare, pictured, size, theme, ready)


@pytest.mark.parametrize("size", SIZES)
def test_reader(snap_compare, pictured, size):
    async def before(pilot):
        await ready(pilot)
        pilot.app.query_one(ReaderPane).open("user/notes/preferences.md", 9)
        pilot.app.action_show_pane("reader")
        await until(pilot, lambda: pilot.app.query_one(ReaderPane)._pages)
        await ready(pilot)

    shoot(snap_compare, pictured, size, "pony-dark", before)


@pytest.mark.parametrize("size", SIZES)
def test_rendered_markdown(snap_compare, pictured, size):
    async def before(pilot):
        await ready(pilot)
        pilot.app.query_one(ReaderPane).open("user/notes/preferences.md")
        pilot.app.action_show_pane("reader")
        await until(pilot, lambda: pilot.app.query_one(ReaderPane)._pages)
        await ready(pilot, "m")

    shoot(snap_compare, pictured, size, "pony-dark", before)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("size", SIZES)
def test_search(snap_compare, pictured, size, theme):
    async def before(pilot):
        await ready(pilot, "slash")
        await type_text(pilot, "ssh 端口")
        await until(pilot, lambda: pilot.app.query_one("#results").option_count > 0)
        await ready(pilot)

    shoot(snap_compare, pictured, size, theme, before)


@pytest.mark.parametrize("size", SIZES)
def test_status(snap_compare, pictured, size):
    shoot(snap_compare, pictured, size, "pony-dark", lambda pilot: ready(pilot, "4"))


@pytest.mark.parametrize("size", SIZES)
def test_unlock(snap_compare, pictured, size):
    shoot(snap_compare, pictured, size, "pony-dark", lambda pilot: ready(pilot, "4", "u"))


@pytest.mark.parametrize("key", ["1", "2", "4", "5", "6"])
def test_help(snap_compare, pictured, key):
    shoot(snap_compare, pictured, "80x24", "pony-dark", lambda pilot: ready(pilot, key, "question_mark"))


@pytest.mark.parametrize("size", SIZES)
def test_dream_and_recall_have_calm_empty_states(snap_compare, pictured, size):
    shoot(snap_compare, pictured, size, "pony-dark", lambda pilot: ready(pilot, "5"))


@pytest.mark.parametrize("size", SIZES)
def test_recall_before_the_first_decision(snap_compare, pictured, size):
    shoot(snap_compare, pictured, size, "pony-dark", lambda pilot: ready(pilot, "6"))


@pytest.mark.parametrize("size", SIZES)
def test_an_empty_machine(snap_compare, place, size):
    # The scopes show where they are on this machine; a picture has room for no such path.
    place.write("user/notes/one.md", "the only note\n")
    place.write("workspace/notes/one.md", "the only note\n")
    place.entry("one")
    old(place)
    shoot(snap_compare, place, size, "pony-dark", ready)
