"""The pod's conditions, in the order and with the texts of the kubelet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from podsync.models import ContainerStatus, PodCondition
from podsync.status.phase import FAILED, SUCCEEDED, TERMINAL

if TYPE_CHECKING:
    from podsync.models import Pod

__all__ = ["Facts", "conditions_of"]

_COMPLETED = "PodCompleted"
_TERMINAL_REASONS = {SUCCEEDED: _COMPLETED, FAILED: "PodFailed"}


@dataclass(frozen=True, slots=True)
class Facts:
    """What the conditions are made from; statuses go by container name.

    ``network`` says that the current sandbox can hold containers, ``initialized`` that a
    regular container has been made in it.
    """

    phase: str
    network: bool
    initialized: bool
    init: Mapping[str, ContainerStatus]
    regular: Mapping[str, ContainerStatus]


def conditions_of(pod: Pod, facts: Facts, previous: Sequence[PodCondition], at: datetime) -> tuple[PodCondition, ...]:
    """All conditions; a time moves on only where the status differs from ``previous``."""
    containers = _containers_ready(facts)
    found = (
        _condition("PodReadyToStartContainers", holds=facts.network),
        _initialized(pod, facts),
        # readiness gates, which could hold it back, are refused in manifests
        replace(containers, type="Ready"),
        containers,
        _condition("PodScheduled", holds=True),
    )
    before = {c.type: c for c in previous}
    return tuple(_timed(condition, before.get(condition.type), at) for condition in found)


def _condition(kind: str, *, holds: bool, reason: str = "", message: str = "") -> PodCondition:
    return PodCondition(type=kind, status="True" if holds else "False", reason=reason, message=message)


def _timed(condition: PodCondition, before: PodCondition | None, at: datetime) -> PodCondition:
    same = before is not None and before.status == condition.status
    return replace(condition, last_transition_time=before.last_transition_time if before is not None and same else at)


def _names(names: Sequence[str]) -> str:
    return f"[{' '.join(names)}]"


def _initialized(pod: Pod, facts: Facts) -> PodCondition:
    if facts.phase == SUCCEEDED:
        return _condition("Initialized", holds=True, reason=_COMPLETED)
    incomplete = [c.name for c in pod.spec.init_containers if not facts.init[c.name].ready]
    if facts.initialized or not incomplete:
        return _condition("Initialized", holds=True)
    message = f"containers with incomplete status: {_names(incomplete)}"
    return _condition("Initialized", holds=False, reason="ContainersNotInitialized", message=message)


def _containers_ready(facts: Facts) -> PodCondition:
    if facts.phase in TERMINAL:
        return _condition("ContainersReady", holds=False, reason=_TERMINAL_REASONS[facts.phase])
    unready = [name for name, status in facts.regular.items() if not status.ready]
    if not unready:
        return _condition("ContainersReady", holds=True)
    message = f"containers with unready status: {_names(unready)}"
    return _condition("ContainersReady", holds=False, reason="ContainersNotReady", message=message)
