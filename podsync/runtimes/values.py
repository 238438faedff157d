"""The values of the Runtime port: specs that go to an engine, records that come back. No engine's own types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple, NewType

__all__ = [
    "API_VERSION",
    "EMPTY",
    "Auth",
    "ContainerId",
    "ContainerRecord",
    "ContainerSpec",
    "ContainerState",
    "ExecResult",
    "HostPort",
    "ImageRecord",
    "LogLine",
    "LogOptions",
    "Mount",
    "NamespaceMode",
    "Observation",
    "PortMapping",
    "PullProgress",
    "Ref",
    "Resources",
    "RuntimeHint",
    "RuntimeInfo",
    "SandboxId",
    "SandboxRecord",
    "SandboxSpec",
    "SecuritySpec",
    "Stream",
]

API_VERSION = 1
"""Version of this port; a plug-in states the one it was written for in ``RuntimeInfo.port``."""

EMPTY: Mapping[str, str] = MappingProxyType({})

SandboxId = NewType("SandboxId", str)
ContainerId = NewType("ContainerId", str)
Ref = str
"""An engine's id, or the name an object was created under."""


class ContainerState(StrEnum):
    """The CRI's container states."""

    CREATED = "created"
    RUNNING = "running"
    EXITED = "exited"
    UNKNOWN = "unknown"


class NamespaceMode(StrEnum):
    """Whose namespace a process joins (CRI ``NamespaceMode``)."""

    CONTAINER = "container"
    POD = "pod"
    NODE = "node"


class HostPort(NamedTuple):
    """A port of the node that a pod claims; ``host_ip`` is empty for every address."""

    protocol: str
    host_ip: str
    port: int


@dataclass(frozen=True, slots=True)
class ContainerRecord:
    """One container as the engine reports it. Ended ones stay until removed."""

    id: ContainerId
    name: str
    """The engine's name, ``k8s_<container>_<pod>_<namespace>_<uid>_<attempt>``."""
    container_name: str
    """The name in the manifest (label ``io.kubernetes.container.name``)."""
    attempt: int
    """Restart count of this instance (label ``podsync.io/attempt``)."""
    state: ContainerState
    labels: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    created_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    exit_code: int | None = None
    oom_killed: bool = False
    image_id: str = ""
    message: str = ""
    """The engine's own words on a failed start; empty otherwise."""
    termination_message: str = ""
    """Set by the agent's look for an ended container (``terminationMessagePath``)."""
    pid: int = 0
    """Process id on the host, 0 when not running or not known."""


@dataclass(frozen=True, slots=True)
class SandboxRecord:
    """One sandbox (the pause container that holds a pod's namespaces) with its containers."""

    id: SandboxId
    name: str
    pod_name: str
    namespace: str
    uid: str
    attempt: int
    ready: bool
    """Its process runs."""
    labels: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    ips: tuple[str, ...] = ()
    """Addresses, primary first; empty on the host's network and when not running."""
    created_at: datetime | None = None
    started: bool = True
    """False for one that was created and never started."""
    containers: tuple[ContainerRecord, ...] = ()
    """Sorted by (container name, attempt), so the newest instance of a name is its last."""


@dataclass(frozen=True, slots=True)
class Observation:
    """One look at everything of ours on an engine."""

    observed_at: datetime
    sandboxes: tuple[SandboxRecord, ...] = ()


@dataclass(frozen=True, slots=True)
class PortMapping:
    """A published port (Kubernetes ``ContainerPort`` with a ``hostPort``)."""

    container_port: int
    host_port: int
    host_ip: str = ""
    protocol: str = "TCP"


@dataclass(frozen=True, slots=True)
class Mount:
    """A bind mount of a path of the engine's host."""

    source: str
    target: str
    read_only: bool = False
    recursive_read_only: bool = False
    propagation: str = "rprivate"
    """``rprivate``, ``rslave`` or ``rshared``."""


@dataclass(frozen=True, slots=True)
class Resources:
    """Cgroup settings of one process group; None leaves the engine's default."""

    cpu_shares: int | None = None
    cpu_quota: int | None = None
    """Microseconds per period."""
    cpu_period: int | None = None
    memory_limit: int | None = None
    """Bytes; swap is limited to the same."""
    oom_score_adj: int | None = None


@dataclass(frozen=True, slots=True)
class SecuritySpec:
    """What a container's process may do (Kubernetes ``securityContext``, already merged)."""

    user: str = ""
    """``uid``, ``uid:gid`` or empty for the image's own."""
    groups: tuple[int, ...] = ()
    privileged: bool = False
    read_only_root: bool = False
    no_new_privileges: bool = False
    cap_add: tuple[str, ...] = ()
    """Without the ``CAP_`` prefix; ``ALL`` allowed."""
    cap_drop: tuple[str, ...] = ()
    seccomp: str = "Unconfined"
    """``Unconfined``, ``RuntimeDefault`` or ``Localhost:<absolute path>``."""
    apparmor: str = ""
    """Empty for the engine's default, ``unconfined`` or a profile's name."""
    selinux: tuple[tuple[str, str], ...] = ()
    """``(("user"|"role"|"type"|"level", value), …)``"""
    unmask_proc: bool = False


