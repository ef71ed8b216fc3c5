"""``pony-memory tui``."""

import sys

import click

from pony_workbench.cli.context import Context
from pony_workbench.cli.main import PonyCommand


@click.command("tui", cls=PonyCommand, epilog="Example: pony-memory tui --demo")
@click.option("--demo", is_flag=True, help="Work on a copy of a bundled store; nothing of yours is read or written.")
@click.pass_context
def command(ctx: click.Context, demo: bool) -> None:
    """Open the workbench: browse, read, search and watch the memories of this place."""
    from pony_memory.errors import Refused

    context: Context = ctx.obj
    if context.json:
        ctx.fail("tui has no --json")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise Refused("the workbench needs a terminal", hint="In a pipe use list, show, search and status.")
    from pony_workbench.app import WorkbenchApp

    if demo:
        from pony_workbench.demo import demo_memory

        with demo_memory() as memory:
            WorkbenchApp(memory, demo=True).run()
        return
    WorkbenchApp(context.memory(tolerant=True)).run()
