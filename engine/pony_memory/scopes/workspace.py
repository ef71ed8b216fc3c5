"""Which directory is the workspace: the git toplevel of the working directory, else that directory (SPEC §2)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from pony_memory.errors import InvalidRequest, NotFound
from pony_memory.files.boundary import printable
from pony_memory.limits import GIT_TIMEOUT_S
from pony_memory.notices import Notice
from pony_memory.scopes.git import Answer, GitFailed, NoGit, ask_git

_CONSEQUENCE = "so the project's memories are those under local/…, not those under the repository's name"


@dataclass(frozen=True, slots=True)
class Workspace:
    """``path`` is absolute, symlinks resolved. ``toplevel`` is git's, or ``None`` outside git, where git failed
    (a notice says so), and where nobody asked for it."""

    path: str
    toplevel: str | None
    notices: tuple[Notice, ...] = ()


def find_workspace(
    cwd: str, environ: Mapping[str, str], *, git_timeout_s: float = GIT_TIMEOUT_S
) -> tuple[str, tuple[Notice, ...]]:
    """The workspace of ``cwd`` by at most one call of git. Raises :class:`NotFound` if ``cwd`` is gone."""
    found = discover_workspace(cwd=cwd, environ=environ, git_timeout_s=git_timeout_s)
    return found.path, found.notices


def discover_workspace(
    *,
    cwd: str,
    environ: Mapping[str, str],
    override: str | None = None,
    need_toplevel: bool = True,
    git_timeout_s: float = GIT_TIMEOUT_S,
) -> Workspace:
    """As :func:`find_workspace`, keeping what git said so that it need not be asked again.

    ``override`` (``--workspace``) is the workspace as it is, a subdirectory of a repository too; git is then only
    asked with ``need_toplevel``. Raises :class:`NotFound` or :class:`InvalidRequest` for a directory that is none.
    """
    directory = _real_directory(cwd, "the working directory")
    if override is not None:
        directory = _real_directory(os.path.join(directory, override), "the workspace")
        if not need_toplevel:
            return Workspace(directory, None)
    toplevel, notices = _toplevel(directory, environ, git_timeout_s)
    path = directory if override is not None or toplevel is None else toplevel
    return Workspace(path, toplevel, notices)


def _real_directory(path: str, what: str) -> str:
    real = os.path.realpath(path)
    if os.path.isdir(real):
        return real
    if os.path.lexists(real):
        raise InvalidRequest(f"{what} {printable(path)} is not a directory")
    raise NotFound(f"{what} {printable(path)} does not exist")


def _toplevel(directory: str, environ: Mapping[str, str], timeout_s: float) -> tuple[str | None, tuple[Notice, ...]]:
    match ask_git(["rev-parse", "--show-toplevel"], cwd=directory, environ=environ, timeout_s=timeout_s):
        case NoGit():
            return None, ()
        case GitFailed() as failed:
            return None, (failure_notice(directory, failed),)
        case Answer(code=0, output=output):
            toplevel = os.path.realpath(os.fsdecode(output.removesuffix(b"\n")))
            # `core.worktree` of a stranger's configuration can name any directory at all.
            if output.strip() and (toplevel == "/" or f"{directory}/".startswith(f"{toplevel}/")):
                return toplevel, ()
            why = f"git names {printable(toplevel)} as its working tree, and that does not hold this directory"
            return None, (failure_notice(directory, GitFailed(why)),)
        case Answer(complaint=complaint) if complaint.startswith("not a git repository (or any "):
            return None, ()
        case Answer() as answer:
            return None, (failure_notice(directory, answer),)


def failure_notice(directory: str, result: Answer | GitFailed) -> Notice:
    """What a failed question to git means for the person: another project store than usual is in use (SPEC §2)."""
    shown = printable(directory)
    code, hint = "git_failed", f"Run `git status` in {shown} to see what git says."
    if isinstance(result, GitFailed):
        why = result.why
        code = "git_timed_out" if result.timed_out else code
    else:
        why = result.complaint or f"git ended with exit status {result.code}"
        if "dubious ownership" in why:
            code = "git_foreign_owner"
            hint = f"If you trust it: git config --global --add safe.directory '{shown}'"
        elif "must be run in a work tree" in why:
            code = "git_no_work_tree"
            hint = "Work in a checkout of the repository, or choose one with --workspace."
    return Notice(code, f"git cannot tell the repository of {shown}: {why}; {_CONSEQUENCE}", hint)
