"""Run a piece of a test without root's rights: to root no directory is read-only."""

from __future__ import annotations

import json
import os
import traceback
from collections.abc import Callable
from typing import Any

NOBODY = 65534


def as_ordinary_user(act: Callable[[], Any]) -> Any:
    """Call ``act`` in a forked child that runs as an ordinary user; returns its result, which must be JSON.

    Modules must be imported before: the child may not be able to read them.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        status = 1
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setresgid(NOBODY, NOBODY, NOBODY)
                os.setresuid(NOBODY, NOBODY, NOBODY)
            with os.fdopen(writing, "w") as answer:
                answer.write(json.dumps(act()))
            status = 0
        except BaseException:  # noqa: BLE001 - whatever it is, the parent must hear of it
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading) as answer:
        text = answer.read()
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0, "the child failed; its traceback is on standard error"
    return json.loads(text)


def let_pass(directory: os.PathLike[str]) -> None:
    """Let an ordinary user reach ``directory``: pytest's temporary directories are for their owner alone."""
    path = os.path.abspath(directory)
    while path != os.path.dirname(path):
        mode = os.stat(path).st_mode & 0o7777
        if not mode & 0o001:
            os.chmod(path, mode | 0o055)
        path = os.path.dirname(path)
