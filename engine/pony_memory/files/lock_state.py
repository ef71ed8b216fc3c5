"""What stands in a store's ``.lock``, and what can be told of its holder (SPEC §12).

The four states are values; nothing here changes the disk. A lock is *abandoned* only when it is certain that its holder
is gone: the same machine, boot and PID namespace and no such process any more, or an earlier boot of this machine.
Whatever cannot be told counts as held.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Final

from pony_memory.errors import NotFound, UnsafeFile
from pony_memory.files import machine
from pony_memory.files.boundary import Root, printable, read_at
from pony_memory.files.refusals import UnsafeReason

LOCK_FILE: Final = ".lock"
#: Between those who take or release a lock (shared) and those who clear one (exclusive), see ``unlock``.
GUARD_FILE: Final = ".lock.guard"

_RECORD_MAX_BYTES: Final = 16 * 1024
_SHOWN_MAX_CHARS: Final = 200
_LOOKS: Final = 10


@dataclass(frozen=True, slots=True)
class Holder:
    """The record in a lock. pi-memory writes the first four only; the others are ``None`` then.

    ``started_at`` is ISO 8601 as written. The texts are printable: whatever else a hostile record holds is escaped.
    """

    pid: int
    hostname: str
    started_at: str
    op: str
    boot_id: str | None = None
    pid_namespace: str | None = None
    start_token: str | None = None
    machine_id: str | None = None

    def __str__(self) -> str:
        return f"{self.op} (pid {self.pid} on {self.hostname}, started {self.started_at})"

    def record(self) -> bytes:
        """The bytes of the lock file."""
        fields: dict[str, object] = {
            "pid": self.pid,
            "hostname": self.hostname,
            "startedAt": self.started_at,
            "op": self.op,
        }
        ours = zip(_OUR_KEYS, (self.boot_id, self.pid_namespace, self.start_token, self.machine_id), strict=True)
        fields |= {key: value for key, value in ours if value is not None}
        return (json.dumps(fields, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")


@dataclass(frozen=True, slots=True)
class LockIdentity:
    """Which very lock was seen; ``sha256`` of its bytes, or ``None`` where they could not be read."""

    device: int
    inode: int
    mtime_ns: int
    sha256: str | None


@dataclass(frozen=True, slots=True)
class Free:
    """Nobody holds the lock."""

    @property
    def may_live(self) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class Held:
    """Somebody holds it, or it cannot be told that nobody does; ``why`` says which."""

    holder: Holder
    identity: LockIdentity
    why: str

    @property
    def may_live(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class Abandoned:
    """Its holder is certainly gone; ``why`` says how that is known. Only ``unlock`` clears it."""

    holder: Holder
    identity: LockIdentity
    why: str

    @property
    def may_live(self) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Something is in the lock's place that says nothing of a holder; ``reason`` says what is wrong with it.

    It may belong to a living holder only when it was the reading that failed, not the record.
    """

    reason: str
    identity: LockIdentity
    may_live: bool


LockState = Free | Held | Abandoned | Unreadable

#: Of a lock that could not even be looked at.
_UNSEEN: Final = LockIdentity(0, 0, 0, None)

_OUR_KEYS: Final = ("bootId", "pidNamespace", "startToken", "machineId")


def lock_state(root: Root, name: str = LOCK_FILE) -> LockState:
    """The state of the store's lock. Changes nothing and waits for nobody.

    Raises :class:`UnsafeFile` or :class:`NotFound` for the root only.
    """
    with root.open_dir() as directory:
        return lock_state_at(directory, name)


def lock_state_at(directory: int, name: str = LOCK_FILE) -> LockState:
    """As :func:`lock_state`, in an open directory."""
    try:
        return _settled_state(directory, name)
    except OSError as error:  # a directory that may be listed and not searched, a disk that fails
        return Unreadable(f"it cannot be looked at: {error.strerror}", _UNSEEN, may_live=True)


def _settled_state(directory: int, name: str) -> LockState:
    state: LockState = Free()
    for _ in range(_LOOKS):
        before = _status(directory, name)
        if before is None:
            return Free()
        state = _look(directory, name, before)
        # A holder that released its lock and ended in between would look like one that died with it.
        after = _status(directory, name)
        if after is None:
            return Free()
        if not isinstance(state, Free) and _same(state.identity, after):
            return state
    return state


