"""Many processes write to one store at once: no update is lost, no two hold the lock (SPEC §12, §24)."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from pony_memory.entries.drift import drift
from pony_memory.entries.store import EntryStore, StoreSettings
from pony_memory.errors import Locked
from pony_memory.files.boundary import RootSpec
from pony_memory.files.logical_lock import logical_lock
from pony_memory.writes.history import Actor, Who
from support import entry_worker
from support.entry_worker import SHARED, steps, store_at

WORKERS = 8


def run_together(place: Path, count: int) -> list[str]:
    """Half of the workers make all their steps in one process, half start a fresh process for each."""
    failed: list[str] = []

    def start(*arguments: int) -> None:
        command = [sys.executable, entry_worker.__file__, str(place), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            failed.append(done.stderr)

    def one_process(worker: int) -> None:
        start(worker, count)

    def fresh_processes(worker: int) -> None:
        for number in range(count):
            start(worker, count, number)

    work: list[tuple[Callable[[int], None], int]] = [
        (fresh_processes if worker % 2 else one_process, worker) for worker in range(WORKERS)
    ]
    threads = [threading.Thread(target=act, args=(worker,)) for act, worker in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failed


@pytest.mark.parametrize(
    "count", [pytest.param(8, id="short"), pytest.param(200, id="whole", marks=pytest.mark.torture)]
)
def test_no_update_is_lost_and_nobody_holds_the_lock_twice(tmp_path: Path, count: int) -> None:
    place = tmp_path / "store"
    store = store_at(str(place))
    store.add(SHARED, "the first line")
    assert run_together(place, count) == []

    expected: dict[str, str] = {}
    appended: list[str] = []
    for worker in range(WORKERS):
        made = list(steps(worker, count))
        expected |= made[-1][1]
        appended += [step[2] for step, _ in made if step[0] == "append"]
    state = store.read()
    bodies = {entry.name: entry.body for entry in state.entries.values()}
    first, *lines = bodies.pop(SHARED).split("\n")
    assert first == "the first line" and sorted(lines) == sorted(appended)
    assert bodies == expected
    assert not drift(state.parsed_index, state.entries.values())
    assert not state.not_entries and not state.unsafe
    assert not (tmp_path / "double-holder").exists() and not (tmp_path / "witness").exists()
    assert not [
        path.name for path in place.iterdir() if path.name.startswith((".tmp-", ".lock-")) or path.name == ".lock"
    ]


def test_threads_of_one_process_take_turns(tmp_path: Path) -> None:
    store = store_at(str(tmp_path / "store"))
    store.add("first", "text")
    threads = [threading.Thread(target=store.add, args=(f"note {number}", "text")) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(store.entries()) == 9
    assert not drift(store.read().parsed_index, store.entries())


def test_a_write_waits_for_the_logical_lock_and_names_the_directory_when_it_is_not_given(tmp_path: Path) -> None:
    place = tmp_path / "store"
    store_at(str(place)).add("A", "text")
    impatient = EntryStore(
        RootSpec(str(place), (), follow_trusted=True),
        actor=Actor.here(Who.TOOL),
        settings=StoreSettings(lock_timeout_ms=20),
        environ={},
    )
    with logical_lock(str(place)):
        with pytest.raises(Locked, match=str(place)):
            impatient.add("B", "text")
        assert [entry.name for entry in impatient.entries()] == ["A"]
    impatient.add("B", "text")


def test_whoever_holds_the_logical_lock_writes_without_taking_it_again(tmp_path: Path) -> None:
    place = tmp_path / "store"
    store = store_at(str(place))
    backup = store.add("A", "text").backup
    assert backup is not None
    from pony_memory.entries.operations import replace

    with logical_lock(str(place)):
        written = store.run(
            "dream",
            lambda state: replace(state, "A", "by a dream", now="2026-10-02T08:14:03.120Z"),
            logical=False,
            backup=False,
        )
    assert written.backup is None
    assert store.entries()[0].body == "by a dream"
