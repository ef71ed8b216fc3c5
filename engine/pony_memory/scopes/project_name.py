"""The name of a project's directory in the store: ``git/<host>__<owner>__<repo>`` or ``local/<path>`` (SPEC §2)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Literal

from pony_memory.limits import GIT_TIMEOUT_S, PROJECT_NAME_CUT_BYTES, PROJECT_NAME_MAX_BYTES
from pony_memory.notices import Notice
from pony_memory.scopes.git import Answer, GitFailed, NoGit, ask_git
from pony_memory.scopes.remotes import remote_key
from pony_memory.scopes.workspace import Workspace, failure_notice

_UNSAFE = re.compile(r'[<>:"|?*\x00-\x1f\x7f-\x9f]')
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_NO_MATCH = 1


def project_key(
    workspace: Workspace, environ: Mapping[str, str], *, git_timeout_s: float = GIT_TIMEOUT_S
) -> tuple[Literal["git", "local"], str, tuple[Notice, ...]]:
    """The kind and key of the workspace's project, by at most one call of git.

    The key is ``host/path`` of the first usable remote (``origin`` first, then by name), else the absolute path of
    the toplevel, or of the workspace outside git. Where git fails it is local, with a notice.
    """
    if workspace.toplevel is None:
        return "local", workspace.path, ()
    asked = ask_git(
        ["config", "--null", "--get-regexp", r"^remote\..*\.url$"],
        cwd=workspace.toplevel,
        environ=environ,
        timeout_s=git_timeout_s,
    )
    match asked:
        case Answer(code=0, output=output):
            for url in _urls(output):
                key = remote_key(url)
                if key is not None:
                    return "git", key, ()
        case NoGit() | Answer(code=1, output=b""):
            pass
        case (GitFailed() | Answer()) as failed:
            return "local", workspace.toplevel, (failure_notice(workspace.toplevel, failed),)
    return "local", workspace.toplevel, ()


def _urls(output: bytes) -> Iterator[str]:
    """URLs of ``git config --null --get-regexp``: ``origin`` first, then by name, each remote's in their order."""
    found: list[tuple[bool, str, str]] = []
    for record in output.split(b"\0"):
        key, _, value = os.fsdecode(record).partition("\n")
        name = key.removeprefix("remote.").removesuffix(".url")
        found.append((name != "origin", name, value))
    found.sort(key=lambda item: item[:2])
    return (value for _, _, value in found if value)


def directory_name(key: str) -> str:
    """One file-system name of at most 120 UTF-8 bytes for ``key``. Not injective, by decision (SPEC §2)."""
    key = _LONE_SURROGATE.sub("\ufffd", key)
    segments = [segment for segment in key.split("/") if segment not in ("", ".", "..")]
    name = "__".join(_UNSAFE.sub(lambda found: f"_{ord(found.group()):02x}", segment) for segment in segments)
    encoded = name.encode()
    if len(encoded) <= PROJECT_NAME_MAX_BYTES:
        return name or "root"
    import hashlib  # noqa: PLC0415

    cut = encoded[:PROJECT_NAME_CUT_BYTES].decode(errors="ignore")
    return f"{cut}__{hashlib.sha256(key.encode()).hexdigest()[:8]}"
