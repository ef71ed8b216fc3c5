"""The real program on a real terminal, from start to quit."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROGRAM = Path(sys.executable).parent / "pony-memory"
#: Longest wait for one condition, in seconds; a poll every 50 ms.
PATIENCE = 60


class Terminal:
    """`pony-memory` in tmux, on a server of its own."""

    def __init__(self, directory, *arguments, columns=80, lines=24):
        self.socket = str(directory / "tmux")
        environ = {**os.environ, "HOME": str(directory), "XDG_CACHE_HOME": str(directory / "cache"), "LANG": "C.UTF-8"}
        environ.pop("TMUX", None)
        command = " ".join([str(PROGRAM), *arguments]) + "; echo left with $?; cat"
        start = ["new-session", "-d", "-x", str(columns), "-y", str(lines), "-s", "t", command]
        subprocess.run(
            ["tmux", "-S", self.socket, "-f", "/dev/null", *start],
            env=environ,
            cwd=directory,
            check=True,
        )

    def run(self, *arguments):
        return subprocess.run(
            ["tmux", "-S", self.socket, *arguments], capture_output=True, text=True, check=True
        ).stdout

    def screen(self):
        return self.run("capture-pane", "-p", "-t", "t")

    def wait_for(self, text):
        deadline = time.monotonic() + PATIENCE
        while text not in (shown := self.screen()):
            assert time.monotonic() < deadline, f"{text!r} never appeared:\n{shown}"
            time.sleep(0.05)
        return shown

    def wait_until_gone(self, text):
        deadline = time.monotonic() + PATIENCE
        while text in (shown := self.screen()):
            assert time.monotonic() < deadline, f"{text!r} stayed:\n{shown}"
            time.sleep(0.05)

    def press(self, *keys):
        self.run("send-keys", "-t", "t", *keys)

    def end(self):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], capture_output=True, check=False)


@pytest.fixture
def terminal(tmp_path):
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    started = Terminal(tmp_path, "tui", "--demo")
    yield started
    started.end()


@pytest.mark.terminal
def test_the_demo_from_start_to_quit(terminal, tmp_path):
    shown = terminal.wait_for("编辑器设置")
    assert "1 Scopes" in shown
    terminal.press("/")
    terminal.wait_for("3 Search")
    terminal.press("-l", "staging ssh")
    terminal.wait_for("staging-ssh.md")
    terminal.press("Enter")
    terminal.wait_for("2 Reader")
    terminal.wait_for("staging")
    terminal.press("4")
    terminal.wait_for("abandoned")
    terminal.press("u")
    terminal.wait_for("The process is gone")
    terminal.press("y")
    terminal.wait_for("free")
    terminal.press("?")
    terminal.wait_for("Everywhere")
    terminal.press("Enter")
    terminal.wait_until_gone("Everywhere")
    terminal.press("q")
    shown = terminal.wait_for("left with 0")
    assert "Traceback" not in shown
    # The demo leaves nothing behind, here or in the home it was started from.
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tmux"]
