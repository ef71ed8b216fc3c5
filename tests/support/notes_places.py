"""A workspace and a home in a temporary directory, and what the tests of the writes do with them."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from pony_memory.canonical import ScopeName
from pony_memory.scopes.scopes import Scopes, resolve_scopes
from pony_memory.writes.agent_notes_store import AgentNotesStore, Person
from pony_memory.writes.grants import Grant, GrantBook
from pony_memory.writes.history import Actor, History, Who, history
from pony_memory.writes.places import Place, place_of

PERSON = Person(Actor(Who.PERSON, None, 1))
TIME = "2026-10-02T08:14:03Z"


@dataclass(frozen=True, slots=True)
class Here:
    """``workspace`` and ``home`` exist; ``environ`` knows the home and nothing else."""

    workspace: Path
    home: Path

    @classmethod
    def below(cls, directory: Path) -> Here:
        here = cls(directory / "work", directory / "home")
        here.workspace.mkdir(parents=True)
        here.home.mkdir()
        return here

    @property
    def environ(self) -> dict[str, str]:
        return {"HOME": str(self.home)}

    @property
    def scopes(self) -> Scopes:
        return resolve_scopes(
            cwd=str(self.workspace),
            environ=self.environ,
            workspace=str(self.workspace),
            project_dir=str(self.home / "store"),
        )

    def store(self, book: GrantBook | None = None, **options: object) -> AgentNotesStore:
        return AgentNotesStore(self.scopes, environ=self.environ, book=book, now=lambda: TIME, **options)  # type: ignore[arg-type]

    def root(self, scope: ScopeName) -> Path:
        return {
            "workspace": self.workspace / ".pony" / "memory",
            "user": self.home / ".pony" / "memory",
            "project": self.home / "store",
        }[scope]

    def agent_notes(self, scope: ScopeName) -> Path:
        return self.root(scope) / "agent_notes.md"

    def place(self, scope: ScopeName) -> Place:
        place = place_of(self.scopes, scope, self.environ, create=True)
        assert place is not None
        return place

    def history(self, scope: ScopeName) -> History:
        return history(self.place(scope).records)

    def records(self, scope: ScopeName) -> Path:
        return Path(self.place(scope).records.path)


def granted(book: GrantBook, session: str = "s") -> Grant:
    grant = book.grant_for("/remember it", session=session)
    assert isinstance(grant, Grant)
    return grant


def tree(directory: Path) -> dict[str, bytes]:
    """Every file below ``directory`` by its path."""
    return {
        os.path.relpath(os.path.join(top, name), directory): Path(top, name).read_bytes()
        for top, _, names in os.walk(directory)
        for name in names
        if not Path(top, name).is_symlink()
    }


def modes(directory: Path) -> dict[str, int]:
    """The permissions of everything below ``directory``."""
    return {os.path.relpath(path, directory): stat.S_IMODE(path.lstat().st_mode) for path in directory.rglob("*")}


def holds(directory: Path, text: str) -> list[str]:
    """The files below ``directory`` with ``text`` in their bytes or in their names."""
    wanted = text.encode()
    return sorted(name for name, data in tree(directory).items() if wanted in data or wanted in os.fsencode(name))
