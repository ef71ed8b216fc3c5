"""Following the disk: only directories the boundary walked, each by itself, and polling beyond that (SPEC §3)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Final

from pony_memory.limits import WATCH_MAX_DIRECTORIES

#: How often the disk is looked at when it cannot be watched, and in any case: new roots appear where nothing was.
POLL_SECONDS: Final = 2.0
_STEP_MS: Final = 100
_DEBOUNCE_MS: Final = 250


class DiskWatcher:
    """Calls ``changed`` soon after something changes in the watched directories. One per app."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._directories: frozenset[str] = frozenset()
        self._restart = asyncio.Event()

    def cover(self, directories: Iterable[str]) -> None:
        """Watch these from now on; more than 1,024 are left to polling."""
        wanted = frozenset(list(directories)[:WATCH_MAX_DIRECTORIES])
        if wanted != self._directories:
            self._directories = wanted
            self._restart.set()

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            self._restart.clear()
            if not self._directories:
                await self._restart.wait()
                continue
            try:
                await self._watch(self._directories)
            except (OSError, RuntimeError):
                # A directory went away, or the system has no watches left: polling goes on, and the next look at the
                # disk says which directories there are.
                await asyncio.sleep(POLL_SECONDS)
                self._changed()

    async def _watch(self, directories: frozenset[str]) -> None:
        from watchfiles import awatch  # noqa: PLC0415 - loaded once the first screen is painted

        async for _ in awatch(
            *directories,
            recursive=False,
            watch_filter=None,
            step=_STEP_MS,
            debounce=_DEBOUNCE_MS,
            stop_event=self._restart,
            ignore_permission_denied=True,
        ):
            self._changed()
