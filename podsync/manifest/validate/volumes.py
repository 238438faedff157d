"""Rules of ``spec.volumes``."""

from __future__ import annotations

from collections.abc import Sequence

from podsync.errors import FieldError
from podsync.manifest.validate.names import NO_NUL, NUL, dns_label, no_backsteps
from podsync.manifest.validate.problems import duplicate, forbidden, invalid, required, unsupported
from podsync.models import EmptyDirVolumeSource, HostPathVolumeSource, Volume

__all__ = ["HOST_PATH_TYPES", "validate_volumes"]

HOST_PATH_TYPES = ("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket")
"""What ``hostPath.type`` may say."""
_MEDIA = ("", "Memory")
_HUGE_PAGES = "HugePages"


def validate_volumes(volumes: Sequence[Volume], errors: list[FieldError]) -> frozenset[str]:
    """Names and sources of volumes; gives the names that mounts may refer to."""
    names: set[str] = set()
    for index, volume in enumerate(volumes):
        path = f"spec.volumes[{index}]"
        if not volume.name:
            errors.append(required(f"{path}.name"))
        elif complaints := dns_label(volume.name):
            errors += [invalid(f"{path}.name", volume.name, words) for words in complaints]
        if volume.name in names:
            errors.append(duplicate(f"{path}.name", volume.name))
        names.add(volume.name)
        if volume.empty_dir is not None:
            _empty_dir(volume.empty_dir, f"{path}.emptyDir", errors)
        if volume.host_path is not None:
            if volume.empty_dir is not None:
                errors.append(forbidden(f"{path}.hostPath", "may not specify more than 1 volume type"))
            else:
                _host_path(volume.host_path, f"{path}.hostPath", errors)
    return frozenset(names)


def _empty_dir(source: EmptyDirVolumeSource, path: str, errors: list[FieldError]) -> None:
    if source.size_limit is not None and source.size_limit.nanos < 0:
        errors.append(forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity"))
    # The API takes any medium and the kubelet then fails to mount it.
    if source.medium not in _MEDIA and not source.medium.startswith(_HUGE_PAGES):
        errors.append(unsupported(f"{path}.medium", source.medium, _MEDIA))


def _host_path(source: HostPathVolumeSource, path: str, errors: list[FieldError]) -> None:
    if not source.path:
        errors.append(required(f"{path}.path"))
    elif complaints := no_backsteps(source.path):
        errors += [invalid(f"{path}.path", source.path, words) for words in complaints]
    elif not source.path.startswith("/"):
        # The API takes it, and no engine can mount it: a bare word would even name an engine's own volume.
        errors.append(invalid(f"{path}.path", source.path, "must be an absolute path"))
    if NUL in source.path:
        errors.append(invalid(f"{path}.path", source.path, NO_NUL))
    if source.type and source.type not in HOST_PATH_TYPES:
        errors.append(unsupported(f"{path}.type", source.type, HOST_PATH_TYPES))
