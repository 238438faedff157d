"""Container engines: ``get("auto", node=…)`` gives a Runtime.

============  ====================================================================
``docker``    Docker Engine 20.10 to 29
``podman``    Podman 4.3 to 5.7, rootful or rootless
``auto``      whichever of the two is found (``lookup``)
``fake``      an engine in memory, for tests and forecasts
any other     a plug-in's (entry point group ``podsync.runtimes``)
============  ====================================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from podsync import labels

if TYPE_CHECKING:
    from podsync.runtimes.base import Runtime

__all__ = ["get"]


def get(
    name: str = "auto", *, node: str = labels.DEFAULT_NODE, endpoint: str = "", state: str = "", **options: str
) -> Runtime:
    """The runtime of that name for the pods of ``node``, the name that marks what is ours.

    ``endpoint`` is the engine's address; without one the environment and the usual places
    are tried. ``state`` is a folder in which a Podman service of our own may keep its
    socket, should one have to be started. ``options`` are the runtime's own.

    Raises PluginError for a name nobody knows, ConfigError for an address that makes no
    sense, RuntimeUnavailable when no engine is found, saying what was tried.
    """
    from podsync import plugins
    from podsync.errors import RuntimeUnavailable
    from podsync.runtimes import lookup

    if name not in lookup.NAMES:
        return plugins.connect(name, {"node": node, "endpoint": endpoint, "state": state, **options})
    found = lookup.find(name, endpoint=endpoint, state=state)
    try:
        return plugins.connect(found.engine, {"node": node, "endpoint": found.endpoint, "state": state, **options})
    except RuntimeUnavailable as fault:
        raise lookup.nothing(name, (*found.tried, fault.message)) from fault
