"""``pony-memory entry …``."""

import click

from pony_workbench.cli import render, shapes
from pony_workbench.cli.context import Context, confirm
from pony_workbench.cli.main import PonyGroup
from pony_workbench.cli.writing import actor, content_of, needs_yes, warn
from pony_workbench.text_safety import visible, visible_line

TYPES = click.Choice(["user", "feedback", "project", "reference"])
CONTENT = "The text of the memory; - reads standard input."
DESCRIPTION = "One line that can be understood without the text: all that later sessions see."
ALLOW_SECRET = "Write although it looks like a credential."


@click.group("entry", cls=PonyGroup)
def command() -> None:
    """List and change the entries of the project: one memory a file, and a line in MEMORY.md."""


@command.command("list", epilog="Example: pony-memory entry list")
@click.pass_obj
def list_entries(context: Context) -> None:
    """List the entries with type, time of the last change, and description."""
    found = context.memory(want=("project",)).entries()
    context.answer("entry list", shapes.entries(found), lambda style: render.entry_rows(found, style))


@command.command(
    "add", epilog="Example: pony-memory entry add 'Test command' --content 'run make unit' --type feedback"
)
@click.argument("name")
@click.option("--content", required=True, metavar="TEXT", help=CONTENT)
@click.option("--description", metavar="LINE", help=DESCRIPTION)
@click.option("--type", "kind", type=TYPES, help="What sort of memory; default is feedback.")
@click.option("--allow-secret", is_flag=True, help=ALLOW_SECRET)
@click.pass_obj
def add(
    context: Context, name: str, content: str, description: str | None, kind: str | None, allow_secret: bool
) -> None:
    """Write the entry NAME; one of that very name is overwritten and keeps its creation date."""
    text = content_of(content) or ""
    store = context.memory(want=("project",)).entry_store(actor())
    written = store.add(name, text, description, kind, allow_secret=allow_secret)
    warn(context, written.warnings)
    context.answer("entry add", shapes.written(written), lambda _: [f"Saved: {visible_line(written.name)}"])


@command.command("replace", epilog="Example: pony-memory entry replace 'Test command' --type feedback")
@click.argument("name")
@click.option("--content", metavar="TEXT", help=CONTENT)
@click.option("--description", metavar="LINE", help=DESCRIPTION)
@click.option("--type", "kind", type=TYPES, help="What sort of memory.")
@click.option("--allow-secret", is_flag=True, help=ALLOW_SECRET)
@click.pass_obj
def replace(
    context: Context, name: str, content: str | None, description: str | None, kind: str | None, allow_secret: bool
) -> None:
    """Change the entry NAME; what is not given stays."""
    text = content_of(content)
    store = context.memory(want=("project",)).entry_store(actor())
    written = store.replace(name, text, description, kind, allow_secret=allow_secret)
    warn(context, written.warnings)
    context.answer("entry replace", shapes.written(written), lambda _: [f"Replaced: {visible_line(written.name)}"])


@command.command("rename", epilog="Example: pony-memory entry rename 'Old name' 'New name'")
@click.argument("old")
@click.argument("new")
@click.option("--allow-secret", is_flag=True, help=ALLOW_SECRET)
@click.pass_obj
def rename(context: Context, old: str, new: str, allow_secret: bool) -> None:
    """Rename the entry OLD to NEW; its file goes along, its line in the index keeps its place."""
    store = context.memory(want=("project",)).entry_store(actor())
    written = store.rename(old, new, allow_secret=allow_secret)
    warn(context, written.warnings)
    context.answer(
        "entry rename", shapes.written(written), lambda _: [f"Renamed: {visible_line(old)} → {visible_line(new)}"]
    )


@command.command("remove", epilog="Example: pony-memory entry remove 'Old CI server'")
@click.argument("name")
@needs_yes
@click.pass_obj
def remove(context: Context, name: str, yes: bool) -> None:
    """Remove the entry NAME: its file and its line in the index. A backup and the history keep it."""
    from pony_memory.errors import NotFound

    store = context.memory(want=("project",)).entry_store(actor())
    found = next((entry for entry in store.entries() if entry.name == name.strip()), None)
    if found is None:
        raise NotFound(f"there is no entry {name!a}", hint="`pony-memory entry list` shows what there is.")
    if not context.json and not yes:
        click.echo(f"{visible_line(found.name)} [{visible_line(found.file)}]\n{visible(found.body.strip())}", err=True)
    confirm(context, "Remove this entry?", yes=yes, what="entry remove")
    written = store.remove(name)
    warn(context, written.warnings)
    data = {"name": written.name, "file": written.file}
    context.answer("entry remove", data, lambda _: [f"Removed: {visible_line(written.name)}"])


@command.command("rebuild-index", epilog="Example: pony-memory entry rebuild-index")
@needs_yes
@click.pass_obj
def rebuild_index(context: Context, yes: bool) -> None:
    """Write MEMORY.md anew from the entries, after showing the diff and the hand-written lines that would go."""
    store = context.memory(want=("project",)).entry_store(actor())
    plan = store.plan_rebuild()
    if not context.json:
        click.echo(visible(plan.diff) or "The index is as it should be.", err=True)
        for line in plan.dropped:
            click.echo(f"hand-written, would go: {visible_line(line)}", err=True)
    confirm(context, "Write this index?", yes=yes, what="entry rebuild-index")
    written = store.rebuild_index(plan)
    warn(context, written.warnings)
    data = {"entries": plan.entries, "header_lines": plan.header_lines, "dropped_lines": list(plan.dropped)}
    context.answer("entry rebuild-index", data, lambda _: [f"The index has {plan.entries} entries."])
