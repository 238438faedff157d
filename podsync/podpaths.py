"""Where a pod's files live on the host: the kubelet's directory layout, as pure text.

Nothing here looks at a file system. ``root`` is the agent's root directory, absolute.
"""

from __future__ import annotations

import hashlib

__all__ = [
    "EMPTY_DIR",
    "hosts_file",
    "pod_dir",
    "pods_dir",
    "resolv_file",
    "seccomp_file",
    "termination_file",
    "volume_dir",
]

EMPTY_DIR = "kubernetes.io/empty-dir"
"""The plugin whose volumes are directories (or a tmpfs) of the pod's own."""


def pods_dir(root: str) -> str:
    """The folder that holds one folder a pod uid."""
    return f"{root.rstrip('/')}/pods"


def pod_dir(root: str, uid: str) -> str:
    """Everything of one pod; gone when the pod is."""
    return f"{pods_dir(root)}/{uid}"


def volume_dir(root: str, uid: str, plugin: str, name: str) -> str:
    """The folder of one volume; ``plugin`` as Kubernetes writes it (``kubernetes.io/empty-dir``)."""
    return f"{pod_dir(root, uid)}/volumes/{plugin.replace('/', '~')}/{name}"


def hosts_file(root: str, uid: str) -> str:
    """What the pod's containers see as ``/etc/hosts``."""
    return f"{pod_dir(root, uid)}/etc-hosts"


def resolv_file(root: str, uid: str) -> str:
    """What the pod's containers see as ``/etc/resolv.conf``."""
    return f"{pod_dir(root, uid)}/resolv.conf"


def termination_file(root: str, uid: str, container: str, attempt: int) -> str:
    """The file behind ``terminationMessagePath`` of one instance.

    The kubelet's name for it is eight random hex digits; here they follow from the
    instance, so that planning twice gives the same mount.
    """
    digits = hashlib.blake2b(f"{uid}\0{container}\0{attempt}".encode(), digest_size=4).hexdigest()
    return f"{pod_dir(root, uid)}/containers/{container}/{digits}"


def seccomp_file(root: str, profile: str) -> str:
    """The file of a ``Localhost`` seccomp profile."""
    return f"{root.rstrip('/')}/seccomp/{profile}"
