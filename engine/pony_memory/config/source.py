"""Reading one ``memory.json``: bytes to a JSON object, every refusal naming the place (SPEC §14).

The file may be a stranger's. It is read through the file boundary, bounded in size; numbers, nesting and text that
Python's reader is lax or helpless about are refused here.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Final, NoReturn

from pony_memory.errors import Misconfigured, NotFound, UnsafeFile
from pony_memory.files.boundary import Root, RootSpec, printable, read_at

FILE_NAME: Final = "memory.json"
WORKSPACE_DIRECTORY: Final = ".pi"
GLOBAL_DIRECTORY: Final = (".pi", "agent")

_SHOWN_CHARS: Final = 80
_LONGEST_WHOLE_DIGITS: Final = 1_000


@dataclass(frozen=True, slots=True)
class Source:
    """One configuration file as it was read; ``path`` is the one shown to people."""

    path: str
    data: bytes

    @property
    def sha256(self) -> str:
        import hashlib  # noqa: PLC0415

        return hashlib.sha256(self.data).hexdigest()


def global_path(home: str) -> str:
    """``~/.pi/agent/memory.json``."""
    return os.path.join(home, *GLOBAL_DIRECTORY, FILE_NAME)


def workspace_path(workspace: str) -> str:
    """``<workspace>/.pi/memory.json`` of the real directory: trust must not depend on the way that led there."""
    return os.path.join(os.path.realpath(workspace), WORKSPACE_DIRECTORY, FILE_NAME)


def read_global(home: str) -> Source | None:
    """The user's own file, which may be reached through the user's own links. ``None`` if there is none.

    Raises :class:`Misconfigured` for what cannot be read.
    """
    path = global_path(home)
    _refuse_dangling(home)
    directory, name = os.path.split(os.path.realpath(path))
    try:
        root = Root.resolve(RootSpec(directory, (), follow_trusted=True))
        if root is None:
            return None
        with root.open_dir() as descriptor:
            # The user's own file may have several names: that is how some keep their dotfiles.
            return Source(path, read_at(descriptor, name, linked=True).data)
    except NotFound:
        return None
    except UnsafeFile as error:
        raise Misconfigured(f"{printable(path)} cannot be read: {error.message}") from None


def _refuse_dangling(home: str) -> None:
    """A link that leads nowhere (a disk that is not mounted) is no missing file: the defaults would be a surprise."""
    path = home
    for part in (*GLOBAL_DIRECTORY, FILE_NAME):
        path = os.path.join(path, part)
        if os.path.islink(path) and not os.path.exists(path):
            raise Misconfigured(
                f"{printable(path)} is a link that leads nowhere",
                hint="Mend the link, or remove it to use the defaults.",
            )


def read_workspace(workspace: str) -> Source | None:
    """The workspace's file, nothing followed below the workspace. ``None`` if there is none.

    Raises :class:`UnsafeFile` with the reason: what to make of a stranger's trap is the caller's business.
    """
    root = Root.resolve(RootSpec(workspace, (WORKSPACE_DIRECTORY,), follow_trusted=False))
    if root is None:
        return None
    try:
        return Source(workspace_path(workspace), root.read((FILE_NAME,)).data)
    except NotFound:
        return None


def parse(source: Source) -> dict[str, object]:
    """The JSON object of a file. Raises :class:`Misconfigured` with line and column where there are some."""
    try:
        text = source.data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = source.data.count(b"\n", 0, error.start) + 1
        _refuse(source, f"is not UTF-8 text: line {line} holds the byte 0x{source.data[error.start]:02x}")
    try:
        document = json.loads(
            text,
            object_pairs_hook=_without_duplicates,
            parse_constant=_no_constant,
            parse_int=_whole,
        )
    except json.JSONDecodeError as error:
        _refuse(source, f"is not JSON: {error.msg} at line {error.lineno}, column {error.colno}")
    except _NotOurs as error:
        _refuse(source, str(error))
    except RecursionError:
        _refuse(source, "is nested too deeply")
    if not isinstance(document, dict):
        _refuse(source, 'must hold one object, such as {"enabled": true}')
    return document


class _NotOurs(Exception):
    """Something JSON readers let pass and a configuration must not hold."""


def _without_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found:
            raise _NotOurs(f"has the key {shown(key)} twice in one object; only one can be meant")
        found[key] = value
    return found


def _no_constant(name: str) -> NoReturn:
    raise _NotOurs(f"holds {name}, which is no JSON")


def _whole(digits: str) -> float:
    # No key takes so large a number; Python would refuse some, and be slow about others.
    return int(digits) if len(digits) <= _LONGEST_WHOLE_DIGITS else float(digits[:1] + "1e999")


def shown(value: object) -> str:
    """A value as JSON, shortened, in plain ASCII: safe on any terminal."""
    try:
        text = json.dumps(value)
    except RecursionError:
        return "…"
    return text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + "…"


def _refuse(source: Source, what: str) -> NoReturn:
    raise Misconfigured(f"{printable(source.path)} {what}", hint="Mend the file, or move it away to use the defaults.")
