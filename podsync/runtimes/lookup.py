"""Which engine to use, and where it listens.

``auto`` takes the first that answers: the one DOCKER_HOST names, Docker's socket, the one
CONTAINER_HOST names, Podman's sockets, and at last a ``podman system service`` started for
us alone. An address from the environment is the user's wish, so when it does not answer
nothing else is tried, nor when an engine is there and hangs: pods must not move to
another engine for that.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from podsync.errors import ConfigError, RuntimeUnavailable
from podsync.runtimes.common import faults, wire

__all__ = ["NAMES", "Found", "Place", "find", "nothing", "places", "probe", "service_socket"]

NAMES: Final = ("auto", "docker", "podman")
"""What is looked up here."""

_SCHEME: Final = "unix://"
_SERVICE: Final = "service://"
_PROBE_TIMEOUT: Final = 5.0
_LONGEST_SOCKET: Final = 100
"""Bytes; Linux takes 107."""
_TITLES: Final = {"docker": "Docker", "podman": "Podman"}
_START: Final = {
    "docker": "systemctl start docker (or: service docker start)",
    "podman": "systemctl start podman.socket (your own engine: systemctl --user start podman.socket)",
}
_INSTALL: Final = {
    "docker": "Install Docker: apt-get install docker.io, dnf install moby-engine, or https://docs.docker.com/engine/install/",
    "podman": "Install Podman: apt-get install podman, dnf install podman, or https://podman.io/docs/installation",
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where an engine might listen. ``wish`` names the variable or option that asks for it."""

    engine: str
    endpoint: str
    wish: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """The engine to use, and what was tried before it, a sentence each."""

    engine: str
    endpoint: str
    tried: tuple[str, ...] = ()


def probe(path: str) -> str:
    """Which engine answers at a socket: ``podman`` or ``docker``. Raises OSError when none does."""
    streams = wire.Streams(path)
    try:
        stream = streams.open("GET", "/_ping", timeout=_PROBE_TIMEOUT)
        return "podman" if "libpod-api-version" in stream.headers else "docker"
    finally:
        streams.close()


def find(
    name: str,
    *,
    endpoint: str = "",
    state: str = "",
    environ: Mapping[str, str] = os.environ,
    uid: int | None = None,
    ask: Callable[[str], str] = probe,
    which: Callable[[str], str | None] = shutil.which,
) -> Found:
    """The engine for a runtime's name: ``auto``, ``docker`` or ``podman``.

    ``ask`` gives the engine that answers at a socket. Raises RuntimeUnavailable when
    there is none, ConfigError for an address that is not a socket of this host.
    """
    tried: list[str] = []
    for place in places(name, endpoint=endpoint, environ=environ, uid=os.getuid() if uid is None else uid):
        if place.wish and name != "auto":
            # Chosen by name and by address: the engine may be down now and come later.
            return Found(place.engine, place.endpoint)
        path = _socket(place)
        try:
            engine = ask(path)
        except OSError as error:
            tried.append(_why(place, error))
            if place.wish or isinstance(error, TimeoutError):
                raise nothing(name, tuple(tried)) from error
            continue
        if name == "auto" or engine == place.engine:
            return Found(engine, place.endpoint, tuple(tried))
        tried.append(f"{place.endpoint} is {_TITLES[engine]}'s")
    binary = which("podman") if name != "docker" else None
    if binary is not None:
        return Found("podman", f"{_SERVICE}{service_socket(state)}", tuple(tried))
    if name != "docker":
        tried.append("podman is not installed, so no service of its own can be started")
    raise nothing(name, tuple(tried))


def places(name: str, *, endpoint: str = "", environ: Mapping[str, str], uid: int) -> Iterator[Place]:
    """Where to look, in order."""
    if endpoint:
        yield Place("docker" if name == "auto" else name, endpoint, "--endpoint")
        return
    own = environ.get("XDG_RUNTIME_DIR", "")
    if name != "podman":
        if host := environ.get("DOCKER_HOST"):
            yield Place("docker", host, "DOCKER_HOST")
        else:
            yield Place("docker", f"{_SCHEME}/var/run/docker.sock")
            if own and uid:
                yield Place("docker", f"{_SCHEME}{own}/docker.sock")
    if name != "docker":
        if host := environ.get("CONTAINER_HOST"):
            yield Place("podman", host, "CONTAINER_HOST")
        else:
            theirs = f"{_SCHEME}/run/podman/podman.sock"
            ours = [f"{_SCHEME}{own}/podman/podman.sock"] if own else []
            yield from (Place("podman", found) for found in ([theirs, *ours] if uid == 0 else [*ours, theirs]))


def nothing(name: str, tried: tuple[str, ...]) -> RuntimeUnavailable:
    """What to say when no engine can be used: what was tried, and how to get one."""
    what = "no container engine" if name == "auto" else f"no {_TITLES[name]}"
    lines = [f"{what} can be used. Tried:", *(f"  - {sentence}" for sentence in tried)]
    lines += [_INSTALL[engine] for engine in ("docker", "podman") if name in ("auto", engine)]
    return RuntimeUnavailable("\n".join(lines))


def service_socket(state: str) -> Path:
    """Where a service of our own listens: in the folder given, or elsewhere if that has too long a name."""
    socket = Path(state or ".").absolute() / "podman.sock"
    if state and len(os.fsencode(socket)) <= _LONGEST_SOCKET:
        return socket
    runtime = os.environ.get("XDG_RUNTIME_DIR") or ("/run" if os.getuid() == 0 else tempfile.gettempdir())
    mark = hashlib.blake2b(os.fsencode(socket), digest_size=6).hexdigest()
    return Path(runtime, f"podsync-{os.getuid()}-{mark}", "podman.sock")


def _socket(place: Place) -> str:
    """The path of a place's socket."""
    path = place.endpoint.removeprefix(_SCHEME)
    if not path.startswith("/"):
        raise ConfigError(
            f"{place.wish or place.engine}: {place.endpoint!r} is no engine of this host: pods mount this host's "
            "files, so give the path of its socket as unix:///path"
        )
    return path


def _why(place: Place, error: OSError) -> str:
    """Why a place is of no use."""
    waited = _PROBE_TIMEOUT if isinstance(error, TimeoutError) else None
    fault = faults.unavailable(_TITLES[place.engine], place.endpoint, error, waited=waited, start=_START[place.engine])
    return f"{place.wish}: {fault.message}" if place.wish else fault.message
