"""Specs into libpod's creation bodies (``SpecGenerator``): pure, one table of the port's fields.

Written as JSON of our own because the SDK's model layer drops or mangles much of it:
``container:`` namespaces, CPU limits, security options, log sizes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from podsync.errors import Unsupported
from podsync.runtimes.base import (
    ContainerSpec,
    Mount,
    NamespaceMode,
    PortMapping,
    Ref,
    Resources,
    SandboxSpec,
    SecuritySpec,
)

__all__ = ["LOG_SIZE", "capabilities", "container_body", "fitted", "sandbox_body"]

LOG_SIZE: Final = 50 * 1024 * 1024
"""Bytes a container's log may grow to before it is cut: as much as a kubelet keeps (5 files of 10 MiB)."""
_SHM_SIZE: Final = 64 * 1024 * 1024
# Docker and containerd grant these three as well; Podman's own default of eleven lacks them.
_PARITY_CAPS: Final = ("AUDIT_WRITE", "MKNOD", "NET_RAW")
_ALL: Final = "ALL"
_NO_LIMIT: Final = -1


def sandbox_body(spec: SandboxSpec, image: str) -> dict[str, Any]:
    """The body that creates a sandbox from the image of that id."""
    on_host = spec.network is NamespaceMode.NODE
    body: dict[str, Any] = {
        **_common(spec.name, image, spec.labels, spec.cgroup_parent),
        **_resources(spec.resources),
        **_security(spec.security, root=True),
        # The default, a shareable namespace, is named so that containers.conf cannot take it away.
        "ipcns": _mode("host" if spec.ipc is NamespaceMode.NODE else "shareable"),
    }
    if spec.pid is NamespaceMode.NODE:
        body["pidns"] = _mode("host")
    if on_host:
        body |= {"netns": _mode("host"), "utsns": _mode("host")}
    else:
        # The network is the engine's default: a bridge as root, slirp4netns or pasta without.
        body |= {"hostname": spec.hostname, "portmappings": [_port(item) for item in spec.ports]}
    if spec.ipc is not NamespaceMode.NODE:
        body["shm_size"] = _SHM_SIZE
    if spec.sysctls:
        body["sysctl"] = dict(spec.sysctls)
    return _filled(body)


def container_body(sandbox: Ref, spec: ContainerSpec, *, image_user: str = "") -> dict[str, Any]:
    """The body that creates a container in a sandbox, which need not run yet.

    ``image_user`` is the image's USER, which counts where the spec names none. Raises
    ``Unsupported`` for a mount that Podman cannot make.
    """
    shared = {"nsmode": "container", "value": sandbox}
    on_host = spec.network is NamespaceMode.NODE
    body: dict[str, Any] = {
        **_common(spec.name, spec.image_id or spec.image, spec.labels, spec.cgroup_parent),
        **_resources(spec.resources),
        **_security(spec.security, root=_is_root(spec.security.user or image_user)),
        "netns": _mode("host") if on_host else shared,
        "utsns": _mode("host") if on_host else shared,
        "ipcns": _namespace(spec.ipc, shared),
        "pidns": _namespace(spec.pid, shared),
        "env": dict(spec.env),
        # A missing working directory is made, as the other engines do.
        "create_working_dir": True,
        "work_dir": spec.working_dir,
        "terminal": spec.tty,
        "stdin": spec.stdin,
        "mounts": [_mount(item) for item in spec.mounts],
        # ENTRYPOINT replaced drops the image's CMD; CMD replaced keeps its ENTRYPOINT.
        "entrypoint": list(spec.command),
        "command": list(spec.args),
    }
    return _filled(body)


def fitted(body: dict[str, Any], *, rlimits: Sequence[tuple[str, int]], limited: bool) -> dict[str, Any]:
    """A body as one engine can take it.

    ``rlimits`` are limits of processes to ask for, ``limited`` says whether it can limit
    resources at all.
    """
    kept = {key: value for key, value in body.items() if limited or key != "resource_limits"}
    if rlimits:
        kept["r_limits"] = [{"type": kind, "hard": number, "soft": number} for kind, number in rlimits]
    return kept


def capabilities(security: SecuritySpec, *, root: bool) -> tuple[list[str], list[str]]:
    """(cap_add, cap_drop) that grant what the same spec grants on other engines.

    Dropping ALL leaves what is added by name; a capability both added and dropped is
    dropped, which Podman itself would refuse. A process that is not root gets none of the
    three parity capabilities: Podman makes what is added to it *ambient*, so they would be
    in force where other engines only keep them within bounds.
    """
    add, drop = _names(security.cap_add), _names(security.cap_drop)
    if _ALL in drop:
        return [name for name in add if name != _ALL], [_ALL]
    if _ALL in add:
        return [_ALL], drop
    wanted = {*add, *(_PARITY_CAPS if root else ())}
    return sorted(wanted.difference(drop)), drop


