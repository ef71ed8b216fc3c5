"""Each write of the file layer stopped by SIGKILL, or failed, at each step that changes the disk (SPEC §24)."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pony_memory.errors import PonyError
from pony_memory.files.atomic import append_line, ensure_private_path, remove_file, replace_file
from pony_memory.files.file_lock import Abandoned, FileLock, Free, lock_state
from pony_memory.files.unlock import unlock
from support.faults import after_each, before_each, fail_at, kill_at, steps_of
from support.files import users_root

ERRNOS = (errno.ENOSPC, errno.EACCES, errno.EIO)

BEFORE, AFTER = b"the text before\n" * 50, b"the text after, which is longer\n" * 50
LINE = b'{"n": 1}\n'


class Store:
    """A store made anew for each point; ``work`` is tried on it."""

    def __init__(self, place: Path, work: Callable[[int], object]) -> None:
        self.place = place
        self._work = work

    def fresh(self) -> None:
        shutil.rmtree(self.place, ignore_errors=True)
        self.place.mkdir()
        (self.place / "a.md").write_bytes(BEFORE)
        (self.place / "other.md").write_bytes(BEFORE)
        (self.place / "log").write_bytes(LINE)

    def work(self) -> object:
        descriptor = os.open(self.place, os.O_RDONLY | os.O_DIRECTORY)
        try:
            # As their callers do, who know the errors of the disk by these two families.
            with told_as_ours():
                return self._work(descriptor)
        finally:
            os.close(descriptor)

    def names(self) -> set[str]:
        return {name for name in os.listdir(self.place) if not name.startswith(".tmp-")}


@contextmanager
def told_as_ours() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise PonyError(str(error)) from error


def points(store: Store) -> Iterator[str]:
    """The store after each kill and each failure, made fresh for each."""
    store.fresh()
    steps = steps_of(store.work)
    tried = 0
    for step in (*before_each(steps)[:1], *after_each(steps)):
        store.fresh()
        kill_at(store.work, step)
        tried += 1
        yield f"killed {step}"
    for number in ERRNOS:
        for step in before_each(steps):
            store.fresh()
            fail_at(store.work, step, number)
            tried += 1
            yield f"{errno.errorcode[number]} {step}"
            store.fresh()
            fail_at(store.work, step, number, from_then_on=True)
            tried += 1
            yield f"{errno.errorcode[number]} from {step}"
    assert tried >= 15


def test_replace_file_leaves_the_old_text_or_the_new(tmp_path: Path) -> None:
    store = Store(tmp_path / "store", lambda directory: replace_file(directory, "a.md", AFTER))
    seen = set()
    for point in points(store):
        text = (store.place / "a.md").read_bytes()
        assert text in (BEFORE, AFTER), point
        assert (store.place / "other.md").read_bytes() == BEFORE
        assert store.names() == {"a.md", "other.md", "log"}, point
        seen.add(text)
        if not point.startswith("killed"):
            # What fails cleans up, unless the disk takes nothing any more.
            left = set(os.listdir(store.place)) - store.names()
            assert not left or " from " in point, point
        store.work()
        assert (store.place / "a.md").read_bytes() == AFTER
    assert seen == {BEFORE, AFTER}


def test_remove_file_leaves_the_file_or_none(tmp_path: Path) -> None:
    store = Store(tmp_path / "store", lambda directory: remove_file(directory, "a.md"))
    for point in points(store):
        if (store.place / "a.md").exists():
            assert (store.place / "a.md").read_bytes() == BEFORE, point
        assert (store.place / "other.md").read_bytes() == BEFORE


def test_append_line_leaves_lines_that_later_ones_do_not_run_into(tmp_path: Path) -> None:
    added = b'{"n": 2, "text": "a longer line"}\n'
    store = Store(tmp_path / "store", lambda directory: append_line(directory, "log", added, sync=True))
    torn = 0
    for point in points(store):
        found = (store.place / "log").read_bytes()
        assert found.startswith(LINE) and (LINE + added).startswith(found), point
        torn += not found.endswith(b"\n")
        store.work()
        lines = (store.place / "log").read_bytes().splitlines(keepends=True)
        assert lines[0] == LINE and lines[-1] == added, point
        assert len(lines) <= 3
    assert torn, "no point was in the middle of a line"


def test_ensure_private_path_can_be_made_again(tmp_path: Path) -> None:
    store = Store(tmp_path / "store", lambda _: ensure_private_path(str(tmp_path / "store" / "d" / "e")))
    for point in points(store):
        store.work()
        assert (store.place / "d" / "e").is_dir(), point
        assert (store.place / "d").stat().st_mode & 0o777 == 0o700


def test_the_file_lock_is_free_or_abandoned_and_never_keeps_a_writer_out_for_good(tmp_path: Path) -> None:
    def write(_directory: int) -> None:
        with FileLock(users_root(store.place), "add", timeout_ms=50) as lock:
            replace_file(lock.directory, "a.md", AFTER, before_rename=lock.check_owned)

    store = Store(tmp_path / "store", write)
    states = set()
    for point in points(store):
        assert (store.place / "a.md").read_bytes() in (BEFORE, AFTER), point
        assert (store.place / "other.md").read_bytes() == BEFORE
        root = users_root(store.place)
        state = lock_state(root)
        states.add(type(state))
        assert isinstance(state, Free | Abandoned), point
        unlock(root, state)
        for name in os.listdir(store.place):
            if name.startswith((".tmp-", ".lock-")):
                os.utime(store.place / name, (0, 0))
        store.work()
        assert (store.place / "a.md").read_bytes() == AFTER
        assert set(os.listdir(store.place)) == {"a.md", "other.md", "log", ".lock.guard"}, point
    assert states == {Free, Abandoned}


@pytest.mark.parametrize("number", ERRNOS)
def test_a_failing_write_says_so(tmp_path: Path, number: int) -> None:
    store = Store(tmp_path / "store", lambda directory: replace_file(directory, "a.md", AFTER))
    store.fresh()
    for step in before_each(steps_of(store.work)):
        store.fresh()
        assert fail_at(store.work, step, number) == "failed", step
