"""Facts of this machine that the planner needs: read once, at the start."""

from __future__ import annotations

import contextlib
import platform
import re
import socket
from pathlib import Path

from podsync import labels
from podsync.errors import ConfigError
from podsync.manifest.validate.names import dns_subdomain
from podsync.reconciler import NodeSettings

__all__ = ["checked_node_name", "default_node_name", "host_address", "memory_bytes", "node_settings"]

_LONGEST_NAME = 253  # of a DNS subdomain


def default_node_name() -> str:
    """The host's name made fit for a node's: in lower case, as the kubelet takes it, other characters as dashes."""
    parts = (re.sub("[^a-z0-9]", "-", part).strip("-") for part in platform.node().lower().split("."))
    return ".".join(part for part in parts if part)[:_LONGEST_NAME].rstrip("-.") or labels.DEFAULT_NODE


def checked_node_name(name: str) -> str:
    """The name itself. Raises ConfigError unless it is a DNS subdomain, as the name of a Kubernetes Node."""
    for complaint in dns_subdomain(name):
        raise ConfigError(f"the node name {name!r} cannot be used (--node-name): {complaint}")
    return name


def node_settings(node_name: str, root: str, pause_image: str = "") -> NodeSettings:
    """The planner's settings for this machine."""
    return NodeSettings(node_name=node_name, root=root, memory_bytes=memory_bytes(), pause_image=pause_image)


def memory_bytes() -> int:
    """The machine's memory (``MemTotal``); 0 when unknown."""
    with contextlib.suppress(OSError), Path("/proc/meminfo").open() as table:
        for line in table:
            name, _, value = line.partition(":")
            if name == "MemTotal":
                return int(value.split()[0]) * 1024
    return 0


def host_address() -> str:
    """The address this machine would speak to the world from; nothing is sent. Else loopback."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        # a datagram socket picks its source address without sending: 192.0.2.0/24 is reserved for documents
        probe.connect(("192.0.2.1", 9))
        address: str = probe.getsockname()[0]
        return address
    return "127.0.0.1"