def _filled(body: dict[str, Any]) -> dict[str, Any]:
    """What is said; a number of 0 says something."""
    return {key: value for key, value in body.items() if value or (value == 0 and value is not False)}


def _names(caps: tuple[str, ...]) -> list[str]:
    """Capability names as Podman compares them, each once."""
    return sorted({name.upper().removeprefix("CAP_") for name in caps})


def _common(name: str, image: str, labels: Mapping[str, str], cgroup_parent: str) -> dict[str, Any]:
    """What a sandbox and a container are alike in."""
    return {
        "name": name,
        "image": image,
        "labels": dict(labels),
        "cgroup_parent": cgroup_parent,
        # What Podman would do of its own accord and a kubelet would not: health checks of the
        # image, and mounts and another stop signal for a command that is called like an init.
        "healthconfig": {"Test": ["NONE"]},
        "systemd": "false",
        "image_volume_mode": "anonymous",
        # A log that can be read, whatever driver containers.conf prefers.
        "log_configuration": {"driver": "k8s-file", "size": LOG_SIZE},
    }


def _resources(resources: Resources) -> dict[str, Any]:
    """Limits of the cgroup. Pids are unlimited, as in a pod (Podman's default is 2048)."""
    cpu = {
        "shares": resources.cpu_shares,
        "quota": resources.cpu_quota,
        "period": resources.cpu_period,
    }
    limits: dict[str, Any] = {"pids": {"limit": _NO_LIMIT}}
    if given := {key: value for key, value in cpu.items() if value is not None}:
        limits["cpu"] = given
    if resources.memory_limit is not None:
        limits["memory"] = {"limit": resources.memory_limit, "swap": resources.memory_limit}
    body: dict[str, Any] = {"resource_limits": limits}
    if resources.oom_score_adj is not None:
        body["oom_score_adj"] = resources.oom_score_adj
    return body


def _security(security: SecuritySpec, *, root: bool) -> dict[str, Any]:
    """User, capabilities, profiles."""
    body: dict[str, Any] = {"user": security.user, "groups": [str(group) for group in security.groups]}
    if security.privileged:
        body["privileged"] = True
    else:
        add, drop = capabilities(security, root=root)
        body |= {"cap_add": add, "cap_drop": drop, "seccomp_profile_path": _seccomp(security.seccomp)}
    if security.read_only_root:
        body["read_only_filesystem"] = True
    if security.no_new_privileges:
        body["no_new_privileges"] = True
    if security.unmask_proc:
        body["unmask"] = [_ALL]
    body["apparmor_profile"] = security.apparmor
    body["selinux_opts"] = [f"{kind}:{value}" for kind, value in security.selinux]
    return body


def _seccomp(profile: str) -> str:
    """Podman's word: nothing for its own profile, ``unconfined``, or a file of the host."""
    if profile == "RuntimeDefault":
        return ""
    return "unconfined" if profile == "Unconfined" else profile.removeprefix("Localhost:")


def _mode(name: str) -> dict[str, str]:
    """A namespace that is not another container's."""
    return {"nsmode": name}


def _namespace(mode: NamespaceMode, shared: dict[str, str]) -> dict[str, str]:
    """The host's, the sandbox's, or one of its own."""
    if mode is NamespaceMode.NODE:
        return _mode("host")
    return shared if mode is NamespaceMode.POD else _mode("private")


def _port(mapping: PortMapping) -> dict[str, Any]:
    """One published port."""
    return {
        "container_port": mapping.container_port,
        "host_port": mapping.host_port,
        "host_ip": mapping.host_ip,
        "protocol": mapping.protocol.lower(),
    }


def _mount(mount: Mount) -> dict[str, Any]:
    """A bind mount with all that is mounted below it."""
    if mount.recursive_read_only:
        raise Unsupported(
            "recursive-read-only", f"Podman cannot mount {mount.target} read-only with the mounts below it"
        )
    options = ["rbind", "ro" if mount.read_only else "rw", mount.propagation]
    return {"type": "bind", "source": mount.source, "destination": mount.target, "options": options}


def _is_root(user: str) -> bool:
    """Whether Podman takes that user for root."""
    return user.partition(":")[0] in ("", "root", "0")
