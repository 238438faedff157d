"""Specs into the body of Docker's ``POST /containers/create``: pure.

Keys are Docker's own. What is empty is left out, so the engine's default stands.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podsync.errors import Unsupported
from podsync.runtimes.base import (
    ContainerSpec,
    Mount,
    NamespaceMode,
    PortMapping,
    Resources,
    SandboxSpec,
    SecuritySpec,
)
from podsync.runtimes.common.limits import CAPABILITIES, EngineLimits

__all__ = ["LOCALHOST_PROFILE", "container_body", "sandbox_body"]

Body = dict[str, Any]

LOCALHOST_PROFILE = "Localhost:"
"""What a seccomp setting begins with that names a file."""
_UNCONFINED = "Unconfined"
_READ_ONLY_SINCE = (1, 44)
"""From here on read-only binds are recursive unless told otherwise."""
_DROPS_CAPABILITIES_SINCE = (1, 52)
"""Engines from here on start a privileged container with what capabilities there are."""
_SHM_BYTES = 64 * 1024 * 1024
_OLD_CAPABILITIES = CAPABILITIES[: CAPABILITIES.index("PERFMON")]
"""Those that an engine of any age knows by name."""
_ALL = "ALL"
_UNMASKED: Mapping[str, list[str]] = {"MaskedPaths": [], "ReadonlyPaths": []}
# A log that can be read and has an end, whatever driver the daemon prefers; sizes as on a kubelet.
_LOG = {"Type": "json-file", "Config": {"max-size": "10m", "max-file": "5"}}


def sandbox_body(
    spec: SandboxSpec, image: str, *, api: tuple[int, int], limits: EngineLimits, profile: str = ""
) -> Body:
    """A sandbox. ``profile`` is the text of the seccomp file that the spec names, if it does.

    Its network, and unless the host's its IPC namespace, are made to be shared.
    """
    ports = {} if spec.network is NamespaceMode.NODE else _port_bindings(spec.ports)
    host = {
        "NetworkMode": "host" if spec.network is NamespaceMode.NODE else "default",
        "IpcMode": "host" if spec.ipc is NamespaceMode.NODE else "shareable",
        "PidMode": "host" if spec.pid is NamespaceMode.NODE else "",
        "ShmSize": _SHM_BYTES,
        "PortBindings": ports,
        "Sysctls": dict(spec.sysctls),
        "CgroupParent": spec.cgroup_parent,
        "RestartPolicy": {"Name": "no"},
        "LogConfig": _LOG,
        **_resources(spec.resources),
        **_security(spec.security, api, limits, profile),
    }
    return _filled(
        {
            "Image": image,
            "Hostname": spec.hostname,
            "Labels": dict(spec.labels),
            "ExposedPorts": {port: {} for port in ports},
            "Healthcheck": {"Test": ["NONE"]},
            "User": spec.security.user,
            "HostConfig": _filled(host),
        }
    )


def container_body(
    spec: ContainerSpec, sandbox: str, image: str, *, api: tuple[int, int], limits: EngineLimits, profile: str = ""
) -> Body:
    """A container in that sandbox (id or name). Raises Unsupported for a mount this engine cannot make.

    Docker keeps ``Cmd`` of the image only when no ``Entrypoint`` is given, as Kubernetes
    has it for ``command`` and ``args``.
    """
    host = {
        "NetworkMode": _namespace(spec.network, sandbox),
        "IpcMode": _namespace(spec.ipc, sandbox) or "private",
        "PidMode": _namespace(spec.pid, sandbox),
        "UTSMode": "host" if spec.network is NamespaceMode.NODE else "",
        "Mounts": [_mount(mount, api) for mount in spec.mounts],
        "CgroupParent": spec.cgroup_parent,
        "RestartPolicy": {"Name": "no"},
        "LogConfig": _LOG,
        **_resources(spec.resources),
        **_security(spec.security, api, limits, profile),
    }
    return _filled(
        {
            "Image": image,
            "Entrypoint": list(spec.command) or None,
            "Cmd": list(spec.args) or None,
            "Env": [f"{name}={value}" for name, value in spec.env],
            "WorkingDir": spec.working_dir,
            "Labels": dict(spec.labels),
            "Healthcheck": {"Test": ["NONE"]},
            "User": spec.security.user,
            "Tty": spec.tty,
            "OpenStdin": spec.stdin,
            "StdinOnce": spec.stdin_once,
            "HostConfig": _filled(host),
        }
    )


def _filled(body: Body) -> Body:
    """Without what is not given. Empty lists stay: to mask no path of /proc is not the same as to say nothing."""
    return {key: value for key, value in body.items() if value is not None and value != ""}


def _namespace(mode: NamespaceMode, sandbox: str) -> str:
    """Docker's word for whose namespace; empty for one of its own."""
    return {NamespaceMode.POD: f"container:{sandbox}", NamespaceMode.NODE: "host"}.get(mode, "")


