"""A first ``memory.json`` (SPEC §14)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from pony_memory.config import source
from pony_memory.config.rules import MODEL, Wrong
from pony_memory.config.schema import BUILTIN_MODEL
from pony_memory.errors import Conflict, InvalidRequest, NotFound, Unavailable
from pony_memory.files.boundary import Root, RootSpec, printable
from pony_memory.scopes.place import home_of


@dataclass(frozen=True, slots=True)
class FirstConfig:
    """What :func:`write_first_config` would write, for a person to see before."""

    path: str
    text: str


def schema_location() -> str:
    """The ``file:`` URL of the JSON Schema that is installed with the product."""
    from pathlib import Path  # noqa: PLC0415

    return Path(__file__).resolve().with_name("memory.schema.json").as_uri()


def first_config(*, environ: Mapping[str, str], model: str = BUILTIN_MODEL) -> FirstConfig:
    """A configuration with the three tasks' model and a pointer to the schema, for editors.

    Raises :class:`Conflict` if there is one already, :class:`InvalidRequest` for a ``model`` that is none, and
    :class:`Unavailable` without ``$HOME``.
    """
    import json  # noqa: PLC0415

    home = home_of(environ)
    if home is None:
        raise Unavailable("$HOME is not set to an absolute path, so there is no ~/.pi/agent/memory.json")
    try:
        MODEL.read(model)
    except Wrong:
        raise InvalidRequest(f"{source.shown(model)} is no model; it must be {MODEL.allowed}") from None
    path = source.global_path(home)
    if os.path.lexists(path):
        raise _exists(path)
    document = {"$schema": schema_location(), "enabled": True, "defaults": {"model": model}}
    return FirstConfig(path, json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def write_first_config(first: FirstConfig) -> None:
    """Write it, whole and owner-only. Raises :class:`Conflict` rather than overwrite what came into being meanwhile."""
    from pony_memory.files import syscalls  # noqa: PLC0415
    from pony_memory.files.atomic import ensure_private_path, write_temporary  # noqa: PLC0415

    directory, name = os.path.split(first.path)
    ensure_private_path(directory)
    root = Root.resolve(RootSpec(directory, (), follow_trusted=True))
    if root is None:
        raise NotFound(f"{printable(directory)} was removed meanwhile")
    with root.open_dir() as descriptor:
        temporary = write_temporary(descriptor, first.text.encode())
        try:
            # A link, unlike a rename, never replaces what is there.
            syscalls.link(temporary, name, descriptor)
        except FileExistsError:
            raise _exists(first.path) from None
        finally:
            syscalls.unlink(temporary, descriptor)
        syscalls.fsync(descriptor, name)


def _exists(path: str) -> Conflict:
    return Conflict(f"{printable(path)} exists; it is left as it is", hint="Edit it, or move it away first.")
