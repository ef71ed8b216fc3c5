"""Stop a piece of work, or fail it, at each step that changes the disk (SPEC §24).

The work runs in a forked child, so a SIGKILL is a real one; the parent then looks at what is left. ``steps_of`` runs it
once to learn its steps. Right after one step and right before the next the disk is the same, so ``after_each`` gives
every state of the disk there can be, and ``before_each`` the calls that can fail.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from pony_memory.errors import PonyError
from pony_memory.files import syscalls

Work = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Step:
    """The ``number``-th call of the hook, counted from 0."""

    number: int
    call: str
    phase: Literal["before", "after"]
    detail: str

    def __str__(self) -> str:
        return f"{self.phase} {self.number}: {self.call} {self.detail}"


#: One for each kill and each failure tried by this process; the sum is printed at the end of a test run.
tried: list[None] = []


def steps_of(work: Work) -> tuple[Step, ...]:
    """The steps of ``work``, which is done in a child, for real."""

    def count() -> list[list[str]]:
        seen: list[list[str]] = []
        syscalls.set_hook(lambda call, phase, detail: seen.append([call, phase, detail]))
        work()
        return seen

    status, seen = _in_a_child(count)
    assert status == 0, f"the work failed by itself: {seen}"
    return tuple(Step(number, call, phase, detail) for number, (call, phase, detail) in enumerate(seen))


def before_each(steps: Iterable[Step]) -> list[Step]:
    return [step for step in steps if step.phase == "before"]


def after_each(steps: Iterable[Step]) -> list[Step]:
    return [step for step in steps if step.phase == "after"]


def kill_at(work: Work, step: Step) -> None:
    """Do ``work`` in a child that is killed at ``step``."""

    def hook(number: int) -> None:
        if number == step.number:
            os.kill(os.getpid(), signal.SIGKILL)

    tried.append(None)
    status, _ = _in_a_child(lambda: _hooked(work, hook))
    assert status == -signal.SIGKILL, f"the work did not come to {step}: status {status}"


def fail_at(work: Work, step: Step, error: int, *, from_then_on: bool = False) -> str | None:
    """Do ``work`` in a child in which the call of ``step`` fails with the errno ``error``.

    With ``from_then_on`` every later call fails alike, as on a full disk. Returns the code of the engine's error, or
    ``None`` if the work was done all the same. An error that is none of the engine's fails the test.
    """

    def hook(number: int) -> None:
        if number == step.number or (from_then_on and number > step.number):
            raise OSError(error, os.strerror(error))

    def told() -> str | None:
        try:
            _hooked(work, hook)
        except PonyError as refused:
            assert str(refused), "an error without a message"
            return refused.code
        return None

    tried.append(None)
    status, code = _in_a_child(told)
    assert status == 0, f"{step} with {os.strerror(error)} let another error through: {code}"
    assert code is None or isinstance(code, str)
    return code


def _hooked(work: Work, hook: Callable[[int], None]) -> None:
    number = -1

    def count(_call: str, _phase: str, _detail: str) -> None:
        nonlocal number
        number += 1
        hook(number)

    syscalls.set_hook(count)
    work()


def _in_a_child(act: Callable[[], Any]) -> tuple[int, Any]:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        status = 1
        try:
            with os.fdopen(writing, "w") as answer:
                try:
                    answer.write(json.dumps(act()))
                    status = 0
                except BaseException as error:  # noqa: BLE001 - told to the parent, which fails the test
                    answer.write(json.dumps(repr(error)))
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading) as answer:
        text = answer.read()
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), json.loads(text) if text else None
