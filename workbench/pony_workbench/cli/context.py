"""What every command shares: the global options, and how answers leave the program (SPEC §21)."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from pony_memory.memory import Memory
    from pony_memory.notices import Notice

#: Exit statuses by the branch of the error family.
EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2
EXIT_NOT_FOUND: Final = 3
EXIT_REFUSED: Final = 4
EXIT_LOCKED: Final = 5
EXIT_DISABLED: Final = 6
EXIT_INTERRUPTED: Final = 130


@dataclass(slots=True)
class Context:
    """The global options of one run, and its one answer."""

    workspace: str | None = None
    project_dir: str | None = None
    json: bool = False
    no_color: bool = False
    warnings: list[Notice] = field(default_factory=list)

    def memory(self, **options: Any) -> Memory:
        """Open the place the options name, and keep its notices for the answer."""
        from pony_memory.memory import Memory

        memory = Memory.open(workspace=self.workspace, project_dir=self.project_dir, **options)
        self.warnings.extend(memory.notices)
        return memory

    def answer(self, kind: str, data: Mapping[str, Any], human: Callable[[Style], Iterable[str]]) -> None:
        """Print the answer: one JSON document, or what ``human`` renders; warnings with it."""
        if self.json:
            shown = [{"code": notice.code, "message": notice.message, "hint": notice.hint} for notice in self.warnings]
            print_json({"ok": True, "kind": kind, "data": data, "warnings": shown})
            return
        for line in human(self.style()):
            click.echo(line, color=True)
        self.tell_warnings()

    def tell_warnings(self) -> None:
        """Warnings for people go to standard error, so that a pipe carries the answer alone."""
        style = self.style(sys.stderr)
        for notice in self.warnings:
            click.echo(f"{style.yellow('warning:')} {notice.message}", err=True, color=True)
            if notice.hint:
                click.echo(f"  {notice.hint}", err=True)

    def style(self, stream: Any = None) -> Style:
        stream = stream or sys.stdout
        wanted = not self.no_color and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        return Style(wanted and stream.isatty())


@dataclass(frozen=True, slots=True)
class Style:
    """Colour where it is wanted. Never the only sign of anything: every mark has a word or a symbol too."""

    on: bool

    def bold(self, text: str) -> str:
        return click.style(text, bold=True) if self.on else text

    def dim(self, text: str) -> str:
        return click.style(text, dim=True) if self.on else text

    def red(self, text: str) -> str:
        return click.style(text, fg="red") if self.on else text

    def green(self, text: str) -> str:
        return click.style(text, fg="green") if self.on else text

    def yellow(self, text: str) -> str:
        return click.style(text, fg="yellow") if self.on else text

    def cyan(self, text: str) -> str:
        return click.style(text, fg="cyan") if self.on else text


def print_json(document: Mapping[str, Any]) -> None:
    text = json.dumps(document, ensure_ascii=False)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        text = json.dumps(document)
    click.echo(text)


def confirm(context: Context, question: str, *, yes: bool, what: str) -> None:
    """A person's yes: asked on the terminal, or given by ``--yes`` (SPEC §20, §21).

    Raises :class:`NotConfirmed` for a no, and where there is no terminal to ask on.
    """
    from pony_memory.errors import NotConfirmed

    root = click.get_current_context().find_root()
    if yes:
        if os.environ.get("CLAUDECODE") and not root.meta.get("i_am_the_agent"):
            raise NotConfirmed(
                f"{what} needs a person's yes, and --yes is refused inside a coding agent",
                hint="Ask the person to run it, or say --i-am-the-agent openly: the history then names the agent.",
            )
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()) or context.json:
        raise NotConfirmed(
            f"{what} needs a yes, and there is no terminal to ask on", hint="Say --yes to go on without being asked."
        )
    if not click.confirm(question, default=False, err=True):
        raise NotConfirmed(f"{what}: not confirmed, nothing was changed")
