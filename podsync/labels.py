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
    "MOST",
    "NODE",
    "POD_NAME",
    "POD_NAMESPACE",
    "POD_UID",
    "ROOT",
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
ROOT = "podsync.io/root"
"""Root directory of the agent that made it: a second agent of the same node name must not take it for its own."""
START_TIME = "podsync.io/start-time"
"""On a sandbox: the pod's status.startTime, carried over from sandbox to sandbox."""
IMAGE = "podsync.io/image"
"""Image name as the manifest writes it (engines are asked to create by id)."""
IMAGE_ID = "podsync.io/image-id"
"""What the status shows as imageID."""
TERMINATION_MESSAGE_FILE = "podsync.io/termination-message-file"
"""Host path of the file mounted at terminationMessagePath."""
TERMINATION_MESSAGE_POLICY = "podsync.io/termination-message-policy"

MOST = 2**31 - 1
"""The largest number a label is believed: what fits the int32 of ``restartCount``, and 68 years of seconds."""
# beyond them no object was made, and the sums that are done with a moment leave the calendar
_YEARS = range(1970, 9000)


def integer(labels: Mapping[str, str], key: str, default: int = 0) -> int:
    """The label as a whole number from 0 to ``MOST``, or ``default`` when absent or not one."""
    try:
        value = int(labels[key])
    except (KeyError, ValueError):
        return default
    return value if 0 <= value <= MOST else default


def number(labels: Mapping[str, str], key: str) -> float | None:
    """The label as a number of seconds from 0 to ``MOST``; None when absent or not one."""
    try:
        value = float(labels[key])
    except (KeyError, ValueError):
        return None
    return value if 0 <= value <= MOST else None  # NaN is not between either


def format_time(moment: datetime) -> str:
    """RFC 3339 with microseconds, in UTC."""
    return moment.astimezone(UTC).isoformat()


def parse_time(text: str | None) -> datetime | None:
    """The moment a label names, in UTC; None when absent, unreadable or none at which anything was made.

    A time without an offset is taken for UTC.
    """
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return moment if moment.year in _YEARS else None
