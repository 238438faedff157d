"""Containers and what is written in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from podsync.models.base import Model
from podsync.models.frozen import EMPTY
from podsync.models.quantity import Quantity
from podsync.models.when import would_not_be_counted, would_not_be_limited
from podsync.models.wire import SUPPORTED, Int32, refused, wire

if TYPE_CHECKING:
    from podsync.models.env import EnvFromSource, EnvVarSource
    from podsync.models.probe import Lifecycle, Probe
    from podsync.models.security import SecurityContext

__all__ = [
    "Container",
    "ContainerPort",
    "ContainerResizePolicy",
    "ContainerRestartRule",
    "ContainerRestartRuleOnExitCodes",
    "EnvVar",
    "EphemeralContainer",
    "ResourceClaim",
    "ResourceRequirements",
    "VolumeDevice",
    "VolumeMount",
]

_PROBES = refused("probes are not run")
_RESTARTS = refused("containers follow the pod's restartPolicy, and sidecars are not run")
_WHOLE = refused("volumes are mounted whole")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ResourceRequirements(Model):
    """Compute resources: at most ``limits``, at least ``requests``."""

    limits: Mapping[str, Quantity] = wire(
        EMPTY, refused("nothing limits it", when=would_not_be_limited, only="cpu and memory")
    )
    requests: Mapping[str, Quantity] = wire(
        EMPTY,
        refused(
            "devices and huge pages are not counted",
            when=would_not_be_counted,
            only="cpu, memory, and ephemeral-storage without effect",
        ),
    )
    claims: tuple[ResourceClaim, ...] = wire((), refused("devices are not claimed"))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Container(Model):
    """One container, init container or (with ``restart_policy`` set) sidecar of a pod."""

    name: str = wire("", SUPPORTED)
    image: str = wire("", SUPPORTED)
    command: tuple[str, ...] = wire((), SUPPORTED)
    args: tuple[str, ...] = wire((), SUPPORTED)
    working_dir: str = wire("", SUPPORTED)
    ports: tuple[ContainerPort, ...] = wire((), SUPPORTED)
    env_from: tuple[EnvFromSource, ...] = wire(
        (), refused("ConfigMaps and Secrets do not reach containers; write the variables in env")
    )
    env: tuple[EnvVar, ...] = wire((), SUPPORTED)
    resources: ResourceRequirements = wire(ResourceRequirements(), SUPPORTED)
    resize_policy: tuple[ContainerResizePolicy, ...] = wire((), refused("resources are not resized in place"))
    restart_policy: str | None = wire(None, _RESTARTS)
    restart_policy_rules: tuple[ContainerRestartRule, ...] = wire((), _RESTARTS)
    volume_mounts: tuple[VolumeMount, ...] = wire((), SUPPORTED)
    volume_devices: tuple[VolumeDevice, ...] = wire((), refused("block devices are not passed on"))
    liveness_probe: Probe | None = wire(None, _PROBES)
    readiness_probe: Probe | None = wire(None, _PROBES)
    startup_probe: Probe | None = wire(None, _PROBES)
    lifecycle: Lifecycle | None = wire(None, refused("hooks are not run"))
    termination_message_path: str = wire("", SUPPORTED, fill="/dev/termination-log")
    termination_message_policy: str = wire("", SUPPORTED, fill="File")
    image_pull_policy: str = wire("", SUPPORTED)
    security_context: SecurityContext | None = wire(None, SUPPORTED)
    stdin: bool = wire(False, SUPPORTED)
    stdin_once: bool = wire(False, SUPPORTED)
    tty: bool = wire(False, SUPPORTED)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class EphemeralContainer(Container):
    """A container added to a running pod for debugging."""

    target_container_name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ContainerPort(Model):
    """A port a container listens on, and the node's port that leads to it."""

    name: str = wire("", SUPPORTED)
    host_port: Int32 = wire(0, SUPPORTED)
    container_port: Int32 = wire(0, SUPPORTED)
    protocol: str = wire("", SUPPORTED, fill="TCP")
    host_ip: str = wire("", SUPPORTED, name="hostIP")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class EnvVar(Model):
    """One environment variable; ``$(NAME)`` in its value names an earlier one."""

    name: str = wire("", SUPPORTED)
    value: str = wire("", SUPPORTED)
    value_from: EnvVarSource | None = wire(None, refused("only literal values are set; use value"))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class VolumeMount(Model):
    """Where a volume of the pod shows in the container."""

    name: str = wire("", SUPPORTED)
    read_only: bool = wire(False, SUPPORTED)
    recursive_read_only: str | None = wire(None, SUPPORTED)
    mount_path: str = wire("", SUPPORTED)
    sub_path: str = wire("", _WHOLE)
    mount_propagation: str | None = wire(None, SUPPORTED)
    sub_path_expr: str = wire("", _WHOLE)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class VolumeDevice(Model):
    """Where a raw block device shows in the container."""

    name: str = ""
    device_path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ResourceClaim(Model):
    """A container's use of one of the pod's device claims."""

    name: str = ""
    request: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ContainerResizePolicy(Model):
    """Whether changing a resource in place restarts the container."""

    resource_name: str = ""
    restart_policy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ContainerRestartRule(Model):
    """What an exit does to the container, ahead of its restart policy."""

    action: str = ""
    exit_codes: ContainerRestartRuleOnExitCodes | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ContainerRestartRuleOnExitCodes(Model):
    """The exit codes a restart rule matches."""

    operator: str = ""
    values: tuple[Int32, ...] = ()
