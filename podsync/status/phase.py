"""The pod's phase, from its container statuses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from podsync.models import ContainerStatus, Pod

__all__ = ["FAILED", "PENDING", "RUNNING", "SUCCEEDED", "TERMINAL", "phase_of"]

PENDING = "Pending"
RUNNING = "Running"
SUCCEEDED = "Succeeded"
FAILED = "Failed"
TERMINAL = frozenset({SUCCEEDED, FAILED})


def phase_of(
    pod: Pod,
    init: Mapping[str, ContainerStatus],
    regular: Mapping[str, ContainerStatus],
    restarting: frozenset[str],
) -> str:
    """The phase that the containers tell; statuses go by container name.

    ``restarting`` names the ended containers that run again. A pod from a file is never
    called Succeeded or Failed merely because it is being ended: only what its containers
    did counts.
    """
    codes = {c.name: _ended(init[c.name]) for c in pod.spec.init_containers}
    if any(code and name not in restarting for name, code in codes.items()):
        return FAILED
    if any(code is None for code in codes.values()):
        return PENDING
    return _regular_phase(regular, restarting)


def _ended(status: ContainerStatus) -> int | None:
    """Exit code of a container that has stopped, also while it waits to run again; None otherwise."""
    if status.state.terminated is not None:
        return status.state.terminated.exit_code
    if status.state.waiting is not None and status.last_state.terminated is not None:
        return status.last_state.terminated.exit_code
    return None


def _regular_phase(statuses: Mapping[str, ContainerStatus], restarting: frozenset[str]) -> str:
    stopped = {name for name, status in statuses.items() if _ended(status) is not None}
    running = {name for name, status in statuses.items() if status.state.running is not None}
    if len(stopped) + len(running) < len(statuses):
        return PENDING
    if running or stopped & restarting:
        return RUNNING
    return SUCCEEDED if all(_succeeded(status) for status in statuses.values()) else FAILED


def _succeeded(status: ContainerStatus) -> bool:
    """Ended well and not about to run again."""
    return status.state.terminated is not None and status.state.terminated.exit_code == 0
