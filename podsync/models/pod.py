"""The Pod and its spec."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from podsync.models.base import Model
from podsync.models.frozen import EMPTY
from podsync.models.meta import ObjectMeta
from podsync.models.quantity import Quantity
from podsync.models.security import PodSecurityContext
from podsync.models.when import is_false, is_true
from podsync.models.wire import SUPPORTED, Int32, ignored, off_wire, refused, wire

if TYPE_CHECKING:
    from podsync.models.container import Container, EphemeralContainer, ResourceRequirements
    from podsync.models.meta import LocalObjectReference
    from podsync.models.scheduling import (
        Affinity,
        PodSchedulingGate,
        PodSchedulingGroup,
        Toleration,
        TopologySpreadConstraint,
    )
    from podsync.models.status import PodStatus
    from podsync.models.volume import Volume

__all__ = [
    "HostAlias",
    "Pod",
    "PodDNSConfig",
    "PodDNSConfigOption",
    "PodKey",
    "PodOS",
    "PodReadinessGate",
    "PodResourceClaim",
    "PodSpec",
]

_SCHEDULING = ignored("on one host nothing is scheduled")
_PREEMPTION = ignored("no pod gives way to another")
_ACCOUNT = ignored("there is no API server to have an account with, and no token is mounted")


class PodKey(NamedTuple):
    """Namespace and name: sorts and prints as ``namespace/name``."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PodSpec(Model):
    """What a pod should be (v1 PodSpec)."""

    volumes: tuple[Volume, ...] = wire((), SUPPORTED)
    init_containers: tuple[Container, ...] = wire((), SUPPORTED)
    containers: tuple[Container, ...] = wire((), SUPPORTED)
    ephemeral_containers: tuple[EphemeralContainer, ...] = wire(
        (), refused("they are added to a running pod, never written in a manifest")
    )
    restart_policy: str = wire("", SUPPORTED, fill="Always")
    termination_grace_period_seconds: int | None = wire(None, SUPPORTED, fill=30)
    active_deadline_seconds: int | None = wire(None, SUPPORTED)
    dns_policy: str = wire("", SUPPORTED, fill="ClusterFirst")
    node_selector: Mapping[str, str] = wire(EMPTY, _SCHEDULING)
    service_account_name: str = wire("", _ACCOUNT)
    service_account: str = wire("", _ACCOUNT)
    automount_service_account_token: bool | None = wire(
        None, refused("no API server issues tokens", when=is_true, only="false")
    )
    node_name: str = wire("", SUPPORTED)
    host_network: bool = wire(False, SUPPORTED)
    host_pid: bool = wire(False, SUPPORTED, name="hostPID")
    host_ipc: bool = wire(False, SUPPORTED, name="hostIPC")
    share_process_namespace: bool | None = wire(None, SUPPORTED)
    security_context: PodSecurityContext | None = wire(None, SUPPORTED, fill=PodSecurityContext())
    image_pull_secrets: tuple[LocalObjectReference, ...] = wire(
        (), refused("images are pulled with the engine's own credentials; log in there")
    )
    hostname: str = wire("", SUPPORTED)
    subdomain: str = wire("", SUPPORTED)
    affinity: Affinity | None = wire(None, _SCHEDULING)
    scheduler_name: str = wire("", _SCHEDULING, fill="default-scheduler")
    tolerations: tuple[Toleration, ...] = wire((), ignored("one host has no taints"))
    host_aliases: tuple[HostAlias, ...] = wire((), SUPPORTED)
    priority_class_name: str = wire("", _PREEMPTION)
    priority: Int32 | None = wire(None, _PREEMPTION)
    dns_config: PodDNSConfig | None = wire(None, SUPPORTED)
    readiness_gates: tuple[PodReadinessGate, ...] = wire(
        (), refused("nothing sets such conditions, so the pod would never be ready")
    )
    runtime_class_name: str | None = wire(None, refused("every pod runs with the engine's default runtime"))
    enable_service_links: bool | None = wire(None, ignored("there are no Services to link to"), fill=True)
    preemption_policy: str | None = wire(None, _PREEMPTION)
    overhead: Mapping[str, Quantity] = wire(
        EMPTY, ignored("it counts in scheduling and in a pod cgroup, and there is neither")
    )
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = wire((), _SCHEDULING)
    set_hostname_as_fqdn: bool | None = wire(None, SUPPORTED, name="setHostnameAsFQDN")
    os: PodOS | None = wire(None, SUPPORTED)
    host_users: bool | None = wire(None, refused("user namespaces are not set up", when=is_false, only="true"))
    scheduling_gates: tuple[PodSchedulingGate, ...] = wire(
        (), refused("a gated pod must not start; leave it out of the source until then")
    )
    resource_claims: tuple[PodResourceClaim, ...] = wire((), refused("devices are not claimed"))
    resources: ResourceRequirements | None = wire(None, refused("limits apply to containers; set them there"))
    hostname_override: str | None = wire(None, refused("use hostname and subdomain"))
    scheduling_group: PodSchedulingGroup | None = wire(None, _SCHEDULING)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Pod(Model):
    """A v1 Pod: the unit that podsync runs."""

    KIND: ClassVar[str] = "Pod"

    metadata: ObjectMeta = wire(ObjectMeta(), SUPPORTED)
    spec: PodSpec = wire(PodSpec(), SUPPORTED)
    status: PodStatus | None = wire(None, ignored("podsync computes it"))
    """None for every pod from a source; set on the copy that is shown to users."""
    source: str = off_wire("")
    """Name of the source it came from; never in a document."""

    @property
    def key(self) -> PodKey:
        """What a source calls it: at most one pod runs under a key."""
        return PodKey(self.metadata.namespace, self.metadata.name)

    @property
    def uid(self) -> str:
        """Which pod of that name it is; empty until the pod was given to a node."""
        return self.metadata.uid


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PodOS(Model):
    """The operating system a pod is written for."""

    name: str = wire("", SUPPORTED)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class HostAlias(Model):
    """Names for one address in the pod's hosts file."""

    ip: str = wire("", SUPPORTED)
    hostnames: tuple[str, ...] = wire((), SUPPORTED)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PodDNSConfig(Model):
    """Resolver settings added to those of ``dnsPolicy``."""

    nameservers: tuple[str, ...] = wire((), SUPPORTED)
    searches: tuple[str, ...] = wire((), SUPPORTED)
    options: tuple[PodDNSConfigOption, ...] = wire((), SUPPORTED)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PodDNSConfigOption(Model):
    """One option of the pod's resolv.conf, ``name`` or ``name:value``."""

    name: str = wire("", SUPPORTED)
    value: str | None = wire(None, SUPPORTED)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PodReadinessGate(Model):
    """A condition that must be true before the pod counts as ready."""

    condition_type: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PodResourceClaim(Model):
    """A claim on devices, by its own name or by that of a template."""

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None
