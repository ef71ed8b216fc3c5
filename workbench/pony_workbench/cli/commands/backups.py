"""``pony-memory backups …``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pony_workbench.cli import shapes
from pony_workbench.cli.commands.history import SCOPES
from pony_workbench.cli.context import Context, Style
from pony_workbench.cli.main import PonyGroup
from pony_workbench.cli.restoring import Restoring
from pony_workbench.cli.writing import needs_yes
from pony_workbench.text_safety import visible_line

if TYPE_CHECKING:
    from pony_memory.writes.places import Place

SCOPE_HELP = "Whose backups; the notes scopes have their own."


@click.group("backups", cls=PonyGroup)
def command() -> None:
    """List the backups that writes leave, look into one, and take back what was written after it."""


@command.command("list", epilog="Example: pony-memory backups list")
@click.option("--scope", type=SCOPES, default="project", show_default=True, help=SCOPE_HELP)
@click.pass_obj
def list_all(context: Context, scope: str) -> None:
    """List the backups, newest first."""
    from pony_memory.writes.backups import list_backups

    found = list_backups(context.memory().records(scope))  # type: ignore[arg-type]  # click checked the choice

    def human(_style: Style) -> list[str]:
        return [f"{visible_line(backup.id)}  {len(backup.files)} files" for backup in found] or [
            "No backups yet: each write leaves one."
        ]

    context.answer("backups list", shapes.backups(found), human)


@command.command("show", epilog="Example: pony-memory backups show 2026-10-02T08-14-03-120Z-replace")
@click.argument("backup_id", metavar="ID")
@click.option("--scope", type=SCOPES, default="project", show_default=True, help=SCOPE_HELP)
@click.pass_obj
def show(context: Context, backup_id: str, scope: str) -> None:
    """Show which files the backup ID holds."""
    from pony_memory.writes.backups import find_backup

    found = find_backup(context.memory().records(scope), backup_id)  # type: ignore[arg-type]  # click checked it
    context.answer("backups show", shapes.backups((found,)), lambda _: [visible_line(file) for file in found.files])


@command.command("restore", epilog="Example: pony-memory backups restore 2026-10-02T08-14-03-120Z-replace")
@click.argument("backup_id", metavar="ID")
@click.option("--scope", type=SCOPES, default="project", show_default=True, help=SCOPE_HELP)
@needs_yes
@click.pass_context
def restore(ctx: click.Context, backup_id: str, scope: str, yes: bool) -> None:
    """Take back the write that the backup ID was made for. Files that changed since are named and kept."""
    from pony_memory.writes.backups import find_backup
    from pony_memory.writes.restore import restore_backup

    def shown(place: Place) -> str:
        return "\n".join(visible_line(file) for file in find_backup(place.records, backup_id).files)

    restoring = Restoring(ctx, ctx.obj, scope, "backups restore", "Put these files back?")
    restoring.run(shown, lambda place, **how: restore_backup(place, backup_id, **how), yes=yes)
