"""``pony-memory trust``."""

import os

import click

from pony_workbench.cli.context import Context, Style, confirm
from pony_workbench.cli.main import PonyCommand
from pony_workbench.cli.writing import needs_yes
from pony_workbench.text_safety import visible, visible_line


@click.command("trust", cls=PonyCommand, epilog="Example: pony-memory trust")
@click.option("--remove", is_flag=True, help="Trust the workspace's file no longer.")
@click.option("--list", "listed", is_flag=True, help="List what is trusted.")
@needs_yes
@click.pass_obj
def command(context: Context, remove: bool, listed: bool, yes: bool) -> None:
    """Trust <workspace>/.pi/memory.json as it is now, after showing it. A changed file asks again."""
    from pony_memory.config.trust import distrust, list_trusted, review_workspace_file, trust
    from pony_memory.scopes.workspace import discover_workspace

    environ = dict(os.environ)
    if listed:
        trusted = list_trusted(environ)
        rows = [{"path": item.path, "sha256": item.sha256, "trusted_at": item.trusted_at} for item in trusted]

        def human(_style: Style) -> list[str]:
            return [f"{item.trusted_at}  {visible_line(item.path)}" for item in trusted] or ["Nothing is trusted."]

        context.answer("trust", {"trusted": rows}, human)
        return
    workspace = discover_workspace(
        cwd=os.getcwd(), environ=environ, override=context.workspace, need_toplevel=False
    ).path
    if remove:
        gone = distrust(environ=environ, workspace=workspace)
        context.answer("trust", {"path": gone.path, "trusted": False}, lambda _: ["It is trusted no longer."])
        return
    review = review_workspace_file(environ=environ, workspace=workspace)
    if not context.json:
        click.echo(f"{visible_line(review.path)}\n{visible(review.text)}", err=True)
    confirm(context, "Let this file change the configuration here?", yes=yes, what="trust")
    done = trust(review, environ=environ, workspace=workspace)
    context.answer(
        "trust", {"path": done.path, "trusted": True}, lambda _: [f"Trusted as it is now: {visible_line(done.path)}"]
    )
