"""``pony-memory show``."""

import sys

import click

from pony_workbench.cli import shapes
from pony_workbench.cli.context import Context, Style
from pony_workbench.cli.main import PonyCommand
from pony_workbench.text_safety import visible


@click.command(
    "show",
    cls=PonyCommand,
    epilog="Example: pony-memory show workspace/notes/auth.md --start 10 --end 40",
)
@click.argument("path")
@click.option("--start", type=click.IntRange(min=1), default=1, show_default=True, help="First line, from 1.")
@click.option("--end", type=click.IntRange(min=1), help="Last line, inclusive; default is the last of the memory.")
@click.option("--continue", "continuation", metavar="TOKEN", help="Go on where the page before ended.")
@click.pass_obj
def command(context: Context, path: str, start: int, end: int | None, continuation: str | None) -> None:
    """Show the memory at the canonical path PATH, one page at a time.

    On a terminal lines are numbered and control characters made visible; in a pipe the text is as it is.
    """
    memory = context.memory(want=_wanted(path))
    page = memory.read(path, start, end, continuation)

    def human(style: Style) -> list[str]:
        if not sys.stdout.isatty():
            return [page.text.removesuffix("\n")] if page.text else []
        lines = visible(page.text.removesuffix("\n")).split("\n") if page.text else []
        return [f"{style.dim(f'{number:>6}')}  {line}" for number, line in enumerate(lines, page.start)]

    context.answer("show", shapes.page(page), human)
    if page.continuation is not None and not context.json:
        click.echo(f"more: pony-memory show {path} --continue {page.continuation}", err=True)


def _wanted(path: str) -> tuple[str, ...]:
    """The scope the path is in; all of them for one that names none, so that the error can say what there is."""
    scope = path.partition("/")[0]
    return (scope,) if scope in ("workspace", "user", "project") else ("workspace", "user", "project")
