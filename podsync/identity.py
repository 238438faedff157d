"""Names and hashes: how a pod and its parts are called, and when two are the same."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import TYPE_CHECKING

from podsync.labels import SANDBOX_CONTAINER

if TYPE_CHECKING:
    from podsync.models import Container, Pod

__all__ = ["adopt", "container_hash", "container_ref", "pod_uid", "sandbox_ref", "short", "split"]


def sandbox_ref(pod: Pod, attempt: int) -> str:
    """The engine's name of a sandbox, as the kubelet names it."""
    return container_ref(pod, SANDBOX_CONTAINER, attempt)


def container_ref(pod: Pod, container: str, attempt: int) -> str:
    """The engine's name of one instance: ``k8s_<container>_<pod>_<namespace>_<uid>_<attempt>``."""
    meta = pod.metadata
    return f"k8s_{container}_{meta.name}_{meta.namespace}_{meta.uid}_{attempt}"


def split(ref: str) -> tuple[str, str, str, str, int] | None:
    """(container, pod, namespace, uid, attempt) of a name made here; None for any other."""
    parts = ref.split("_")
    if len(parts) != 6 or parts[0] != "k8s" or not parts[5].isdigit():  # noqa: PLR2004 - the name's six parts
        return None
    return parts[1], parts[2], parts[3], parts[4], int(parts[5])


def short(ref: str) -> str:
    """``container#attempt`` for people."""
    parts = split(ref)
    return f"{parts[0]}#{parts[4]}" if parts else ref


def container_hash(container: Container) -> str:
    """Hash over name and image only, the fields whose change replaces a running container."""
    return hashlib.blake2b(f"{container.name}\0{container.image}".encode(), digest_size=4).hexdigest()


def pod_uid(pod: Pod, node: str, source: str) -> str:
    """32 hex digits over node, source and the decoded, defaulted pod.

    Comments, key order and formatting do not count, nor does the file's name. A uid
    written in the manifest is kept as it is, as the kubelet does.
    """
    if pod.metadata.uid:
        return pod.metadata.uid
    canonical = json.dumps(pod.to_dict(), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    digest = hashlib.blake2b(digest_size=16)
    for part in (node, source, canonical):
        digest.update(part.encode("utf-8", "surrogatepass"))
        digest.update(b"\0")
    return digest.hexdigest()


def adopt(pod: Pod, node: str, source: str) -> Pod:
    """The pod as this node runs it: with its uid and the name of its source."""
    return replace(pod, source=source, metadata=replace(pod.metadata, uid=pod_uid(pod, node, source)))
