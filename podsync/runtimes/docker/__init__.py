"""Docker Engine, 20.10 to 29, over its socket on this host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from podsync.clock import Clock, SystemClock

if TYPE_CHECKING:
    from podsync.runtimes.base import Runtime

__all__ = ["connect"]


def connect(options: Mapping[str, str], clock: Clock | None = None) -> Runtime:
    """A runtime for a Docker engine. Asks it nothing yet: the first verb does.

    Options: ``node``, the node name that marks what is ours; ``endpoint``, ``unix:///path``
    of its socket (empty: DOCKER_HOST, or the usual place). Raises ConfigError for an
    endpoint that is not on this host.
    """
    from podsync.runtimes.docker.adapter import DockerRuntime
    from podsync.runtimes.docker.client import Api, socket_path

    api = Api(socket_path(options.get("endpoint", "")))
    return DockerRuntime(api, node=options.get("node", ""), clock=clock or SystemClock())
