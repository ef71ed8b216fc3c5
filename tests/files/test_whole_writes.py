"""Writes are whole or not at all, owner-only whatever the umask, and go through no link (SPEC §3, §9, §10)."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pony_memory.errors import Conflict, NotFound, UnsafeFile
from pony_memory.files.atomic import (
    append_line,
    create_root,
    ensure_private_path,
    make_private_directory,
    remove_file,
    remove_leftovers,
    replace_file,
)
from pony_memory.files.boundary import RootSpec
from pony_memory.files.file_lock import FileLock
from support.files import Child, users_root
from support.ordinary_user import as_ordinary_user, let_pass

UMASKS = [0o000, 0o022, 0o077, 0o277]


@contextmanager
def opened(directory: Path) -> Iterator[int]:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@pytest.fixture(params=UMASKS, ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_everything_created_is_owner_only_whatever_the_umask(tmp_path: Path, umask: None) -> None:
    ensure_private_path(str(tmp_path / "a" / "b"))
    place = tmp_path / "a" / "b"
    with opened(place) as directory:
        make_private_directory(directory, "d")
        replace_file(directory, "f.md", b"x")
        append_line(directory, "l.jsonl", b"{}")
    with FileLock(users_root(place), "test"):
        assert mode(place / ".lock") == 0o600
        assert mode(place / ".lock.guard") == 0o600
    workspace = tmp_path / "a"
    root = create_root(RootSpec(str(workspace), (".pony", "memory"), follow_trusted=False))
    assert root.path == str(workspace / ".pony" / "memory")
    for path in (workspace, place, place / "d", workspace / ".pony", workspace / ".pony" / "memory"):
        assert mode(path) == 0o700, path
    for path in (place / "f.md", place / "l.jsonl"):
        assert mode(path) == 0o600, path


def test_what_exists_keeps_its_mode_and_what_is_replaced_gets_ours(tmp_path: Path) -> None:
    place = tmp_path / "d"
    place.mkdir(mode=0o755)
    os.chmod(place, 0o755)
    (place / "a.md").write_text("before")
    (place / "log").write_text("before\n")
    for name in ("a.md", "log"):
        os.chmod(place / name, 0o644)
    ensure_private_path(str(place))
    with opened(place) as directory:
        replace_file(directory, "a.md", b"kept", keep_mode=True)
        assert mode(place / "a.md") == 0o644
        replace_file(directory, "a.md", b"ours")
        append_line(directory, "log", b"after")
    assert mode(place) == 0o755
    assert mode(place / "a.md") == 0o600
    assert mode(place / "log") == 0o600


def test_no_set_user_bit_is_kept(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("before")
    os.chmod(tmp_path / "a.md", 0o4_755)
    with opened(tmp_path) as directory:
        replace_file(directory, "a.md", b"after", keep_mode=True)
    assert mode(tmp_path / "a.md") == 0o755


def test_a_replacement_is_seen_whole_and_leaves_nothing_else(tmp_path: Path) -> None:
    with opened(tmp_path) as directory:
        replace_file(directory, "a.md", b"one")
        replace_file(directory, "a.md", b"two" * 100_000)
    assert (tmp_path / "a.md").read_bytes() == b"two" * 100_000
    assert os.listdir(tmp_path) == ["a.md"]


def test_the_last_check_before_the_rename_can_stop_it(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("before")

    def check() -> None:
        assert (tmp_path / "a.md").read_text() == "before"
        raise Conflict("changed")

    with opened(tmp_path) as directory, pytest.raises(Conflict):
        replace_file(directory, "a.md", b"after", before_rename=check)
    assert (tmp_path / "a.md").read_text() == "before"
    assert os.listdir(tmp_path) == ["a.md"]


def test_a_replacement_takes_a_links_place_and_leaves_its_target(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("target")
    (tmp_path / "a.md").symlink_to("target")
    with opened(tmp_path) as directory:
        replace_file(directory, "a.md", b"note", keep_mode=True)
    assert (tmp_path / "target").read_text() == "target"
    assert not (tmp_path / "a.md").is_symlink() and mode(tmp_path / "a.md") == 0o600


def test_a_removal_that_fails_is_no_silent_success(tmp_path: Path) -> None:
    (tmp_path / "a.md").touch()
    with opened(tmp_path) as directory:
        remove_file(directory, "a.md")
        with pytest.raises(FileNotFoundError):
            remove_file(directory, "a.md")
        (tmp_path / "d").mkdir()
        with pytest.raises(OSError):
            remove_file(directory, "d")


def test_directories_are_not_made_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / ".pony").symlink_to("../outside")
    with pytest.raises(UnsafeFile):
        create_root(RootSpec(str(tmp_path / "workspace"), (".pony", "memory"), follow_trusted=False))
    with opened(tmp_path / "workspace") as directory, pytest.raises(UnsafeFile) as refused:
        make_private_directory(directory, ".pony")
    assert refused.value.reason == "symlink"
    assert os.listdir(tmp_path / "outside") == []


def test_a_root_is_made_below_an_existing_workspace_only(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        create_root(RootSpec(str(tmp_path / "nowhere"), (".pony", "memory"), follow_trusted=False))
    spec = RootSpec(str(tmp_path), (".pony", "memory"), follow_trusted=False)
    assert create_root(spec) == create_root(spec)


def test_the_users_root_is_made_through_the_users_own_links(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / ".pony").symlink_to("dotfiles")
    root = create_root(RootSpec(str(tmp_path / ".pony" / "memory"), (), follow_trusted=True))
    assert root.path == str(tmp_path / "dotfiles" / "memory")


@pytest.mark.parametrize("kind", ["symlink", "hard link", "fifo", "directory"])
def test_a_line_is_appended_to_an_ordinary_file_only(tmp_path: Path, kind: str) -> None:
    (tmp_path / "outside").write_text("outside\n")
    log = tmp_path / "log"
    match kind:
        case "symlink":
            log.symlink_to("outside")
        case "hard link":
            os.link(tmp_path / "outside", log)
        case "fifo":
            os.mkfifo(log)
        case _:
            log.mkdir()
    with opened(tmp_path) as directory, pytest.raises(UnsafeFile):
        append_line(directory, "log", b"{}")
    assert (tmp_path / "outside").read_text() == "outside\n"


def test_lines_are_whole_and_a_torn_one_is_ended_first(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b'{"n": 1}\n{"n": ')
    with opened(tmp_path) as directory:
        append_line(directory, "log", b'{"n": 2}')
        append_line(directory, "log", b'{"n": 3}\n', sync=True)
    assert (tmp_path / "log").read_bytes() == b'{"n": 1}\n{"n": \n{"n": 2}\n{"n": 3}\n'


def test_lines_of_many_writers_do_not_mix(tmp_path: Path) -> None:
    lines = 200

    def write(writer: int) -> None:
        with opened(tmp_path) as directory:
            for number in range(lines):
                append_line(directory, "log", f"{writer} {number} ".encode() + b"x" * (number * 7))

    writers = [Child(lambda writer=writer: write(writer)) for writer in range(4)]
    assert [writer.wait() for writer in writers] == [0] * 4
    found = [line.split() for line in (tmp_path / "log").read_text().split("\n") if line]
    expected = {(str(writer), str(number)): number * 7 for writer in range(4) for number in range(lines)}
    assert {(line[0], line[1]): len(line[2]) if len(line) > 2 else 0 for line in found} == expected


def test_leftovers_of_a_killed_process_go_and_those_of_a_living_one_stay(tmp_path: Path) -> None:
    for name in (".tmp-old", ".tmp-new", ".lock-old", "a.md", ".other"):
        (tmp_path / name).touch()
        if not name.endswith("new"):
            os.utime(tmp_path / name, (0, 0))
    with opened(tmp_path) as directory:
        remove_leftovers(directory)
        assert sorted(os.listdir(tmp_path)) == [".lock-old", ".other", ".tmp-new", "a.md"]
        remove_leftovers(directory, also=(".lock-",))
    assert sorted(os.listdir(tmp_path)) == [".other", ".tmp-new", "a.md"]


def test_a_read_only_directory_refuses_and_keeps_what_it_has(tmp_path: Path) -> None:
    let_pass(tmp_path)
    place = tmp_path / "store"
    place.mkdir()
    (place / "a.md").write_text("before")
    os.chmod(place, 0o555)

    def write() -> list[str]:
        said = []
        with opened(place) as directory:
            for act in (
                lambda: replace_file(directory, "a.md", b"after"),
                lambda: remove_file(directory, "a.md"),
                lambda: append_line(directory, "log", b"{}"),
                lambda: make_private_directory(directory, "d"),
            ):
                try:
                    act()
                except PermissionError:
                    said.append("refused")
        return said

    assert as_ordinary_user(write) == ["refused"] * 4
    assert [path.name for path in place.iterdir()] == ["a.md"]
    assert (place / "a.md").read_text() == "before"
