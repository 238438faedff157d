"""What is reported about a pod: the v1 PodStatus and everything under it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from podsync.models.base import Model
from podsync.models.frozen import EMPTY
from podsync.models.quantity import Quantity
from podsync.models.wire import Int32, wire

if TYPE_CHECKING:
    from podsync.models.container import ResourceRequirements
    from podsync.models.status_resources import (
        ContainerUser,
        NodeAllocatableResourceClaimStatus,
        PodExtendedResourceClaimStatus,
        PodResourceClaimStatus,
        ResourceStatus,
        VolumeStatus,
    )

__all__ = [
    "ContainerState",
    "ContainerStateRunning",
    "ContainerStateTerminated",
    "ContainerStateWaiting",
    "ContainerStatus",
    "HostIP",
    "PodCondition",
    "PodIP",
    "PodStatus",
    "VolumeMountStatus",
]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PodStatus(Model):
    """What is known of a pod (v1 PodStatus)."""

    observed_generation: int = 0
    phase: str = ""
    conditions: tuple[PodCondition, ...] = ()
    message: str = ""
    reason: str = ""
    nominated_node_name: str = ""
    host_ip: str = wire("", name="hostIP")
    host_ips: tuple[HostIP, ...] = wire((), name="hostIPs")
    pod_ip: str = wire("", name="podIP")
    pod_ips: tuple[PodIP, ...] = wire((), name="podIPs")
    start_time: datetime | None = None
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    qos_class: str = ""
    ephemeral_container_statuses: tuple[ContainerStatus, ...] = ()
    resize: str = ""
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] = ()
    extended_resource_claim_status: PodExtendedResourceClaimStatus | None = None
    allocated_resources: Mapping[str, Quantity] = EMPTY
    resources: ResourceRequirements | None = None
    node_allocatable_resource_claim_statuses: tuple[NodeAllocatableResourceClaimStatus, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PodCondition(Model):
    """One condition of a pod: true, false or unknown, and since when."""

    type: str = ""
    observed_generation: int = 0
    status: str = ""
    last_probe_time: datetime | None = None
    last_transition_time: datetime | None = None
    reason: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class HostIP(Model):
    """One address of the node."""

    ip: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PodIP(Model):
    """One address of the pod."""

    ip: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ContainerState(Model):
    """Exactly one of waiting, running and terminated is set; none at all reads as waiting."""

    waiting: ContainerStateWaiting | None = None
    running: ContainerStateRunning | None = None
    terminated: ContainerStateTerminated | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ContainerStatus(Model):
    """What is known of one container and of the instance before."""

    name: str = ""
    state: ContainerState = wire(ContainerState(), always=True)
    last_state: ContainerState = wire(ContainerState(), always=True)
    ready: bool = wire(False, always=True)
    restart_count: Int32 = wire(0, always=True)
    image: str = wire("", always=True)
    image_id: str = wire("", name="imageID", always=True)
    container_id: str = wire("", name="containerID")
    started: bool | None = None
    allocated_resources: Mapping[str, Quantity] = EMPTY
    resources: ResourceRequirements | None = None
    volume_mounts: tuple[VolumeMountStatus, ...] = ()
    user: ContainerUser | None = None
    allocated_resources_status: tuple[ResourceStatus, ...] = ()
    stop_signal: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ContainerStateWaiting(Model):
    """Not running yet, and why."""

    reason: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ContainerStateRunning(Model):
    """Running, and since when."""

    started_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ContainerStateTerminated(Model):
    """Ended, and how."""

    exit_code: Int32 = wire(0, always=True)
    signal: Int32 = 0
    reason: str = ""
    message: str = ""
    started_at: datetime | None = None
    finished_at: datetime | None = None
    container_id: str = wire("", name="containerID")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class VolumeMountStatus(Model):
    """A mount as it was made."""

    name: str = ""
    mount_path: str = ""
    read_only: bool = False
    recursive_read_only: str | None = None
    volume_status: VolumeStatus | None = None
