"""Docker Engine, 20.10 to 29, over its socket on this host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from podsync.clock import Clock, SystemClock

# Loading a submodule binds its name here: loaded first, it leaves the name to the function below.
from podsync.runtimes.docker import connect as _submodule  # noqa: F401

if TYPE_CHECKING:
    from podsync.runtimes.base import Runtime

__all__ = ["connect"]


def connect(options: Mapping[str, str], clock: Clock | None = None) -> Runtime:
    """A runtime for a Docker engine. Asks it nothing yet: the first verb does.

    Options: ``node``, the node name that marks what is ours; ``endpoint``, ``unix:///path``
    of its socket (empty: DOCKER_HOST, or the usual place); ``pause_image``, a sandbox image
    other than the built-in one. Raises ConfigError for an endpoint that is not on this host.
    """
    from podsync.runtimes.docker.adapter import DockerRuntime
    from podsync.runtimes.docker.connect import Api, socket_path

    api = Api(socket_path(options.get("endpoint", "")))
    node = options.get("node", "")
    return DockerRuntime(api, node=node, clock=clock or SystemClock(), pause_image=options.get("pause_image", ""))
