"""Memory files are opened by the file boundary alone, and the disk changes through one module (SPEC §3, §24).

What is read here is the engine's own source: any other way to a file would go past the checks and the fault tests.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import pony_memory

ENGINE = Path(pony_memory.__file__).parent
BOUNDARY = ENGINE / "files"
SOURCES = sorted(path for path in ENGINE.rglob("*.py"))

#: The flags by which nothing is followed and nothing blocks; an ``os.open`` elsewhere must be with one of them.
SAFE_FLAGS = {"FILE_FLAGS", "DIRECTORY_FLAGS"}
READING = {"read_text", "read_bytes", "write_text", "write_bytes"}
CHANGING = {
    "chmod",
    "chown",
    "fchmod",
    "fdatasync",
    "fsync",
    "ftruncate",
    "link",
    "makedirs",
    "mkdir",
    "mkfifo",
    "pwrite",
    "remove",
    "removedirs",
    "rename",
    "renames",
    "replace",
    "rmdir",
    "symlink",
    "truncate",
    "unlink",
    "utime",
    "write",
    "writev",
}
#: The copy that a person's editor works on is outside all scopes; what comes back of it goes through the boundary.
EDITORS_COPY = {
    "tempfile.mkdtemp",
    "shutil.rmtree",
    "os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)",
}
ALLOWED = {"writes/user_notes.py": EDITORS_COPY}


def calls(source: str) -> Iterator[tuple[str, ast.Call]]:
    """Each call by its written name, such as ``os.open``."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
            yield ast.unparse(node.func), node


def stray_opens(source: str) -> list[str]:
    found = []
    for name, call in calls(source):
        last = name.rpartition(".")[2]
        if name in ("open", "io.open", "codecs.open", "os.fdopen") or last in READING:
            found.append(name)
        elif name == "os.open" and not (len(call.args) > 1 and ast.unparse(call.args[1]) in SAFE_FLAGS):
            found.append(ast.unparse(call))
        elif (
            name != "tempfile.gettempdir"
            and name.startswith(("shutil.", "tempfile.", "linecache.", "fileinput."))
            and name != "tempfile.gettempdir"
        ):
            found.append(name)
    return found


def stray_changes(source: str) -> list[str]:
    return [name for name, _ in calls(source) if name.startswith("os.") and name[3:] in CHANGING]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ENGINE)))
def test_no_file_is_opened_and_no_disk_changed_past_the_boundary(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    if BOUNDARY not in path.parents:
        allowed = ALLOWED.get(path.relative_to(ENGINE).as_posix(), set())
        assert [found for found in stray_opens(source) if found not in allowed] == []
    if path != BOUNDARY / "syscalls.py":
        # Clearing up after a failure is not a step of its own: it may fail without harm.
        assert [name for name in stray_changes(source) if (path.name, name) != ("atomic.py", "os.unlink")] == []


@pytest.mark.parametrize(
    "source",
    [
        "open('a')",
        "Path('a').read_text()",
        "path.write_bytes(b'')",
        "os.open('a', os.O_RDONLY)",
        "os.open('a', os.O_RDONLY | FILE_FLAGS)",
        "shutil.rmtree('a')",
        "io.open('a')",
    ],
)
def test_a_stray_open_would_be_found(source: str) -> None:
    assert stray_opens(f"def f():\n    return {source}\n")


def test_a_stray_change_would_be_found() -> None:
    assert stray_changes("with x:\n    os.rename('a', 'b')\n") == ["os.rename"]
    assert stray_opens("os.open('a', FILE_FLAGS, dir_fd=d)") == []
