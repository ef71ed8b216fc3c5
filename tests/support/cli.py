"""The real `pony-memory` program, in a process of its own, on a machine of its own."""

from __future__ import annotations

import json
import os
import pty
import select
import shlex
import subprocess
import sys
from pathlib import Path

BIN = Path(sys.executable).parent
PROGRAM = str(BIN / "pony-memory")


def environment(place):
    environ = dict(place.environ)
    environ["PATH"] = f"{BIN}{os.pathsep}{environ.get('PATH') or os.environ['PATH']}"
    environ.setdefault("TERM", "xterm-256color")
    environ.setdefault("LANG", "C.UTF-8")
    return environ


def run(place, *arguments, stdin="", environ=None, text=True):
    """Run the program in the place's workspace, its project store given; no terminal anywhere."""
    return subprocess.run(
        [PROGRAM, "--project-dir", str(place.project), *arguments],
        cwd=place.workspace,
        env={**environment(place), **(environ or {})},
        input=stdin if text else None,
        capture_output=True,
        text=text,
        check=False,
    )


def run_json(place, *arguments, **options):
    """The one JSON document on standard output, and the exit status."""
    done = run(place, "--json", *arguments, **options)
    return json.loads(done.stdout), done.returncode


def run_shell(command, place):
    """A line of the README, by a shell, as a person would type it."""
    words = shlex.split(command, comments=True)
    assert words[0] == "pony-memory", command
    line = command.replace("pony-memory", f"pony-memory --project-dir {shlex.quote(str(place.project))}", 1)
    return subprocess.run(
        ["bash", "-c", line], cwd=place.workspace, env=environment(place), capture_output=True, text=True, check=False
    )


def run_on_terminal(place, *arguments, answers="", environ=None):
    """Run the program on a pseudo-terminal of 80 columns; returns (exit status, all that it showed)."""
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(place.workspace)
        os.execve(
            PROGRAM,
            [PROGRAM, "--project-dir", str(place.project), *arguments],
            {**environment(place), "COLUMNS": "80", "LINES": "24", **(environ or {})},
        )
    if answers:
        os.write(terminal, answers.encode())
    shown = b""
    while True:
        ready, _, _ = select.select([terminal], [], [], 60)
        if not ready:
            os.kill(process, 9)
            break
        try:
            data = os.read(terminal, 65_536)
        except OSError:
            break
        if not data:
            break
        shown += data
    _, status = os.waitpid(process, 0)
    os.close(terminal)
    return os.waitstatus_to_exitcode(status), shown.decode(errors="replace").replace("\r\n", "\n")
