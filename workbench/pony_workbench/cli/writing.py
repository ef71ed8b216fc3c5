"""What the commands that write share: whose hand it is, a yes, the content, and how a write is told."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from pony_workbench.cli.context import Context

if TYPE_CHECKING:
    from pony_memory.notices import Notice
    from pony_memory.writes.history import Actor

_F = TypeVar("_F", bound=Callable[..., Any])

#: What is read of standard input as content; more than any memory may hold.
MAX_CONTENT_BYTES = 1 << 20


def _i_am_the_agent(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value:
        ctx.find_root().meta["i_am_the_agent"] = True


def needs_yes(command: _F) -> _F:
    """The options of a command that needs a person's yes (SPEC §20, §21)."""
    agent = click.option(
        "--i-am-the-agent",
        is_flag=True,
        expose_value=False,
        callback=_i_am_the_agent,
        help="Say openly that an agent answers; the history names it.",
    )
    return click.option("--yes", is_flag=True, help="Do not ask.")(agent(command))


def actor() -> Actor:
    """The person at the terminal, or the agent that said it is one."""
    from pony_memory.writes.history import Actor, Who

    agent = click.get_current_context().find_root().meta.get("i_am_the_agent")
    return Actor.here(Who.AGENT if agent else Who.PERSON)


def content_of(text: str | None) -> str | None:
    """The content option: the text itself, or all of standard input for ``-``. Raises :class:`InvalidRequest`."""
    from pony_memory.errors import InvalidRequest

    if text != "-":
        return text
    data = sys.stdin.buffer.read(MAX_CONTENT_BYTES + 1)
    if len(data) > MAX_CONTENT_BYTES:
        raise InvalidRequest("the content on standard input is larger than any memory may be")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidRequest(
            f"the content on standard input is not UTF-8 (byte {error.start:,})", hint="Convert it first, with iconv."
        ) from None


def warn(context: Context, notices: Iterable[Notice]) -> None:
    """Keep the warnings of a write for the answer."""
    context.warnings.extend(notices)
