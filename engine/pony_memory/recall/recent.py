"""What this session recalled in its last turns: a cache, rebuildable and not durable (SPEC §2, §7).

Losing it costs a repetition, nothing else; so a damaged or missing cache reads as "nothing recalled yet".
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from pony_memory.errors import NotFound, UnsafeFile
from pony_memory.files import atomic
from pony_memory.files.boundary import Root, RootSpec

_DIRECTORY: Final = "recent"
_MAX_TURNS: Final = 16
_MAX_BYTES: Final = 64 * 1024


@dataclass(slots=True)
class RecentRecall:
    """Canonical paths kept by each of a session's last turns, the newest turn last."""

    turns: list[frozenset[str]] = field(default_factory=list)

    def within(self, turns: int) -> frozenset[str]:
        """What was recalled in the last ``turns`` turns."""
        return frozenset().union(*self.turns[-turns:]) if turns > 0 else frozenset()

    def add_turn(self, paths: Iterable[str]) -> None:
        """One turn has passed; a turn that recalled nothing counts too."""
        self.turns.append(frozenset(paths))
        del self.turns[:-_MAX_TURNS]

    def clear(self) -> None:
        self.turns.clear()


class RecentCache:
    """The recent lists of sessions that live in several processes, one file a session below the cache directory."""

    def __init__(self, cache_directory: str) -> None:
        self._directory = f"{cache_directory}/{_DIRECTORY}"

    def load(self, session: str) -> RecentRecall:
        try:
            root = Root.resolve(RootSpec(self._directory, (), follow_trusted=True))
            if root is None:
                return RecentRecall()
            data = root.read((_file_name(session),), limit=_MAX_BYTES).data
        except (NotFound, UnsafeFile):
            return RecentRecall()
        return RecentRecall(_turns(data))

    def save(self, session: str, recent: RecentRecall) -> None:
        """Raises ``OSError`` when the cache directory cannot be written; the caller may go on without it."""
        atomic.ensure_private_path(self._directory)
        root = Root.resolve(RootSpec(self._directory, (), follow_trusted=True))
        if root is None:
            return
        data = json.dumps({"turns": [sorted(turn) for turn in recent.turns]}, ensure_ascii=False).encode()
        if len(data) <= _MAX_BYTES:
            with root.open_dir() as descriptor:
                atomic.replace_file(descriptor, _file_name(session), data)


def _file_name(session: str) -> str:
    # A session id comes from outside: only its hash may become a file name.
    return hashlib.sha256(session.encode("utf-8", "surrogatepass")).hexdigest()[:32] + ".json"


def _turns(data: bytes) -> list[frozenset[str]]:
    try:
        turns = json.loads(data)["turns"]
        return [frozenset(path for path in turn if isinstance(path, str)) for turn in turns][-_MAX_TURNS:]
    except (ValueError, TypeError, KeyError, RecursionError):
        return []
