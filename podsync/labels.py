"""What must outlive the agent, as labels on the engine's objects.

Labels are written when an object is created and never change. They are podsync's
only database: ownership, restart counts and crash-loop delays are read back from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

__all__ = [
    "ATTEMPT",
    "BACKOFF",
    "CONTAINER_NAME",
    "DEFAULT_NODE",
    "GRACE",
    "HASH",
    "IMAGE",
    "IMAGE_ID",
    "KIND",
    "NODE",
    "POD_NAME",
    "POD_NAMESPACE",
    "POD_UID",
    "SANDBOX_ATTEMPT",
    "SANDBOX_CONTAINER",
    "SOURCE",
    "START_TIME",
    "TERMINATION_MESSAGE_FILE",
    "TERMINATION_MESSAGE_POLICY",
    "format_time",
    "integer",
    "number",
    "parse_time",
]

NODE = "podsync.io/node"
"""Ownership: only what carries our own node name is ours."""
DEFAULT_NODE = "localhost"
"""The node of whoever names none: planner, runtimes and the fake agree on it."""
POD_NAME = "io.kubernetes.pod.name"
POD_NAMESPACE = "io.kubernetes.pod.namespace"
POD_UID = "io.kubernetes.pod.uid"
CONTAINER_NAME = "io.kubernetes.container.name"
SANDBOX_CONTAINER = "POD"
"""The container name a sandbox carries, as on a kubelet."""

KIND = "podsync.io/kind"
"""``sandbox``, ``init`` or ``container``."""
ATTEMPT = "podsync.io/attempt"
"""Restart count of a container instance, attempt of a sandbox."""
SANDBOX_ATTEMPT = "podsync.io/sandbox-attempt"
"""On a container: the attempt of the sandbox it was made for."""
BACKOFF = "podsync.io/backoff"
"""Seconds between the previous instance's end and this instance; absent on a first one."""
HASH = "podsync.io/hash"
"""Hash of the container's name and image, as the kubelet's container hash."""
GRACE = "podsync.io/grace"
"""terminationGracePeriodSeconds of the pod."""
SOURCE = "podsync.io/source"
START_TIME = "podsync.io/start-time"
"""On a sandbox: the pod's status.startTime, carried over from sandbox to sandbox."""
IMAGE = "podsync.io/image"
"""Image name as the manifest writes it (engines are asked to create by id)."""
IMAGE_ID = "podsync.io/image-id"
"""What the status shows as imageID."""
TERMINATION_MESSAGE_FILE = "podsync.io/termination-message-file"
"""Host path of the file mounted at terminationMessagePath."""
TERMINATION_MESSAGE_POLICY = "podsync.io/termination-message-policy"


def integer(labels: Mapping[str, str], key: str, default: int = 0) -> int:
    """The label as a whole number, or ``default`` when absent or not one."""
    try:
        return int(labels[key])
    except (KeyError, ValueError):
        return default


def number(labels: Mapping[str, str], key: str) -> float | None:
    """The label as a number of seconds; None when absent or not one."""
    try:
        return float(labels[key])
    except (KeyError, ValueError):
        return None


def format_time(moment: datetime) -> str:
    """RFC 3339 with microseconds, in UTC."""
    return moment.astimezone(UTC).isoformat()


def parse_time(text: str | None) -> datetime | None:
    """The moment a label names; None when absent or unreadable."""
    if not text:
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None
