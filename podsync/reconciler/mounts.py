"""A container's mounts: its volumes, and the files a kubelet adds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from podsync import podpaths
from podsync.runtimes.base import Mount

if TYPE_CHECKING:
    from podsync.models import Container, Pod, Volume

__all__ = ["container_mounts"]

_PROPAGATION = {"HostToContainer": "rslave", "Bidirectional": "rshared"}


def container_mounts(root: str, pod: Pod, container: Container, message_file: str) -> tuple[Mount, ...]:
    """Volumes in the order of the manifest, then hosts, resolv.conf and the termination message.

    What the manifest itself mounts at one of those paths stays.
    """
    uid = pod.metadata.uid
    volumes = {volume.name: volume for volume in pod.spec.volumes}
    found = {}
    for mount in container.volume_mounts:
        target = mount.mount_path if mount.mount_path.startswith("/") else f"/{mount.mount_path}"
        found[target] = Mount(
            source=_source(root, uid, volumes[mount.name]),
            target=target,
            read_only=mount.read_only,
            # IfPossible is a wish no engine of ours can be asked about beforehand: it is left out
            recursive_read_only=mount.recursive_read_only == "Enabled",
            propagation=_PROPAGATION.get(mount.mount_propagation or "", "rprivate"),
        )
    added = [("/etc/hosts", podpaths.hosts_file(root, uid)), ("/etc/resolv.conf", podpaths.resolv_file(root, uid))]
    if container.termination_message_path:
        added.append((container.termination_message_path, message_file))
    for target, source in added:
        found.setdefault(target, Mount(source, target))
    return tuple(found.values())


def _source(root: str, uid: str, volume: Volume) -> str:
    """Where a volume is on the host; validation has refused what is neither of the two."""
    if volume.host_path is not None:
        return volume.host_path.path
    return podpaths.volume_dir(root, uid, podpaths.EMPTY_DIR, volume.name)
