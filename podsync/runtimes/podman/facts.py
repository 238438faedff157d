"""What is found out about an engine once, before anything is made on it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from podsync.errors import RuntimeUnavailable
from podsync.runtimes.common.faults import Refusal
from podsync.runtimes.common.limits import Limits, engine_process, read_limits
from podsync.runtimes.common.whose import is_of_this_host
from podsync.runtimes.podman import records
from podsync.runtimes.podman.client import LOOK_TIMEOUT, Client

__all__ = ["Facts", "find", "lowered_rlimits"]

_OLDEST: Final = (4, 0)
_CLAMPS_RLIMITS: Final = (5, 0)
_SINCE: Final = {"image-volumes": (5, 0), "volume-subpath": (5, 0)}
"""Release that brought each capability."""
_SYS_RESOURCE: Final = "SYS_RESOURCE"
_RLIMITS: Final = {"Max open files": "nofile", "Max processes": "nproc"}


@dataclass(frozen=True, slots=True)
class Facts:
    """One engine as it was when asked."""

    version: str
    numbers: tuple[int, ...]
    architecture: str
    capabilities: frozenset[str]
    local: bool
    """Its process numbers are those of this host."""
    limits: Limits
    rlimits: tuple[tuple[str, int], ...] = ()
    """Limits of processes to ask for, where what Podman asks for by itself is refused."""

    @property
    def keeps_resource_limits(self) -> bool:
        """Whether limits of CPU and memory can be set at all."""
        return not {"rootless", "cgroup-v1"} <= self.capabilities


def find(client: Client, limits: Limits) -> Facts:
    """Ask the engine, and look at its process. Raises RuntimeUnavailable, also for a release too old.

    ``limits`` is told what its process lacks.
    """
    try:
        info: dict[str, Any] = client.call("GET", "/info", timeout=LOOK_TIMEOUT).json()
    except Refusal as refusal:
        raise RuntimeUnavailable(
            f"{client.endpoint} answers, but not as Podman {_text(_OLDEST)} or later does ({refusal}): is it Docker?"
        ) from refusal
    version = str(info["version"]["Version"])
    numbers = records.numbers(version)
    if numbers < _OLDEST:
        raise RuntimeUnavailable(f"Podman {version} at {client.endpoint} is too old: {_text(_OLDEST)} is the oldest")
    try:
        process = engine_process(client.socket)
    except OSError:
        process = 0
    host: dict[str, Any] = info["host"]
    security: dict[str, Any] = host.get("security") or {}
    flags = ("rootless", "seccompEnabled", "apparmorEnabled", "selinuxEnabled")
    words = {flag.removesuffix("Enabled") for flag in flags if security.get(flag)}
    words |= {word for word, since in _SINCE.items() if numbers >= since}
    words.add(f"cgroup-{host.get('cgroupVersion') or 'v1'}")
    limits.take(read_limits(process))
    clamped = numbers >= _CLAMPS_RLIMITS or "rootless" in words  # Podman asks for no more than it can have
    rlimits = () if clamped else lowered_rlimits(process, limits)
    facts = Facts(
        version=version,
        numbers=numbers,
        architecture=str(host.get("arch") or ""),
        capabilities=frozenset(words),
        local=is_of_this_host(process),
        limits=limits,
        rlimits=rlimits,
    )
    _tell(facts)
    return facts


def lowered_rlimits(process: int, limits: Limits, proc: Path = Path("/proc")) -> tuple[tuple[str, int], ...]:
    """(kind, number) a container can be given where the engine may not raise its own limits; else nothing.

    Podman before 5.0 asks for a million open files and as many processes as the kernel
    has numbers for, whatever it may do itself, and no container starts.
    """
    if _SYS_RESOURCE not in limits.found.missing_capabilities:
        return ()
    try:
        lines = (proc / str(process) / "limits").read_text(encoding="utf-8").splitlines()
        most = int((proc / "sys/kernel/pid_max").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ()
    found = []
    for title, kind in _RLIMITS.items():
        words = next((line.removeprefix(title).split() for line in lines if line.startswith(title)), [])
        if len(words) > 1 and words[1].isdigit():
            found.append((kind, min(int(words[1]), most) if kind == "nproc" else int(words[1])))
    return tuple(found)


def _tell(facts: Facts) -> None:
    """What an operator should know."""
    if not facts.keeps_resource_limits:
        facts.limits.note(
            "rootless Podman cannot limit CPU, memory or processes on cgroup version 1: containers run without limits"
        )
    if facts.rlimits:
        given = " and ".join(f"{kind} {number}" for kind, number in facts.rlimits)
        facts.limits.note(
            f"this machine does not let Podman raise limits of processes: containers get {given}, the most it may give"
        )


def _text(numbers: tuple[int, ...]) -> str:
    """A version for people."""
    return ".".join(str(number) for number in numbers)
