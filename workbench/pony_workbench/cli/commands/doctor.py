"""``pony-memory doctor``."""

import click

from pony_workbench.cli import render, shapes
from pony_workbench.cli.context import EXIT_REFUSED, Context
from pony_workbench.cli.main import PonyCommand


@click.command("doctor", cls=PonyCommand, epilog="Exit status: 4 when a file is unsafe, else 0.")
@click.pass_context
def command(ctx: click.Context) -> None:
    """Check that every file can be read safely; symlinks, hard links, FIFOs, oversized files and the like cannot.

    Doubtful headers, drift and other matters of content are listed apart, as advice, and change no exit status.
    """
    context: Context = ctx.obj
    found = context.memory(tolerant=True).doctor()
    context.answer("doctor", shapes.doctor(found), lambda style: render.doctor_lines(found, style))
    if not found.safe:
        ctx.exit(EXIT_REFUSED)
