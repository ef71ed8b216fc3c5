"""Where a scope's files and its records are, and how a writer gets them for itself (SPEC §2, §9, §12).

A project store keeps its records beside its entries. A notes scope keeps them outside the workspace, in
``~/.pony/state/<16 hex digits of the sha256 of the scope's real root>/``.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from pony_memory.canonical import ScopeName
from pony_memory.errors import PonyError, Unavailable
from pony_memory.files.atomic import create_root, ensure_private_path, remove_leftovers
from pony_memory.files.boundary import Root, RootSpec, printable
from pony_memory.files.flock import flocked
from pony_memory.limits import LOCK_TIMEOUT_MS
from pony_memory.scopes.place import Scopes, home_of

AGENT_NOTES_LOCK: Final = ".agent_notes.lock"
_STATE_NAME_CHARS: Final = 16


@dataclass(frozen=True, slots=True)
class Place:
    """``files`` is the scope's root, ``records`` the directory with its ``.backups/`` and ``.history.jsonl``."""

    scope: ScopeName
    files: Root
    records: Root

    @classmethod
    def of_store(cls, root: Root) -> Place:
        return cls("project", root, root)

    @classmethod
    def of_notes(cls, scope: ScopeName, root: Root, home: str) -> Place:
        """Raises :class:`PonyError` if the directory for the records cannot be made."""
        path = state_path(home, root)
        try:
            ensure_private_path(path)
        except OSError as error:
            raise PonyError(
                f"the directory for backups and history cannot be made: {path} ({error.strerror})",
                hint="Backups and history of notes are kept below ~/.pony/state; nothing was written.",
            ) from None
        records = Root.resolve(RootSpec(path, (), follow_trusted=True))
        assert records is not None, "it was made just now"
        return cls(scope, root, records)


def place_of(scopes: Scopes, name: ScopeName, environ: Mapping[str, str], *, create: bool = False) -> Place | None:
    """The place of a scope; ``None`` where nothing is on the disk yet, unless ``create``.

    Raises :class:`Unavailable` for a scope that is not here, and where ``$HOME`` is not set: records have no place
    then, and what cannot be backed up is not written.
    """
    spec = scopes.get(name).spec
    with disk_errors(f"the directory of the scope {name} cannot be made"):
        root = create_root(spec) if create else Root.resolve(spec)
    if root is None:
        return None
    if name == "project":
        return Place.of_store(root)
    home = home_of(environ)
    if home is None:
        raise Unavailable("backups and history of notes are kept below ~/.pony/state, and $HOME is not set")
    return Place.of_notes(name, root, home)


def state_path(home: str, root: Root) -> str:
    """The directory of a notes scope's records, which may not exist yet."""
    digest = hashlib.sha256(os.fsencode(root.path)).hexdigest()
    return os.path.join(home, ".pony", "state", digest[:_STATE_NAME_CHARS])


def records_of_notes(home: str, root: Root) -> Root | None:
    """The records of a notes scope for reading; ``None`` before the first write."""
    return Root.resolve(RootSpec(state_path(home, root), (), follow_trusted=True))


@contextmanager
def exclusive(place: Place, op: str, *, timeout_ms: int = LOCK_TIMEOUT_MS) -> Iterator[Callable[[], None]]:
    """Hold the place's locks. Yields what a writer calls before each rename: it raises when the write must not go on.

    A project store: the logical lock, then ``.lock`` (SPEC §12). A notes scope: ``flock`` on ``.agent_notes.lock`` in
    its root, and the root's identity again (SPEC §9). Raises :class:`~pony_memory.errors.Locked` after ``timeout_ms``.
    """
    if place.scope == "project":
        from pony_memory.files.file_lock import FileLock  # noqa: PLC0415 - notes scopes do without
        from pony_memory.files.logical_lock import logical_lock  # noqa: PLC0415

        with (
            logical_lock(place.files.path, timeout_ms=timeout_ms),
            FileLock(place.files, op, timeout_ms) as lock,
        ):
            yield lock.check_owned
        return

    with (
        place.files.open_dir() as directory,
        flocked(directory, AGENT_NOTES_LOCK, what=f"the notes in {place.files.path}", timeout_ms=timeout_ms),
    ):
        place.files.check()
        remove_leftovers(directory)
        yield place.files.check


@contextmanager
def disk_errors(what: str) -> Iterator[None]:
    """Say in the family of our errors what the disk refused: ``what``, the system's reason, the file."""
    try:
        yield
    except OSError as error:
        name = f" ({printable(os.fsdecode(error.filename))})" if isinstance(error.filename, str | bytes) else ""
        raise PonyError(f"{what}: {error.strerror or error}{name}") from None
