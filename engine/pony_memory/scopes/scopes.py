"""Finding the scopes of one place: where the user's, the workspace's and the project's memories are (SPEC §2)."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Mapping
from typing import Final

from pony_memory.canonical import SCOPE_NAMES, ScopeName
from pony_memory.files.boundary import RootSpec
from pony_memory.limits import GIT_TIMEOUT_S
from pony_memory.notices import Notice
from pony_memory.scopes.place import ProjectPlace, Scope, Scopes, home_of
from pony_memory.scopes.project_name import directory_name, project_key
from pony_memory.scopes.workspace import Workspace, discover_workspace

__all__ = ["ProjectPlace", "Scope", "Scopes", "resolve_scopes"]

NOTES_ROOT: Final = (".pony", "memory")
DEFAULT_MEMORY_DIR: Final = (".pi", "memory")


def resolve_scopes(
    *,
    cwd: str,
    environ: Mapping[str, str],
    workspace: str | Workspace | None = None,
    project_dir: str | None = None,
    memory_dir: str | None = None,
    want: Collection[ScopeName] = SCOPE_NAMES,
    git_timeout_s: float = GIT_TIMEOUT_S,
) -> Scopes:
    """Find the scopes by at most two calls of git, none for what ``want`` leaves out.

    ``workspace`` is ``--workspace``, or what :func:`discover_workspace` found before; ``project_dir`` is
    ``--project-dir``; ``memory_dir`` is the configuration's, absolute, default ``~/.pi/memory``. With
    ``--workspace`` the project store is that of the workspace. Raises :class:`NotFound` or :class:`InvalidRequest`
    for a working directory or workspace that is none.
    """
    ask_for_project = "project" in want and project_dir is None
    if isinstance(workspace, Workspace):
        found = workspace
    else:
        found = discover_workspace(
            cwd=cwd,
            environ=environ,
            override=workspace,
            need_toplevel=ask_for_project,
            git_timeout_s=git_timeout_s,
        )
    builder = _Builder(home_of(environ), found)
    builder.add_notes_scopes(want)
    if "project" in want:
        if project_dir is not None:
            builder.add_explicit_project(os.path.join(os.path.realpath(cwd), project_dir))
        else:
            builder.add_project(environ, memory_dir, git_timeout_s)
    return Scopes(
        working_directory=os.path.realpath(cwd),
        workspace=found.path,
        available=tuple(builder.available),
        unavailable=tuple(builder.unavailable),
        project=builder.project,
        notices=tuple(builder.notices),
    )


class _Builder:
    def __init__(self, home: str | None, workspace: Workspace) -> None:
        self.home = home
        self.workspace = workspace
        self.available: list[Scope] = []
        self.unavailable: list[tuple[ScopeName, str]] = []
        self.project: ProjectPlace | None = None
        self.notices: list[Notice] = list(workspace.notices)

    def add_notes_scopes(self, want: Collection[ScopeName]) -> None:
        if "user" in want:
            if self.home is None:
                self.unavailable.append(("user", f"{_NO_HOME}, so there is no ~/.pony/memory"))
            else:
                self._add("user", RootSpec(os.path.join(self.home, *NOTES_ROOT), (), follow_trusted=True))
        if "workspace" not in want:
            return
        if self.home is not None and _same_place(self.workspace.path, self.home):
            self.unavailable.append(("workspace", "it is the same directory as the user scope and goes by that name"))
        else:
            self._add("workspace", RootSpec(self.workspace.path, NOTES_ROOT, follow_trusted=False))

    def add_explicit_project(self, path: str) -> None:
        path = os.path.normpath(path)
        self.project = ProjectPlace("explicit", os.path.basename(path) or "root", path)
        self._add("project", RootSpec(path, (), follow_trusted=True))

    def add_project(self, environ: Mapping[str, str], memory_dir: str | None, git_timeout_s: float) -> None:
        if memory_dir is None and self.home is None:
            why = f"{_NO_HOME}, so there is no ~/.pi/memory; --project-dir opens a store elsewhere"
            self.unavailable.append(("project", why))
            return
        base = memory_dir if memory_dir is not None else os.path.join(self.home or "/", *DEFAULT_MEMORY_DIR)
        kind, key, notices = project_key(self.workspace, environ, git_timeout_s=git_timeout_s)
        self.notices.extend(notices)
        name = directory_name(key)
        self.project = ProjectPlace(kind, name, os.path.join(base, kind, name))
        self._add("project", RootSpec(base, (kind, name), follow_trusted=True))

    def _add(self, name: ScopeName, spec: RootSpec) -> None:
        self.available.append(Scope(name, spec, spec.path))


_NO_HOME = "$HOME is not set to an absolute path"


def _same_place(workspace: str, home: str) -> bool:
    """Whether workspace scope and user scope are one directory, by device and inode.

    The home directory itself counts also while neither scope exists, or is reached through the user's own link. From
    any other workspace a link to the user's memories is not followed, so it makes no scope the same.
    """
    if _identity(workspace) == _identity(home) is not None:
        return True
    pony, memory = os.path.join(workspace, NOTES_ROOT[0]), os.path.join(workspace, *NOTES_ROOT)
    if not (_is_own_directory(pony) and _is_own_directory(memory)):
        return False
    return _identity(memory) == _identity(os.path.join(home, *NOTES_ROOT))


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino


def _is_own_directory(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False
