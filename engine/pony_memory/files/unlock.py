"""Clearing a lock on a person's word: the only way one ever goes without its owner (SPEC §12).

The danger is to remove a lock other than the one the person was shown: a holder releases it, and another takes it,
between the question and the removal. Three things together exclude that:

1. What was seen is named by inode, time and content, and looked at again.
2. Whoever takes or releases a lock holds the guard file's ``flock`` shared, an unlocker holds it exclusively from the
   second look to the removal. So meanwhile no lock can appear, and unlockers come one after the other.
3. pi-memory does not know the guard. Against it the lock is first renamed aside and looked at there, and put back if it
   is not the one that was seen.
"""

from __future__ import annotations

import contextlib
import os
import stat
from dataclasses import dataclass
from typing import Final

from pony_memory.errors import Conflict, NotConfirmed, PonyError, Refused
from pony_memory.files import syscalls
from pony_memory.files.atomic import remove_leftovers
from pony_memory.files.boundary import Root, printable
from pony_memory.files.flock import flocked
from pony_memory.files.lock_state import (
    GUARD_FILE,
    LOCK_FILE,
    Abandoned,
    Free,
    Held,
    Holder,
    LockIdentity,
    LockState,
    Unreadable,
    lock_state_at,
)
from pony_memory.limits import LOCK_TIMEOUT_MS

_ASIDE_PREFIX: Final = ".unlock-"


@dataclass(frozen=True, slots=True)
class Unlocked:
    """``removed`` is false when the lock was free already; ``holder`` is whose it was, where it said so."""

    removed: bool
    holder: Holder | None


def unlock(root: Root, seen: LockState, *, force_live: bool = False, timeout_ms: int = LOCK_TIMEOUT_MS) -> Unlocked:
    """Remove the very lock that was ``seen``, and no other.

    ``force_live`` is the second confirmation, for a holder that may live; exclusion is not promised afterwards.
    Raises :class:`NotConfirmed` without it, :class:`Conflict` when another lock stands there now, :class:`Locked` when
    another unlocker does not finish in time, :class:`PonyError` when the directory cannot be written. Needs nothing in
    the directory but the lock.
    """
    if isinstance(seen, Free):
        return Unlocked(False, None)
    with root.open_dir() as directory:
        try:
            with flocked(directory, GUARD_FILE, what=f"the lock of {printable(root.path)}", timeout_ms=timeout_ms):
                now = lock_state_at(directory)
                if isinstance(now, Free):
                    return Unlocked(False, _holder(seen))
                if now.identity != seen.identity:
                    raise _changed(root, now)
                _check_confirmed(now, force_live)
                removed = _remove(root, directory, seen.identity)
                remove_leftovers(directory, also=(_ASIDE_PREFIX,))
        except OSError as error:
            raise PonyError(
                f"cannot remove {printable(os.path.join(root.path, LOCK_FILE))}: {error.strerror}",
                hint="Check the permissions of the directory, and whether its disk can be written.",
            ) from None
    return Unlocked(removed, _holder(seen))


def _check_confirmed(state: LockState, force_live: bool) -> None:
    if not state.may_live or force_live:
        return
    whose = f"by {state.holder} — {state.why}" if isinstance(state, Held) else "by somebody who cannot be told"
    raise NotConfirmed(
        f"the lock is held {whose}; it was left in place",
        hint="Only if you know that its holder is gone: confirm with --force-live. "
        "If it lives, two writers may then change the store at once.",
    )


def _remove(root: Root, directory: int, identity: LockIdentity) -> bool:
    status = os.stat(LOCK_FILE, dir_fd=directory, follow_symlinks=False)
    if stat.S_ISDIR(status.st_mode):
        _remove_directory(root, directory)
        return True
    aside = f"{_ASIDE_PREFIX}{os.urandom(8).hex()}"
    try:
        syscalls.rename(LOCK_FILE, aside, directory)
    except FileNotFoundError:
        return False  # its owner, or pi-memory's own unlock, was quicker
    status = os.stat(aside, dir_fd=directory, follow_symlinks=False)
    if (status.st_dev, status.st_ino, status.st_mtime_ns) != (identity.device, identity.inode, identity.mtime_ns):
        with contextlib.suppress(FileExistsError):
            syscalls.link(aside, LOCK_FILE, directory)
        syscalls.unlink(aside, directory)
        raise _changed(root, lock_state_at(directory))
    syscalls.unlink(aside, directory)
    syscalls.fsync(directory, LOCK_FILE)
    return True


def _remove_directory(root: Root, directory: int) -> None:
    try:
        syscalls.rmdir(LOCK_FILE, directory)
    except OSError as error:
        raise Refused(
            f"{printable(os.path.join(root.path, LOCK_FILE))} is a directory and cannot be removed: {error.strerror}",
            hint="It is no lock of this program's. Look at what is in it, and move it away.",
        ) from None
    syscalls.fsync(directory, LOCK_FILE)


def _changed(root: Root, now: LockState) -> Conflict:
    path = printable(os.path.join(root.path, LOCK_FILE))
    if isinstance(now, Free):
        what = "it is free now"
    elif isinstance(now, Unreadable):
        what = "it is another file now"
    else:
        what = f"it is now the lock of {now.holder}"
    return Conflict(f"{path} changed since it was looked at: {what}; it was left in place", hint="Look again first.")


def _holder(state: LockState) -> Holder | None:
    return state.holder if isinstance(state, Held | Abandoned) else None
