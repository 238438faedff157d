"""A Docker whose answers a test writes down, and which notes what it is asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from podsync import labels as keys
from podsync.clock import Clock, ManualClock
from podsync.runtimes.base import ContainerSpec
from podsync.runtimes.common import pause
from podsync.runtimes.common.wire import Closed
from podsync.runtimes.docker.adapter import DockerRuntime
from podsync.runtimes.docker.client import Api

PAUSE = pause.image("amd64").reference
_POD = {keys.NODE: "n", keys.POD_UID: "u", keys.POD_NAMESPACE: "default", keys.POD_NAME: "p"}
BOX_LABELS = {**_POD, keys.CONTAINER_NAME: "POD", keys.ATTEMPT: "0"}
LABELS = {**_POD, keys.CONTAINER_NAME: "c"}
Answer = Any


class Engine:
    """Plays ``Api``: answers by method and path, the last answer of a list for ever."""

    socket_path = "/nonexistent/docker.sock"
    endpoint = "unix:///nonexistent/docker.sock"
    version = (1, 41)

    def __init__(self) -> None:
        self.offer: Mapping[str, Any] = {"Arch": "amd64", "Version": "20.10.24", "ApiVersion": "1.41"}
        self.answers: dict[str, list[Answer]] = {
            f"GET /images/{PAUSE}/json": [{"Id": "sha256:pause"}],
            "POST /containers/create": [{"Id": "i" * 64}],
        }
        self.calls: list[tuple[str, Mapping[str, str], Any]] = []
        self.closed = False

    def on(self, what: str, *answers: Answer) -> None:
        """Answer so; an exception is raised."""
        self.answers[what] = list(answers)

    def call(
        self, method: str, path: str, *, query: Mapping[str, str] | None = None, body: Any = None,
        data: bytes | None = None, timeout: float = 30,
    ) -> Any:  # fmt: skip
        """One call."""
        if self.closed:
            raise Closed("this runtime has been closed")
        what = f"{method} {path}"
        self.calls.append((what, query or {}, body if data is None else data))
        answers = self.answers.get(what, [None])
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def made(self) -> list[str]:
        """Calls since the last question."""
        found, self.calls = [what for what, _, _ in self.calls], []
        return found

    def forget(self) -> None:
        """Nothing is settled here."""

    def close(self) -> None:
        """Answer no more."""
        self.closed = True


def container(**changes: Any) -> ContainerSpec:
    """A plain one."""
    return ContainerSpec(name="k8s_c", labels=LABELS, **{"image": "busybox", "image_id": "sha256:b", **changes})


def inspection(status: str, **state: Any) -> dict[str, Any]:
    """What Docker tells of a container."""
    return {"Id": "i" * 64, "State": {"Status": status, **state}, "Config": {}, "NetworkSettings": {}}


def listed(*entries: tuple[str, str, Mapping[str, str]]) -> list[dict[str, Any]]:
    """A list of (id, state, labels)."""
    return [{"Id": key, "Names": [f"/{key}"], "State": state, "Labels": labels} for key, state, labels in entries]


def connected(engine: Engine, clock: Clock | None = None) -> DockerRuntime:
    """A runtime on that engine."""
    return DockerRuntime(cast("Api", engine), node="n", clock=clock or ManualClock())
