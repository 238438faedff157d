"""A libpod in memory, as far as the adapter speaks to it: tests put in what happens and see what was asked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from typing import Any, cast

from podsync.clock import ManualClock
from podsync.runtimes.common.faults import Refusal
from podsync.runtimes.common.wire import Closed
from podsync.runtimes.podman.adapter import PodmanRuntime
from podsync.runtimes.podman.client import Answer, Client
from podsync.testing.builders import PodNames

ZERO = "0001-01-01T00:00:00Z"
NOW = "2026-12-01T12:00:00Z"


class Lines:
    """A streamed answer."""

    def __init__(self, lines: list[bytes]) -> None:
        self._lines = lines
        self.closed = False

    def lines(self, timeout: float | None = None) -> Iterator[bytes]:
        """Its lines."""
        yield from self._lines

    def close(self) -> None:
        """End it."""
        self.closed = True


class Libpod:
    """Stands in for ``podsync.runtimes.podman.client.Client``."""

    socket = "/nonexistent/podman.sock"
    endpoint = "unix:///nonexistent/podman.sock"

    def __init__(self, version: str = "5.7.0", **security: bool) -> None:
        self.version = version
        self.security = security
        self.cgroups = "v2"
        self.containers: dict[str, dict[str, Any]] = {}
        self.images: dict[str, dict[str, Any]] = {"docker.io/library/busybox:latest": {"Id": "b" * 64}}
        self.calls: list[str] = []
        self.bodies: list[dict[str, Any]] = []
        self.params: list[dict[str, Any]] = []
        self.refusals: list[tuple[str, Refusal]] = []
        self.pull: list[bytes] = []
        self.headers: list[dict[str, str]] = []
        self.closed = False
        self.commands: list[dict[str, Any]] = []
        """What the engine says of a command, look by look; the last one stays."""
        self._ids = (f"{number:064x}" for number in count(1))

    def refuse(self, call: str, status: int, text: str, times: int = 1) -> None:
        """Answer the next calls that begin so with no."""
        self.refusals += [(call, Refusal(status, text))] * times

    def asked(self, *beginnings: str) -> list[str]:
        """The calls that begin so."""
        return [call for call in self.calls if call.startswith(beginnings)]

    def call(
        self,
        method: str,
        path: str,
        *,
        params: dict[str, Any] | None = None,
        body: dict[str, Any] | None = None,
        data: bytes | None = None,
        timeout: float = 0,
    ) -> Answer:
        """One call."""
        if self.closed:
            raise Closed("this runtime has been closed")
        line = f"{method} {path}"
        self.calls.append(line)
        self.params.append(params or {})
        for found in self.refusals:
            if line.startswith(found[0]):
                self.refusals.remove(found)
                raise found[1]
        answer = self._answer(method, path.strip("/").split("/"), params or {}, body or {}, data)
        return Answer(200, b"" if answer is None else json.dumps(answer).encode())

    def stream(self, method: str, path: str, *, params: Any = None, headers: Any = None, **_: Any) -> Lines:
        """One streamed call: a pull."""
        self.calls.append(f"{method} {path}")
        self.params.append(params or {})
        self.headers.append(dict(headers or {}))
        return Lines(self.pull)

    def close(self) -> None:
        """End it."""
        self.closed = True

    def end(self, ref: str, code: int = 0) -> None:
        """The container ends."""
        self.state(ref).update(Status="exited", Pid=0, ExitCode=code, FinishedAt=NOW)

    def state(self, ref: str) -> dict[str, Any]:
        """A container's state, to be changed."""
        found: dict[str, Any] = self._find(ref)["State"]
        return found

    def _find(self, ref: str) -> dict[str, Any]:
        for key, item in self.containers.items():
            if ref in (key, item["Name"]):
                return item
        raise Refusal(404, f'no container with name or ID "{ref}" found: no such container')

    def _answer(self, method: str, path: list[str], params: Any, body: Any, data: bytes | None) -> Any:
        match method, *path:
            case "GET", "info":
                host = {"arch": "amd64", "cgroupVersion": self.cgroups, "security": self.security}
                return {"version": {"Version": self.version}, "host": host}
            case "POST", "images", "load":
                from podsync.runtimes.common import pause

                assert data == pause.image("amd64").archive
                self.images[pause.image("amd64").reference] = {"Id": "f" * 64}
            case "POST", "containers", ref, "exec":
                if self.state(ref)["Status"] != "running":
                    raise Refusal(500, "can only create exec sessions on running containers: container state improper")
                return {"Id": "5e55"}
            case "GET", "exec", "5e55", "json":
                return self.commands.pop(0) if len(self.commands) > 1 else self.commands[0]
            case "POST", "exec", "5e55", "resize" | "remove":
                return None
            case "GET", "images", name, "json":
                return self._image(name)
            case "POST", "containers", "create":
                return {"Id": self._create(body)}
            case "GET", "containers", "json":
                return self._list(json.loads(params["filters"])["label"])
            case "GET", "containers", ref, "json":
                return self._find(ref)
            case "POST", "containers", ref, "start":
                self.state(ref).update(Status="running", Pid=4_000_000, StartedAt=NOW)
            case "POST", "containers", ref, "kill":
                if self.state(ref)["Status"] != "running":
                    raise Refusal(409, "can only kill running containers: container state improper")
                self.end(ref, 137)
            case "DELETE", "containers", ref:
                return self._remove(ref, params)
            case _:
                raise AssertionError(f"{method} {path}")
        return None

    def _image(self, name: str) -> dict[str, Any]:
        from urllib.parse import unquote

        for reference, image in self.images.items():
            if unquote(name) in (reference, image["Id"]):
                return image
        raise Refusal(404, f"failed to find image {name}: image not known")

    def _create(self, body: dict[str, Any]) -> str:
        self.bodies.append(body)
        if body["image"] not in {image["Id"] for image in self.images.values()}:
            raise Refusal(404, f"{body['image']}: image not known")
        if body["name"] in {item["Name"] for item in self.containers.values()}:
            raise Refusal(500, f"the container name {body['name']!r} is already in use by x")
        joined = [value["value"] for value in body.values() if isinstance(value, dict) and "value" in value]
        made = next(self._ids)
        self.containers[made] = {
            "Id": made,
            "Name": body["name"],
            "Created": NOW,
            "Image": body["image"],
            "Dependencies": [self._find(joined[0])["Id"]] if joined else [],
            "State": {"Status": "created", "Pid": 0, "ExitCode": 0, "StartedAt": ZERO, "FinishedAt": ZERO},
            "Config": {"StopSignal": 15, "Labels": body["labels"]},
            "HostConfig": {"LogConfig": {"Path": "/nonexistent/ctr.log"}},
            "NetworkSettings": {"IPAddress": "10.88.0.9"},
        }
        return made

    def _list(self, wanted: list[str]) -> list[dict[str, Any]]:
        pairs = [label.split("=", 1) for label in wanted]
        return [
            {
                "Id": key,
                "Names": [item["Name"]],
                "State": item["State"]["Status"],
                "Labels": item["Config"]["Labels"],
                "Created": NOW,
                "ImageID": item["Image"],
            }
            for key, item in self.containers.items()
            if all(item["Config"]["Labels"].get(name) == value for name, value in pairs)
        ]

    def _remove(self, ref: str, params: dict[str, Any]) -> list[dict[str, str]]:
        item = self._find(ref)
        if item["State"]["Status"] == "running" and not params.get("force"):
            raise Refusal(500, f"cannot remove container {item['Id']} as it is running: container state improper")
        members = [key for key, other in self.containers.items() if item["Id"] in other["Dependencies"]]
        if members and not params.get("depend"):
            raise Refusal(500, f"container {item['Id']} has dependent containers which must be removed before it")
        gone = [*members, item["Id"]]
        for key in gone:
            del self.containers[key]
        return [{"Id": key} for key in gone]


POD = PodNames("me", uid="u" * 32)
BUSYBOX = "b" * 64


def connected(libpod: Libpod, **options: Any) -> PodmanRuntime:
    """A runtime for an engine."""
    return PodmanRuntime(cast("Client", libpod), node="me", clock=ManualClock(), **options)


def box(runtime: PodmanRuntime) -> str:
    """A running sandbox's name."""
    spec = POD.sandbox()
    runtime.create_sandbox(spec)
    runtime.start_sandbox(spec.name)
    return spec.name


def member(runtime: PodmanRuntime, sandbox: str, name: str = "main", **settings: Any) -> str:
    """A created container's id."""
    return runtime.create_container(sandbox, POD.container("busybox", name, image_id=BUSYBOX, **settings))
