"""The command line in-process, and an agent's report made by a real agent on the fake engine."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from podsync import app
from podsync.agent import Agent
from podsync.cli import main
from podsync.manifest import load
from podsync.runtimes.fake import FakeRuntime, ScriptedExec, exits, runs
from podsync.sources.memory import MemorySource

PODS = """
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web, tier: front}}
spec:
  containers:
  - {name: main, image: nginx, ports: [{containerPort: 80}]}
  - {name: log, image: busybox}
---
apiVersion: v1
kind: Pod
metadata: {name: job, labels: {app: job}}
spec:
  restartPolicy: Never
  initContainers: [{name: prepare, image: busybox}]
  containers: [{name: work, image: busybox}]
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: other}
spec:
  containers: [{name: main, image: nginx}]
"""


@dataclass(frozen=True, slots=True)
class Result:
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What it printed, read as JSON."""
        return json.loads(self.out)


Cli = Callable[..., Result]


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the machine's environment reaches a command."""
    for name in ("NO_COLOR", "FORCE_COLOR", "PODSYNC_ROOT", "PODSYNC_DEBUG", "PODSYNC_SOURCE", "PODSYNC_RUNTIME"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def _own_log() -> Iterator[None]:
    """What a command does to podsync's log ends with the test."""
    log = logging.getLogger("podsync")
    before = log.handlers[:], log.level, log.propagate
    yield
    log.handlers[:], log.level, log.propagate = before


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    """Run one command as the process would, to its exit code."""

    def call(*words: object) -> Result:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(word) for word in words])
        out, err = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return Result(ended.value.code, out, err)

    return call


@dataclass(frozen=True, slots=True)
class World:
    """A root with a report in it, and the engine the report is about."""

    root: Path
    runtime: FakeRuntime


@pytest.fixture(scope="session")
def original(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Three pods brought to rest by an agent that has ended since."""
    runtime = FakeRuntime(
        node="node-1",
        programs={
            "main": runs().saying("one", "two", "three"),
            "work": exits(0).saying("worked"),
            "prepare": exits(0).saying("prepared"),
        },
        execs={
            ("echo", "hi"): ScriptedExec(stdout=b"hi\n", stderr=b"oh\n", exit_code=3),
            ("cat",): ScriptedExec(echo=True),
        },
    )
    root = tmp_path_factory.mktemp("agent") / "root"
    agent = Agent(sources=[MemorySource(load(PODS), name="test")], runtime=runtime, root=root, node_name="node-1")
    agent.run(until=lambda a: a.at_rest, deadline=5)
    return World(root, runtime)


@pytest.fixture
def world(original: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A copy of that agent's root, for one test; commands find the engine."""
    monkeypatch.setattr(app, "open_runtime", lambda config: original.runtime)
    return World(Path(shutil.copytree(original.root, tmp_path / "root")), original.runtime)


def rewrite(root: Path, change: Callable[[list[dict[str, Any]]], None]) -> None:
    """Change the items of the report in place."""
    path = root / "status.json"
    document = json.loads(path.read_text())
    change(document["items"])
    path.write_text(json.dumps(document))


def status(root: Path, name: str, container: str, **fields: Mapping[str, Any]) -> None:
    """Overwrite fields of one container's status in the report."""

    def change(items: list[dict[str, Any]]) -> None:
        pod = next(p for p in items if p["metadata"]["name"] == name and p["metadata"]["namespace"] == "default")
        every = [*pod["status"].get("containerStatuses", ()), *pod["status"].get("initContainerStatuses", ())]
        next(c for c in every if c["name"] == container).update(fields)

    rewrite(root, change)
