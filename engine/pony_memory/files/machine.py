"""What can be known of a process named by a lock: this machine, this boot, this PID namespace (SPEC §12).

Everything here errs to one side: what cannot be told is ``None``, and a lock of which something cannot be told counts
as held. Linux answers from ``/proc``; elsewhere ``sysctl`` and ``ps`` are asked where they exist.
"""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from typing import Final

_PROC: Final = sys.platform.startswith("linux")
_MAX_PID: Final = 2**31 - 1
_TOOL_TIMEOUT_S: Final = 2.0


@dataclass(frozen=True, slots=True)
class Here:
    """This process and where it runs. ``None`` where the system does not say.

    ``machine_id`` is a digest, since the system's own is not meant to be handed on.
    """

    pid: int
    hostname: str
    machine_id: str | None
    boot_id: str | None
    pid_namespace: str | None
    start_token: str | None


_known: Here | None = None


def here() -> Here:
    """The facts of this process, asked once; again in a child that was forked from it."""
    global _known  # noqa: PLW0603 - one value a process, like the process itself
    known = _known
    if known is None or known.pid != os.getpid():
        pid = os.getpid()
        known = Here(pid, os.uname().nodename, _machine_id(), _boot_id(), _pid_namespace(), start_token(pid))
        _known = known
    return known


def process_exists(pid: int) -> bool:
    """Whether a process ``pid`` runs in this PID namespace. One that is dead and not yet reaped does not."""
    if not _has_number(pid):
        return False
    if not _PROC:
        return True
    fields = _stat_fields(pid)
    if fields is None:  # reaped since the question before, or hidden from this user
        return _has_number(pid)
    return not _is_dead(pid, fields)


def start_token(pid: int) -> str | None:
    """When process ``pid`` started, as text that differs for a later process of the same number.

    Two tokens say something about each other only when :func:`comparable`.
    """
    if not _PROC:
        started = _said("ps", "-o", "lstart=", "-p", str(pid))
        return None if started is None else "ps:" + " ".join(started.split()).replace(":", ".")
    fields = _stat_fields(pid)
    if fields is None:
        return None
    # Ticks since boot, as seen from a time namespace: of use only to readers in the same one.
    return f"ticks:{_link('/proc/self/ns/time') or '-'}:{fields[19]}"


def comparable(token: str, other: str) -> bool:
    """Whether two start tokens were made by the same clock."""
    return token.rpartition(":")[0] == other.rpartition(":")[0]


def booted_at() -> float | None:
    """When this boot began, in seconds since the epoch by the wall clock as it is now; ``None`` if not known."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return None if clock is None else time.time() - time.clock_gettime(clock)


def _machine_id() -> str | None:
    text = _text("/etc/machine-id") or _text("/var/lib/dbus/machine-id")
    if text is None:
        return None
    from hashlib import sha256  # noqa: PLC0415 - slow to load, and only a lock needs it

    return sha256(f"pony-memory {text}".encode()).hexdigest()[:16]


def _boot_id() -> str | None:
    return _text("/proc/sys/kernel/random/boot_id") if _PROC else _said("sysctl", "-n", "kern.bootsessionuuid")


def _pid_namespace() -> str | None:
    return _link("/proc/self/ns/pid") if _PROC else None


def _has_number(pid: int) -> bool:
    """Whether the system knows the number, be it of the living or of the unreaped."""
    if not 0 < pid <= _MAX_PID:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _is_dead(pid: int, fields: list[str]) -> bool:
    if fields[0] not in ("Z", "X", "x"):
        return False
    try:  # a leader that ended before its threads looks dead while they still run
        return len(os.listdir(f"/proc/{pid}/task")) <= 1
    except OSError:
        return True


def _stat_fields(pid: int) -> list[str] | None:
    """The fields of ``/proc/<pid>/stat`` after the command's name, which may hold anything; the state is first."""
    text = _text(f"/proc/{pid}/stat")
    if text is None:
        return None
    fields = text.rpartition(")")[2].split()
    return fields if len(fields) > 19 else None


def _text(path: str) -> str | None:
    """A small file of the system's, stripped; ``None`` if it cannot be had or is empty."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return os.read(descriptor, 4_096).decode("utf-8", "replace").strip() or None
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _link(path: str) -> str | None:
    try:
        return os.readlink(path)
    except OSError:
        return None


def _said(*command: str) -> str | None:
    import subprocess  # noqa: PLC0415 - not needed where /proc answers

    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TOOL_TIMEOUT_S,
            check=False,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", "TZ": "UTC"},
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return (done.stdout.decode("utf-8", "replace").strip() or None) if done.returncode == 0 else None
