"""Canonical paths: the only names by which memories are spoken of (SPEC §2).

A path is parsed once, at the border; a :class:`CanonicalPath` that exists cannot be unsafe.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, Literal

from pony_memory.errors import BadPath, Unavailable

ScopeName = Literal["user", "workspace", "project"]

#: In the order in which automatic scans take them: no repository may crowd the user's own notes out (SPEC §3).
SCOPE_NAMES: Final[tuple[ScopeName, ...]] = ("user", "workspace", "project")
NOTES_SCOPES: Final[tuple[ScopeName, ...]] = ("user", "workspace")

NOTES_DIRECTORY: Final = "notes"
AGENT_NOTES_FILE: Final = "agent_notes.md"
INDEX_FILE: Final = "MEMORY.md"

MAX_PATH_CHARS: Final = 4_096
_BLOCK = re.compile(r"\Aentry-([1-9][0-9]{0,8})\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class CanonicalPath:
    """A parsed name such as ``workspace/notes/auth.md`` or ``user/agent_notes.md#entry-2``.

    ``parts`` are the segments below the scope's root, ``block`` the 1-based Agent Notes block or ``None``.
    """

    scope: ScopeName
    parts: tuple[str, ...]
    block: int | None = None

    def __str__(self) -> str:
        path = "/".join((self.scope, *self.parts))
        return path if self.block is None else f"{path}#entry-{self.block}"

    @property
    def sort_key(self) -> tuple[str, int]:
        """Canonical-path order: by the file's whole path as text, blocks of one file by number."""
        return "/".join((self.scope, *self.parts)), self.block or 0

    @property
    def file(self) -> CanonicalPath:
        """The file this path is in: itself, or for a block the Agent Notes file."""
        return self if self.block is None else CanonicalPath(self.scope, self.parts)

    @property
    def is_agent_notes(self) -> bool:
        return self.scope != "project" and self.parts == (AGENT_NOTES_FILE,)

    @property
    def is_index(self) -> bool:
        return self.scope == "project" and self.parts == (INDEX_FILE,)

    @property
    def stem(self) -> str:
        return self.parts[-1].removesuffix(".md")

    def with_block(self, number: int) -> CanonicalPath:
        return CanonicalPath(self.scope, self.parts, number)

    @classmethod
    def of(cls, scope: ScopeName, parts: tuple[str, ...]) -> CanonicalPath:
        """The canonical path of a file found by a walk. Raises :class:`BadPath` for a name that has none."""
        _check_place(scope, parts, "/".join((scope, *parts)))
        return cls(scope, parts)

    @classmethod
    def parse(cls, text: str, given: Collection[str] = SCOPE_NAMES) -> CanonicalPath:
        """Parse what a person or a tool wrote.

        Raises :class:`BadPath` for every form SPEC §2 refuses and :class:`Unavailable` for a scope that
        exists but was not ``given`` to the caller.
        """
        if len(text) > MAX_PATH_CHARS:
            raise BadPath(f"the path is longer than {MAX_PATH_CHARS:,} characters")
        path, mark, fragment = text.partition("#")
        block: int | None = None
        scope, *parts = path.split("/")
        if mark and parts == [AGENT_NOTES_FILE]:
            matched = _BLOCK.match(fragment)
            if matched is None:
                raise _bad(text, "after '#' only entry-N is allowed, N counted from 1")
            block = int(matched.group(1))
        else:
            scope, *parts = text.split("/")
        if text.startswith("/"):
            raise _bad(text, "absolute paths are refused")
        if scope not in SCOPE_NAMES:
            raise _bad(text, "it must start with a scope: workspace/, user/ or project/")
        _check_place(scope, tuple(parts), text)
        if scope not in given:
            raise Unavailable(f"the scope {scope} is not available here: {_shown(text)}")
        return cls(scope, tuple(parts), block)


def name_fault(segment: str) -> str | None:
    """Why ``segment`` cannot be one segment of a canonical path, or ``None`` if it can."""
    if segment == "":
        return "it has an empty segment"
    if segment == "..":
        return "'..' is refused"
    if segment.startswith("."):
        return "segments that start with a dot are refused"
    if "\\" in segment:
        return "backslashes are refused"
    for char in segment:
        if unicodedata.category(char) in ("Cc", "Cs"):
            return "control characters and bytes that are not UTF-8 are refused"
    return None


def _check_place(scope: ScopeName, parts: tuple[str, ...], text: str) -> None:
    for part in parts:
        fault = name_fault(part)
        if fault is not None:
            raise _bad(text, fault)
    if scope == "project":
        if len(parts) != 1 or not parts[0].endswith(".md") or parts[0] == ".md":
            raise _bad(text, "a project path is project/<file>.md")
        return
    if parts == (AGENT_NOTES_FILE,):
        return
    if len(parts) < 2 or parts[0] != NOTES_DIRECTORY or not parts[-1].endswith(".md"):
        raise _bad(text, f"inside {scope}/ only notes/<…>.md and {AGENT_NOTES_FILE} have names")


def _shown(text: str) -> str:
    return ascii(text if len(text) <= 200 else text[:200] + "…") if not text.isprintable() else f"{text[:200]!r}"


def _bad(text: str, why: str) -> BadPath:
    return BadPath(
        f"not a memory path: {_shown(text)} — {why}",
        hint="Paths look like workspace/notes/auth.md, user/agent_notes.md#entry-2 or project/Test-command.md; "
        "`pony-memory list` shows them.",
    )
