"""Free, held, abandoned, unreadable: what is certain is said, what cannot be told counts as held (SPEC §12)."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pony_memory.files import machine
from pony_memory.files.boundary import Root
from pony_memory.files.file_lock import Abandoned, FileLock, Free, Held, Holder, Unreadable, lock_state
from pony_memory.files.lock_state import parse_record
from support.files import Child, never_hanging, users_root
from support.ordinary_user import as_ordinary_user, let_pass

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc tells this on Linux only")


@pytest.fixture
def root(tmp_path: Path) -> Root:
    (tmp_path / "store").mkdir()
    return users_root(tmp_path / "store")


@pytest.fixture
def gone() -> int:
    """The number of a process that is no more."""
    child = Child(lambda: None)
    child.wait()
    return child.pid


@pytest.fixture
def sleeper() -> Iterator[int]:
    child = Child(signal.pause)
    yield child.pid
    child.kill()


def written(root: Root, record: bytes | Holder | dict[str, object]) -> None:
    if isinstance(record, Holder):
        record = record.record()
    elif isinstance(record, dict):
        record = json.dumps(record).encode()
    Path(root.path, ".lock").write_bytes(record)


def as_pi_writes_it(pid: int, hostname: str | None = None) -> dict[str, object]:
    name = socket.gethostname() if hostname is None else hostname
    return {"pid": pid, "hostname": name, "startedAt": "2026-10-02T08:14:03.120Z", "op": "add"}


def as_we_write_it(pid: int) -> Holder:
    here = machine.here()
    token = machine.start_token(pid) or here.start_token
    return Holder(
        pid, here.hostname, "2026-10-02T08:14:03.120Z", "add", here.boot_id, here.pid_namespace, token, here.machine_id
    )


def test_a_store_without_a_lock_is_free(root: Root) -> None:
    assert lock_state(root) == Free()
    assert os.listdir(root.path) == []


def test_the_record_of_a_living_holder(root: Root) -> None:
    before = datetime.now(UTC)
    with FileLock(root, "add Test command"):
        record = json.loads(Path(root.path, ".lock").read_bytes())
        state = lock_state(root)
    assert {"pid", "hostname", "startedAt", "op"} <= record.keys()
    assert (record["pid"], record["hostname"], record["op"]) == (os.getpid(), socket.gethostname(), "add Test command")
    assert record["startedAt"].endswith("Z") and len(record["startedAt"]) == len("2026-10-02T08:14:03.120Z")
    assert abs((datetime.fromisoformat(record["startedAt"]) - before).total_seconds()) < 60
    assert isinstance(state, Held) and state.may_live
    assert str(state.holder) == (
        f"add Test command (pid {os.getpid()} on {socket.gethostname()}, started {record['startedAt']})"
    )
    assert lock_state(root) == Free()


def test_the_lock_of_a_killed_holder_is_abandoned(root: Root) -> None:
    def die() -> None:
        with FileLock(root, "rename"):
            os.kill(os.getpid(), signal.SIGKILL)

    child = Child(die)
    assert child.wait() == -signal.SIGKILL
    state = lock_state(root)
    assert isinstance(state, Abandoned) and not state.may_live
    assert (state.holder.pid, state.holder.op) == (child.pid, "rename")


@linux
def test_a_holder_that_is_dead_and_not_yet_reaped_is_gone(root: Root) -> None:
    def die() -> None:
        FileLock(root, "rename").__enter__()
        os.kill(os.getpid(), signal.SIGKILL)

    child = Child(die)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert isinstance(lock_state(root), Abandoned)
    child.wait()


def test_a_record_of_pi_memory_is_judged_by_host_and_process(root: Root, gone: int, sleeper: int) -> None:
    written(root, as_pi_writes_it(gone))
    assert isinstance(lock_state(root), Abandoned)
    written(root, as_pi_writes_it(sleeper))
    assert isinstance(lock_state(root), Held)
    written(root, as_pi_writes_it(gone, hostname="elsewhere"))
    assert isinstance(lock_state(root), Held)
    written(root, as_pi_writes_it(gone) | {"more": [1, {"a": None}]})
    assert isinstance(lock_state(root), Abandoned)


def test_a_number_given_to_a_later_process_is_told_by_its_start(root: Root, sleeper: int) -> None:
    holder = as_we_write_it(sleeper)
    written(root, holder)
    assert isinstance(lock_state(root), Held)
    assert holder.start_token is not None
    clock, _, started = holder.start_token.rpartition(":")
    written(root, replace(holder, start_token=f"{clock}:{started}1"))
    assert isinstance(lock_state(root), Abandoned)
    # Another clock says nothing about this one, and neither does none.
    written(root, replace(holder, start_token="other:7"))
    assert isinstance(lock_state(root), Held)
    written(root, replace(holder, start_token=None))
    assert isinstance(lock_state(root), Held)


def test_what_runs_elsewhere_counts_as_held(root: Root, gone: int) -> None:
    holder = as_we_write_it(gone)
    written(root, holder)
    assert isinstance(lock_state(root), Abandoned)
    for other in (
        replace(holder, hostname="elsewhere"),
        replace(holder, machine_id="f" * 16),
        replace(holder, pid_namespace="pid:[1]"),
        replace(holder, pid_namespace=None if holder.pid_namespace else "pid:[1]"),
        replace(holder, machine_id="f" * 16, boot_id="another boot"),
        replace(holder, hostname="elsewhere", boot_id="another boot"),
    ):
        written(root, other)
        state = lock_state(root)
        assert isinstance(state, Held), other
        assert "if it still runs" in state.why


def test_a_lock_of_an_earlier_boot_is_abandoned_even_if_its_number_runs(root: Root, sleeper: int) -> None:
    holder = replace(as_we_write_it(sleeper), boot_id="00000000-0000-0000-0000-000000000000", machine_id="")
    assert machine.booted_at() is not None
    before = datetime.fromtimestamp((machine.booted_at() or 0) - 3_600, UTC).isoformat()
    written(root, replace(holder, started_at=before, machine_id=None))
    state = lock_state(root)
    assert isinstance(state, Abandoned) and "restarted" in state.why
    # Taken during this boot, on another: a namesake. A time nobody can read tells nothing.
    for started in (datetime.now(UTC).isoformat(), "yesterday", ""):
        written(root, replace(holder, started_at=started, machine_id=None))
        assert isinstance(lock_state(root), Held)


@pytest.mark.skipif(machine.here().machine_id is None, reason="this system has no machine id")
def test_the_clock_says_nothing_where_the_machine_is_known(root: Root, sleeper: int) -> None:
    later = datetime.fromtimestamp(time.time() + 10**6, UTC).isoformat()
    written(root, replace(as_we_write_it(sleeper), boot_id="another boot", started_at=later))
    assert isinstance(lock_state(root), Abandoned)


@linux
def test_a_holder_in_another_pid_namespace_counts_as_held(root: Root) -> None:
    """For real: the process is gone, and its number means another process here, or none."""
    code = (
        "import os, sys; from pony_memory.files.boundary import Root, RootSpec\n"
        "from pony_memory.files.file_lock import FileLock\n"
        "FileLock(Root.resolve(RootSpec(sys.argv[1], (), True)), 'in a container').__enter__(); os._exit(7)\n"
    )
    command = ["unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-c", code, root.path]
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no unshare(1) here")
    if done.returncode != 7:
        pytest.skip(f"no PID namespace can be made here: {done.stderr.decode()}")
    state = lock_state(root)
    assert isinstance(state, Held)
    assert "container" in state.why and state.holder.pid < 10


@pytest.mark.parametrize(
    "record",
    [
        b"",
        b"not json",
        b"\xff\xfe",
        b"[]",
        b'"text"',
        b"null",
        b"{}",
        b"[" * 10_000,
        json.dumps({"pid": 1, "hostname": "h", "startedAt": "s"}).encode(),
        json.dumps({"pid": "1", "hostname": "h", "startedAt": "s", "op": "o"}).encode(),
        json.dumps({"pid": True, "hostname": "h", "startedAt": "s", "op": "o"}).encode(),
        json.dumps({"pid": 0, "hostname": "h", "startedAt": "s", "op": "o"}).encode(),
        json.dumps({"pid": -1, "hostname": "h", "startedAt": "s", "op": "o"}).encode(),
        json.dumps({"pid": 2**40, "hostname": "h", "startedAt": "s", "op": "o"}).encode(),
        json.dumps({"pid": 1.5, "hostname": "h", "startedAt": "s", "op": "o"}).encode(),
        json.dumps({"pid": 1, "hostname": None, "startedAt": "s", "op": "o"}).encode(),
        json.dumps({"pid": 1, "hostname": "h", "startedAt": "s", "op": "o", "bootId": 7}).encode(),
        b"x" * 100_000,
    ],
    ids=range(18),
)
def test_what_is_no_record_is_unreadable(root: Root, record: bytes) -> None:
    written(root, record)
    state = lock_state(root)
    assert isinstance(state, Unreadable) and not state.may_live
    assert state.reason.isprintable()


@pytest.mark.parametrize("kind", ["symlink", "fifo", "directory"])
def test_what_is_no_file_is_unreadable_and_never_blocks(root: Root, tmp_path: Path, kind: str, gone: int) -> None:
    lock = Path(root.path, ".lock")
    match kind:
        case "symlink":
            (tmp_path / "record").write_text(json.dumps(as_pi_writes_it(gone)))
            lock.symlink_to("../record")
        case "fifo":
            os.mkfifo(lock)
        case _:
            lock.mkdir()
    with never_hanging():
        assert isinstance(lock_state(root), Unreadable)


def test_a_lock_that_may_not_be_read_may_belong_to_the_living(root: Root, gone: int) -> None:
    let_pass(Path(root.path))
    written(root, as_pi_writes_it(gone))
    os.chmod(Path(root.path, ".lock"), 0o000)

    def look() -> list[object]:
        state = lock_state(root)
        return [isinstance(state, Unreadable), state.may_live]

    assert as_ordinary_user(look) == [True, True]


def test_a_lock_still_bound_to_its_first_name_is_read(root: Root, gone: int) -> None:
    """A holder killed right after it took the lock leaves the record under both names."""
    written(root, as_pi_writes_it(gone))
    os.link(Path(root.path, ".lock"), Path(root.path, ".lock-0123"))
    assert isinstance(lock_state(root), Abandoned)


def test_a_hostile_record_is_shown_printably_and_short(root: Root, gone: int) -> None:
    written(root, as_pi_writes_it(gone) | {"op": "\x1b[31m\u202e\ud800" + "x" * 5_000, "startedAt": "a\nb"})
    state = lock_state(root)
    assert isinstance(state, Abandoned)
    assert str(state.holder).isprintable() and len(str(state.holder)) < 700
    assert "\\x1b[31m\\u202e\\ud800xxx" in state.holder.op


@given(st.binary(max_size=300))
def test_random_bytes_are_no_record(data: bytes) -> None:
    assert isinstance(parse_record(data), str)


@given(st.text(max_size=30), st.text(max_size=30), st.integers(1, 2**31 - 1))
def test_a_record_reads_back(hostname: str, op: str, pid: int) -> None:
    holder = parse_record(Holder(pid, hostname, "2026-10-02T08:14:03.120Z", op, "b", "n", "t", "m").record())
    assert isinstance(holder, Holder)
    assert (holder.pid, holder.boot_id, holder.start_token) == (pid, "b", "t")
    if hostname.isprintable():
        assert holder.hostname == hostname


def test_one_who_gives_the_lock_back_and_ends_is_never_taken_for_dead(
    root: Root, gone: int, sleeper: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The moment is between reading the record and asking for its process; the asking is where the test steps in."""
    ask = os.kill
    meanwhile: list[Callable[[], object]] = []

    def kill(pid: int, number: int) -> None:
        while meanwhile:
            meanwhile.pop()()
        ask(pid, number)

    monkeypatch.setattr(os, "kill", kill)
    written(root, as_we_write_it(gone))
    meanwhile.append(lambda: os.unlink(os.path.join(root.path, ".lock")))
    assert lock_state(root) == Free()

    written(root, as_we_write_it(gone))
    meanwhile += [
        lambda: written(root, as_we_write_it(sleeper)),
        lambda: os.unlink(os.path.join(root.path, ".lock")),
    ]
    state = lock_state(root)
    assert isinstance(state, Held) and state.holder.pid == sleeper


@linux
def test_a_process_that_ends_while_it_is_asked_for_is_gone(gone: int, monkeypatch: pytest.MonkeyPatch) -> None:
    ask = os.kill
    answers: list[None] = [None]  # at first it is still there

    monkeypatch.setattr(os, "kill", lambda pid, number: answers.pop() if answers else ask(pid, number))
    assert not machine.process_exists(gone)
    assert answers == []


def test_looking_changes_nothing(root: Root, gone: int) -> None:
    written(root, as_pi_writes_it(gone))
    before = root.stat((".lock",))
    lock_state(root)
    assert root.stat((".lock",)) == before
    assert os.listdir(root.path) == [".lock"]
