"""``pony-memory history`` and ``history restore``."""

import click

from pony_memory.canonical import CanonicalPath
from pony_workbench.cli import shapes
from pony_workbench.cli.context import EXIT_REFUSED, Context, Style, confirm
from pony_workbench.cli.main import PonyCommand
from pony_workbench.cli.writing import actor, needs_yes, warn
from pony_workbench.text_safety import visible_line

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
    from pony_memory.errors import NotFound
    from pony_memory.writes.history import event_number
    from pony_memory.writes.places import place_of
    from pony_memory.writes.restore import restore_event

    memory = context.memory()
    place = place_of(memory.scopes, scope, memory.environ)  # type: ignore[arg-type]  # click checked the choice
    if place is None:
        raise NotFound(f"nothing has been written in the scope {scope} yet")
    event = event_number(place.records, number)
    if not context.json and not yes:
        click.echo(f"{event.n}  {event.time}  {event.who}  {event.action}  {visible_line(str(event.path))}", err=True)
    confirm(context, "Take this write back?", yes=yes, what="history restore")
    done = restore_event(
        place,
        number,
        actor=actor(),
        keep=memory.config.lock.snapshot_keep,
        timeout_ms=memory.config.lock.timeout_ms,
    )
    warn(context, done.notices)
    tell_restored(ctx, context, "history restore", done)


def tell_restored(ctx: click.Context, context: Context, kind: str, done: object) -> None:
    """Answer for a restore; conflicts make the exit status 4 although something may have been done (SPEC §21)."""
    from pony_memory.writes.restore import Restored

    assert isinstance(done, Restored)

    def human(style: Style) -> list[str]:
        lines = [f"restored  {visible_line(str(path))}" for path in done.restored]
        lines += [
            style.yellow(f"conflict  {visible_line(str(item.path))}: {item.reason}; it was left as it is")
            for item in done.conflicts
        ]
        return lines or ["Nothing had to be changed."]

    context.answer(kind, shapes.restored(done), human)
    if done.conflicts:
        ctx.exit(EXIT_REFUSED)
