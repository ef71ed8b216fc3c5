"""Taking writes back: what `history restore` and `backups restore` share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import click

from pony_workbench.cli import shapes
from pony_workbench.cli.context import EXIT_REFUSED, Context, Style, confirm
from pony_workbench.cli.writing import actor, warn
from pony_workbench.text_safety import visible_line

if TYPE_CHECKING:
    from pony_memory.canonical import ScopeName
    from pony_memory.writes.places import Place
    from pony_memory.writes.restore import Restored


@dataclass(frozen=True, slots=True)
class Restoring:
    """One restore: shown, confirmed, done and told. Conflicts make the exit status 4 (SPEC §21)."""

    ctx: click.Context
    context: Context
    scope: str
    kind: str
    question: str

    def run(self, shown: Callable[[Place], str], restore: Callable[..., Restored], *, yes: bool) -> None:
        """``shown`` says what would go back, and raises for what is not there; ``restore`` puts it back."""
        from pony_memory.errors import NotFound
        from pony_memory.writes.places import place_of

        memory = self.context.memory()
        place = place_of(memory.scopes, cast("ScopeName", self.scope), memory.environ)
        if place is None:
            raise NotFound(f"nothing has been written in the scope {self.scope} yet")
        told = shown(place)
        if not self.context.json and not yes:
            click.echo(told, err=True)
        confirm(self.context, self.question, yes=yes, what=self.kind)
        lock = memory.config.lock
        done = restore(place, actor=actor(), keep=lock.snapshot_keep, timeout_ms=lock.timeout_ms)
        warn(self.context, done.notices)
        self._tell(done)

    def _tell(self, done: Restored) -> None:
        def human(style: Style) -> list[str]:
            lines = [f"restored  {visible_line(str(path))}" for path in done.restored]
            lines += [
                style.yellow(f"conflict  {visible_line(str(item.path))}: {item.reason}; it was left as it is")
                for item in done.conflicts
            ]
            return lines or ["Nothing had to be changed."]

        self.context.answer(self.kind, shapes.restored(done), human)
        if done.conflicts:
            self.ctx.exit(EXIT_REFUSED)
