"""What new sandboxes and containers look like: a pod's fields as specs for the engine."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from podsync import expand, identity, labels, netfiles, podpaths, qos
from podsync.reconciler import security
from podsync.reconciler.mounts import container_mounts
from podsync.reconciler.termination import DEFAULT_GRACE
from podsync.runtimes.base import ContainerSpec, NamespaceMode, PortMapping, SandboxSpec

if TYPE_CHECKING:
    from podsync.models import Container, Pod
    from podsync.reconciler.settings import NodeSettings

__all__ = ["Origin", "container_spec", "hostname_problem", "sandbox_spec"]

MAX_FQDN = 64
"""Characters of a host name that the kernel takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where one instance stands in the pod's history; it becomes labels."""

    sandbox_attempt: int
    attempt: int
    start_time: datetime
    """The pod's ``status.startTime``."""
    delay: float | None = None
    """Seconds of crash-loop back-off before it; None for one that counts as the first."""
    init: bool = False


def sandbox_spec(
    settings: NodeSettings, pod: Pod, attempt: int, start_time: datetime, delay: float | None
) -> SandboxSpec:
    """The sandbox of a pod; ``delay`` in seconds is the back-off that preceded it."""
    spec = pod.spec
    own = _pod_labels(settings, pod, start_time, delay)
    own[labels.CONTAINER_NAME] = labels.SANDBOX_CONTAINER
    own[labels.KIND] = "sandbox"
    own[labels.ATTEMPT] = str(attempt)
    return SandboxSpec(
        name=identity.sandbox_ref(pod, attempt),
        labels=own,
        hostname="" if spec.host_network else _hostname(pod),
        network=_network(pod),
        ipc=_ipc(pod),
        pid=_pid(pod),
        ports=() if spec.host_network else _ports(pod),
        image=settings.pause_image,
        security=security.sandbox_security(pod),
    )


def container_spec(settings: NodeSettings, pod: Pod, container: Container, origin: Origin) -> ContainerSpec:
    """One instance of a container. The image's id is filled in when it is made."""
    env = expand.container_env(container)
    message_file = podpaths.termination_file(settings.root, pod.metadata.uid, container.name, origin.attempt)
    own = _pod_labels(settings, pod, origin.start_time, origin.delay)
    own[labels.CONTAINER_NAME] = container.name
    own[labels.KIND] = "init" if origin.init else "container"
    own[labels.ATTEMPT] = str(origin.attempt)
    own[labels.SANDBOX_ATTEMPT] = str(origin.sandbox_attempt)
    own[labels.HASH] = identity.container_hash(container)
    own[labels.IMAGE] = container.image
    if container.termination_message_path:
        own[labels.TERMINATION_MESSAGE_FILE] = message_file
        own[labels.TERMINATION_MESSAGE_POLICY] = container.termination_message_policy
    return ContainerSpec(
        name=identity.container_ref(pod, container.name, origin.attempt),
        labels=own,
        image=container.image,
        command=expand.expand_all(container.command, env),
        args=expand.expand_all(container.args, env),
        env=tuple(env.items()),
        working_dir=container.working_dir,
        mounts=container_mounts(settings.root, pod, container, message_file),
        resources=qos.container_resources(pod, container, settings.memory_bytes),
        security=security.container_security(settings.root, pod, container),
        ipc=_ipc(pod),
        network=_network(pod),
        pid=_pid(pod),
        tty=container.tty,
        stdin=container.stdin,
        stdin_once=container.stdin_once,
        run_as_non_root=security.run_as_non_root(pod, container),
    )


def hostname_problem(pod: Pod) -> str:
    """Why the pod cannot have the host name it asks for (``setHostnameAsFQDN``); empty when it can."""
    name = "" if pod.spec.host_network else _hostname(pod)
    if len(name) <= MAX_FQDN:
        return ""
    return (
        "failed to construct FQDN from pod hostname and cluster domain, "
        f"FQDN {name} is too long ({MAX_FQDN} characters is the max, {len(name)} characters requested)"
    )


def _hostname(pod: Pod) -> str:
    host, domain = netfiles.hostname_of(pod)
    if domain and pod.spec.set_hostname_as_fqdn:
        # there is no cluster domain to end it with, and a kernel name has no final dot
        return f"{host}.{domain.rstrip('.')}"
    return host


def _pod_labels(settings: NodeSettings, pod: Pod, start_time: datetime, delay: float | None) -> dict[str, str]:
    meta, grace = pod.metadata, pod.spec.termination_grace_period_seconds
    own = {
        labels.NODE: settings.node_name,
        labels.POD_NAME: meta.name,
        labels.POD_NAMESPACE: meta.namespace,
        labels.POD_UID: meta.uid,
        labels.SOURCE: pod.source,
        labels.ROOT: settings.root,
        labels.GRACE: str(DEFAULT_GRACE if grace is None else max(0, min(grace, labels.MOST))),
        labels.START_TIME: labels.format_time(start_time),
    }
    if delay is not None:
        own[labels.BACKOFF] = f"{delay:g}"
    return own


def _network(pod: Pod) -> NamespaceMode:
    return NamespaceMode.NODE if pod.spec.host_network else NamespaceMode.POD


def _ipc(pod: Pod) -> NamespaceMode:
    return NamespaceMode.NODE if pod.spec.host_ipc else NamespaceMode.POD


def _pid(pod: Pod) -> NamespaceMode:
    if pod.spec.host_pid:
        return NamespaceMode.NODE
    return NamespaceMode.POD if pod.spec.share_process_namespace else NamespaceMode.CONTAINER


def _ports(pod: Pod) -> tuple[PortMapping, ...]:
    """Published ports of the regular containers, each once. A port without a host port is only a note."""
    found = (
        PortMapping(port.container_port, port.host_port, port.host_ip, port.protocol or "TCP")
        for container in pod.spec.containers
        for port in container.ports
        if port.host_port
    )
    return tuple(dict.fromkeys(found))
