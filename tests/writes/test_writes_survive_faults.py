"""Saves, edits, restores and purges, stopped or failed at each step that changes the disk (SPEC §24).

After each stop everything that was acknowledged is there, no other file changed, and the same work done again comes to
its end.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pony_memory.canonical import CanonicalPath
from pony_memory.entries.store import EntryStore
from pony_memory.files.boundary import Root
from pony_memory.files.file_lock import Abandoned, Free, lock_state
from pony_memory.files.unlock import unlock
from pony_memory.writes.backups import contents_of, list_backups
from pony_memory.writes.history import Actor, Who, history
from pony_memory.writes.purge import Target, apply_purge
from pony_memory.writes.restore import restore_backup, restore_event
from pony_memory.writes.user_notes import EditCopy, edit_copy, put_back
from support.faults import Step, after_each, before_each, fail_at, kill_at, steps_of
from support.notes_places import PERSON, Here, holds, tree

TEXT = "xyzzy-plugh-4711"
ACTOR = Actor(Who.PERSON, None, 1)
NOTE = CanonicalPath.parse("workspace/notes/a.md")


def store_of(here: Here) -> EntryStore:
    return EntryStore(here.scopes.get("project").spec, actor=ACTOR, environ={})


def edit(here: Here) -> object:
    copy = edit_copy(here.scopes, NOTE)
    # Where the process is killed nobody tidies up; a test of hundreds of kills does, by a place of its own.
    kept = here.home.parent / "copies" / "a.md"
    kept.parent.mkdir(exist_ok=True)
    kept.write_text("edited\n")
    shutil.rmtree(os.path.dirname(copy.copy))
    return put_back(
        here.scopes, EditCopy(copy.path, str(kept), copy.sha256), actor=ACTOR, environ=here.environ, timeout_ms=200
    )


def the_rename(here: Here) -> str:
    """The backup made before the last write that is no restore."""
    return next(backup.id for backup in list_backups(here.place("project").files) if backup.label == "rename")


def purge(here: Here) -> object:
    return apply_purge(here.scopes, Target(matching=TEXT), actor=ACTOR, environ=here.environ, timeout_ms=200)


WORKS: dict[str, Callable[[Here], object]] = {
    "save": lambda here: here.store(timeout_ms=200).save("a new note", "workspace", PERSON),
    "first save": lambda here: here.store(timeout_ms=200).save("a new note", "user", PERSON),
    "edit": edit,
    "restore event": lambda here: restore_event(here.place("project"), 3, actor=ACTOR, timeout_ms=200),
    "restore backup": lambda here: restore_backup(here.place("project"), the_rename(here), actor=ACTOR, timeout_ms=200),
    "purge": purge,
}


def memories(here: Here) -> dict[str, bytes]:
    """The memories themselves: no records, no locks."""
    return {
        name: data
        for name, data in tree(here.home.parent).items()
        if name.endswith(".md") and not any(part.startswith(".") and part != ".pony" for part in Path(name).parts)
        and "copies" not in name
    }  # fmt: skip


class Case:
    """One work on a workspace, a home and a store with acknowledged memories in them."""

    def __init__(self, directory: Path, work: str) -> None:
        self.name = work
        self.act = WORKS[work]
        self.template = directory / "template"
        # The records of a workspace are found by its real path, so the work is always done at the same one.
        self.place = directory / "place"
        self._fill(Here.below(self.place))
        shutil.copytree(self.place, self.template)
        self.before = memories(self.here)
        self.steps = steps_of(self.work)
        self.after = memories(self.here)
        assert self.after != self.before

    @property
    def here(self) -> Here:
        return Here(self.place / "work", self.place / "home")

    def _fill(self, here: Here) -> None:
        note = here.root("workspace") / "notes" / "a.md"
        note.parent.mkdir(parents=True)
        note.write_text(f"one\n{TEXT if self.name == 'purge' else 'two'}\n")
        here.store().save("an old note", "workspace", PERSON)
        if self.name == "purge":
            here.store().save(f"it is {TEXT}", "workspace", PERSON)
        store = store_of(here)
        store.add("A", "The text of A.")
        store.add("B", f"The text of B. {TEXT}", description=f"about {TEXT}")
        store.rename("B", "Renamed")
        (here.root("project") / "legacy.md").write_bytes(b"# no entry \xff\n")

    def fresh(self) -> None:
        shutil.rmtree(self.place)
        shutil.copytree(self.template, self.place)

    def work(self) -> object:
        return self.act(self.here)

    def check(self, step: Step) -> None:
        """What must hold after a stop or a failure at ``step``."""
        found = memories(self.here)
        for name in self.before.keys() | self.after.keys() | found.keys():
            assert found.get(name) in (self.before.get(name), self.after.get(name)), (str(step), name)
        for scope in ("workspace", "project"):
            place = self.here.place(scope)
            for backup in list_backups(place.records):
                contents_of(place.records, backup.id)
            assert history(place.records).damaged == 0 or step.call == "write", str(step)
        assert not (self.here.workspace / ".history.jsonl").exists()

    def finish(self, step: Step) -> None:
        """The lock that a killed writer left is cleared, and the work done again comes to its end."""
        root: Root = self.here.place("project").files
        state = lock_state(root)
        if not isinstance(state, Free):
            assert isinstance(state, Abandoned), str(step)
            unlock(root, state)
        done = memories(self.here) == self.after
        for path in self.place.rglob(".tmp-*"):
            # Those of the last ten minutes may be another writer's.
            os.utime(path, (0, 0), follow_symlinks=False)
        if not (done and self.name in ("save", "first save", "edit", "restore backup")):
            self.work()
        assert memories(self.here) == self.after, str(step)
        if self.name == "purge":
            assert holds(self.place, TEXT) == [], str(step)
        for scope in ("workspace", "user"):
            self.here.store().save("the next note", scope, PERSON)
        store_of(self.here).replace("A", "another text")
        left = [path for path in self.place.rglob(".tmp-*") if "notes" not in path.parts]
        assert left == [], str(step)


@pytest.fixture(params=WORKS)
def case(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Case]:
    # In memory where there is such a place: hundreds of writes are synced here, and a kill loses no page cache.
    memory = Path("/dev/shm")
    directory = Path(tempfile.mkdtemp(dir=memory)) if os.access(memory, os.W_OK) else tmp_path
    try:
        yield Case(directory, request.param)
    finally:
        shutil.rmtree(directory)


def some(steps: list[Step], every: int) -> list[Step]:
    """Those that put a file in its place or take it away, and of the others one in ``every``."""
    kept = ("rename", "unlink", "rmdir")
    return [step for number, step in enumerate(steps) if (step.call in kept and number % 2) or number % every == 0]


def kill_at_each(case: Case, points: list[Step]) -> None:
    for step in points:
        case.fresh()
        kill_at(case.work, step)
        case.check(step)
        case.finish(step)
    print(f"{case.name}: killed at {len(points)} of {len(case.steps)} steps")


def test_a_kill_at_any_step_loses_nothing(case: Case) -> None:
    kill_at_each(case, some(after_each(case.steps), 5))


@pytest.mark.torture
def test_a_kill_before_and_after_every_step_loses_nothing(case: Case) -> None:
    kill_at_each(case, list(case.steps))


ERRORS = (errno.ENOSPC, errno.EACCES, errno.EIO)


def fail_at_step(case: Case, step: Step, error: int, *, from_then_on: bool) -> None:
    case.fresh()
    code = fail_at(case.work, step, error, from_then_on=from_then_on)
    case.check(step)
    if code is None and case.name != "purge":
        assert memories(case.here) == case.after, f"{step} was said to be done"
    case.finish(step)


def test_a_step_that_fails_is_said_and_loses_nothing(case: Case) -> None:
    points = some(before_each(case.steps), 6)
    for number, step in enumerate(points):
        fail_at_step(case, step, ERRORS[number % 3], from_then_on=number % 2 == 0)
    print(f"{case.name}: failed at {len(points)} of {len(case.steps)} steps")


@pytest.mark.torture
@pytest.mark.parametrize("error", ERRORS, ids=errno.errorcode.__getitem__)
@pytest.mark.parametrize("from_then_on", [False, True])
def test_every_step_that_fails_is_said_and_loses_nothing(case: Case, error: int, from_then_on: bool) -> None:
    for step in case.steps:
        fail_at_step(case, step, error, from_then_on=from_then_on)
    print(f"{case.name}: failed at {len(case.steps)} steps")


def test_a_purge_that_failed_somewhere_says_where(tmp_path: Path) -> None:
    case = Case(tmp_path, "purge")
    step = next(step for step in before_each(case.steps) if step.call == "rename" and step.detail == "Renamed.md")
    case.fresh()
    told: list[str] = []

    def work() -> object:
        result = apply_purge(case.here.scopes, Target(matching=TEXT), actor=ACTOR, environ=case.here.environ)
        told.extend(where for where, _ in result.failed)
        (case.place / "told").write_text("\n".join(told))
        return None

    fail_at(work, step, errno.EIO)
    assert "Renamed.md" in (case.place / "told").read_text()
