"""``pony-memory entry …``."""

import click

from pony_workbench.cli import render, shapes
from pony_workbench.cli.context import Context
from pony_workbench.cli.main import PonyGroup


@click.group("entry", cls=PonyGroup)
def command() -> None:
    """List and change the entries of the project: one memory a file, and a line in MEMORY.md."""


@command.command("list", epilog="Example: pony-memory entry list")
@click.pass_obj
def list_entries(context: Context) -> None:
    """List the entries with type, time of the last change, and description."""
    found = context.memory(want=("project",)).entries()
    context.answer("entry list", shapes.entries(found), lambda style: render.entry_rows(found, style))
