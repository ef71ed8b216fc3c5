"""Whatever stops a write, at whatever step: the store reads, nothing acknowledged is lost, no other file changed, and
the drift that may be left is named and mended (SPEC §10, §24).
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pony_memory.entries.drift import Drift, drift
from pony_memory.entries.store import EntryStore, StoreSettings
from pony_memory.files.boundary import Root, RootSpec
from pony_memory.files.file_lock import Abandoned, Free, lock_state
from pony_memory.files.unlock import unlock
from pony_memory.writes.backups import contents_of, list_backups
from pony_memory.writes.history import Actor, Who, history
from support.faults import Step, after_each, before_each, fail_at, kill_at, steps_of

Write = Callable[[EntryStore], object]

WRITES: dict[str, Write] = {
    "add": lambda store: store.add("New", "A new text.\n" * 20),
    "overwrite": lambda store: store.add("A", "Another text for A."),
    "replace": lambda store: store.replace("B", description="another description"),
    "rename": lambda store: store.rename("B", "Renamed"),
    "remove": lambda store: store.remove("B"),
    "rebuild_index": lambda store: store.rebuild_index(),
    "repair": lambda store: store.repair(),
}


def opened(place: Path, now: str = "2026-10-05T00:00:00.000Z") -> EntryStore:
    return EntryStore(
        RootSpec(str(place), (), follow_trusted=True),
        actor=Actor.here(Who.TOOL),
        settings=StoreSettings(lock_timeout_ms=200),
        environ={},
        now=lambda: now,
    )


def root_of(place: Path) -> Root:
    root = Root.resolve(RootSpec(str(place), (), follow_trusted=True))
    assert root is not None
    return root


def files(place: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in place.iterdir() if not path.name.startswith(".")}


def drift_of(place: Path) -> Drift:
    state = opened(place).read()
    return drift(state.parsed_index, state.entries.values(), {*state.not_entries, *state.unsafe})


class Case:
    """One write on a store of three acknowledged entries, a hand-written index, and files of others."""

    def __init__(self, directory: Path, write: str) -> None:
        self.write = WRITES[write]
        self.template = directory / "template"
        for number, name in enumerate(("A", "B", "C"), start=1):
            opened(self.template, f"2026-10-0{number}T00:00:00.000Z").add(name, f"The text of {name}.")
        (self.template / "legacy.md").write_bytes(b"# no entry \xff\n")
        (self.template / "notes.txt").write_text("not ours\n")
        index = self.template / "MEMORY.md"
        index.write_bytes(index.read_bytes().replace(b"- [C]", b"## Group \xff\n\n- [C]"))
        if write in ("rebuild_index", "repair"):
            index.write_bytes(
                index.read_bytes() + b"- [Gone](gone.md) \xe2\x80\x94 x\n- [A](A.md) \xe2\x80\x94 twice\n"
            )
        self.place = directory / "store"
        self.before = files(self.template)
        self.fresh()
        self.steps = steps_of(lambda: self.write(opened(self.place)))
        self.after = files(self.place)
        assert self.after != self.before

    def fresh(self) -> None:
        shutil.rmtree(self.place, ignore_errors=True)
        shutil.copytree(self.template, self.place)

    def work(self) -> object:
        return self.write(opened(self.place))

    def check(self, step: Step) -> None:
        """What must hold after a stop or a failure at ``step``."""
        found = files(self.place)
        for name in self.before.keys() | self.after.keys() | found.keys():
            versions = (self.before.get(name), self.after.get(name))
            assert found.get(name) in versions, (str(step), name)
        names = {entry.name for entry in opened(self.place).entries()}
        assert {"A", "C"} <= names and names & {"B", "Renamed"} | ({"B"} if self.removes else set()), str(step)
        root = root_of(self.place)
        for backup in list_backups(root):
            for parts, data in contents_of(root, backup.id).items():
                assert data in (self.before.get(parts[-1]), self.template_of(backup.id, parts[-1])), str(step)
        history(root)
        changed = found != self.before
        if changed and found != self.after:
            assert drift_of(self.place), f"{step} left a drift that nobody names"

    def leftovers(self) -> list[Path]:
        return [path for path in self.place.rglob("*") if path.name.startswith((".tmp-", ".lock-"))]

    @property
    def removes(self) -> bool:
        return "B.md" not in self.after and "Renamed.md" not in self.after

    def template_of(self, backup: str, file: str) -> bytes | None:
        path = self.template / ".backups" / backup / file
        return path.read_bytes() if path.exists() else None

    def mend(self, step: Step) -> None:
        """The next writers find a store they can work on."""
        root = root_of(self.place)
        state = lock_state(root)
        if not isinstance(state, Free):
            assert isinstance(state, Abandoned), str(step)
            unlock(root, state)
        for path in self.leftovers():
            # Those of the last ten minutes may be another writer's.
            os.utime(path, (0, 0), follow_symlinks=False)
        opened(self.place).rebuild_index()
        assert not drift_of(self.place), str(step)
        assert opened(self.place).add("Next", "text").file == "Next.md"
        opened(self.place).replace("A", "text")
        assert not self.leftovers(), f"{step} left files for good"


@pytest.fixture(params=WRITES)
def case(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Case]:
    # In memory where there is such a place: thousands of writes are synced here, and a kill loses no page cache.
    memory = Path("/dev/shm")
    directory = Path(tempfile.mkdtemp(dir=memory)) if os.access(memory, os.W_OK) else tmp_path
    try:
        yield Case(directory, request.param)
    finally:
        shutil.rmtree(directory)


def some(steps: list[Step], every: int) -> list[Step]:
    """Those that put a memory, the index or a backup in its place, and of the others one in ``every``."""
    return [
        step
        for number, step in enumerate(steps)
        if step.call in ("rename", "link") or step.detail.endswith(".md") or number % every == 0
    ]


def test_a_kill_at_any_step_loses_nothing_acknowledged(case: Case) -> None:
    kill_at_each(case, some(after_each(case.steps), 4))


@pytest.mark.torture
def test_a_kill_before_and_after_every_step_loses_nothing_acknowledged(case: Case) -> None:
    kill_at_each(case, list(case.steps))


def kill_at_each(case: Case, points: list[Step]) -> None:
    for step in points:
        case.fresh()
        kill_at(case.work, step)
        case.check(step)
        case.mend(step)
    print(f"killed at {len(points)} of {len(case.steps)} steps")


ERRORS = (errno.ENOSPC, errno.EACCES, errno.EIO)


def test_a_step_that_fails_loses_nothing_and_is_said(case: Case) -> None:
    points = some(before_each(case.steps), 6)
    for number, step in enumerate(points):
        fail_at_step(case, step, ERRORS[number % 3], from_then_on=number % 2 == 0)
    print(f"failed at {len(points)} of {len(case.steps)} steps")


@pytest.mark.torture
@pytest.mark.parametrize("error", ERRORS, ids=errno.errorcode.__getitem__)
@pytest.mark.parametrize("from_then_on", [False, True])
def test_every_step_that_fails_loses_nothing_and_is_said(case: Case, error: int, from_then_on: bool) -> None:
    for step in case.steps:
        fail_at_step(case, step, error, from_then_on=from_then_on)
    print(f"failed at {len(case.steps)} steps")


def fail_at_step(case: Case, step: Step, error: int, *, from_then_on: bool) -> None:
    case.fresh()
    code = fail_at(case.work, step, error, from_then_on=from_then_on)
    case.check(step)
    if code is None:
        assert files(case.place) == case.after, f"{step} was said to be done"
    case.mend(step)


def test_a_lock_left_by_a_killed_writer_is_said_at_once_and_stays(tmp_path: Path) -> None:
    case = Case(tmp_path, "add")
    held = next(step for step in case.steps if step.phase == "after" and step.detail == ".lock")
    case.fresh()
    kill_at(case.work, held)
    assert isinstance(lock_state(root_of(case.place)), Abandoned)
    assert fail_at(case.work, Step(10**9, "", "before", ""), errno.EIO) == "locked"
    assert files(case.place) == case.before
