"""``pony-memory status``."""

import click

from pony_workbench.cli import render, shapes
from pony_workbench.cli.context import Context
from pony_workbench.cli.main import PonyCommand


@click.command("status", cls=PonyCommand, epilog="Example: pony-memory --json status")
@click.pass_obj
def command(context: Context) -> None:
    """Show the state of the project's memory: the index's capacity and what falls outside it, drift between index and
    entries, the lock and its holder, Agent Notes, models, and every file that was left out.
    """
    found = context.memory(tolerant=True).status()
    context.answer("status", shapes.status(found), lambda style: render.status_lines(found, style))
