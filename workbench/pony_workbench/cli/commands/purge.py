"""``pony-memory purge``."""

from collections.abc import Iterator

import click

from pony_memory.canonical import CanonicalPath
from pony_workbench.cli.context import EXIT_REFUSED, Context, Style, confirm
from pony_workbench.cli.main import PonyCommand
from pony_workbench.cli.writing import actor, needs_yes, warn
from pony_workbench.text_safety import visible_line


@click.command(
    "purge",
    cls=PonyCommand,
    epilog="Examples: pony-memory purge project/Old-key.md; pony-memory purge --matching 'the old password'",
)
@click.argument("path", required=False)
@click.option("--matching", metavar="TEXT", help="Purge this text wherever it stands, instead of one memory.")
@needs_yes
@click.pass_context
def command(ctx: click.Context, path: str | None, matching: str | None, yes: bool) -> None:
    """Remove a memory, or a text, from every file the product owns: memories, backups, history, proposals, journal,
    cache. Shows first what would go, and names what cannot be reached.
    """
    from pony_memory.writes.purge import Target, apply_purge, plan_purge

    context: Context = ctx.obj
    if (path is None) == (matching is None):
        ctx.fail("say a PATH, or --matching TEXT")
    memory = context.memory()
    target = Target(CanonicalPath.parse(path, memory.scopes.names) if path is not None else None, matching)
    plan = plan_purge(memory.scopes, target, environ=memory.environ)
    if not context.json:
        for item in plan.items:
            click.echo(f"would go: {item.what} of {visible_line(item.where)} ({item.kind})", err=True)
    if plan.items:
        confirm(context, "Remove all this for good?", yes=yes, what="purge")
        done = apply_purge(
            memory.scopes,
            target,
            actor=actor(),
            environ=memory.environ,
            timeout_ms=memory.config.lock.timeout_ms,
        )
    else:
        done = plan
    warn(context, done.notices)

    def human(style: Style) -> Iterator[str]:
        if not done.items:
            yield "Nothing of ours holds it."
        for item in done.items:
            yield f"removed  {item.what} of {visible_line(item.where)} ({item.kind})"
        for where, why in done.failed:
            yield style.yellow(f"failed   {visible_line(where)}: {visible_line(why)}")
        for where in done.unreachable:
            yield style.dim(f"cannot be reached: {visible_line(where)}")

    data = {
        "removed": [{"kind": item.kind.value, "where": item.where, "what": item.what} for item in done.items],
        "failed": [{"where": where, "reason": why} for where, why in done.failed],
        "unreachable": list(done.unreachable),
    }
    context.answer("purge", data, human)
    if done.failed:
        ctx.exit(EXIT_REFUSED)
