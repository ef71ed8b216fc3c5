"""``pony-memory save``."""

import click

from pony_workbench.cli.context import Context, confirm
from pony_workbench.cli.main import PonyCommand
from pony_workbench.cli.writing import actor, content_of, needs_yes, warn
from pony_workbench.text_safety import visible


@click.command(
    "save", cls=PonyCommand, epilog="Example: pony-memory save 'Deploys on Fridays are not wanted' --scope workspace"
)
@click.argument("text")
@click.option(
    "--scope",
    type=click.Choice(["workspace", "user"]),
    default="workspace",
    show_default=True,
    help="Whose Agent Notes.",
)
@click.option("--allow-secret", is_flag=True, help="Write although it looks like a credential.")
@needs_yes
@click.pass_obj
def command(context: Context, text: str, scope: str, allow_secret: bool, yes: bool) -> None:
    """Append TEXT to the Agent Notes as one block; - reads standard input."""
    from pony_memory.writes.agent_notes_store import Person

    note = content_of(text) or ""
    memory = context.memory(want=("workspace", "user"))
    if not context.json and not yes:
        click.echo(visible(note), err=True)
    confirm(context, f"Append this to the Agent Notes of the scope {scope}?", yes=yes, what="save")
    saved = memory.agent_notes().save(note, scope, Person(actor(), allow_secret))  # type: ignore[arg-type]  # a choice
    warn(context, saved.warnings)
    context.answer("save", {"path": str(saved.path), "bytes": saved.bytes}, lambda _: [f"Saved: {saved.path}"])
