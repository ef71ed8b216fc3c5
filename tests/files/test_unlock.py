"""Clearing a lock removes the very lock that was seen, on a person's word, and no other (SPEC §12)."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pony_memory.errors import Conflict, Locked, NotConfirmed, PonyError, Refused
from pony_memory.files import syscalls
from pony_memory.files.boundary import Root
from pony_memory.files.file_lock import Abandoned, FileLock, Free, Held, Unreadable, lock_state
from pony_memory.files.flock import flocked
from pony_memory.files.unlock import Unlocked, unlock
from support.files import Child, fast_directory, users_root
from support.ordinary_user import as_ordinary_user, let_pass


@pytest.fixture
def root(tmp_path: Path) -> Root:
    (tmp_path / "store").mkdir()
    return users_root(tmp_path / "store")


def lock_of(root: Root) -> Path:
    return Path(root.path, ".lock")


def left_by_the_dead(root: Root) -> Abandoned:
    def die() -> None:
        with FileLock(root, "rename"):
            os.kill(os.getpid(), signal.SIGKILL)

    Child(die).wait()
    state = lock_state(root)
    assert isinstance(state, Abandoned)
    return state


@contextmanager
def at(call: str, phase: str, detail: str, act: Callable[[], object]) -> Iterator[list[object]]:
    """Do ``act`` once, when a disk-changing call comes by; what it returned is in the list."""
    done: list[object] = []

    def hook(*step: str) -> None:
        if step[:2] == (call, phase) and step[2].startswith(detail) and not done:
            done.append(None)
            done[0] = act()

    syscalls.set_hook(hook)
    try:
        yield done
    finally:
        syscalls.set_hook(None)


def outcome(act: Callable[[], object]) -> str:
    try:
        act()
    except PonyError as error:
        return type(error).__name__
    return "done"


def take(root: Root, timeout_ms: int = 0) -> str:
    return outcome(lambda: FileLock(root, "new", timeout_ms).__enter__())


def as_pi_memory_takes_it(root: Root, op: str) -> None:
    """By linking a record, without our guard."""
    record = {"pid": os.getpid(), "hostname": socket.gethostname(), "startedAt": "2026-10-02T08:14:03.120Z", "op": op}
    Path(root.path, "pi-record").write_text(json.dumps(record))
    os.link(Path(root.path, "pi-record"), lock_of(root))
    os.unlink(Path(root.path, "pi-record"))


def test_an_abandoned_lock_is_removed_and_its_holder_told(root: Root) -> None:
    state = left_by_the_dead(root)
    assert unlock(root, state) == Unlocked(True, state.holder)
    assert os.listdir(root.path) == [".lock.guard"]
    assert take(root) == "done"


def test_a_free_store_has_nothing_to_remove(root: Root) -> None:
    assert unlock(root, Free()) == Unlocked(False, None)
    assert os.listdir(root.path) == []


def test_what_was_free_when_asked_is_not_removed_now(root: Root) -> None:
    with FileLock(root, "add") as lock:
        assert unlock(root, Free(), force_live=True) == Unlocked(False, None)
        lock.check_owned()


def test_a_holder_that_may_live_needs_the_second_confirmation(root: Root) -> None:
    with FileLock(root, "add"):
        seen = lock_state(root)
        with pytest.raises(NotConfirmed) as refused:
            unlock(root, seen)
        assert "add (pid" in refused.value.message
        assert "--force-live" in (refused.value.hint or "") and "two writers" in (refused.value.hint or "")
        assert lock_state(root) == seen
        assert unlock(root, seen, force_live=True).removed
        assert lock_state(root) == Free()


def test_the_confirmation_is_asked_of_the_lock_as_it_is_now(root: Root) -> None:
    with FileLock(root, "add"):
        now = lock_state(root)
        assert isinstance(now, Held)
        with pytest.raises(NotConfirmed):
            unlock(root, Abandoned(now.holder, now.identity, "it looked so"))
        assert lock_state(root) == now
    assert unlock(root, now) == Unlocked(False, now.holder), "nothing is left to be confirmed"


def test_a_lock_of_another_machine_needs_it_too(root: Root) -> None:
    record = {"pid": 1, "hostname": "elsewhere", "startedAt": "2026-10-02T08:14:03.120Z", "op": "dream"}
    lock_of(root).write_text(json.dumps(record))
    seen = lock_state(root)
    with pytest.raises(NotConfirmed):
        unlock(root, seen)
    assert unlock(root, seen, force_live=True).removed


@pytest.mark.parametrize("kind", ["not json", "symlink", "dangling", "fifo", "directory", "linked twice"])
def test_whatever_is_unreadable_is_removed_itself_and_nothing_it_leads_to(
    root: Root, tmp_path: Path, kind: str
) -> None:
    (tmp_path / "target").write_text("not json")
    match kind:
        case "not json":
            lock_of(root).write_text("not json")
        case "symlink":
            lock_of(root).symlink_to("../target")
        case "dangling":
            lock_of(root).symlink_to("nowhere")
        case "fifo":
            os.mkfifo(lock_of(root))
        case "directory":
            lock_of(root).mkdir()
        case _:
            os.link(tmp_path / "target", lock_of(root))
    seen = lock_state(root)
    assert isinstance(seen, Unreadable)
    assert unlock(root, seen) == Unlocked(True, None)
    assert (tmp_path / "target").read_text() == "not json"
    assert os.listdir(root.path) == [".lock.guard"]


def test_a_directory_with_things_in_it_stays(root: Root) -> None:
    lock_of(root).mkdir()
    (lock_of(root) / "something").touch()
    with pytest.raises(Refused, match="directory"):
        unlock(root, lock_state(root))
    assert (lock_of(root) / "something").exists()


def test_a_lock_that_changed_since_the_question_stays(root: Root) -> None:
    seen = left_by_the_dead(root)
    assert unlock(root, seen).removed
    with FileLock(root, "new") as lock:
        for force_live in (False, True):
            with pytest.raises(Conflict, match="new"):
                unlock(root, seen, force_live=force_live)
        lock.check_owned()


def test_a_record_rewritten_in_place_is_another_lock(root: Root) -> None:
    seen = left_by_the_dead(root)
    status = lock_of(root).stat()
    record = lock_of(root).read_bytes()
    lock_of(root).write_bytes(record.replace(b'"rename"', b'"append"'))
    os.utime(lock_of(root), ns=(status.st_atime_ns, status.st_mtime_ns))
    with pytest.raises(Conflict):
        unlock(root, seen)


def test_the_second_of_two_unlockers_finds_it_free(root: Root) -> None:
    seen = left_by_the_dead(root)
    assert unlock(root, seen) == Unlocked(True, seen.holder)
    assert unlock(root, seen) == Unlocked(False, seen.holder)


def test_unlockers_come_one_after_the_other(root: Root) -> None:
    seen = left_by_the_dead(root)
    with at("rename", "before", ".unlock-", lambda: outcome(lambda: unlock(root, seen, timeout_ms=0))) as second:
        assert unlock(root, seen).removed
    assert second == ["Locked"]


def test_nobody_takes_the_lock_between_the_second_look_and_the_removal(root: Root) -> None:
    seen = left_by_the_dead(root)
    with at("rename", "after", ".unlock-", lambda: take(root)) as taker:
        assert unlock(root, seen).removed
    assert taker == ["Locked"]
    assert lock_state(root) == Free()
    assert take(root) == "done"


def test_an_owner_gives_back_its_own_lock_though_it_is_forced_out_that_very_moment(root: Root) -> None:
    """Else it would remove the lock of whoever took it right after the unlocker."""
    with FileLock(root, "slow"):
        seen = lock_state(root)
        forced = at(
            "unlink",
            "before",
            ".lock",
            lambda: outcome(lambda: unlock(root, seen, force_live=True, timeout_ms=0)),
        )
        unlocker = forced.__enter__()
    forced.__exit__(None, None, None)
    assert unlocker == ["Locked"]
    assert lock_state(root) == Free()


def test_an_owner_forced_out_as_it_gives_its_lock_back_leaves_the_next_ones(root: Root) -> None:
    def force_and_take() -> None:
        unlock(root, seen, force_live=True)
        new.__enter__()

    new = FileLock(root, "new")
    slow = FileLock(root, "slow")
    slow.__enter__()
    seen = lock_state(root)
    with at("create", "before", ".lock.guard", force_and_take):
        slow.__exit__(None, None, None)
    new.check_owned()
    new.__exit__(None, None, None)
    assert lock_state(root) == Free()


def test_a_lock_that_pi_memory_takes_in_between_is_put_back(root: Root) -> None:
    seen = left_by_the_dead(root)
    inode: list[int] = []

    def change() -> None:
        os.unlink(lock_of(root))
        as_pi_memory_takes_it(root, "pi add")
        inode.append(lock_of(root).stat().st_ino)

    with at("rename", "before", ".unlock-", change), pytest.raises(Conflict, match="pi add"):
        unlock(root, seen)
    state = lock_state(root)
    assert isinstance(state, Held) and state.holder.op == "pi add"
    assert [lock_of(root).stat().st_ino] == inode
    assert sorted(os.listdir(root.path)) == [".lock", ".lock.guard"]


def test_an_owner_that_gives_it_back_first_is_no_matter(root: Root) -> None:
    lock = FileLock(root, "slow")
    lock.__enter__()
    seen = lock_state(root)
    with at("rename", "before", ".unlock-", lambda: os.unlink(lock_of(root))):
        assert unlock(root, seen, force_live=True).removed is False
    lock.__exit__(None, None, None)
    assert lock_state(root) == Free()


def test_an_unlocker_killed_half_way_leaves_a_store_that_can_be_locked_or_unlocked(root: Root) -> None:
    steps: list[tuple[str, str]] = []
    syscalls.set_hook(lambda call, phase, _detail: steps.append((call, phase)))
    unlock(root, left_by_the_dead(root))
    syscalls.set_hook(None)
    for number in range(len(steps)):
        seen = left_by_the_dead(root)

        def die(seen: Abandoned = seen, number: int = number) -> None:
            count = iter(range(len(steps)))

            def hook(*_step: str) -> None:
                if next(count) == number:
                    os.kill(os.getpid(), signal.SIGKILL)

            syscalls.set_hook(hook)
            unlock(root, seen)

        assert Child(die).wait() == -signal.SIGKILL
        state = lock_state(root)
        assert state in (seen, Free())
        unlock(root, state)
        with FileLock(root, "add"):
            pass
    assert len(steps) >= 8


def test_it_works_where_there_is_nothing_but_the_lock(root: Root) -> None:
    lock_of(root).write_text("not json")
    assert os.listdir(root.path) == [".lock"]
    assert unlock(root, lock_state(root)).removed


def test_an_unlocker_that_hangs_is_waited_for_no_longer_than_allowed(root: Root) -> None:
    seen = left_by_the_dead(root)
    with root.open_dir() as directory, flocked(directory, ".lock.guard", what="it"), pytest.raises(Locked):
        unlock(root, seen, timeout_ms=20)
    assert lock_state(root) == seen


def test_where_it_may_not_be_removed_the_reason_is_told(root: Root) -> None:
    let_pass(Path(root.path))
    seen = left_by_the_dead(root)
    os.chmod(Path(root.path), 0o555)

    def act() -> list[str]:
        try:
            unlock(root, seen)
        except PonyError as error:
            return [error.code, error.message]
        return []

    code, message = as_ordinary_user(act)
    assert code == "failed" and str(lock_of(root)) in message and "ermission" in message
    assert lock_state(root) == seen


def test_two_unlockers_and_new_holders_racing_never_make_two_holders() -> None:
    """Holders are killed while they hold it, others take it, two unlockers clear what is abandoned.

    The witness is a kernel lock that each holder takes without waiting: it knows nothing of ``.lock``, is freed when
    its owner dies, and is busy only if there are two holders.
    """
    with fast_directory() as place:
        (place / "store").mkdir()
        root = users_root(place / "store")
        (place / "witness").touch()
        for name in ("cleared", "taken"):
            (place / name).touch()

        def mark(name: str) -> None:
            with open(place / name, "ab", buffering=0) as file:
                file.write(b".")

        def hold(lock: FileLock) -> None:
            with open(place / "witness") as witness:
                try:
                    fcntl.flock(witness, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    (place / "two-holders").touch()
                lock.check_owned()
                mark("taken")
                fcntl.flock(witness, fcntl.LOCK_UN)

        def holder(rounds: int) -> None:
            while rounds:
                try:
                    with FileLock(root, "hold", timeout_ms=20_000) as lock:
                        hold(lock)
                        rounds -= 1
                except Locked:
                    continue  # abandoned: somebody clears it

        def killed_holders(rounds: int) -> None:
            def die() -> None:
                while True:
                    try:
                        with FileLock(root, "die", timeout_ms=20_000) as lock:
                            hold(lock)
                            os.kill(os.getpid(), signal.SIGKILL)
                    except Locked:
                        continue

            for _ in range(rounds):
                assert Child(die).wait() == -signal.SIGKILL

        def unlocker() -> None:
            while not (place / "stop").exists():
                seen = lock_state(root)
                if isinstance(seen, Abandoned):
                    try:
                        if unlock(root, seen).removed:
                            mark("cleared")
                    except Conflict:
                        continue

        deaths, rounds, holders = 100, 150, 2
        unlockers = [Child(unlocker), Child(unlocker)]
        workers = [Child(lambda: holder(rounds)) for _ in range(holders)]
        workers += [Child(lambda: killed_holders(deaths))]
        try:
            assert [worker.wait() for worker in workers] == [0] * len(workers)
        finally:
            (place / "stop").touch()
            statuses = [child.wait() for child in unlockers]
        assert statuses == [0, 0]
        assert not (place / "two-holders").exists()
        assert (place / "taken").stat().st_size == deaths + rounds * holders
        last = lock_state(root)
        assert (place / "cleared").stat().st_size == deaths - isinstance(last, Abandoned)
        assert {name for name in os.listdir(root.path) if not name.startswith(".lock-")} <= {".lock", ".lock.guard"}
