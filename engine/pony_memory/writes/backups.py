"""Backups: the files a write is about to change, as they were (SPEC §13).

``.backups/<ISO stamp with : and . as ->-<label>/`` holds copies by their paths below the scope's root. A backup is
built under a temporary name and renamed when it is complete and on the disk; a pruned one loses its name before its
files. So a directory with a backup's name is always whole.

The caller holds the place's lock while it makes one; listing and reading need none.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from pony_memory.errors import NotFound, PonyError, UnsafeFile
from pony_memory.files import syscalls
from pony_memory.files.atomic import TEMPORARY_PREFIX, make_private_directory
from pony_memory.files.boundary import Parts, Root
from pony_memory.limits import BACKUPS_KEPT, DREAM_BACKUPS_KEPT, OWNER_DIR_MODE
from pony_memory.writes import trees

BACKUPS_DIRECTORY: Final = ".backups"
DREAM_LABEL: Final = "dream"
MIGRATION_PREFIX: Final = "migrate-"

_ID: Final = re.compile(r"(\d{4}-\d{2}-\d{2}T\d{2})-(\d{2})-(\d{2})(?:-(\d{3}))?Z-([^\s/]{1,100})", re.ASCII)
_NOT_IN_LABEL: Final = re.compile(r"[^a-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Backup:
    """``id`` is the directory's name, ``time`` an ISO timestamp (empty for a migration's), ``files`` relative paths."""

    id: str
    label: str
    time: str
    files: tuple[str, ...]


def backup_before_write(
    root: Root, label: str, files: Iterable[str], keep: int = BACKUPS_KEPT, *, into: Root | None = None
) -> str:
    """Copy ``files`` (paths below ``root`` with ``/``; one that does not exist is left out) and prune old backups.

    Returns the id. ``into`` is where ``.backups/`` is, if not in ``root`` (Agent Notes). Raises
    :class:`UnsafeFile` for a file the boundary declines and :class:`PonyError` (``backup_failed``) when the disk
    refuses: then the write must not happen.
    """
    contents: dict[Parts, bytes] = {}
    for file in files:
        parts = tuple(file.split("/"))
        with suppress(NotFound):
            contents[parts] = root.read(parts).data
    return _make(into or root, label, contents, keep)


def backup_everything(root: Root, label: str = DREAM_LABEL, keep: int = BACKUPS_KEPT) -> str:
    """A backup of every readable ``.md`` file of a store, index included: one for a whole dream apply (SPEC §18)."""
    return backup_before_write(root, label, (found.parts[0] for found in root.walk(recursive=False).files), keep)


def list_backups(root: Root | None) -> tuple[Backup, ...]:
    """Every backup, newest first, those of migrations last. Directories with other names are none of ours."""
    if root is None:
        return ()
    found = [_described(root, item.name) for item in trees.listing(root, (BACKUPS_DIRECTORY,)) if item.is_directory]
    kept = [backup for backup in found if backup is not None]
    return tuple(sorted(kept, key=lambda backup: (backup.time != "", backup.id), reverse=True))


def find_backup(root: Root | None, identifier: str) -> Backup:
    """The backup ``identifier``. Raises :class:`NotFound`."""
    found = next((backup for backup in list_backups(root) if backup.id == identifier), None)
    if found is None:
        raise NotFound(f"no such backup: {identifier!a}", hint="`pony-memory backups list` shows what there is.")
    return found


def contents_of(root: Root, identifier: str) -> Mapping[Parts, bytes]:
    """The files of a backup by their paths. Raises :class:`NotFound`; an unreadable file is left out."""
    backup = find_backup(root, identifier)
    contents: dict[Parts, bytes] = {}
    for file in backup.files:
        parts = tuple(file.split("/"))
        with suppress(NotFound, UnsafeFile):
            contents[parts] = root.read((BACKUPS_DIRECTORY, backup.id, *parts)).data
    return contents


def backup_count(root: Root | None) -> int:
    """How many there are, without looking into them (``status``)."""
    if root is None:
        return 0
    return sum(_recognised(item.name) for item in trees.listing(root, (BACKUPS_DIRECTORY,)) if item.is_directory)


def _make(root: Root, label: str, contents: Mapping[Parts, bytes], keep: int) -> str:
    try:
        with root.open_dir() as directory:
            make_private_directory(directory, BACKUPS_DIRECTORY)
            with trees.opened(directory, BACKUPS_DIRECTORY) as backups:
                trees.remove_leftovers(backups)
                identifier = _new_id(backups, label)
                temporary = f"{TEMPORARY_PREFIX}{os.urandom(8).hex()}"
                syscalls.mkdir(temporary, backups, OWNER_DIR_MODE)
                with trees.opened(backups, temporary) as inside:
                    if os.fstat(inside).st_mode & 0o777 != OWNER_DIR_MODE:
                        syscalls.chmod(inside, OWNER_DIR_MODE, temporary)
                    trees.fill(inside, contents)
                syscalls.rename(temporary, identifier, backups)
                syscalls.fsync(backups, identifier)
                # An old backup that cannot be removed does not make this one worse; the next write tries again, and
                # `status` shows how many there are.
                with suppress(OSError):
                    _prune(backups, max(keep, 1))
    except OSError as error:
        raise PonyError(
            f"the backup could not be made in {root.path}/{BACKUPS_DIRECTORY}: {error.strerror}; nothing was written",
            code="backup_failed",
        ) from None
    return identifier


def _new_id(backups: int, label: str) -> str:
    """A name that sorts after all others, even if the clock was set back or two writes share a millisecond."""
    newest = max((stamp for item in trees.items(backups) if (stamp := _stamp(item.name))), default="")
    now = datetime.now(UTC)
    stamp = _stamp_of(now)
    if stamp <= newest:
        stamp = _stamp_of(_time_of(newest) + timedelta(milliseconds=1))
    return f"{stamp}-{_NOT_IN_LABEL.sub('-', label.lower()).strip('-')[:60] or 'write'}"


def _stamp_of(time: datetime) -> str:
    text = time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return text.replace(":", "-").replace(".", "-")


def _stamp(identifier: str) -> str:
    matched = _ID.fullmatch(identifier)
    if matched is None:
        return ""
    hour, minute, second, millis, _ = matched.groups()
    return f"{hour}-{minute}-{second}-{millis or '000'}Z"


def _time_of(stamp: str) -> datetime:
    try:
        return datetime.strptime(stamp, "%Y-%m-%dT%H-%M-%S-%fZ").replace(tzinfo=UTC)
    except ValueError:
        return datetime.now(UTC)


def _recognised(identifier: str) -> bool:
    return identifier.startswith(MIGRATION_PREFIX) or _ID.fullmatch(identifier) is not None


def _described(root: Root, identifier: str) -> Backup | None:
    if not _recognised(identifier):
        return None
    files = tuple(
        "/".join(parts)
        for parts in trees.files_below(root, (BACKUPS_DIRECTORY, identifier))
        # A purge that was killed while it changed a copy leaves one beside it.
        if not parts[-1].startswith(TEMPORARY_PREFIX)
    )
    matched = _ID.fullmatch(identifier)
    if matched is None:
        return Backup(identifier, "migrate", "", files)
    hour, minute, second, millis, label = matched.groups()
    return Backup(identifier, label, f"{hour}:{minute}:{second}.{millis or '000'}Z", files)


def _prune(backups: int, keep: int) -> None:
    """The newest ``keep`` stay, and the last three of dreams; migrations' are never touched."""
    names = sorted((item.name for item in trees.items(backups) if item.is_directory and _stamp(item.name)), key=_order)
    dreams = [name for name in names if name.endswith(f"Z-{DREAM_LABEL}")]
    stay = {*names[-keep:], *dreams[-DREAM_BACKUPS_KEPT:]}
    for name in names:
        if name in stay:
            continue
        temporary = f"{TEMPORARY_PREFIX}{os.urandom(8).hex()}"
        syscalls.rename(name, temporary, backups)
        trees.remove_tree(backups, temporary)


def _order(identifier: str) -> tuple[str, str]:
    return _stamp(identifier), identifier
