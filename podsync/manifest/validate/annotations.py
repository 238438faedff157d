"""Annotations that mean something in a pod: its mirror mark, and security profiles of older releases."""

from __future__ import annotations

from podsync.errors import FieldError
from podsync.manifest.validate.names import relative_path
from podsync.manifest.validate.problems import forbidden, invalid
from podsync.models import Pod

__all__ = ["validate_pod_annotations"]

_MIRROR = "kubernetes.io/config.mirror"
_APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"
_SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
_LOCALHOST = "localhost/"
_APP_ARMOR_DEFAULTS = ("", "runtime/default")


def validate_pod_annotations(pod: Pod, errors: list[FieldError]) -> None:
    """Look at the annotations that the API looks into."""
    for key, value in pod.metadata.annotations.items():
        path = f"metadata.annotations[{key}]"
        if key == _MIRROR and not pod.spec.node_name:
            errors.append(invalid(path, value, "must set spec.nodeName if mirror pod annotation is set"))
        elif key.startswith(_APP_ARMOR):
            _app_armor(pod, key.removeprefix(_APP_ARMOR), value, path, errors)
        elif (key == _SECCOMP_POD or key.startswith(_SECCOMP_CONTAINER)) and not _is_seccomp_profile(value):
            errors.append(invalid(path, value, "must be a valid seccomp profile"))


def _app_armor(pod: Pod, container: str, value: str, path: str, errors: list[FieldError]) -> None:
    if all(known.name != container for known in (*pod.spec.containers, *pod.spec.init_containers)):
        errors.append(invalid(path, container, "container not found"))
    if value in _APP_ARMOR_DEFAULTS:
        return
    if value == "unconfined" or value.startswith(_LOCALHOST):
        # As with the field of that name: a container must not run with another profile than it asks for.
        errors.append(forbidden(path, "not supported: profiles are left to the engine (runtime/default is allowed)"))
    else:
        errors.append(invalid(path, value, f'invalid AppArmor profile name: "{value[:100]}"'))


def _is_seccomp_profile(value: str) -> bool:
    """The annotation has no effect since the field took its place; it must only be well formed."""
    if value in ("runtime/default", "docker/default", "unconfined"):
        return True
    return value.startswith(_LOCALHOST) and not relative_path(value.removeprefix(_LOCALHOST))
