"""Records of one look, put together as the port asks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from podsync import labels
from podsync.runtimes.base import ContainerRecord, HostPort, SandboxId, SandboxRecord

__all__ = ["arrange", "clash"]


def arrange(sandboxes: Iterable[SandboxRecord], containers: Iterable[ContainerRecord]) -> tuple[SandboxRecord, ...]:
    """Containers under the sandbox they were made for, and under a stand-in where that is gone.

    Sandboxes are sorted by pod and attempt, containers by name and attempt.
    """
    found = {(s.uid, s.attempt): s for s in sandboxes}
    members: dict[tuple[str, int], list[ContainerRecord]] = {place: [] for place in found}
    for container in containers:
        place = container.labels.get(labels.POD_UID, ""), labels.integer(container.labels, labels.SANDBOX_ATTEMPT)
        found.setdefault(place, _gone(container, place))
        members.setdefault(place, []).append(container)
    arranged = (
        replace(sandbox, containers=tuple(sorted(members[place], key=lambda c: (c.container_name, c.attempt))))
        for place, sandbox in found.items()
    )
    return tuple(sorted(arranged, key=lambda s: (s.namespace, s.pod_name, s.uid, s.attempt)))


def _gone(container: ContainerRecord, place: tuple[str, int]) -> SandboxRecord:
    """Stands for a sandbox that no longer exists."""
    pod, namespace = (container.labels.get(key, "") for key in (labels.POD_NAME, labels.POD_NAMESPACE))
    uid, attempt = place
    return SandboxRecord(
        id=SandboxId(""),
        name=f"k8s_{labels.SANDBOX_CONTAINER}_{pod}_{namespace}_{uid}_{attempt}",
        pod_name=pod,
        namespace=namespace,
        uid=uid,
        attempt=attempt,
        ready=False,
    )


def clash(one: HostPort, other: HostPort) -> bool:
    """Whether two sandboxes cannot both publish these."""
    if (one.protocol, one.port) != (other.protocol, other.port):
        return False
    return one.host_ip == other.host_ip or any(ip in {"", "0.0.0.0", "::"} for ip in (one.host_ip, other.host_ip))  # noqa: S104 - compared, not bound
