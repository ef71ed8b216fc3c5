"""Asking git one bounded question (SPEC §2).

Nothing of the caller's ``GIT_*`` environment takes part, git is never looked for in a relative directory (a stranger's
repository may hold a file named ``git``), and a question that takes too long is ended with everything it started.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pony_memory.files.boundary import printable

_SHOWN_CHARS = 200


@dataclass(frozen=True, slots=True)
class Answer:
    """git ran and ended with ``code``; ``output`` is raw, ``complaint`` one printable line of its error output."""

    code: int
    output: bytes
    complaint: str


@dataclass(frozen=True, slots=True)
class NoGit:
    """There is no git in any absolute directory of ``PATH``."""


@dataclass(frozen=True, slots=True)
class GitFailed:
    """git could not be run to its end: ``why`` says what happened, in words that follow a colon."""

    why: str
    timed_out: bool = False


GitResult = Answer | NoGit | GitFailed


def ask_git(arguments: Sequence[str], *, cwd: str, environ: Mapping[str, str], timeout_s: float) -> GitResult:
    """Run ``git <arguments>`` in ``cwd`` for at most ``timeout_s`` seconds. Never raises for what git does."""
    program = _find_git(environ)
    if program is None:
        return NoGit()
    cleared = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
    cleared |= {"LC_ALL": "C", "LANGUAGE": "C"}
    try:
        process = subprocess.Popen(
            [program, *arguments],
            cwd=cwd,
            env=cleared,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            process_group=0,
        )
    except (OSError, ValueError) as error:
        return GitFailed(f"{printable(program)} could not be started ({_said(error)})")
    try:
        output, errors = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        return GitFailed(f"git did not answer within {timeout_s:g} s", timed_out=True)
    finally:
        _end(process)
    return Answer(process.returncode, output, _complaint(errors))


def _find_git(environ: Mapping[str, str]) -> str | None:
    for directory in environ.get("PATH", os.defpath).split(os.pathsep):
        if not directory.startswith("/"):
            continue
        candidate = os.path.join(directory, "git")
        if os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            return candidate
    return None


def _end(process: subprocess.Popen[bytes]) -> None:
    """Whatever still runs is of no use to anybody: a helper git started must not outlive the question."""
    if process.returncode is None:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            process.kill()
        process.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def _complaint(errors: bytes) -> str:
    lines = [line for line in errors.decode("utf-8", "replace").splitlines() if line.strip()]
    chosen = next((line for line in lines if line.startswith("fatal: ")), lines[0] if lines else "")
    shown = printable(chosen.removeprefix("fatal: ").strip())
    return shown if len(shown) <= _SHOWN_CHARS else shown[:_SHOWN_CHARS] + "…"


def _said(error: OSError | ValueError) -> str:
    return error.strerror or type(error).__name__ if isinstance(error, OSError) else str(error)
