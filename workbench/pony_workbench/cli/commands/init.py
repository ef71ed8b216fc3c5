"""``pony-memory init``."""

import os

import click

from pony_workbench.cli.context import Context, confirm
from pony_workbench.cli.main import PonyCommand
from pony_workbench.cli.writing import needs_yes
from pony_workbench.text_safety import visible_line


@click.command("init", cls=PonyCommand, epilog="Example: pony-memory init --model builtin/lexical")
@click.option("--model", default="builtin/lexical", show_default=True, metavar="NAME", help="provider/model-id.")
@needs_yes
@click.pass_obj
def command(context: Context, model: str, yes: bool) -> None:
    """Write a first ~/.pi/agent/memory.json, after showing it; one that exists is left as it is."""
    from pony_memory.config.init import first_config, write_first_config

    first = first_config(environ=dict(os.environ), model=model)
    if not context.json:
        click.echo(f"{visible_line(first.path)}\n{first.text}", err=True)
    confirm(context, "Write this file?", yes=yes, what="init")
    write_first_config(first)
    context.answer("init", {"path": first.path}, lambda _: [f"Written: {visible_line(first.path)}"])
