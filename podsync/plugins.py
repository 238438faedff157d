"""Runtimes and sources by name: ours, and those of installed distributions.

A distribution offers one through an entry point, loaded only when it is chosen::

    [project.entry-points."podsync.runtimes"]
    nerdctl = "podsync_nerdctl:connect"        # def connect(options: Mapping[str, str]) -> Runtime
    [project.entry-points."podsync.sources"]
    consul = "podsync_consul:open_source"      # def open_source(options, clock) -> Source

Our own are registered in the same way, and known here too, so that podsync runs from a
source tree that was never installed. Their names cannot be taken by others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, Final, TypeVar

from podsync.errors import PluginError, PodsyncError, RuntimeUnavailable
from podsync.runtimes.base import API_VERSION

if TYPE_CHECKING:
    from podsync.clock import Clock
    from podsync.runtimes.base import Runtime
    from podsync.sources.base import Source

__all__ = ["BUILT_IN", "RUNTIMES", "SOURCES", "connect", "names", "runtime", "source"]

RUNTIMES: Final = "podsync.runtimes"
SOURCES: Final = "podsync.sources"

BUILT_IN: Mapping[str, Mapping[str, str]] = {
    RUNTIMES: {
        "docker": "podsync.runtimes.docker:connect",
        "fake": "podsync.runtimes.fake:connect",
        "podman": "podsync.runtimes.podman:connect",
    },
    SOURCES: {
        "dir": "podsync.sources.directory:open_source",
        "file": "podsync.sources.file:open_source",
        "http": "podsync.sources.http:open_source",
        "https": "podsync.sources.http:open_source",
    },
}
"""Ours, by group and name, as ``module:attribute``."""

T = TypeVar("T")
_KINDS = {RUNTIMES: "runtime", SOURCES: "source"}


def names(group: str) -> tuple[str, ...]:
    """All names of a group that are there to be chosen, sorted. Loads none of them."""
    found = {point.name for point in entry_points(group=group)}
    return tuple(sorted(found | set(BUILT_IN[group])))


def runtime(name: str) -> Callable[[Mapping[str, str]], Runtime]:
    """What connects to a runtime of that name. Raises PluginError."""
    connector: Callable[[Mapping[str, str]], Runtime] = _load(RUNTIMES, name)
    return connector


def source(name: str) -> Callable[[Mapping[str, str], Clock], Source]:
    """What opens a source of that kind. Raises PluginError."""
    opener: Callable[[Mapping[str, str], Clock], Source] = _load(SOURCES, name)
    return opener


def connect(name: str, options: Mapping[str, str]) -> Runtime:
    """A runtime of that name, made for our version of the port.

    A plug-in whose engine cannot be asked yet is taken as it is. Raises PluginError when it
    is missing, fails, or was written for another version; errors of podsync's own pass through.
    """
    connector = runtime(name)
    if name in BUILT_IN[RUNTIMES]:
        return connector(options)
    where = _origin(_entry_point(RUNTIMES, name))
    connected = _guarded(lambda: connector(options), f"runtime {name!r} of {where} cannot be used")
    try:
        version = _guarded(lambda: connected.info().port, f"runtime {name!r} of {where} does not say who it is")
    except RuntimeUnavailable:
        return connected
    if version != API_VERSION:
        connected.close()
        raise PluginError(
            f"runtime {name!r} of {where} was written for version {version} of the runtime port, this is {API_VERSION}"
        )
    return connected


def _load(group: str, name: str) -> Any:
    """The object a name stands for. Raises PluginError."""
    if built_in := BUILT_IN[group].get(name):
        module, _, attribute = built_in.partition(":")
        return getattr(import_module(module), attribute)
    point = _entry_point(group, name)
    loaded = _guarded(point.load, f"{_KINDS[group]} {name!r} of {_origin(point)} cannot be loaded")
    if not callable(loaded):
        raise PluginError(f"{_KINDS[group]} {name!r} of {_origin(point)}: {point.value} is not a function")
    return loaded


def _entry_point(group: str, name: str) -> EntryPoint:
    """The one entry point of that name. Raises PluginError when there is none, or more than one."""
    points = list(entry_points(group=group, name=name))
    if not points:
        known = names(group)
        close = get_close_matches(name, known, 1)
        guess = f"; did you mean {close[0]!r}?" if close else ""
        raise PluginError(f"there is no {_KINDS[group]} {name!r}{guess} Known: {', '.join(known)}")
    if len({point.value for point in points}) > 1:
        owners = " and ".join(sorted(_origin(point) for point in points))
        raise PluginError(f"{_KINDS[group]} {name!r} is offered by {owners}: remove one of them")
    return points[0]


def _origin(point: EntryPoint) -> str:
    """The distribution of an entry point, with its version."""
    return f"{point.dist.name} {point.dist.version}" if point.dist is not None else point.value


def _guarded(call: Callable[[], T], failure: str) -> T:
    """The result of a plug-in's code, whose own exceptions become PluginError."""
    try:
        return call()
    except PodsyncError:
        raise
    except Exception as error:
        raise PluginError(f"{failure}: {_words(error)}") from error


def _words(error: Exception) -> str:
    """The kind of an exception and its text, on one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())
