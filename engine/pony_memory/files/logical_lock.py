"""The lock within one process, around one primitive or a whole dream apply (SPEC §12).

Keyed by the store's real directory, so that two ways to one store exclude each other. It spans more than the file lock,
which is held for milliseconds, and is taken first. Not re-entrant, not even in one thread: an asynchronous host may run
two turns on one thread. Whoever holds it for a whole round hands it on by calling what does not take it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from weakref import WeakValueDictionary

from pony_memory.errors import Locked
from pony_memory.files.boundary import printable
from pony_memory.limits import LOCK_TIMEOUT_MS


class _StoreLock:
    """One store's lock; a class of its own since a bare lock's type has no name to annotate."""

    __slots__ = ("__weakref__", "lock")

    def __init__(self) -> None:
        self.lock = threading.Lock()


_registry_lock = threading.Lock()
_registry: Final[WeakValueDictionary[str, _StoreLock]] = WeakValueDictionary()


@contextmanager
def logical_lock(directory: str, *, timeout_ms: int = LOCK_TIMEOUT_MS, wait: bool = True) -> Iterator[bool]:
    """Hold the store's logical lock for as long as the block runs; yields ``True``.

    Waits at most ``timeout_ms``, then raises :class:`Locked` naming the directory. With ``wait=False`` it never waits:
    if the lock is busy the block runs with ``False`` and must do nothing.
    """
    real = os.path.realpath(directory)
    with _registry_lock:
        store = _registry.get(real)
        if store is None:
            store = _registry[real] = _StoreLock()
    taken = store.lock.acquire(timeout=timeout_ms / 1_000) if wait else store.lock.acquire(blocking=False)
    if not taken and wait:
        raise Locked(
            f"another operation of this process is still at work in {printable(real)}; waited {timeout_ms:,} ms",
            hint="Try again when it is done.",
        )
    try:
        yield taken
    finally:
        if taken:
            store.lock.release()


def _forget() -> None:
    """In a forked child nobody is left to release what other threads held."""
    global _registry_lock  # noqa: PLW0603 - it may be held by a thread that does not exist here
    _registry_lock = threading.Lock()
    _registry.clear()


os.register_at_fork(after_in_child=_forget)