def _port_bindings(ports: tuple[PortMapping, ...]) -> Mapping[str, list[Mapping[str, str]]]:
    """Docker's two maps are keyed by ``80/tcp``; one container port may have several host ports."""
    bindings: dict[str, list[Mapping[str, str]]] = {}
    for port in ports:
        key = f"{port.container_port}/{port.protocol.lower()}"
        bindings.setdefault(key, []).append({"HostIp": port.host_ip, "HostPort": str(port.host_port)})
    return bindings


def _mount(mount: Mount, api: tuple[int, int]) -> Body:
    """A bind mount. ``Binds`` would create a source that is missing; this refuses it."""
    options: Body = {"Propagation": mount.propagation}
    if mount.read_only and api >= _READ_ONLY_SINCE:
        options["ReadOnlyForceRecursive" if mount.recursive_read_only else "ReadOnlyNonRecursive"] = True
    elif mount.recursive_read_only:
        raise Unsupported(
            "recursive-read-only",
            f"this Docker cannot mount {mount.target} read-only with all that is mounted below it (it takes API 1.44)",
        )
    return {
        "Type": "bind",
        "Source": mount.source,
        "Target": mount.target,
        "ReadOnly": mount.read_only,
        "BindOptions": options,
    }


def _resources(resources: Resources) -> Body:
    """Cgroup settings. Swap counts into Docker's ``MemorySwap``, so the same number allows none."""
    return {
        "CpuShares": resources.cpu_shares,
        "CpuQuota": resources.cpu_quota,
        "CpuPeriod": resources.cpu_period,
        "Memory": resources.memory_limit,
        "MemorySwap": resources.memory_limit,
        "OomScoreAdj": resources.oom_score_adj,
    }


def _security(security: SecuritySpec, api: tuple[int, int], limits: EngineLimits, profile: str) -> Body:
    """What the process may do."""
    body: Body = {
        "GroupAdd": [str(group) for group in security.groups],
        "ReadonlyRootfs": security.read_only_root,
        "CapAdd": list(security.cap_add),
        "CapDrop": list(security.cap_drop),
        "SecurityOpt": _options(security, profile),
    }
    if security.privileged:
        body |= _privileged(api, limits)
    elif _ALL in security.cap_add and _must_name(api, limits):
        body["CapAdd"] = _available(limits)
    if security.unmask_proc:
        body |= _UNMASKED
    return body


def _options(security: SecuritySpec, profile: str) -> list[str]:
    """Docker's ``SecurityOpt``. Its own seccomp profile is what it uses when none is named."""
    options = [f"label={kind}:{value}" for kind, value in security.selinux]
    if security.seccomp == _UNCONFINED:
        options.append("seccomp=unconfined")
    elif security.seccomp.startswith(LOCALHOST_PROFILE):
        options.append(f"seccomp={profile}")
    if security.apparmor:
        options.append(f"apparmor={security.apparmor}")
    if security.no_new_privileges:
        options.append("no-new-privileges")
    return options


def _must_name(api: tuple[int, int], limits: EngineLimits) -> bool:
    """Whether "all capabilities" would fail for one that the engine itself lacks."""
    return bool(limits.missing_capabilities) and api < _DROPS_CAPABILITIES_SINCE


def _available(limits: EngineLimits) -> list[str]:
    """All capabilities that the engine can give."""
    return [name for name in _OLD_CAPABILITIES if name not in limits.missing_capabilities]


def _privileged(api: tuple[int, int], limits: EngineLimits) -> Body:
    """A privileged container; by its parts where the whole would fail for a capability that is not to be had."""
    if not _must_name(api, limits):
        return {"Privileged": True, "CapAdd": [], "CapDrop": []}
    return {
        "CapAdd": _available(limits),
        "CapDrop": [],
        "SecurityOpt": ["seccomp=unconfined", "apparmor=unconfined", "label=disable"],
        "Devices": [{"PathOnHost": "/dev", "PathInContainer": "/dev", "CgroupPermissions": "rwm"}],
        "DeviceCgroupRules": ["a *:* rwm"],
        **_UNMASKED,
    }
