"""An engine's API called bare: ``http.client`` over its socket, one kept-alive connection a thread."""

from __future__ import annotations

import http.client
import json
import os
import socket
import threading
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

__all__ = ["Docker", "Engine", "Podman", "engine"]

Body = Mapping[str, Any]


class _Connection(http.client.HTTPConnection):
    """HTTP over a unix socket."""

    def __init__(self, path: str, timeout: float | None) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Engine:
    """The calls a pod's life takes. Safe to use from several threads."""

    name = ""
    prefix = ""
    gone = ""
    """The event that tells of a removal."""

    def __init__(self, path: str) -> None:
        """``path`` is the engine's socket."""
        self.path = path
        self._local = threading.local()

    @property
    def endpoint(self) -> str:
        """The socket as the environment variables have it."""
        return f"unix://{self.path}"

    def call(
        self,
        method: str,
        path: str,
        body: Body | None = None,
        query: Mapping[str, str] | None = None,
        missing: Any = ...,
    ) -> Any:
        """One call; its JSON. An absent object gives ``missing`` where that is given, else raises OSError."""
        if not hasattr(self._local, "connection"):
            self._local.connection = _Connection(self.path, 120)
        connection: _Connection = self._local.connection
        data = None if body is None else json.dumps(body).encode()
        headers = {} if body is None else {"Content-Type": "application/json"}
        target = self.prefix + path + (f"?{urlencode(query)}" if query else "")
        connection.request(method, target, body=data, headers=headers)
        answer = connection.getresponse()
        content = answer.read()
        if answer.status == http.HTTPStatus.NOT_FOUND and missing is not ...:
            return missing
        if answer.status >= http.HTTPStatus.BAD_REQUEST:
            raise OSError(f"{method} {target}: {answer.status} {content[:300]!r}")
        return json.loads(content) if content[:1] in (b"{", b"[") else None

    def events(self) -> tuple[http.client.HTTPResponse, socket.socket]:
        """The stream of containers' events from now on, and the socket whose shutdown ends it."""
        connection = _Connection(self.path, None)
        filters = json.dumps({"type": ["container"], "event": ["start", self.gone]})
        connection.request("GET", f"{self.prefix}/events?{urlencode({'stream': 'true', 'filters': filters})}")
        sock = connection.sock
        return connection.getresponse(), sock

    def create(self, name: str, body: Body) -> str:
        """Id of a new container."""
        return str(self.call("POST", "/containers/create", body, {"name": name})["Id"])

    def start(self, ref: str) -> None:
        """Start a container."""
        self.call("POST", f"/containers/{ref}/start")

    def inspect(self, ref: str) -> dict[str, Any] | None:
        """What the engine knows of it; None when there is no such container."""
        found: dict[str, Any] | None = self.call("GET", f"/containers/{ref}/json", missing=None)
        return found

    def signal(self, ref: str, signal: str) -> None:
        """Send a signal to its process."""
        self.call("POST", f"/containers/{ref}/kill", query={"signal": signal})

    def remove(self, ref: str) -> None:
        """End it, if need be, and remove it with its anonymous volumes."""
        raise NotImplementedError

    def ids(self, label: str) -> list[str]:
        """All containers with that ``key=value``."""
        query = {"all": "true", "filters": json.dumps({"label": [label]})}
        return [str(item["Id"]) for item in self.call("GET", "/containers/json", query=query)]

    def version(self) -> str:
        """The engine's name and version."""
        found = self.call("GET", "/version")
        return f"{self.name.capitalize()} {found['Version']}"


class Docker(Engine):
    """Docker, in the oldest API that podsync speaks unless the engine no longer does."""

    name, prefix, gone = "docker", "/v1.44", "destroy"

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.prefix = ""
        newest = tuple(int(part) for part in self.call("GET", "/version")["ApiVersion"].split("."))
        major, minor = min(newest, (1, 44))
        self.prefix = f"/v{major}.{minor}"

    def remove(self, ref: str) -> None:
        """End it, if need be, and remove it."""
        self.call("DELETE", f"/containers/{ref}", query={"v": "1", "force": "1"}, missing=None)


class Podman(Engine):
    """Podman's own API."""

    name, prefix, gone = "podman", "/v4.0.0/libpod", "remove"

    def remove(self, ref: str) -> None:
        """End it, if need be, and remove it."""
        query = {"force": "true", "timeout": "0", "volumes": "true", "ignore": "true", "depend": "true"}
        self.call("DELETE", f"/containers/{quote(ref)}", query=query, missing=None)


def engine(name: str) -> Engine:
    """The engine that DOCKER_HOST or CONTAINER_HOST names, else the one at the usual place. Raises OSError."""
    if name == "docker":
        return Docker(os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock").removeprefix("unix://"))
    return Podman(os.environ.get("CONTAINER_HOST", "unix:///run/podman/podman.sock").removeprefix("unix://"))
