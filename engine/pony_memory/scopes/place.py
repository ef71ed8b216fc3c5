"""The scopes of one place as values, apart from how git and the environment led to them (SPEC §2)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pony_memory.canonical import ScopeName
from pony_memory.errors import Unavailable
from pony_memory.files.boundary import RootSpec
from pony_memory.notices import Notice


@dataclass(frozen=True, slots=True)
class Scope:
    """One scope that may be opened; it need not exist on disk yet. ``location`` is the path shown to people."""

    name: ScopeName
    spec: RootSpec
    location: str


@dataclass(frozen=True, slots=True)
class ProjectPlace:
    """The project store: ``kind`` and ``name`` of its directory, and its absolute ``path``."""

    kind: Literal["git", "local", "explicit"]
    name: str
    path: str


@dataclass(frozen=True, slots=True)
class Scopes:
    """What :func:`resolve_scopes` found. ``unavailable`` pairs a scope with the reason, in words."""

    working_directory: str
    workspace: str
    available: tuple[Scope, ...]
    unavailable: tuple[tuple[ScopeName, str], ...]
    project: ProjectPlace | None
    notices: tuple[Notice, ...]

    @property
    def names(self) -> tuple[ScopeName, ...]:
        """The available scopes in the order of automatic scans: user, workspace, project."""
        return tuple(scope.name for scope in self.available)

    def get(self, name: ScopeName) -> Scope:
        """Raises :class:`Unavailable` with the reason for a scope that is not here."""
        for scope in self.available:
            if scope.name == name:
                return scope
        for missing, why in self.unavailable:
            if missing == name:
                raise Unavailable(f"the scope {name} is not available here: {why}")
        raise Unavailable(f"the scope {name} was not opened")


def home_of(environ: Mapping[str, str]) -> str | None:
    """``$HOME`` if it is an absolute path; nothing else stands for ``~`` (SPEC §2)."""
    home = environ.get("HOME", "")
    return os.path.normpath(home) if home.startswith("/") else None


def cache_directory(environ: Mapping[str, str]) -> str | None:
    """``$XDG_CACHE_HOME/pony-memory``, default ``~/.cache/pony-memory``; ``None`` without either (SPEC §2)."""
    cache = environ.get("XDG_CACHE_HOME", "")
    if cache.startswith("/"):
        return os.path.join(cache, "pony-memory")
    home = home_of(environ)
    return os.path.join(home, ".cache", "pony-memory") if home is not None else None
