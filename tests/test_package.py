"""`pip install .` in a clean environment gives a working program (SPEC §1)."""

import os
import shutil
import subprocess
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_a_clean_environment_gets_a_working_program(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    for name in ("engine", "workbench"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    quiet = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-c", ROOT / "constraints.txt"]
    subprocess.run([*quiet, source], check=True, cwd=tmp_path, stdout=subprocess.DEVNULL)
    environ = {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    (tmp_path / "home").mkdir()
    program = tmp_path / "venv" / "bin" / "pony-memory"

    def run(*arguments):
        return subprocess.run(
            [program, *arguments], env=environ, cwd=tmp_path / "home", capture_output=True, text=True, check=False
        )

    assert run("--version").stdout.startswith("pony-memory 0.")
    done = run("status")
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "Memory: enabled"), done.stderr
    # The demo store and the style sheet are in the package.
    check = (
        "from pony_workbench.demo import demo_memory\n"
        "with demo_memory() as memory: print(memory.status().entries)\n"
        "from importlib.resources import files\n"
        "assert (files('pony_workbench') / 'app.tcss').is_file()\n"
        "assert (files('pony_memory.config') / 'memory.schema.json').is_file()"
    )
    done = subprocess.run([python, "-c", check], env=environ, capture_output=True, text=True, check=True)
    assert int(done.stdout) > 150
