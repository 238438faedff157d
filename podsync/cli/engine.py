"""How commands that talk to a running container find it and its engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from podsync.cli.common import read_report, root_of

if TYPE_CHECKING:
    from podsync.runtimes.base import Runtime

__all__ = ["container_ref", "runtime_of", "runtime_option"]


def runtime_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command ``--runtime``."""
    return click.option(
        "--runtime",
        metavar="NAME",
        envvar="PODSYNC_RUNTIME",
        help="Engine to ask: auto, docker, podman or a plug-in's name.  [default: the one the agent uses]",
    )(command)


@contextmanager
def runtime_of(root: str | None, runtime: str | None) -> Iterator[Runtime]:
    """The engine of the agent that owns the root; closed at the end.

    Raises RuntimeUnavailable, PluginError, ConfigError.
    """
    from podsync import app
    from podsync.cli.console import set_up
    from podsync.store import AGENT

    where = root_of(root)
    agent = read_report(where, AGENT) or {}
    settings: dict[str, Any] = {"root": where}
    if agent.get("node"):
        settings["node_name"] = agent["node"]
    settings["runtime"] = runtime or (agent.get("runtime") or {}).get("name") or "auto"
    set_up("text", "error")
    opened = app.open_runtime(app.Config(**settings))
    try:
        yield opened
    finally:
        opened.close()


def container_ref(identifier: str) -> str:
    """The engine's id in a status's ``docker://<id>``."""
    return identifier.partition("://")[2]
