"""``pony-memory repair``."""

import click

from pony_workbench.cli.context import Context, confirm
from pony_workbench.cli.main import PonyCommand
from pony_workbench.cli.writing import actor, needs_yes, warn
from pony_workbench.text_safety import visible, visible_line


@click.command("repair", cls=PonyCommand, epilog="Example: pony-memory repair")
@needs_yes
@click.pass_obj
def command(context: Context, yes: bool) -> None:
    """Mend the drift between index and entries line by line, after showing the diff; all other text stays."""
    store = context.memory(want=("project",)).entry_store(actor())
    plan = store.plan_repair()
    data = {"changes": [{"kind": change.kind, "file": change.file} for change in plan.changes]}
    if not plan.changes:
        context.answer("repair", data, lambda _: ["Nothing to mend: index and entries agree."])
        return
    if not context.json:
        click.echo(visible(plan.diff), err=True)
    confirm(context, f"Make these {len(plan.changes)} changes?", yes=yes, what="repair")
    written = store.repair(plan)
    warn(context, written.warnings)
    context.answer("repair", data, lambda _: [f"{change.kind}: {visible_line(change.file)}" for change in plan.changes])
