"""The README is true: its commands run, its tables are the code's, its picture exists."""

import re
import subprocess
from pathlib import Path

import pytest

from support.cli import run_shell

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def tour_commands():
    return [line for block in blocks("sh") for line in block.splitlines() if line.strip()]


def test_there_is_a_tour():
    assert len(tour_commands()) >= 10


def test_every_command_of_the_tour_runs_in_order(demo_place):
    for command in tour_commands():
        done = run_shell(command, demo_place)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        assert done.stdout.strip(), command


def test_the_python_example_runs(demo_place, monkeypatch, capsys):
    monkeypatch.chdir(demo_place.workspace)
    for name, value in demo_place.environ.items():
        monkeypatch.setenv(name, value)
    for block in blocks("python"):
        exec(compile(block, "README.md", "exec"), {})
    assert "workspace/notes/deploy.md" in capsys.readouterr().out


def test_the_make_targets_it_names_exist():
    for target in re.findall(r"^make (\w+)", README, re.MULTILINE):
        assert subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, check=False).returncode == 0


def test_every_picture_and_link_it_shows_exists():
    for path in re.findall(r"\]\((?!https?:)([^)#]+)\)", README):
        assert (ROOT / path).exists(), path


def test_the_configuration_table_is_the_one_the_loader_uses():
    from pony_memory.config.schema import config_table_markdown

    shown = re.search(r"<!-- configuration table:.*?-->\n(.*?)<!-- /configuration table -->", README, re.DOTALL)
    assert shown is not None
    assert shown.group(1).strip() == config_table_markdown().strip()


@pytest.fixture
def demo_place(tmp_path):
    """A person's machine: the demo store laid out without its deliberately unsafe file."""
    from pony_workbench.demo import lay_out

    store = lay_out(str(tmp_path))
    (Path(store.workspace) / ".pony/memory/notes/linked.md").unlink()
    return store
