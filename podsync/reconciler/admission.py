"""May a pod run here, beside the others? What a kubelet decides once, decided anew each time.

A pod that is refused has the phase Failed and nothing of it is made. Unlike on a kubelet
it is let in later, when the reason has gone: without an API server nobody would make it
again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from podsync import restarts
from podsync.plan import Verdict
from podsync.runtimes.base import HostPort
from podsync.state import ActualPod

if TYPE_CHECKING:
    from podsync.models import Pod, PodKey

__all__ = ["Admission", "host_ports"]

_ANY_ADDRESS = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - compared with, not listened on
_NOTHING = ActualPod()


class Admission:
    """Decides for the pods of one ``sync``; what crosses pods is only worked out when first needed."""

    def __init__(self, pods: Mapping[PodKey, Pod], actual: Mapping[PodKey, ActualPod]) -> None:
        """``pods`` are all that are wanted, not only those to plan."""
        self._pods, self._actual = pods, actual
        self._admitted: frozenset[PodKey] | None = None

    def verdict(self, key: PodKey, pod: Pod) -> Verdict | None:
        """Why the pod is refused; None when it may run."""
        if pod.spec.os is not None and pod.spec.os.name not in ("", "linux"):
            return _rejected("PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS")
        if not host_ports(pod):
            return None
        if self._admitted is None:
            self._admitted = frozenset(self._share_ports())
        if key in self._admitted:
            return None
        return _rejected(
            "NodePorts", "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"
        )

    def _share_ports(self) -> Iterator[PodKey]:
        """The pods that may have their ports: those that run already, then the others in key order."""
        claims = {key: ports for key, pod in self._pods.items() if (ports := host_ports(pod))}
        taken: dict[tuple[str, int], list[str]] = {}
        for _, key in sorted((self._rank(key), key) for key in claims):
            standing = self._rank(key)
            if standing == _FINISHED:
                yield key
                continue
            if standing != _STARTED and any(_clash(port, taken) for port in claims[key]):
                continue
            for port in claims[key]:
                taken.setdefault((port.protocol, port.port), []).append(port.host_ip)
            yield key

    def _rank(self, key: PodKey) -> int:
        pod, actual = self._pods[key], self._actual.get(key, _NOTHING)
        own = restarts.sandboxes_of(actual.sandboxes, pod.metadata.uid)
        if not own:
            return _NEW
        if not any(sandbox.started for sandbox in own):
            return _MADE
        instances = restarts.instances_of(own, actual.memory)
        return _FINISHED if restarts.is_finished(pod, own, instances, actual.memory) else _STARTED


# a pod that has finished holds no port; one that was started is not asked again
_FINISHED, _STARTED, _MADE, _NEW = range(4)


def host_ports(pod: Pod) -> list[HostPort]:
    """The node's ports a pod claims; on the host's network every port of its containers is one."""
    everything = pod.spec.host_network
    return [
        HostPort(port.protocol or "TCP", port.host_ip, port.host_port or port.container_port)
        for container in pod.spec.containers
        for port in container.ports
        if port.host_port or everything
    ]


def _clash(port: HostPort, taken: Mapping[tuple[str, int], list[str]]) -> bool:
    """Whether another pod has that port on the same address; an unspecified address is every one."""
    addresses = taken.get((port.protocol, port.port))
    if not addresses:
        return False
    return port.host_ip in _ANY_ADDRESS or any(ip in _ANY_ADDRESS or ip == port.host_ip for ip in addresses)


def _rejected(reason: str, message: str) -> Verdict:
    return Verdict("Failed", reason, f"Pod was rejected: {message}")
