"""Facts of this machine that the planner needs: read once, at the start."""

from __future__ import annotations

import contextlib
import socket
from pathlib import Path

from podsync.reconciler import NodeSettings

__all__ = ["host_address", "memory_bytes", "node_settings"]


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
