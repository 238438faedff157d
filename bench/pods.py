"""The pod that is measured, and the engine's objects for it as podsync would make them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from podsync import identity, labels
from podsync.clock import SystemClock
from podsync.executor import Executor
from podsync.host import node_settings
from podsync.identity import container_ref, sandbox_ref
from podsync.manifest import parse
from podsync.models import Pod
from podsync.plan import CreateContainer, CreateSandbox, MountVolumes
from podsync.reconciler import Reconciler
from podsync.runtimes.base import Runtime
from podsync.runtimes.docker.adapter import DockerRuntime
from podsync.runtimes.docker.client import ASK, Api
from podsync.runtimes.podman.adapter import PodmanRuntime
from podsync.runtimes.podman.client import CALL_TIMEOUT, Answer, Client, Params
from podsync.state import Actual
from podsync.volumes import VolumeStore

from .bare import Body, Engine

__all__ = ["IMAGE", "Maker", "Objects", "manifest", "one_by_one", "owned"]

IMAGE = "docker.io/library/busybox:latest"
_LIVE = 'trap "exit 0" TERM; sleep 100000 & wait'
Made = list[tuple[str, Body]]


def owned(node: str) -> str:
    """The label on everything of one node."""
    return f"{labels.NODE}={node}"


def one_by_one(jobs: Sequence[Callable[[], None]]) -> None:
    """Run jobs that podsync itself runs side by side."""
    for job in jobs:
        job()


def manifest(name: str) -> str:
    """A pod of two containers that share a volume and end on SIGTERM at once."""
    mount = [{"name": "shared", "mountPath": "/shared"}]
    containers = [
        {"name": each, "image": IMAGE, "imagePullPolicy": "IfNotPresent", "command": ["sh", "-c", _LIVE],
         "volumeMounts": mount}
        for each in ("one", "two")
    ]  # fmt: skip
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name},
            "spec": {"containers": containers, "volumes": [{"name": "shared", "emptyDir": {}}]},
        }
    )


@dataclass(frozen=True, slots=True)
class Objects:
    """What one pod is made of: each a name and the body of its creation. Folders and files are there already."""

    sandbox: tuple[str, Body]
    members: tuple[tuple[str, Body], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The members' names, then the sandbox's."""
        return (*(name for name, _ in self.members), self.sandbox[0])


class _DockerNotes(Api):
    """Notes creations instead of asking for them."""

    def __init__(self, path: str, made: Made) -> None:
        super().__init__(path)
        self._made = made

    def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: object | None = None,
        data: bytes | None = None,
        timeout: float = ASK,
    ) -> Any:
        if path == "/containers/create" and query is not None and isinstance(body, dict):
            self._made.append((query["name"], body))
            return {"Id": query["name"]}
        return super().call(method, path, query=query, body=body, data=data, timeout=timeout)


class _PodmanNotes(Client):
    """Notes creations instead of asking for them."""

    def __init__(self, path: str, made: Made) -> None:
        super().__init__(path)
        self._made = made

    def call(
        self,
        method: str,
        path: str,
        *,
        params: Params | None = None,
        body: object | None = None,
        data: bytes | None = None,
        timeout: float = CALL_TIMEOUT,
    ) -> Answer:
        if path == "/containers/create" and isinstance(body, dict):
            self._made.append((str(body["name"]), body))
            return Answer(201, json.dumps({"Id": body["name"]}).encode())
        return super().call(method, path, params=params, body=body, data=data, timeout=timeout)


class Maker:
    """Makes pods' objects for bare calls: the very bodies podsync sends, so that only the calling differs."""

    def __init__(self, engine: Engine, node: str, root: str) -> None:
        """``root`` is where the pods' folders are made."""
        self._made: Made = []
        clock = SystemClock()
        self._runtime: Runtime
        if engine.name == "docker":
            self._runtime = DockerRuntime(_DockerNotes(engine.path, self._made), node=node, clock=clock)
        else:
            self._runtime = PodmanRuntime(_PodmanNotes(engine.path, self._made), node=node, clock=clock)
        self._volumes = VolumeStore(root)
        self._executor = Executor(self._runtime, self._volumes, clock, one_by_one)
        self._reconciler = Reconciler(node_settings(node, root, ""))
        self._node = node
        self._clock = clock

    def names(self, name: str, source: str) -> tuple[str, ...]:
        """What the containers of a pod from that source are called, the sandbox last; nothing is made."""
        pod = self._pod(name, source)
        return (*(container_ref(pod, each.name, 0) for each in pod.spec.containers), sandbox_ref(pod, 0))

    def _pod(self, name: str, source: str) -> Pod:
        return identity.adopt(parse(manifest(name)).pods[0], self._node, source)

    def objects(self, name: str) -> Objects:
        """A pod of that name, its folder and files made."""
        pod = self._pod(name, "bench")
        plan = self._reconciler.sync([pod], Actual(self._clock.now()))
        self._made.clear()
        for stage in plan.pods[pod.key].stages:
            for action in stage:
                if isinstance(action, MountVolumes | CreateSandbox | CreateContainer):
                    self._executor.perform(action)
        self._volumes.write_hosts(pod, ("10.0.0.1",))
        sandbox, *members = self._made
        return Objects(sandbox, tuple(members))

    def close(self) -> None:
        """Free the engine's connections."""
        self._runtime.close()
