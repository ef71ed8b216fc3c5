"""Human output: readable at 80 columns, coloured on a terminal only, and never moved by what a memory holds."""

import json
import re
import socket
import subprocess
import sys

import pytest

from support.cli import run, run_on_terminal

ESCAPE = "\x1b"


@pytest.fixture
def filled(place):
    place.write("user/notes/a.md", "---\nname: Alpha\ndescription: the first\n---\nneedle in a haystack\n")
    place.entry("SSH port", "It is 2222.", description="staging listens on 2222")
    place.index("- [SSH port](SSH-port.md) — staging listens on 2222")
    return place


def leave_lock(place, pid=None, op="replace"):
    if pid is None:
        gone = subprocess.Popen([sys.executable, "-c", ""])
        gone.wait()
        pid = gone.pid
    record = {"pid": pid, "hostname": socket.gethostname(), "startedAt": "2026-11-01T10:00:00.000Z", "op": op}
    place.write("project/.lock", json.dumps(record))
    return pid


def test_status_starts_with_the_six_lines(filled):
    size = (filled.project / "MEMORY.md").stat().st_size
    assert run(filled, "status").stdout.splitlines()[:6] == [
        "Memory: enabled",
        f"Dir: {filled.project}",
        f"Index: 2/200 lines, {size}/25600 bytes, 1 unrecognized lines",
        "Entries: 1",
        "Last dream: never",
        "Lock: free",
    ]


def test_status_tells_the_lock(filled):
    pid = leave_lock(filled)
    host = socket.gethostname()
    held = f"Lock: held by replace (pid {pid} on {host}, started 2026-11-01T10:00:00.000Z)"
    assert run(filled, "status").stdout.splitlines()[5] == f"{held} — abandoned, run pony-memory unlock"
    filled.write("project/.lock", "nonsense")
    assert run(filled, "status").stdout.splitlines()[5] == "Lock: unreadable — run pony-memory unlock"


@pytest.mark.parametrize("arguments", [["list"], ["search", "needle"], ["status"], ["doctor"], ["review"], ["--help"]])
def test_a_pipe_is_plain_and_80_columns_wide(filled, arguments):
    done = run(filled, *arguments)
    assert ESCAPE not in done.stdout
    for line in done.stdout.splitlines():
        if str(filled.root) not in line:
            assert len(line) <= 80, line


def test_a_terminal_has_colour_unless_told_otherwise(filled):
    assert ESCAPE in run_on_terminal(filled, "search", "needle")[1]
    assert ESCAPE not in run_on_terminal(filled, "--no-color", "search", "needle")[1]
    assert ESCAPE not in run_on_terminal(filled, "search", "needle", environ={"NO_COLOR": "1"})[1]


def test_hostile_text_is_shown_as_text(filled):
    hostile = "needle \x1b[2J\x1b]0;owned\x07 [red]markup[/] \u202egnp.exe \u200bhidden\r\x9b31m"
    filled.write("user/notes/bad.md", hostile)
    filled.write("user/agent_notes.md", f"- 2026-01-01T00:00:00Z  {hostile}\n")
    filled.entry("evil", hostile, description=hostile.replace("\r", " "), file="evil.md")
    for arguments in (["search", "needle"], ["review"], ["show", "user/notes/bad.md"], ["entry", "list"], ["list"]):
        shown = run_on_terminal(filled, *arguments)[1]
        without_colour = re.sub(r"\x1b\[[0-9;]*m", "", shown)
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\u200b]", without_colour), arguments
        if arguments[0] != "list":
            assert "\\x1b" in without_colour
            assert "[red]markup[/]" in without_colour


def test_show_numbers_lines_on_a_terminal_and_is_exact_in_a_pipe(filled):
    assert run(filled, "show", "user/notes/a.md").stdout == (filled.home / ".pony/memory/notes/a.md").read_text()
    assert "     5  needle in a haystack" in re.sub(
        r"\x1b\[[0-9;]*m", "", run_on_terminal(filled, "show", "user/notes/a.md")[1]
    )


def test_errors_go_to_standard_error_with_what_to_do(filled):
    done = run(filled, "show", "user/notes/none.md")
    assert (done.returncode, done.stdout) == (3, "")
    assert "no such memory" in done.stderr
    assert "pony-memory list" in done.stderr


def test_a_mistyped_command_has_a_suggestion(filled):
    assert "Did you mean 'search'?" in run(filled, "serch", "x").stderr


def test_unlock_asks_on_the_terminal_and_takes_no_for_an_answer(filled):
    leave_lock(filled)
    status, shown = run_on_terminal(filled, "unlock", answers="n\n")
    assert status == 4
    assert "abandoned" in shown
    assert (filled.project / ".lock").exists()
    status, shown = run_on_terminal(filled, "unlock", answers="y\n")
    assert status == 0, shown
    assert not (filled.project / ".lock").exists()


def test_unlock_needs_a_yes_without_a_terminal(filled):
    leave_lock(filled)
    assert run(filled, "unlock").returncode == 4
    assert (filled.project / ".lock").exists()
    assert run(filled, "unlock", "--yes").returncode == 0
    assert run(filled, "unlock", "--yes").stdout == "The lock is free.\n"


def test_unlock_refuses_a_live_holder_without_the_second_confirmation(filled):
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as alive:
        leave_lock(filled, alive.pid)
        done = run(filled, "unlock", "--yes")
        assert done.returncode == 4
        assert "--force-live" in done.stderr
        assert (filled.project / ".lock").exists()
        done = run(filled, "unlock", "--yes", "--force-live")
        assert done.returncode == 0
        assert "neither is promised" in done.stderr
        assert not (filled.project / ".lock").exists()
        alive.communicate(b"\n")


def test_unlock_works_without_a_store_when_disabled_and_when_misconfigured(filled):
    config = filled.home / ".pi" / "agent" / "memory.json"
    config.parent.mkdir(parents=True)
    for text in ('{"enabled": false}', '{"enabled": "maybe"}', "not json"):
        config.write_text(text)
        leave_lock(filled)
        assert run(filled, "unlock", "--yes").returncode == 0, text
        assert not (filled.project / ".lock").exists()


def test_a_yes_is_refused_inside_a_coding_agent(filled):
    leave_lock(filled)
    done = run(filled, "unlock", "--yes", environ={"CLAUDECODE": "1"})
    assert done.returncode == 4
    assert (filled.project / ".lock").exists()


def test_the_workbench_needs_a_terminal(filled):
    done = run(filled, "tui")
    assert done.returncode == 4
    assert "needs a terminal" in done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_printed(filled, shell):
    assert "_PONY_MEMORY_COMPLETE" in run(filled, "completion", shell).stdout


def test_every_command_and_option_has_help():
    import click

    from pony_workbench.cli.main import COMMANDS, cli

    def check(command, name):
        assert command.help, name
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.help, f"{name} {parameter.opts}"
        for child_name, child in getattr(command, "commands", {}).items():
            check(child, f"{name} {child_name}")

    context = click.Context(cli)
    for name in COMMANDS:
        check(cli.get_command(context, name), name)
