"""Quality of service: a pod's class, and what it means for its containers' cgroups and OOM scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from podsync.runtimes.base import Resources

if TYPE_CHECKING:
    from podsync.models import Container, Pod, Quantity

__all__ = ["BEST_EFFORT", "BURSTABLE", "CPU_PERIOD", "GUARANTEED", "container_resources", "oom_score_adj", "qos_class"]

BEST_EFFORT = "BestEffort"
BURSTABLE = "Burstable"
GUARANTEED = "Guaranteed"

CPU_PERIOD = 100_000
"""Microseconds; the kubelet's ``cpuCFSQuotaPeriod``."""
_MIN_QUOTA = 1000
_MIN_SHARES, _MAX_SHARES = 2, 262144
_COMPUTE = ("cpu", "memory")


def qos_class(pod: Pod) -> str:
    """``Guaranteed``, ``Burstable`` or ``BestEffort``: cpu and memory of all containers, init ones too.

    Values of zero do not count.
    """
    requests: dict[str, int] = {}
    limits: dict[str, int] = {}
    limited = True
    for container in (*pod.spec.init_containers, *pod.spec.containers):
        asked, most = _positive(container.resources.requests), _positive(container.resources.limits)
        limited = limited and len(most) == len(_COMPUTE)
        for total, values in ((requests, asked), (limits, most)):
            for name, quantity in values.items():
                total[name] = total.get(name, 0) + quantity.milli
    if not requests and not limits:
        return BEST_EFFORT
    return GUARANTEED if limited and requests == limits else BURSTABLE


def _positive(values: Mapping[str, Quantity]) -> dict[str, Quantity]:
    return {name: values[name] for name in _COMPUTE if name in values and values[name].milli > 0}


def oom_score_adj(pod: Pod, container: Container, node_memory: int) -> int:
    """What the kernel is told of a container's worth when memory is short, from -997 (keep) to 1000.

    ``node_memory`` is the machine's in bytes; 0 (not known) counts a Burstable container's
    request as nothing.
    """
    quality = qos_class(pod)
    if quality == GUARANTEED:
        return -997
    if quality == BEST_EFFORT:
        return 1000
    request = container.resources.requests.get("memory")
    share = 1000 * request.value // node_memory if request is not None and node_memory > 0 else 0
    return min(max(1000 - share, 3), 999)


def container_resources(pod: Pod, container: Container, node_memory: int) -> Resources:
    """Cgroup settings of one container. A cpu limit without a request is the request too."""
    requests, limits = container.resources.requests, container.resources.limits
    cpu, memory = limits.get("cpu"), limits.get("memory")
    asked = requests.get("cpu", cpu)
    quota = max(cpu.milli * CPU_PERIOD // 1000, _MIN_QUOTA) if cpu is not None and cpu.milli > 0 else None
    return Resources(
        cpu_shares=_shares(asked.milli if asked is not None else 0),
        cpu_quota=quota,
        cpu_period=None if quota is None else CPU_PERIOD,
        memory_limit=memory.value if memory is not None and memory.value > 0 else None,
        oom_score_adj=oom_score_adj(pod, container, node_memory),
    )


def _shares(milli: int) -> int:
    return min(max(milli * 1024 // 1000, _MIN_SHARES), _MAX_SHARES)
