"""The bundled demo store: a copy in a temporary directory, so that nothing of the user's is read or written (SPEC §22).

The store belongs to a made-up web application called Lantern. It is deliberately imperfect: duplicates, a
contradiction, a nearly full index with drift, a symlink among the notes, and the lock of a process that is gone.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import resources
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pony_memory.memory import Memory

PROJECT_NAME: Final = "github.com__lantern__lantern"
#: What the demo keeps of the real environment: enough to run a terminal and an editor, nothing of the user's files.
_KEPT_VARIABLES: Final = ("PATH", "TERM", "COLORTERM", "LANG", "LC_ALL", "LC_CTYPE", "NO_COLOR", "EDITOR", "VISUAL")


@dataclass(frozen=True, slots=True)
class DemoStore:
    """Where one copy of the demo lives. All paths are below ``root``, which the demo removes at its end."""

    root: str
    home: str
    workspace: str
    project: str
    environ: Mapping[str, str]


@contextmanager
def demo_store() -> Iterator[DemoStore]:
    """A fresh, private copy of the bundled store, removed on leaving."""
    root = os.path.realpath(tempfile.mkdtemp(prefix="pony-memory-demo-"))
    try:
        yield lay_out(root)
    finally:
        shutil.rmtree(root, ignore_errors=True)


@contextmanager
def demo_memory() -> Iterator[Memory]:
    """The engine, opened on a fresh copy of the demo store."""
    from pony_memory.memory import Memory  # noqa: PLC0415 - the demo must not slow the other commands down

    with demo_store() as store:
        yield Memory.open(
            cwd=store.workspace, environ=store.environ, workspace=store.workspace, project_dir=store.project
        )


def lay_out(root: str) -> DemoStore:
    """Copy the bundled store below ``root`` and add what cannot be shipped: the symlink, the lock, the file times."""
    home = os.path.join(root, "home")
    workspace = os.path.join(root, "lantern")
    user_root = os.path.join(home, ".pony", "memory")
    workspace_root = os.path.join(workspace, ".pony", "memory")
    project = os.path.join(home, ".pi", "memory", "git", PROJECT_NAME)
    for directory in (home, workspace, os.path.dirname(project)):
        os.makedirs(directory, mode=0o700)
    with resources.as_file(resources.files(__name__) / "store") as bundled:
        shutil.copytree(bundled / "user", user_root, copy_function=shutil.copyfile)
        shutil.copytree(bundled / "workspace", workspace_root, copy_function=shutil.copyfile)
        shutil.copytree(bundled / "project", project, copy_function=shutil.copyfile)
    _own(root)
    _date_entries(project)
    os.symlink(os.path.join(root, "outside.md"), os.path.join(workspace_root, "notes", "linked.md"))
    _leave_a_lock(project)
    environ = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    environ |= {"HOME": home, "XDG_CACHE_HOME": os.path.join(home, ".cache")}
    return DemoStore(root, home, workspace, project, environ)


def _own(root: str) -> None:
    """Owner-only, like everything the product creates; never read-only, wherever the package was installed."""
    for directory, _, files in os.walk(root):
        os.chmod(directory, 0o700)
        for name in files:
            os.chmod(os.path.join(directory, name), 0o600)


def _date_entries(project: str) -> None:
    """Give each entry file the time its header says, so that ages in the browser mean something."""
    for name in os.listdir(project):
        path = os.path.join(project, name)
        with open(path, encoding="utf-8") as file:
            head = file.read(2_048)
        _, found, rest = head.partition("\nmodified: ")
        if found:
            stamp = datetime.fromisoformat(rest.split("\n", 1)[0]).astimezone(UTC).timestamp()
            os.utime(path, (stamp, stamp))


def _leave_a_lock(project: str) -> None:
    """The ``.lock`` of a writer that was killed: a real process id, of a process that has ended."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    record = {
        "pid": gone.pid,
        "hostname": socket.gethostname(),
        "startedAt": "2026-11-27T18:22:04.317Z",
        "op": "replace",
    }
    descriptor = os.open(os.path.join(project, ".lock"), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(record, file)
