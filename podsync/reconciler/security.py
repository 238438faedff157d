"""What processes may do: the pod's and the container's ``securityContext``, merged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from podsync import podpaths
from podsync.models import PodSecurityContext, SecurityContext
from podsync.runtimes.base import SecuritySpec

if TYPE_CHECKING:
    from podsync.models import Container, Pod, SeccompProfile

__all__ = ["container_security", "run_as_non_root", "sandbox_security"]

_POD = PodSecurityContext()
_CONTAINER = SecurityContext()


def container_security(root: str, pod: Pod, container: Container) -> SecuritySpec:
    """The container's own setting wins over the pod's; ``root`` holds Localhost seccomp profiles.

    Without ``seccompProfile`` nothing is filtered, as on a kubelet with its defaults.
    """
    whole, own = pod.spec.security_context or _POD, container.security_context or _CONTAINER
    capabilities = own.capabilities
    privileged = bool(own.privileged)
    return SecuritySpec(
        user=_user(_either(own.run_as_user, whole.run_as_user), _either(own.run_as_group, whole.run_as_group)),
        groups=_groups(whole),
        privileged=privileged,
        read_only_root=bool(own.read_only_root_filesystem),
        no_new_privileges=own.allow_privilege_escalation is False,
        cap_add=_names(capabilities.add) if capabilities is not None else (),
        cap_drop=_names(capabilities.drop) if capabilities is not None else (),
        seccomp="Unconfined" if privileged else _seccomp(root, own.seccomp_profile or whole.seccomp_profile),
        apparmor="unconfined" if privileged else "",
    )


def sandbox_security(pod: Pod) -> SecuritySpec:
    """The pause process runs as the pod's user, and is privileged when any container is."""
    whole = pod.spec.security_context or _POD
    containers = (*pod.spec.init_containers, *pod.spec.containers)
    privileged = any(c.security_context is not None and c.security_context.privileged for c in containers)
    return SecuritySpec(
        user=_user(whole.run_as_user, whole.run_as_group),
        groups=_groups(whole),
        privileged=privileged,
        no_new_privileges=not privileged,
        seccomp="Unconfined" if privileged else "RuntimeDefault",
        apparmor="unconfined" if privileged else "",
    )


def run_as_non_root(pod: Pod, container: Container) -> bool:
    """Whether the container must not run as root; checked against its image just before it is made."""
    whole, own = pod.spec.security_context or _POD, container.security_context or _CONTAINER
    return bool(whole.run_as_non_root if own.run_as_non_root is None else own.run_as_non_root)


def _either(own: int | None, whole: int | None) -> int | None:
    return whole if own is None else own


def _user(user: int | None, group: int | None) -> str:
    """``uid``, ``uid:gid``, ``:gid`` (the image's user with that group) or empty."""
    return ("" if user is None else str(user)) + ("" if group is None else f":{group}")


def _groups(whole: PodSecurityContext) -> tuple[int, ...]:
    """``supplementalGroups`` and then ``fsGroup``, each once."""
    groups = dict.fromkeys(whole.supplemental_groups)
    if whole.fs_group is not None:
        groups[whole.fs_group] = None
    return tuple(groups)


def _names(capabilities: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name.removeprefix("CAP_") for name in capabilities)


def _seccomp(root: str, profile: SeccompProfile | None) -> str:
    if profile is None:
        return "Unconfined"
    if profile.type == "Localhost":
        return f"Localhost:{podpaths.seccomp_file(root, profile.localhost_profile or '')}"
    return profile.type
