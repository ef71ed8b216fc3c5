"""Pictures of the real app on the demo store, at both sizes of the README: `make screenshots`."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

from textual.pilot import Pilot

from pony_workbench.app import WorkbenchApp
from pony_workbench.demo import demo_memory

HERE = Path(__file__).parent
#: File stem → (columns, lines, keys pressed before the picture is taken).
PICTURES: dict[str, tuple[int, int, tuple[str, ...]]] = {
    "workbench-120x40": (120, 40, ("slash", *"deploy", "down", "enter")),
    "search-120x40": (120, 40, ("slash", *"staging", "space", *"ssh")),
    "scopes-80x24": (80, 24, ()),
    "search-80x24": (80, 24, ("slash", *"数据库")),
    "unlock-80x24": (80, 24, ("4", "u")),
}


async def settle(pilot: Pilot[None]) -> None:
    """Let workers and messages finish; a picture is taken of a screen at rest."""
    for _ in range(25):
        await pilot.pause(0.02)


async def take(name: str) -> None:
    columns, lines, keys = PICTURES[name]
    with demo_memory() as memory:
        app = WorkbenchApp(memory, demo=True, clock=lambda: datetime(2026, 12, 1, 12, 0, tzinfo=UTC))
        async with app.run_test(size=(columns, lines)) as pilot:
            await settle(pilot)
            for key in keys:
                await pilot.press(key)
                await settle(pilot)
            (HERE / f"{name}.svg").write_text(app.export_screenshot(), encoding="utf-8")


def main() -> None:
    for name in PICTURES:
        asyncio.run(take(name))
        print(HERE.name + "/" + name + ".svg")


if __name__ == "__main__":
    main()
