"""Podman, 4.3 to 5.7, over its API's socket on this host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from podsync.clock import Clock, SystemClock

if TYPE_CHECKING:
    from podsync.runtimes.base import Runtime

__all__ = ["connect"]


def connect(options: Mapping[str, str], clock: Clock | None = None) -> Runtime:
    """A runtime for a Podman. Asks it nothing yet: the first verb does.

    Options: ``node``, the node name that marks what is ours; ``endpoint``, ``unix:///path``
    of its socket, or ``service:///path`` to start a ``podman system service`` there that
    ends when the runtime is closed; ``service_binary``, that podman's path. Raises
    ConfigError for an endpoint that is not on this host, RuntimeUnavailable when the
    service does not start.
    """
    from podsync.runtimes.podman.adapter import PodmanRuntime
    from podsync.runtimes.podman.client import Client, socket_path
    from podsync.runtimes.podman.service import PrivateService, requested

    clock = clock or SystemClock()
    endpoint = options.get("endpoint", "")
    service: PrivateService | None = None
    if (socket := requested(endpoint)) is not None:
        service = PrivateService(options.get("service_binary") or "podman", socket, clock)
        service.ensure()
        endpoint = service.endpoint
    client = Client(socket_path(endpoint))
    return PodmanRuntime(client, node=options.get("node", ""), clock=clock, service=service)
