"""Append to a scope's Agent Notes: the one write an agent has in the notes scopes (SPEC §9).

A save is a grant of the current turn or a person's own. Everything is checked before the disk is touched; a refusal
writes nothing and costs no save of the grant. Then, under the scope's ``flock``: the bytes that are there now, the new
block behind them, a backup, an atomic replace, the history. What other hands wrote in the file stays to the byte.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Final

from pony_memory.canonical import AGENT_NOTES_FILE, NOTES_SCOPES, CanonicalPath, ScopeName
from pony_memory.errors import Conflict, InvalidRequest, NotAuthorised, NotFound, OverLimit, Undecodable, UnsafeFile
from pony_memory.files.atomic import replace_file
from pony_memory.files.text import decode
from pony_memory.limits import (
    AGENT_NOTES_HARD_BYTES,
    AGENT_NOTES_SOFT_BYTES,
    BACKUPS_KEPT,
    LOCK_TIMEOUT_MS,
    READ_AGAIN_TIMES,
    SAVE_MAX_BYTES,
    SAVE_MAX_TOKENS,
)
from pony_memory.notes.agent_notes import format_block, parse_blocks
from pony_memory.notices import Notice
from pony_memory.scopes.place import Scopes
from pony_memory.tokens_count import BuiltinCounter, TokenCounter
from pony_memory.writes.backups import backup_before_write
from pony_memory.writes.grants import Grant, GrantBook
from pony_memory.writes.history import Actor, Edit, Who, WriteEvent, recorded
from pony_memory.writes.places import Place, disk_errors, exclusive, place_of
from pony_memory.writes.secrets import check_text

ACTION: Final = "save"
_PRUNE_HINT: Final = (
    "Review the blocks with `pony-memory review` and move what is worth keeping to User Notes or entries."
)
#: Other than tab and line ends, control characters are never text; a terminal would obey some of them.
_CONTROL: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f]")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Person:
    """A person saves, in a command or the workbench. ``allow_secret`` is their open override; no tool makes one."""

    actor: Actor
    allow_secret: bool = False


@dataclass(frozen=True, slots=True)
class Saved:
    """``path`` names the new block; ``bytes`` is the size of the whole file, ``added`` what this save put to it."""

    path: CanonicalPath
    bytes: int
    added: int
    backup: str
    warnings: tuple[Notice, ...]


def timestamp() -> str:
    """Now, in UTC to the second, as blocks are stamped."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


