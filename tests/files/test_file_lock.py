"""The lock between processes: never two holders, never taken over, released by its owner only (SPEC §12)."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import threading
from pathlib import Path

import pytest

from pony_memory.errors import Conflict, Locked, PonyError, UnsafeFile
from pony_memory.files import syscalls
from pony_memory.files.boundary import Root
from pony_memory.files.file_lock import Abandoned, FileLock, Free, Held, lock_state
from pony_memory.files.flock import flocked
from pony_memory.files.unlock import unlock
from support.files import Child, never_hanging, users_root
from support.ordinary_user import as_ordinary_user, let_pass


@pytest.fixture
def root(tmp_path: Path) -> Root:
    (tmp_path / "store").mkdir()
    return users_root(tmp_path / "store")


def names(root: Root) -> list[str]:
    """What is in the store but the guard file, which stays for good."""
    return sorted(set(os.listdir(root.path)) - {".lock.guard"})


def left_by_the_dead(root: Root) -> Abandoned:
    def die() -> None:
        with FileLock(root, "rename"):
            os.kill(os.getpid(), signal.SIGKILL)

    Child(die).wait()
    state = lock_state(root)
    assert isinstance(state, Abandoned)
    return state


def test_it_is_there_while_it_is_held_and_gone_after(root: Root) -> None:
    with FileLock(root, "add") as lock:
        assert names(root) == [".lock"]
        assert os.listdir(lock.directory)
        lock.check_owned()
    assert names(root) == []


def test_it_is_given_back_when_the_work_fails(root: Root) -> None:
    with pytest.raises(ZeroDivisionError), FileLock(root, "add"):
        _ = 1 / 0
    assert names(root) == []


def test_another_waits_and_is_told_who_holds_it(root: Root) -> None:
    with FileLock(root, "add"):
        holder = json.loads(Path(root.path, ".lock").read_bytes())
        for timeout_ms in (0, 30):
            with pytest.raises(Locked) as refused, FileLock(root, "replace", timeout_ms=timeout_ms):
                pytest.fail("two holders")
            for told in ("add", str(os.getpid()), holder["hostname"], holder["startedAt"], f"{root.path}/.lock"):
                assert told in refused.value.message
            assert "pony-memory unlock" in (refused.value.hint or "")
            assert names(root) == [".lock"], "the one refused leaves nothing"


def test_one_that_waits_takes_it_as_soon_as_it_is_free(root: Root) -> None:
    waits = threading.Event()
    order: list[str] = []

    def second() -> None:
        waits.set()
        with FileLock(root, "second", timeout_ms=60_000):
            order.append("second")

    with FileLock(root, "first"):
        thread = threading.Thread(target=second)
        thread.start()
        waits.wait()
        order.append("first")
    thread.join()
    assert order == ["first", "second"]
    assert names(root) == []


def test_an_abandoned_lock_is_told_at_once_and_never_taken_over(root: Root) -> None:
    state = left_by_the_dead(root)
    # An hour of waiting would be noticed.
    with never_hanging(), pytest.raises(Locked) as refused, FileLock(root, "add", timeout_ms=3_600_000):
        pytest.fail("taken over")
    assert str(state.holder) in refused.value.message and "left behind" in refused.value.message
    assert "pony-memory unlock" in (refused.value.hint or "")
    assert lock_state(root) == state
    assert names(root) == [".lock"]


def test_what_is_no_lock_is_not_taken_over_either(root: Root) -> None:
    Path(root.path, ".lock").write_text("not json")
    with pytest.raises(Locked, match="not JSON"), FileLock(root, "add", timeout_ms=20):
        pytest.fail("taken over")
    assert Path(root.path, ".lock").read_text() == "not json"


def test_one_who_was_forced_out_stops_and_leaves_the_new_holders_lock(root: Root) -> None:
    with FileLock(root, "slow") as slow:
        unlock(root, lock_state(root), force_live=True)
        with pytest.raises(Conflict):
            slow.check_owned()
        new = FileLock(root, "new")
        new.__enter__()
        with pytest.raises(Conflict):
            slow.check_owned()
        new.check_owned()
    state = lock_state(root)
    assert isinstance(state, Held) and state.holder.op == "new"
    new.__exit__(None, None, None)
    assert names(root) == []


def test_a_forked_child_does_not_give_back_its_parents_lock(root: Root) -> None:
    with FileLock(root, "add") as lock:

        def child() -> None:
            with pytest.raises(Conflict):
                lock.check_owned()
            lock.__exit__(None, None, None)

        assert Child(child).wait() == 0
        lock.check_owned()
        assert names(root) == [".lock"]


def test_nobody_waits_for_an_unlocker_that_hangs_longer_than_allowed(root: Root) -> None:
    with (
        root.open_dir() as directory,
        flocked(directory, ".lock.guard", what="it"),
        pytest.raises(Locked),
        FileLock(root, "add", timeout_ms=20),
    ):
        pytest.fail("taken while somebody clears it")
    assert names(root) == []


def test_a_root_replaced_before_the_lock_is_had_is_noticed(root: Root, tmp_path: Path) -> None:
    def replace_root(call: str, phase: str, detail: str) -> None:
        if (call, phase, detail) == ("link", "before", ".lock"):
            os.rename(root.path, tmp_path / "away")
            os.mkdir(root.path)

    syscalls.set_hook(replace_root)
    try:
        with pytest.raises(UnsafeFile) as refused, FileLock(root, "add"):
            pytest.fail("a lock on another directory")
    finally:
        syscalls.set_hook(None)
    assert refused.value.reason == "root_changed"
    assert ".lock" not in os.listdir(tmp_path / "away")
    assert os.listdir(root.path) == []


def test_a_record_swept_away_before_it_is_linked_is_written_again(root: Root) -> None:
    swept: list[str] = []

    def sweep(call: str, phase: str, detail: str) -> None:
        if (call, phase, detail) == ("link", "before", ".lock") and not swept:
            swept.extend(name for name in os.listdir(root.path) if name.startswith(".lock-"))
            os.unlink(os.path.join(root.path, swept[0]))

    syscalls.set_hook(sweep)
    try:
        with FileLock(root, "add") as lock:
            lock.check_owned()
    finally:
        syscalls.set_hook(None)
    assert swept and names(root) == []


def test_a_read_only_store_is_refused_with_a_reason(root: Root) -> None:
    let_pass(Path(root.path))
    os.chmod(root.path, 0o555)

    def take() -> list[str]:
        try:
            with FileLock(root, "add"):
                return []
        except PonyError as error:
            return [error.code, error.message]

    code, message = as_ordinary_user(take)
    assert code == "failed" and root.path in message and "Permission denied" in message
    assert names(root) == []


def test_a_store_that_is_gone_is_refused(root: Root) -> None:
    shutil.rmtree(root.path)
    with pytest.raises(UnsafeFile), FileLock(root, "add"):
        pytest.fail("there is nothing to lock")


def test_old_records_of_killed_processes_are_swept(root: Root) -> None:
    for name in (".lock-dead", ".tmp-dead"):
        Path(root.path, name).touch()
        os.utime(Path(root.path, name), (0, 0))
    with FileLock(root, "add"):
        assert names(root) == [".lock"]


def test_a_long_operation_name_is_cut(root: Root) -> None:
    with FileLock(root, "x" * 100_000):
        state = lock_state(root)
    assert isinstance(state, Held) and state.holder.op == "x" * 100


def test_threads_and_processes_never_hold_it_together(root: Root, tmp_path: Path) -> None:
    rounds, workers = 40, 4
    witness = tmp_path / "witness"
    witness.touch()

    def work() -> None:
        for _ in range(rounds):
            with FileLock(root, "count", timeout_ms=120_000) as lock, open(witness, "r+") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails if another has it
                count = int(file.read() or 0)
                lock.check_owned()
                file.seek(0)
                file.write(str(count + 1))

    def process() -> None:
        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    children = [Child(process) for _ in range(workers)]
    assert [child.wait() for child in children] == [0] * workers
    assert int(witness.read_text()) == rounds * workers * 2
    assert isinstance(lock_state(root), Free) and names(root) == []
