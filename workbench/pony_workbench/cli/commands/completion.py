"""``pony-memory completion``."""

import click
from click.shell_completion import get_completion_class

from pony_workbench.cli.context import Context
from pony_workbench.cli.main import PonyCommand, cli


@click.command("completion", cls=PonyCommand, epilog='Example: eval "$(pony-memory completion bash)" in ~/.bashrc')
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the completion script of SHELL, to be sourced by it."""
    context: Context = ctx.obj
    if context.json:
        ctx.fail("completion has no --json")
    made = get_completion_class(shell)
    assert made is not None
    click.echo(made(cli, {}, "pony-memory", "_PONY_MEMORY_COMPLETE").source())
