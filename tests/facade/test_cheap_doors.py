"""The cheap doors stay cheap (SPEC §1)."""

import subprocess
import sys

import pytest

from support.places import Place

HEAVY = {"textual", "rich", "watchfiles", "detect_secrets", "pydantic_ai", "mcp", "ada_url", "yaml"}


def loaded_by(code, place, *, cwd=None):
    program = f"import sys\n{code}\nprint(' '.join(sorted({{name.split('.')[0] for name in sys.modules}})))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env=place.environ,
        cwd=cwd or place.workspace,
    )
    return set(done.stdout.splitlines()[-1].split()) & HEAVY


COMMANDS = [
    ["list"],
    ["show", "user/notes/a.md"],
    ["search", "plain"],
    ["review"],
    ["status"],
    ["doctor"],
    ["entry", "list"],
]


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda arguments: arguments[0])
def test_read_only_commands_load_nothing_heavy(tmp_path, arguments):
    place = Place(tmp_path)
    place.write("user/notes/a.md", "---\nname: a\ntags: [x]\n---\nplain text")
    place.entry("e")
    subprocess.run(["git", "init", "-q"], cwd=place.workspace, check=True)
    subprocess.run(["git", "remote", "add", "origin", "git@example.org:o/r.git"], cwd=place.workspace, check=True)
    code = f"from pony_workbench.cli.main import run; run({arguments!r})"
    assert loaded_by(code, place) == set()


def test_importing_the_engine_loads_nothing(place):
    assert loaded_by("import pony_memory", place) == set()
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import pony_memory, sys; print([m for m in sys.modules if m[:12] == 'pony_memory.'])",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"


def test_yaml_is_loaded_only_for_a_header_that_needs_it(place):
    code = "from pony_memory import Memory; Memory.open().snapshot()"
    place.write("user/notes/a.md", "---\nname: plain\n---\nx")
    assert "yaml" not in loaded_by(code, place)
    place.write("user/notes/b.md", "---\nname: x\nmeta:\n  deep:\n    er: 1\ndescription: >\n  folded\n  text\n---\nx")
    assert "yaml" in loaded_by(code, place)
