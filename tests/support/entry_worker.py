"""One of several processes that write to one store at once; run as a script.

``entry_worker.py PLACE WORKER COUNT [STEP]``: all steps in this process, or one of them (a fresh process each). A
witness file, which knows nothing of the lock's own record, is created exclusively while `.lock` is held: a second
holder would find it there and leave `double-holder`.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path

from pony_memory.entries.operations import replace
from pony_memory.entries.state import Change, StoreState
from pony_memory.entries.store import EntryStore, StoreSettings, timestamp
from pony_memory.files import syscalls
from pony_memory.files.boundary import RootSpec
from pony_memory.writes.history import Actor, Who

SHARED = "Shared"

Step = tuple[str, str, str]


def steps(worker: int, count: int) -> Iterator[tuple[Step, dict[str, str]]]:
    """The worker's steps and, after each, what its own entries are by then. The same in every process."""
    choose = random.Random(worker)
    own: dict[str, str] = {}
    for number in range(count):
        text = f"worker {worker} step {number}"
        name = choose.choice(sorted(own)) if own else ""
        action = choose.choice(["add", "add", "append", "rename", "replace", "remove", "overwrite"])
        if not own or action == "add":
            step = ("add", f"w{worker}/note {number}", text)
            own[step[1]] = text
        elif action == "append":
            step = ("append", SHARED, text)
        elif action == "rename":
            step = ("rename", name, f"w{worker}:renamed {number}")
            own[step[2]] = own.pop(name)
        elif action == "remove":
            step = ("remove", name, "")
            del own[name]
        else:
            step = ("add" if action == "overwrite" else "replace", name, text)
            own[name] = text
        yield step, dict(own)


def store_at(place: str) -> EntryStore:
    return EntryStore(
        RootSpec(place, (), follow_trusted=True),
        actor=Actor.here(Who.TOOL),
        settings=StoreSettings(lock_timeout_ms=120_000),
        environ={},
    )


def make(store: EntryStore, step: Step) -> None:
    action, name, text = step
    if action == "add":
        store.add(name, text)
    elif action == "replace":
        store.replace(name, text)
    elif action == "rename":
        store.rename(name, text)
    elif action == "remove":
        store.remove(name)
    else:

        def decide(state: StoreState) -> Change:
            body = state.named(name)[0].body
            return replace(state, name, f"{body}\n{text}", now=timestamp())

        store.run("append", decide)


def watch(place: str) -> None:
    witness = Path(place).parent / "witness"

    def hook(call: str, phase: str, detail: str) -> None:
        if (call, phase, detail) == ("link", "after", ".lock"):
            try:
                os.close(os.open(witness, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            except FileExistsError:
                (witness.parent / "double-holder").touch()
        elif (call, phase, detail) == ("unlink", "before", ".lock"):
            witness.unlink(missing_ok=True)

    syscalls.set_hook(hook)


def main(place: str, worker: int, count: int, only: int | None) -> None:
    watch(place)
    store = store_at(place)
    for number, (step, _) in enumerate(steps(worker, count)):
        if only is None or number == only:
            make(store, step)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]) if len(sys.argv) > 4 else None)