class AgentNotesStore:
    """The Agent Notes of the notes scopes of one place.

    ``book`` holds the grants that count here; without one only a person can save. ``counter`` counts in the tokens of
    the integration's model.
    """

    def __init__(
        self,
        scopes: Scopes,
        *,
        environ: Mapping[str, str],
        book: GrantBook | None = None,
        counter: TokenCounter | None = None,
        keep: int = BACKUPS_KEPT,
        timeout_ms: int = LOCK_TIMEOUT_MS,
        now: Callable[[], str] = timestamp,
    ) -> None:
        self._scopes = scopes
        self._environ = environ
        self._book = book
        self._counter = counter or BuiltinCounter()
        self._keep = keep
        self._timeout_ms = timeout_ms
        self._now = now

    def save(self, note: str, scope: ScopeName, authority: Grant | Person) -> Saved:
        """Append ``note`` as one block.

        Raises :class:`NotAuthorised` without a live grant; :class:`InvalidRequest` for an empty note, one with control
        characters, or a scope without Agent Notes; :class:`OverLimit`; :class:`SensitiveContent`;
        :class:`Unavailable`; :class:`UnsafeFile`; :class:`Undecodable`; :class:`Locked`; :class:`PonyError` (the disk).
        """
        with self._authorised(authority) as actor:
            if scope not in NOTES_SCOPES:
                raise InvalidRequest(f"there are no Agent Notes in the scope {scope!a}; choose workspace or user")
            self._scopes.get(scope)
            text = self._checked(note, allow_secret=isinstance(authority, Person) and authority.allow_secret)
            place = place_of(self._scopes, scope, self._environ, create=True)
            assert place is not None, "it was created"
            with (
                disk_errors(f"the note could not be saved to {scope}/{AGENT_NOTES_FILE}"),
                exclusive(place, ACTION, timeout_ms=self._timeout_ms) as check,
            ):
                for _ in range(1 + READ_AGAIN_TIMES):
                    try:
                        return self._append(place, text, actor, check)
                    except _Changed:
                        continue
                raise Conflict(
                    f"{scope}/{AGENT_NOTES_FILE} kept changing while the note was saved; nothing was written",
                    hint="Another program is writing it. Try again when it has finished.",
                )

    def _authorised(self, authority: object) -> AbstractContextManager[Actor]:
        if isinstance(authority, Person):
            return nullcontext(authority.actor)
        if self._book is None:
            raise NotAuthorised("agents cannot save here", hint="A person can: `pony-memory save`.")
        return _Spending(self._book, authority)

    def _checked(self, note: str, *, allow_secret: bool) -> str:
        if _SURROGATE.search(note) is not None:
            raise InvalidRequest("the note holds code points that are no characters (lone surrogates)")
        text = note.replace("\r\n", "\n").replace("\r", "\n").strip()
        if not text:
            raise InvalidRequest("the note is empty")
        control = _CONTROL.search(text)
        if control is not None:
            raise InvalidRequest(
                f"the note holds the control character U+{ord(control.group()):04X}; notes are plain text"
            )
        size = len(text.encode())
        if size > SAVE_MAX_BYTES:
            raise OverLimit(
                f"the note is {size:,} bytes; one save takes at most {SAVE_MAX_BYTES:,}",
                hint="Save the fact, not the material it comes from.",
            )
        tokens = self._counter.count(text)
        if tokens > SAVE_MAX_TOKENS:
            raise OverLimit(
                f"the note is {tokens:,} tokens; one save takes at most {SAVE_MAX_TOKENS:,}",
                hint="Save the fact, not the material it comes from.",
            )
        check_text(text, environ=self._environ, allow=allow_secret)
        return text

    def _append(self, place: Place, text: str, actor: Actor, check: Callable[[], None]) -> Saved:
        path = CanonicalPath(place.scope, (AGENT_NOTES_FILE,))
        before = _current(place, path)
        block = format_block(self._now(), text).encode()
        # A last line without its end, or with half of a CRLF, is ended first; nothing else of the file is touched.
        joint = b"\n" if before and not before.endswith(b"\n") else b""
        after = (before or b"") + joint + block
        if len(after) > AGENT_NOTES_HARD_BYTES:
            raise OverLimit(
                f"{path} would be {len(after):,} bytes; it takes at most {AGENT_NOTES_HARD_BYTES:,}", hint=_PRUNE_HINT
            )
        backup = backup_before_write(place.files, ACTION, [AGENT_NOTES_FILE], self._keep, into=place.records)

        def unchanged() -> None:
            check()
            if _current(place, path) != before:
                raise _Changed

        with place.files.open_dir() as directory:
            replace_file(directory, AGENT_NOTES_FILE, after, before_rename=unchanged)
        warnings = recorded(place.records, WriteEvent(actor, ACTION, path, backup=backup), [Edit(path, before, after)])
        if len(after) > AGENT_NOTES_SOFT_BYTES:
            large = Notice(
                "agent_notes_large",
                f"{path} is {len(after):,} bytes; from {AGENT_NOTES_HARD_BYTES:,} on saves are refused",
                _PRUNE_HINT,
            )
            warnings = (large, *warnings)
        number = len(parse_blocks(decode(after).text))
        return Saved(path.with_block(number), len(after), len(joint) + len(block), backup, warnings)


class _Changed(Exception):
    """The file is not what the new text was made from."""


class _Spending(AbstractContextManager[Actor]):
    """One save of a grant, with the actor it stands for."""

    def __init__(self, book: GrantBook, grant: object) -> None:
        self._spending = book.spending(grant)

    def __enter__(self) -> Actor:
        return Actor.here(Who.TOOL, self._spending.__enter__().session)

    def __exit__(self, *raised: object) -> bool | None:
        return self._spending.__exit__(*raised)  # type: ignore[arg-type]


def _current(place: Place, path: CanonicalPath) -> bytes | None:
    try:
        data = place.files.read(path.parts).data
    except NotFound:
        return None
    except UnsafeFile as error:
        if error.reason == "too_large":
            raise OverLimit(
                f"{path} is over {AGENT_NOTES_HARD_BYTES:,} bytes already; nothing can be saved to it", hint=_PRUNE_HINT
            ) from None
        raise
    if b"\0" in data:
        raise Undecodable(
            f"{path} holds NUL bytes, so it is no UTF-8 text (UTF-16, perhaps); nothing was written",
            hint="Convert it to UTF-8 first.",
        )
    return data
