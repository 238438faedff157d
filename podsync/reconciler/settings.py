"""What the planner has to know of the node it plans for."""

from __future__ import annotations

from dataclasses import dataclass

from podsync import labels

__all__ = ["NodeSettings"]


@dataclass(frozen=True, slots=True)
class NodeSettings:
    """The node, as far as it shapes pods. The same settings must be used as long as the pods live."""

    node_name: str = labels.DEFAULT_NODE
    """Written on everything made (label ``podsync.io/node``); the runtime's own node name must be the same."""
    root: str = "/var/lib/podsync"
    """The agent's root directory, absolute, as the engine's host sees it."""
    memory_bytes: int = 0
    """The machine's memory, for the OOM scores of Burstable pods; 0 when not known."""
    pause_image: str = ""
    """Image of the sandboxes; empty for the built-in one."""
