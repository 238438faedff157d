"""Rules of ``spec.containers`` and ``spec.initContainers``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from podsync.errors import FieldError
from podsync.manifest.validate.names import NO_NUL, NUL, dns_label, env_name
from podsync.manifest.validate.ports import validate_host_ports, validate_ports
from podsync.manifest.validate.problems import duplicate, forbidden, invalid, not_found, required, unsupported
from podsync.manifest.validate.resources import validate_resources
from podsync.manifest.validate.security import validate_security_context
from podsync.manifest.validate.sizes import validate_sizes
from podsync.models import Container, PodSpec, VolumeMount

__all__ = ["validate_containers", "validate_image_names"]

_MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
_RECURSIVE_READ_ONLY = ("Disabled", "Enabled", "IfPossible")
_ENOUGH = 1000  # problems, after which no further container is looked at
_CONTROL = re.compile(r"[\x01-\x1f\x7f]")  # NUL is told with the other texts


def validate_containers(spec: PodSpec, volumes: frozenset[str], errors: list[FieldError]) -> None:
    """Both lists, each container by itself and against its neighbours; ``volumes`` may be mounted."""
    names: set[str] = set()
    if not spec.containers:
        errors.append(required("spec.containers"))
    _list(spec.containers, "spec.containers", names, volumes, errors)
    validate_host_ports(spec.containers, "spec.containers", errors)
    _list(spec.init_containers, "spec.initContainers", names, volumes, errors)
    for index, container in enumerate(spec.init_containers):
        # They run one at a time, so each is compared only with itself.
        validate_host_ports((container,), "spec.initContainers", errors, first=index)


def validate_image_names(spec: PodSpec, errors: list[FieldError]) -> None:
    """No blanks around an image's name, and no control characters in it."""
    for field, containers in (("containers", spec.containers), ("initContainers", spec.init_containers)):
        for index, container in enumerate(containers):
            if container.image != container.image.strip():
                errors.append(
                    invalid(
                        f"spec.{field}[{index}].image", container.image, "must not have leading or trailing whitespace"
                    )
                )
            elif _CONTROL.search(container.image):
                errors.append(
                    invalid(f"spec.{field}[{index}].image", container.image, "must not contain control characters")
                )


def _list(
    containers: Sequence[Container], field: str, names: set[str], volumes: frozenset[str], errors: list[FieldError]
) -> None:
    for index, container in enumerate(containers):
        if len(errors) >= _ENOUGH:
            return
        path = f"{field}[{index}]"
        if not container.name:
            errors.append(required(f"{path}.name"))
        elif complaints := dns_label(container.name):
            errors += [invalid(f"{path}.name", container.name, words) for words in complaints]
        _container(container, path, volumes, errors)
        if container.name in names:
            errors.append(duplicate(f"{path}.name", container.name))
        elif container.name:
            names.add(container.name)


def _container(container: Container, path: str, volumes: frozenset[str], errors: list[FieldError]) -> None:
    if not container.image:
        errors.append(required(f"{path}.image"))
    if container.termination_message_policy not in _MESSAGE_POLICIES:
        errors.append(
            unsupported(f"{path}.terminationMessagePolicy", container.termination_message_policy, _MESSAGE_POLICIES)
        )
    if container.ports:
        validate_ports(container.ports, f"{path}.ports", errors)
    for index, variable in enumerate(container.env):
        if not variable.name:
            errors.append(required(f"{path}.env[{index}].name"))
        elif complaints := env_name(variable.name):
            errors += [invalid(f"{path}.env[{index}].name", variable.name, words) for words in complaints]
        if NUL in variable.value:
            errors.append(invalid(f"{path}.env[{index}].value", variable.value, NO_NUL))
    if container.volume_mounts:
        _mounts(container, f"{path}.volumeMounts", volumes, errors)
    if container.image_pull_policy not in _PULL_POLICIES:
        errors.append(unsupported(f"{path}.imagePullPolicy", container.image_pull_policy, _PULL_POLICIES))
    if container.resources.limits or container.resources.requests:
        validate_resources(container.resources, f"{path}.resources", errors)
    if container.security_context is not None:
        validate_security_context(container.security_context, f"{path}.securityContext", errors)
    _texts(container, path, errors)
    validate_sizes(container, path, errors)


def _texts(container: Container, path: str, errors: list[FieldError]) -> None:
    """No NUL in what becomes an argument or a path: the API lets it through and no program can be given it."""
    plain = (container.image, container.working_dir, container.termination_message_path)
    if NUL not in "".join((*plain, *container.command, *container.args)):
        return
    texts = dict(zip(("image", "workingDir", "terminationMessagePath"), plain, strict=True))
    texts |= {f"command[{index}]": text for index, text in enumerate(container.command)}
    texts |= {f"args[{index}]": text for index, text in enumerate(container.args)}
    errors += [invalid(f"{path}.{field}", text, NO_NUL) for field, text in texts.items() if NUL in text]


def _mounts(container: Container, path: str, volumes: frozenset[str], errors: list[FieldError]) -> None:
    places: set[str] = set()
    for index, mount in enumerate(container.volume_mounts):
        if not mount.name:
            errors.append(required(f"{path}[{index}].name"))
        if mount.name not in volumes:
            errors.append(not_found(f"{path}[{index}].name", mount.name))
        if not mount.mount_path:
            errors.append(required(f"{path}[{index}].mountPath"))
        if mount.mount_path in places:
            errors.append(invalid(f"{path}[{index}].mountPath", mount.mount_path, "must be unique"))
        if NUL in mount.mount_path:
            errors.append(invalid(f"{path}[{index}].mountPath", mount.mount_path, NO_NUL))
        places.add(mount.mount_path)
        if mount.mount_propagation is not None:
            _propagation(mount.mount_propagation, container, f"{path}.mountPropagation", errors)
        if mount.recursive_read_only is not None:
            _recursive_read_only(mount, f"{path}.recursiveReadOnly", errors)


def _propagation(value: str, container: Container, path: str, errors: list[FieldError]) -> None:
    """The API leaves the mount's index out of this path, and out of the next one's."""
    if value not in _PROPAGATIONS:
        errors.append(unsupported(path, value, _PROPAGATIONS))
    context = container.security_context
    if value == "Bidirectional" and not (context and context.privileged):
        errors.append(forbidden(path, "Bidirectional mount propagation is available only to privileged containers"))


def _recursive_read_only(mount: VolumeMount, path: str, errors: list[FieldError]) -> None:
    value = mount.recursive_read_only
    if value not in _RECURSIVE_READ_ONLY:
        errors.append(unsupported(path, value, _RECURSIVE_READ_ONLY))
    elif value != "Disabled":
        if not mount.read_only:
            errors.append(forbidden(path, "may only be specified when readOnly is true"))
        if mount.mount_propagation not in (None, "None"):
            errors.append(forbidden(path, "may only be specified when mountPropagation is None or not specified"))
