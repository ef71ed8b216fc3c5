"""The lock between processes, held for milliseconds around backup, read, change and write (SPEC §12).

Promised: while nobody clears it by force, at most one holder, on one machine or several that share the directory. It
is taken by linking a complete record, so a lock is never seen half written. Never taken over: no time to live, no
heartbeat, no guess. Released by its owner only; what a killed owner leaves ``unlock`` clears, on a person's word.

Not promised: order among those who wait; that the record outlives a loss of power (it is not synced, for a lock lives
for milliseconds and one that is empty afterwards is cleared the same way).
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from contextlib import ExitStack
from types import TracebackType
from typing import Final, Self

from pony_memory.errors import Conflict, Locked, PonyError
from pony_memory.files import machine, syscalls
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
    lock_state,
)
from pony_memory.files.lock_state import lock_state_at as _state_at
from pony_memory.limits import LOCK_TIMEOUT_MS, OWNER_FILE_MODE

__all__ = [
    "Abandoned",
    "FileLock",
    "Free",
    "Held",
    "Holder",
    "LockIdentity",
    "LockState",
    "Unreadable",
    "lock_state",
]

#: Records that are not linked yet. Removing one that another process still means to link only makes it write another.
RECORD_PREFIX: Final = ".lock-"

OP_MAX_CHARS: Final = 100

_FIRST_WAIT_S: Final = 0.001
_LONGEST_WAIT_S: Final = 0.032
_NO_LINKS: Final = frozenset((errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS))


class FileLock:
    """Take the store's ``.lock`` for as long as the ``with`` block runs. One use each, one thread.

    ``op`` says what for, in the record others see. Entering raises :class:`Locked` after ``timeout_ms``, at once when
    the lock is abandoned; :class:`UnsafeFile` when the root was replaced; :class:`PonyError` when the directory cannot
    be written. ``directory`` is a descriptor of the root while it is held.
    """

    def __init__(self, root: Root, op: str, timeout_ms: int = LOCK_TIMEOUT_MS) -> None:
        self._root = root
        self._op = op
        self._timeout_ms = timeout_ms
        self._pid = 0
        self._record = -1
        self._stack = ExitStack()
        self.directory = -1

    @property
    def path(self) -> str:
        """The lock file's path, as errors show it."""
        return os.path.join(self._root.path, LOCK_FILE)

    def __enter__(self) -> Self:
        self._pid = os.getpid()
        with ExitStack() as stack:
            self.directory = stack.enter_context(self._root.open_dir())
            # From here on: whatever goes wrong, a lock that turns out to be ours is given back.
            stack.callback(self._release)
            try:
                self._acquire()
            except OSError as error:
                raise self._unwritable(error) from None
            self._root.check()
            remove_leftovers(self.directory, also=(RECORD_PREFIX,))
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stack.close()

    def check_owned(self) -> None:
        """To be called before each rename. Raises :class:`Conflict` when somebody cleared the lock meanwhile."""
        if not self._owned():
            raise Conflict(
                f"the lock {printable(self.path)} was cleared by someone else while this write was under way; "
                "it stopped here",
                hint="Look at what is there now, and write again.",
            )

    def _owned(self) -> bool:
        # The record is kept open, so its inode cannot have been given to another file.
        if self._record < 0 or self._pid != os.getpid():
            return False
        try:
            named = os.stat(LOCK_FILE, dir_fd=self.directory, follow_symlinks=False)
        except OSError:
            return False
        return os.path.samestat(os.fstat(self._record), named)

    def _acquire(self) -> None:
        deadline = time.monotonic() + self._timeout_ms / 1_000
        wait = _FIRST_WAIT_S
        name: str | None = None
        try:
            while True:
                name = name or self._write_record()
                if self._link(name, deadline):
                    return
                state = _state_at(self.directory)
                left = deadline - time.monotonic()
                if isinstance(state, Abandoned) or (left <= 0 and not isinstance(state, Free)):
                    raise self._locked(state)
                if left <= 0:
                    raise Locked(f"{printable(self.path)} was busy for {self._timeout_ms:,} ms", hint="Try again.")
                # Uneven steps: those who wait must not all come back at the same moment.
                time.sleep(min(left, wait * (0.5 + os.urandom(1)[0] / 256)))
                wait = min(wait * 2, _LONGEST_WAIT_S)
                if not _exists(self.directory, name):
                    name = None
        finally:
            if name is not None:
                with contextlib.suppress(FileNotFoundError):
                    syscalls.unlink(name, self.directory)

    def _link(self, name: str, deadline: float) -> bool:
        """Whether the lock is ours now. Shared with others who take it, never while somebody clears one."""
        left_ms = max(0, round((deadline - time.monotonic()) * 1_000))
        with flocked(self.directory, GUARD_FILE, what=self.path, timeout_ms=left_ms, shared=True):
            try:
                syscalls.link(name, LOCK_FILE, self.directory)
            except (FileExistsError, FileNotFoundError):
                # A network file system may repeat a call whose answer was lost: then the lock is there, and ours.
                return self._owned()
            except OSError as error:
                if error.errno in _NO_LINKS:
                    raise PonyError(
                        f"{printable(self._root.path)} cannot be locked: its file system has no hard links",
                        hint="Keep the memory directory on a local file system.",
                    ) from None
                raise
        return True

    def _write_record(self) -> str:
        from datetime import UTC, datetime  # noqa: PLC0415 - readers import this module too

        here = machine.here()
        started = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        holder = Holder(
            here.pid,
            here.hostname,
            started,
            self._op[:OP_MAX_CHARS],
            here.boot_id,
            here.pid_namespace,
            here.start_token,
            here.machine_id,
        )
        name = f"{RECORD_PREFIX}{os.urandom(8).hex()}"
        self._close_record()
        self._record = syscalls.create(name, self.directory, OWNER_FILE_MODE)
        if stat.S_IMODE(os.fstat(self._record).st_mode) != OWNER_FILE_MODE:
            syscalls.chmod(self._record, OWNER_FILE_MODE, name)
        syscalls.write(self._record, holder.record(), name)
        return name

    def _release(self) -> None:
        """Remove the lock if it still is this very one; in a forked child, and when it was cleared, do nothing."""
        try:
            try:
                self._give_back()
            except KeyboardInterrupt:
                self._give_back()
                raise
        except OSError as error:
            raise PonyError(
                f"the lock {printable(self.path)} could not be removed: {error.strerror}",
                hint="What was written is there. When the disk is in order, clear the lock with `pony-memory unlock`.",
            ) from None
        finally:
            self._close_record()

    def _give_back(self) -> None:
        if not self._owned():
            return
        # An unlocker must not clear this lock, and a writer take it anew, between the check and the removal.
        with flocked(self.directory, GUARD_FILE, what=self.path, timeout_ms=self._timeout_ms, shared=True):
            if self._owned():
                syscalls.unlink(LOCK_FILE, self.directory)

    def _close_record(self) -> None:
        if self._record >= 0:
            os.close(self._record)
            self._record = -1

    def _locked(self, state: LockState) -> Locked:
        path = printable(self.path)
        match state:
            case Abandoned():
                return Locked(
                    f"{path} was left behind by {state.holder}: {state.why}",
                    hint="Clear it with `pony-memory unlock`.",
                )
            case Held():
                return Locked(
                    f"{path} is held by {state.holder}; waited {self._timeout_ms:,} ms",
                    hint=f"{state.why.capitalize()}. Try again; if it never ends, see `pony-memory unlock`.",
                )
            case Unreadable():
                return Locked(
                    f"{path} cannot be read as a lock: {state.reason}; waited {self._timeout_ms:,} ms",
                    hint="Clear it with `pony-memory unlock`.",
                )
            case Free():
                return Locked(f"{path} was busy for {self._timeout_ms:,} ms", hint="Try again.")

    def _unwritable(self, error: OSError) -> PonyError:
        return PonyError(
            f"cannot write in {printable(self._root.path)}: {error.strerror}",
            hint="Check its permissions and the free space of its disk.",
        )


def _exists(directory: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True
