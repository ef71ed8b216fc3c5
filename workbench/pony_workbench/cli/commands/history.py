"""``pony-memory history`` and ``history restore``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pony_memory.canonical import CanonicalPath
from pony_workbench.cli import shapes
from pony_workbench.cli.context import Context, Style
from pony_workbench.cli.main import PonyCommand
from pony_workbench.cli.restoring import Restoring
from pony_workbench.cli.writing import needs_yes
from pony_workbench.text_safety import visible_line

if TYPE_CHECKING:
    from pony_memory.writes.places import Place

SCOPES = click.Choice(["workspace", "user", "project"])


@click.command(
    "history",
    cls=PonyCommand,
    epilog="Examples: pony-memory history project/Test-command.md; pony-memory history restore 12",
)
@click.argument("words", nargs=-1, metavar="[PATH] | restore N")
@click.option("--limit", type=click.IntRange(1, 1_000), default=20, show_default=True, help="How many events at most.")
@click.option("--scope", type=SCOPES, help="Whose history; default is the path's, else the project's.")
@needs_yes
@click.pass_context
def command(ctx: click.Context, words: tuple[str, ...], limit: int, scope: str | None, yes: bool) -> None:
    """Who changed what, when, from what; newest first. `restore N` takes the write number N back.

    A restore reverts only files that still are what that write left; others are named and kept. It is itself in the
    history and can be taken back.
    """
    context: Context = ctx.obj
    match words:
        case ("restore", number) if number.isdigit():
            _restore(ctx, context, int(number), scope or "project", yes)
        case () | (_,):
            _show(context, words[0] if words else None, limit, scope)
        case _:
            ctx.fail("say a PATH, or restore N")


def _show(context: Context, path: str | None, limit: int, scope: str | None) -> None:
    from pony_memory.writes.history import history

    memory = context.memory()
    parsed = CanonicalPath.parse(path, memory.scopes.names) if path is not None else None
    name = parsed.scope if parsed is not None else scope or "project"
    found = history(memory.records(name), path=parsed, limit=limit)  # type: ignore[arg-type]  # click checked it

    def human(style: Style) -> list[str]:
        lines = [
            f"{event.n:>5}  {event.time}  {visible_line(event.who):<10} {visible_line(event.action):<14} "
            f"{visible_line(str(event.path))}{style.yellow('  edited by hand before') if event.edited_between else ''}"
            for event in found.events
        ]
        if found.damaged:
            lines.append(style.yellow(f"{found.damaged:,} damaged lines were skipped"))
        return lines or ["Nothing has been written here yet."]

    context.answer("history", shapes.events(found.events), human)


def _restore(ctx: click.Context, context: Context, number: int, scope: str, yes: bool) -> None:
    from pony_memory.writes.history import event_number
    from pony_memory.writes.restore import restore_event

    def shown(place: Place) -> str:
        event = event_number(place.records, number)
        return f"{event.n}  {event.time}  {event.who}  {event.action}  {visible_line(str(event.path))}"

    restoring = Restoring(ctx, context, scope, "history restore", "Take this write back?")
    restoring.run(shown, lambda place, **how: restore_event(place, number, **how), yes=yes)
