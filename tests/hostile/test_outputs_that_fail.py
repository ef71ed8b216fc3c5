"""Standard streams that are closed or full: no traceback, exit status 1, nothing else (SPEC §21)."""

from __future__ import annotations

import os
import subprocess

import pytest

from support.cli import PROGRAM


def shell(tmp_path, line):
    home, workspace = tmp_path / "home", tmp_path / "work"
    notes = workspace / ".pony" / "memory" / "notes"
    home.mkdir()
    notes.mkdir(parents=True)
    (notes / "a.md").write_text("apple\n" * 100)
    return subprocess.run(
        ["sh", "-c", f"{PROGRAM} {line}"],
        cwd=workspace,
        env={"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8"},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


@pytest.mark.parametrize("redirect", [">&-", ">/dev/full", ">&- 2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("command", ["list", "--json status", "--help"])
def test_an_output_that_cannot_be_written_is_a_failure_without_a_traceback(tmp_path, command, redirect):
    done = shell(tmp_path, f"{command} {redirect}")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    assert "should not happen" not in done.stderr


@pytest.mark.parametrize("redirect", ["<&-", "2>&-"])
def test_a_closed_input_or_error_stream_hinders_no_reading(tmp_path, redirect):
    done = shell(tmp_path, f"search apple {redirect}")
    assert done.returncode == 0
    assert "workspace/notes/a.md" in done.stdout
