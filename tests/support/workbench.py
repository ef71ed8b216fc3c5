"""The workbench on a machine of its own, driven by real keys; waiting is for conditions, never for time."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from pony_workbench.app import WorkbenchApp

NOW = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
#: Polls before a condition counts as never met: tens of seconds on a slow machine, milliseconds on most.
MOST_POLLS = 1_500


def make_app(place, **options):
    return WorkbenchApp(place.memory(**options), clock=lambda: NOW)


async def until(pilot, condition, what="the condition"):
    """Let the app work until ``condition()`` holds."""
    for _ in range(MOST_POLLS):
        await pilot.pause(0.02)
        if condition():
            return
    raise AssertionError(f"{what} was never met")


@asynccontextmanager
async def opened(place, size=(120, 40), **options):
    """The app after its first look at the disk."""
    app = make_app(place, **options)
    async with app.run_test(size=size, notifications=True) as pilot:
        await until(pilot, lambda: app._view is not None, "the first look at the disk")
        await pilot.pause()
        yield app, pilot


async def press(pilot, *keys):
    for key in keys:
        await pilot.press(key)
        await pilot.pause()


async def type_text(pilot, text):
    await press(pilot, *[{" ": "space"}.get(char, char) for char in text])


def screen_text(app):
    """All that is on the screen, as plain lines."""
    lines = []
    for strip in app.screen._compositor.render_strips():
        lines.append("".join(segment.text for segment in strip))
    return "\n".join(lines)


def old(place):
    """Give every file one fixed time, so that ages and pictures do not change."""
    stamp = datetime(2026, 11, 21, 12, 0, tzinfo=UTC).timestamp()
    for directory, _, names in os.walk(place.root):
        for name in names:
            os.utime(os.path.join(directory, name), (stamp, stamp), follow_symlinks=False)
    return place
