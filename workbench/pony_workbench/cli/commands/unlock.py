"""``pony-memory unlock``."""

import sys

import click

from pony_workbench.cli import render, shapes
from pony_workbench.cli.context import Context, confirm
from pony_workbench.cli.main import PonyCommand

LIVE_WARNING = (
    "Its holder may still be writing. If it is, two writers will work on the store at once, and neither is promised "
    "to be alone any more."
)


@click.command("unlock", cls=PonyCommand, epilog="Example: pony-memory unlock")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--force-live", is_flag=True, help="Also when the holder may still be alive; asks once more.")
@click.pass_obj
def command(context: Context, yes: bool, force_live: bool) -> None:
    """Clear the .lock of the project store, after showing who holds it.

    A lock whose holder may live needs --force-live. A lock that changed since it was shown stays. Works when memory is
    disabled.
    """
    from pony_memory.errors import NotConfirmed
    from pony_memory.files.lock_state import Free

    memory = context.memory(want=("project",), tolerant=True)
    seen = memory.lock_state()
    line = render.lock_line(seen)
    if isinstance(seen, Free):
        context.answer("unlock", {"removed": False, "holder": None}, lambda _: ["The lock is free."])
        return
    if not context.json:
        click.echo(f"Lock: {line}", err=True)
    if seen.may_live and not force_live:
        raise NotConfirmed(
            f"the lock is {line}; its holder may be alive",
            hint="Wait for it. If you know that it is gone, say --force-live; exclusion is then not promised.",
        )
    confirm(context, "Remove this lock?", yes=yes, what="unlock")
    if seen.may_live:
        if not context.json:
            click.echo(LIVE_WARNING, err=True)
        if sys.stdin.isatty() and not yes:
            confirm(context, "Remove it all the same?", yes=False, what="unlock")
    done = memory.unlock(seen, force_live=force_live)
    context.answer(
        "unlock",
        {"removed": done.removed, "holder": shapes.holder(done.holder)},
        lambda _: ["The lock was removed." if done.removed else "The lock was free already."],
    )
