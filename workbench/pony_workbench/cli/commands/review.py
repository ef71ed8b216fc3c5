"""``pony-memory review``."""

import click

from pony_workbench.cli import render, shapes
from pony_workbench.cli.context import Context
from pony_workbench.cli.main import PonyCommand


@click.command("review", cls=PonyCommand, epilog="Example: pony-memory review --scope user")
@click.option("--scope", type=click.Choice(["workspace", "user"]), help="Only this scope.")
@click.pass_obj
def command(context: Context, scope: str | None) -> None:
    """Show the Agent Notes, block by block, with their size against the limits."""
    found = context.memory(want=("workspace", "user")).review(scope)  # type: ignore[arg-type]  # click checked it
    context.warnings.extend(found.notices)
    context.answer("review", shapes.review(found), lambda style: render.review_blocks(found, style))
