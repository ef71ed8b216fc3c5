"""The right to save an Agent Note: given by the user's own words, for one turn (SPEC §9).

:class:`GrantBook` reads the prompt of each top-level turn (:mod:`pony_memory.writes.grant_words`) and gives a
:class:`Grant`, or says why not. A grant names its session and prompt, serves at most five saves and ends with its turn.

It is an object, not a text. The book knows it by identity, so nothing that a tool can pass as an argument (a string, a
number, a mapping, a grant built by hand or copied, one of another book) is a grant.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NoReturn

from pony_memory.errors import NotAuthorised
from pony_memory.limits import SAVES_PER_GRANT
from pony_memory.writes.grant_words import asks_to_remember

_HINT: Final = "Ask the user; `/remember <text>` or a plain request to remember lets the agent save in that turn."


class Origin(StrEnum):
    """Where a prompt came from. Only ``USER``, the person's own words in the current top-level turn, can grant."""

    USER = "user"
    DELEGATED = "delegated agent"
    COMPACTION = "compaction"
    BACKGROUND = "background job"
    EARLIER = "earlier turn"


@dataclass(frozen=True, slots=True)
class NoGrant:
    """Why a prompt gave no right to save; a phrase for a person, without the prompt's text."""

    reason: str


@dataclass(frozen=True, slots=True, eq=False)
class Grant:
    """The right to save in one turn. ``prompt_sha256`` names the prompt without repeating it.

    Compared by identity on purpose: an equal copy is not the grant.
    """

    session: str
    prompt_sha256: str

    def __copy__(self) -> NoReturn:
        raise NotAuthorised("a grant cannot be copied")

    def __deepcopy__(self, memo: object) -> NoReturn:
        raise NotAuthorised("a grant cannot be copied")

    def __reduce__(self) -> NoReturn:
        raise NotAuthorised("a grant cannot be passed on to another process")


@dataclass(slots=True)
class _Live:
    grant: Grant
    left: int = field(default=SAVES_PER_GRANT)


class GrantBook:
    """The grants of one process: at most one a session, the current turn's. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._live: dict[str, _Live] = {}

    def grant_for(self, prompt: str, *, session: str, origin: Origin = Origin.USER) -> Grant | NoGrant:
        """Begin a turn of ``session``: the grant of its last one ends, and ``prompt`` is read for a new one.

        A prompt of another origin than the user gives none and, as it belongs to no top-level turn, ends none.
        """
        if origin is not Origin.USER:
            return NoGrant(f"it comes from a {origin.value}, and only the current user can ask")
        reason = asks_to_remember(prompt)
        with self._lock:
            self._live.pop(session, None)
            if reason is not None:
                return NoGrant(reason)
            grant = Grant(session, hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).hexdigest())
            self._live[session] = _Live(grant)
            return grant

    def end_turn(self, session: str) -> None:
        """The turn is over: its grant is worth nothing from here on."""
        with self._lock:
            self._live.pop(session, None)

    def current(self, session: str) -> Grant | None:
        """The live grant of ``session``: for the host that runs the session's tools, never for a tool argument."""
        with self._lock:
            live = self._live.get(session)
            return None if live is None else live.grant

    def saves_left(self, grant: Grant) -> int:
        with self._lock:
            live = self._found(grant)
            return 0 if live is None else live.left

    @contextmanager
    def spending(self, grant: object) -> Iterator[Grant]:
        """Use one save of ``grant`` for what is done inside; given back if that fails.

        Raises :class:`NotAuthorised` for anything that is not a live grant of this book, and when its saves are spent.
        """
        with self._lock:
            live = self._found(grant)
            if live is None:
                raise NotAuthorised("no grant of the current turn covers this save", hint=_HINT)
            if live.left == 0:
                raise NotAuthorised(
                    f"this turn's grant is spent: it covers {SAVES_PER_GRANT} saves", hint="Ask the user again."
                )
            live.left -= 1
        try:
            yield live.grant
        except BaseException:
            with self._lock:
                live.left += 1
            raise

    def _found(self, grant: object) -> _Live | None:
        if type(grant) is not Grant:
            return None
        live = self._live.get(grant.session)
        return live if live is not None and live.grant is grant else None