def parse_record(data: bytes) -> Holder | str:
    """The holder a lock's bytes name, or what is wrong with them."""
    try:
        record = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        return "it is not JSON"
    if not isinstance(record, dict):
        return "it is not a JSON object"
    pid = record.get("pid")
    if type(pid) is not int or not 0 < pid < 2**31:
        return "it names no process (pid)"
    for key in ("hostname", "startedAt", "op"):
        if not isinstance(record.get(key), str):
            return f"it has no {key}"
    for key in _OUR_KEYS:
        if not isinstance(record.get(key), str | None):
            return f"its {key} is not text"
    return Holder(
        pid,
        _shown(record["hostname"]),
        _shown(record["startedAt"]),
        _shown(record["op"]),
        *(record.get(key) for key in _OUR_KEYS),
    )


def _look(directory: int, name: str, status: os.stat_result) -> LockState:
    try:
        raw = read_at(directory, name, limit=_RECORD_MAX_BYTES, linked=True)
    except NotFound:
        return Free()
    except UnsafeFile as error:
        failed = error.reason in (UnsafeReason.NOT_PERMITTED, UnsafeReason.IO_ERROR, UnsafeReason.CHANGED)
        return Unreadable(error.message, _unread(status), failed)
    from hashlib import sha256  # noqa: PLC0415 - slow to load, and mostly there is no lock

    stamp = raw.stamp
    identity = LockIdentity(stamp.device, stamp.inode, stamp.mtime_ns, sha256(raw.data).hexdigest())
    holder = parse_record(raw.data)
    if isinstance(holder, str):
        return Unreadable(holder, identity, may_live=False)
    gone, why = _fate(holder)
    return Abandoned(holder, identity, why) if gone else Held(holder, identity, why)


def _fate(holder: Holder) -> tuple[bool, str]:
    """Whether ``holder`` is certainly gone, and how that is known or why it is not."""
    here = machine.here()
    if holder.hostname != _shown(here.hostname):
        return False, "it runs on another machine, if it still runs"
    if holder.machine_id and here.machine_id and holder.machine_id != here.machine_id:
        return False, "it runs on another machine of the same name, if it still runs"
    if holder.boot_id is not None:
        if here.boot_id is None:
            return False, "this system does not say whether it was restarted since"
        if holder.boot_id != here.boot_id:
            return _fate_of_other_boot(holder, same_machine=bool(holder.machine_id and here.machine_id))
        if holder.pid_namespace != here.pid_namespace:
            return False, "it runs in another container, if it still runs"
    # Asked first: should the process end between the two questions, the second one finds that out.
    token = machine.start_token(holder.pid) if holder.start_token else None
    if not machine.process_exists(holder.pid):
        return True, "there is no such process any more"
    if holder.start_token is None or token is None or not machine.comparable(holder.start_token, token):
        return False, "a process with its number runs"
    if holder.start_token != token:
        return True, "its number belongs to a later process now"
    return False, "it runs"


def _fate_of_other_boot(holder: Holder, *, same_machine: bool) -> tuple[bool, str]:
    # Without a machine's identity only the time tells an earlier boot of this machine from a namesake.
    if same_machine or _started_before_this_boot(holder.started_at):
        return True, "this machine was restarted since"
    return False, "it runs on another machine of the same name, if it still runs"


def _started_before_this_boot(started_at: str) -> bool:
    from datetime import UTC, datetime  # noqa: PLC0415 - only for a lock of another boot

    booted = machine.booted_at()
    if booted is None:
        return False
    try:
        started = datetime.fromisoformat(started_at)
    except ValueError:
        return False
    return (started if started.tzinfo else started.replace(tzinfo=UTC)).timestamp() < booted


def _status(directory: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _unread(status: os.stat_result) -> LockIdentity:
    return LockIdentity(status.st_dev, status.st_ino, status.st_mtime_ns, None)


def _same(identity: LockIdentity, status: os.stat_result) -> bool:
    return (identity.device, identity.inode, identity.mtime_ns) == (status.st_dev, status.st_ino, status.st_mtime_ns)


def _shown(text: str) -> str:
    text = printable(text)
    return text if len(text) <= _SHOWN_MAX_CHARS else text[:_SHOWN_MAX_CHARS] + "…"