@dataclass(frozen=True, slots=True)
class SandboxSpec:
    """What to make a sandbox from. ``name`` and ``labels`` are complete."""

    name: str
    labels: Mapping[str, str]
    hostname: str = ""
    """At most 63 characters; empty on the host's network."""
    network: NamespaceMode = NamespaceMode.POD
    """POD or NODE."""
    ipc: NamespaceMode = NamespaceMode.POD
    pid: NamespaceMode = NamespaceMode.CONTAINER
    """POD (shared process namespace), CONTAINER or NODE."""
    ports: tuple[PortMapping, ...] = ()
    sysctls: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    image: str = ""
    """Pause image; empty for the built-in one."""
    cgroup_parent: str = ""
    resources: Resources = Resources(cpu_shares=2, oom_score_adj=-998)
    security: SecuritySpec = SecuritySpec(seccomp="RuntimeDefault", no_new_privileges=True)


@dataclass(frozen=True, slots=True)
class ContainerSpec:
    """What to make one instance of a container from. ``name`` and ``labels`` are complete."""

    name: str
    labels: Mapping[str, str]
    image: str
    """As the manifest writes it."""
    image_id: str = ""
    """The engine's id of it, filled in just before creation; engines create by id."""
    command: tuple[str, ...] = ()
    """Replaces the image's ENTRYPOINT, and drops its CMD, when not empty."""
    args: tuple[str, ...] = ()
    """Replaces the image's CMD when not empty."""
    env: tuple[tuple[str, str], ...] = ()
    working_dir: str = ""
    mounts: tuple[Mount, ...] = ()
    resources: Resources = Resources()
    security: SecuritySpec = SecuritySpec()
    ipc: NamespaceMode = NamespaceMode.POD
    network: NamespaceMode = NamespaceMode.POD
    pid: NamespaceMode = NamespaceMode.CONTAINER
    tty: bool = False
    stdin: bool = False
    stdin_once: bool = False
    cgroup_parent: str = ""
    run_as_non_root: bool = False
    """Checked against the image's user just before creation."""


@dataclass(frozen=True, slots=True)
class ImageRecord:
    """One image in the engine's store."""

    id: str
    """Opaque and the engine's own."""
    digests: tuple[str, ...] = ()
    """``repo@sha256:…``, when it came from a registry."""
    user: str = ""
    """The image's USER as written; empty means root."""
    size: int = 0
    """Bytes."""

    @property
    def reference(self) -> str:
        """What a status shows as ``imageID``: the first repository digest, else the id."""
        return self.digests[0] if self.digests else self.id


@dataclass(frozen=True, slots=True)
class Auth:
    """Credentials for one registry."""

    username: str
    password: str = field(repr=False)
    server: str = ""


@dataclass(frozen=True, slots=True)
class PullProgress:
    """How far a pull is; bytes, 0 where the engine does not say."""

    image: str
    status: str
    current: int = 0
    total: int = 0


@dataclass(frozen=True, slots=True)
class RuntimeHint:
    """Something happened; look again. ``uid`` is the pod's when the engine says it, else empty."""

    uid: str = ""
    container: str = ""
    """Id of the container concerned, when known."""
    connected: bool = True
    """False: the stream broke; what happened meanwhile is unknown."""


@dataclass(frozen=True, slots=True)
class RuntimeInfo:
    """Who the engine is and what it can do."""

    name: str
    """``docker``, ``podman``, ``fake``, …: the prefix of ``containerID`` in a status."""
    version: str = ""
    api_version: str = ""
    endpoint: str = ""
    port: int = API_VERSION
    capabilities: frozenset[str] = frozenset()
    """Words such as ``userns``, ``image-volumes``, ``recursive-read-only``, ``rootless``."""
    notes: tuple[str, ...] = ()
    """Sentences for an operator: settings this machine forbids and what is used instead."""


class Stream(StrEnum):
    """Where a line or a frame came from."""

    STDOUT = "stdout"
    STDERR = "stderr"


@dataclass(frozen=True, slots=True)
class LogOptions:
    """Which part of a log (Kubernetes ``PodLogOptions``)."""

    follow: bool = False
    tail: int | None = None
    """Lines from the end; None for all."""
    since: datetime | None = None


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line, without its end of line unless ``partial``."""

    time: datetime
    stream: Stream
    data: bytes
    partial: bool = False
    """True when the log ends without an end of line."""


@dataclass(frozen=True, slots=True)
class ExecResult:
    """Outcome of a command run in a container."""

    exit_code: int
    stdout: bytes = b""
    stderr: bytes = b""
