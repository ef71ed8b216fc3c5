"""The lock within one process: one writer a store, a wait with an end, and callers who never wait (SPEC §12)."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from pony_memory.errors import Locked
from pony_memory.files.logical_lock import logical_lock
from support.files import Child, never_hanging


def test_a_busy_store_is_refused_after_the_wait_naming_the_directory(tmp_path: Path) -> None:
    with logical_lock(str(tmp_path), timeout_ms=0) as taken:
        assert taken is True
        with pytest.raises(Locked) as refused, logical_lock(str(tmp_path), timeout_ms=10):
            pytest.fail("two holders")
        assert str(tmp_path) in refused.value.message
    with logical_lock(str(tmp_path), timeout_ms=0):
        pass


def test_callers_who_never_wait_are_told_at_once(tmp_path: Path) -> None:
    with never_hanging(), logical_lock(str(tmp_path), timeout_ms=0):
        with logical_lock(str(tmp_path), timeout_ms=3_600_000, wait=False) as taken:
            assert taken is False
        with pytest.raises(Locked), logical_lock(str(tmp_path), timeout_ms=0):
            pytest.fail("the caller who skipped must not have released it")
    with logical_lock(str(tmp_path), wait=False) as taken:
        assert taken is True


def test_all_ways_to_a_store_are_one_and_stores_are_apart(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "link").symlink_to("store")
    with logical_lock(str(tmp_path / "store"), timeout_ms=0):
        for way in ("link", "store/", "store/../store"):
            with logical_lock(f"{tmp_path}/{way}", wait=False) as taken:
                assert taken is False, way
        with logical_lock(str(tmp_path / "another"), timeout_ms=0):
            pass


def test_one_that_waits_has_it_when_the_other_is_done_even_by_failing(tmp_path: Path) -> None:
    waits = threading.Event()
    order: list[str] = []

    def second() -> None:
        waits.set()
        with logical_lock(str(tmp_path), timeout_ms=60_000):
            order.append("second")

    thread = threading.Thread(target=second)
    with pytest.raises(ZeroDivisionError), logical_lock(str(tmp_path)):
        thread.start()
        waits.wait()
        order.append("first")
        _ = 1 / 0
    thread.join()
    assert order == ["first", "second"]


def test_threads_exclude_each_other(tmp_path: Path) -> None:
    inside: list[int] = []
    together: list[int] = []

    def work() -> None:
        for _ in range(200):
            with logical_lock(str(tmp_path), timeout_ms=60_000):
                inside.append(1)
                together.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together == [1] * 1_600


def test_a_forked_child_is_not_locked_by_a_thread_it_does_not_have(tmp_path: Path) -> None:
    def child() -> None:
        with logical_lock(str(tmp_path), wait=False) as taken:
            assert taken

    with logical_lock(str(tmp_path)):
        assert Child(child).wait() == 0
