"""The bounded inventory of the scopes: which files there are, and which of them a scan takes (SPEC §3, §6)."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from pony_memory.canonical import AGENT_NOTES_FILE, NOTES_DIRECTORY, CanonicalPath, ScopeName
from pony_memory.errors import NotFound, UnsafeFile
from pony_memory.files.boundary import Parts, Root, Stamp, shown_parts
from pony_memory.limits import SCAN_MAX_BYTES, SCAN_MAX_FILES
from pony_memory.scopes.place import Scope

Signature = tuple[object, ...]


class LimitReason(StrEnum):
    """Why a safe file was left out of a scan. The values are part of the JSON contract."""

    OVER_FILE_LIMIT = "over_file_limit"
    OVER_BYTE_LIMIT = "over_byte_limit"
    SCAN_LIMIT = "scan_limit"


@dataclass(frozen=True, slots=True)
class ScanLimits:
    """How much one scan takes; for the notes scopes together, and for a project store by itself."""

    max_files: int = SCAN_MAX_FILES
    max_bytes: int = SCAN_MAX_BYTES
    max_names: int = 100_000


DEFAULT_LIMITS: Final = ScanLimits()


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file that was not read. ``path`` is its canonical path where it has one, else a printable form of it.

    ``unsafe`` tells what the boundary refused from what the limits left out.
    """

    path: str
    scope: ScopeName
    reason: str
    unsafe: bool
    stamp: Stamp | None = None


@dataclass(frozen=True, slots=True)
class Listed:
    """A file the scan takes."""

    path: CanonicalPath
    stamp: Stamp


@dataclass(frozen=True, slots=True)
class ScopeInventory:
    """One scope as it stands; ``root`` is ``None`` where the scope does not exist on disk yet."""

    scope: Scope
    root: Root | None
    taken: tuple[Listed, ...]
    left_out: tuple[LeftOut, ...]
    directories: tuple[Parts, ...]


@dataclass(frozen=True, slots=True)
class Inventory:
    """All scopes. Two inventories with one signature hold the same files in the same state."""

    scopes: tuple[ScopeInventory, ...]
    signature: Signature
    safe: bool

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        return tuple([item for scope in self.scopes for item in scope.left_out])

    @property
    def directories(self) -> tuple[str, ...]:
        """Absolute paths of the directories that were walked, for watching."""
        return tuple(
            [
                os.path.join(scope.root.path, *parts)
                for scope in self.scopes
                if scope.root is not None
                for parts in scope.directories
            ]
        )


def take_inventory(scopes: Iterable[Scope], limits: ScanLimits = DEFAULT_LIMITS) -> Inventory:
    """Walk the scopes without reading a file. Never raises for what is on the disk: it is named in ``left_out``."""
    notes = _Budget(limits)
    found: list[ScopeInventory] = []
    for scope in scopes:
        budget = _Budget(limits) if scope.name == "project" else notes
        found.append(_scope(scope, budget, limits))
    signature: list[object] = []
    for item in found:
        root = item.root
        signature.append((item.scope.name, root and (root.path, root.device, root.inode)))
        signature.append(tuple([(listed.path, listed.stamp) for listed in item.taken]))
        signature.append(item.left_out)
    safe = not any(item.unsafe for scope in found for item in scope.left_out)
    return Inventory(tuple(found), tuple(signature), safe)


class _Budget:
    def __init__(self, limits: ScanLimits) -> None:
        self.files = limits.max_files
        self.bytes = limits.max_bytes

    def take(self, stamp: Stamp) -> LimitReason | None:
        if self.files <= 0:
            return LimitReason.OVER_FILE_LIMIT
        if stamp.size > self.bytes:
            return LimitReason.OVER_BYTE_LIMIT
        self.files -= 1
        self.bytes -= stamp.size
        return None


def _scope(scope: Scope, budget: _Budget, limits: ScanLimits) -> ScopeInventory:
    try:
        root = Root.resolve(scope.spec)
        if root is None:
            return ScopeInventory(scope, None, (), (), ())
        return _walk(scope, root, budget, limits)
    except UnsafeFile as error:
        return ScopeInventory(scope, None, (), (LeftOut(f"{scope.name}/", scope.name, error.reason, True),), ())


def _walk(scope: Scope, root: Root, budget: _Budget, limits: ScanLimits) -> ScopeInventory:
    name = scope.name
    taken: list[Listed] = []
    left_out: list[LeftOut] = []
    directories: list[Parts] = [()]

    def take(path: CanonicalPath, stamp: Stamp) -> None:
        # The index is always read: without it nothing could be said about the entries.
        reason = None if path.is_index else budget.take(stamp)
        if reason is None:
            taken.append(Listed(path, stamp))
        else:
            left_out.append(LeftOut(str(path), name, reason.value, False, stamp))

    if name == "project":
        walk = root.walk(recursive=False, max_names=limits.max_names)
    else:
        agent_notes = CanonicalPath(name, (AGENT_NOTES_FILE,))
        try:
            take(agent_notes, root.stat(agent_notes.parts))
        except NotFound:
            pass
        except UnsafeFile as error:
            left_out.append(LeftOut(str(agent_notes), name, error.reason, True))
        walk = root.walk(below=(NOTES_DIRECTORY,), max_names=limits.max_names)
        directories.extend(walk.directories)
    for found in walk.files:
        # A name made by the walk was checked by the walk: parsing it again would only cost time.
        take(CanonicalPath(name, found.parts), found.stamp)
    left_out += [
        LeftOut(f"{name}/{skipped.shown}", name, skipped.reason.value, True, skipped.stamp) for skipped in walk.skipped
    ]
    for parts in walk.cut:
        shown = "/".join((name, shown_parts(parts), "…")) if parts else f"{name}/…"
        left_out.append(LeftOut(shown, name, LimitReason.SCAN_LIMIT.value, False))
    return ScopeInventory(scope, root, tuple(taken), tuple(left_out), tuple(directories))


def place_of(scope: Scope, parts: Parts) -> str:
    """A path on this machine, printable, for messages to the person."""
    return os.path.join(scope.location, shown_parts(parts))
