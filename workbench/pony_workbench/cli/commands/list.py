"""``pony-memory list``."""

import click

from pony_workbench.cli import render, shapes
from pony_workbench.cli.context import Context
from pony_workbench.cli.main import PonyCommand


@click.command(
    "list",
    cls=PonyCommand,
    epilog="Example: pony-memory list --scope user",
)
@click.option("--scope", type=click.Choice(["workspace", "user", "project"]), help="Only this scope.")
@click.pass_obj
def command(context: Context, scope: str | None) -> None:
    """List every file of every scope: its size, date, path and title, and why one is not read."""
    memory = context.memory()
    rows = memory.list_files(scope)  # type: ignore[arg-type]  # click checked the choice
    context.answer("list", shapes.files(rows), lambda style: render.file_rows(rows, memory.scopes, style))
