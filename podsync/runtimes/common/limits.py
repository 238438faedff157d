"""What the engine's own process may not do, found out before a container fails for it.

A kubelet gives its sandboxes a low out-of-memory score, which takes CAP_SYS_RESOURCE.
Where the engine runs without it (a container, a locked-down machine, rootless) each
such start would fail, so the score is raised to what the machine allows, once, for all.
"""

from __future__ import annotations

import logging
import socket
import struct
import threading
from dataclasses import dataclass, replace
from pathlib import Path

from podsync.runtimes.base import Resources

__all__ = ["CAPABILITIES", "EngineLimits", "Limits", "engine_process", "read_limits"]

_log = logging.getLogger(__name__)

CAPABILITIES = (
    "CHOWN",
    "DAC_OVERRIDE",
    "DAC_READ_SEARCH",
    "FOWNER",
    "FSETID",
    "KILL",
    "SETGID",
    "SETUID",
    "SETPCAP",
    "LINUX_IMMUTABLE",
    "NET_BIND_SERVICE",
    "NET_BROADCAST",
    "NET_ADMIN",
    "NET_RAW",
    "IPC_LOCK",
    "IPC_OWNER",
    "SYS_MODULE",
    "SYS_RAWIO",
    "SYS_CHROOT",
    "SYS_PTRACE",
    "SYS_PACCT",
    "SYS_ADMIN",
    "SYS_BOOT",
    "SYS_NICE",
    "SYS_RESOURCE",
    "SYS_TIME",
    "SYS_TTY_CONFIG",
    "MKNOD",
    "LEASE",
    "AUDIT_WRITE",
    "AUDIT_CONTROL",
    "SETFCAP",
    "MAC_OVERRIDE",
    "MAC_ADMIN",
    "SYSLOG",
    "WAKE_ALARM",
    "BLOCK_SUSPEND",
    "AUDIT_READ",
    "PERFMON",
    "BPF",
    "CHECKPOINT_RESTORE",
)
"""capabilities(7) in the order of their numbers."""

_SYS_RESOURCE = "SYS_RESOURCE"
_UNBOUNDED = -1000
_PEER = struct.Struct("3i")
_SCORE_REFUSED = "oom_score_adj"
"""What a start says when the score was refused."""
_SCORE_REFUSED_VAGUELY = "can't get final child's pid from pipe"
"""What an old runc says instead, for this and for other reasons."""


@dataclass(frozen=True, slots=True)
class EngineLimits:
    """What an engine's process lacks."""

    lowest_oom_score: int = _UNBOUNDED
    missing_capabilities: frozenset[str] = frozenset()


def engine_process(socket_path: str) -> int:
    """Process id of whoever listens on the socket; 0 when it is not to be seen from here.

    Raises OSError when nobody can be reached.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.settimeout(5)
        sock.connect(socket_path)
        pid, _, _ = _PEER.unpack(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))
    return int(pid)


def read_limits(pid: int, proc: Path = Path("/proc")) -> EngineLimits:
    """The limits of a process of this host; none when it cannot be looked at.

    A process in a user namespace of its own counts as without CAP_SYS_RESOURCE: the
    kernel asks for it in the first one.
    """
    try:
        status = (proc / str(pid) / "status").read_text(encoding="utf-8")
        identity_map = (proc / str(pid) / "uid_map").read_text(encoding="utf-8").split()
        known = int((proc / "sys/kernel/cap_last_cap").read_text(encoding="utf-8"))
        own_score = int((proc / str(pid) / "oom_score_adj").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return EngineLimits()
    effective = next((int(line.split()[1], 16) for line in status.splitlines() if line.startswith("CapEff:")), -1)
    missing = {name for bit, name in enumerate(CAPABILITIES[: known + 1]) if not effective >> bit & 1}
    if identity_map[:2] != ["0", "0"]:
        missing.add(_SYS_RESOURCE)
    # The process that starts containers is often another one than the one that listens, so its own
    # low score says nothing: only a high one is taken over.
    lowest = max(0, own_score) if _SYS_RESOURCE in missing else _UNBOUNDED
    return EngineLimits(lowest, frozenset(missing))


class Limits:
    """One engine's limits as known so far: read beforehand, or learnt from a start that failed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._notes: list[str] = []
        self.found = EngineLimits()

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences for an operator."""
        with self._lock:
            return tuple(self._notes)

    def read(self, socket_path: str) -> None:
        """Look at the process behind the socket. Finds nothing where it cannot be looked at."""
        try:
            self.take(read_limits(engine_process(socket_path)))
        except OSError:
            return

    def take(self, found: EngineLimits) -> None:
        """Limits that have been found out."""
        self.found = found
        if found.lowest_oom_score > _UNBOUNDED:
            self._note_score(found.lowest_oom_score)

    def allowed(self, resources: Resources) -> Resources:
        """The nearest settings that this engine can make."""
        score = resources.oom_score_adj
        if score is None or score >= self.found.lowest_oom_score:
            return resources
        return replace(resources, oom_score_adj=self.found.lowest_oom_score)

    def learn(self, text: str, score: int | None) -> bool:
        """Take a failed start's text into account; true when the next creation will ask for less.

        ``score`` is the out-of-memory score that was asked for, None when not known.
        """
        words = text.lower()
        refused = _SCORE_REFUSED in words or (_SCORE_REFUSED_VAGUELY in words and score is not None and score < 0)
        if not refused or self.found.lowest_oom_score >= 0:
            return False
        self.take(replace(self.found, lowest_oom_score=0))
        return True

    def note(self, sentence: str) -> None:
        """Tell the operator, once."""
        with self._lock:
            if sentence in self._notes:
                return
            self._notes.append(sentence)
        _log.warning("%s", sentence)

    def _note_score(self, lowest: int) -> None:
        """Tell about the score."""
        self.note(
            f"this machine does not let the engine set an oom_score_adj below {lowest} (it runs without "
            f"CAP_SYS_RESOURCE): {lowest} is used instead, so sandboxes and guaranteed pods are as likely "
            "as others to be ended when memory runs out"
        )
