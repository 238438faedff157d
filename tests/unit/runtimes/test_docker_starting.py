"""Starting on a scripted Docker: what is looked at before, and what refusals mean."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from podsync.errors import Conflict, NotFound, RuntimeFault, StartFault
from podsync.runtimes.base import Resources, SandboxSpec
from podsync.runtimes.common.faults import Refusal
from podsync.runtimes.docker.adapter import DockerRuntime
from tests.dockerd import BOX_LABELS, Engine, connected, container, inspection


@pytest.fixture
def engine() -> Engine:
    """One that says yes."""
    return Engine()


@pytest.fixture
def runtime(engine: Engine) -> Iterator[DockerRuntime]:
    """On that engine."""
    found = connected(engine)
    yield found
    found.close()


@pytest.mark.parametrize("by", ["name", "id"])
def test_starting_what_was_created_here_is_one_call(engine: Engine, runtime: DockerRuntime, by: str) -> None:
    """No look is needed before."""
    made = runtime.create_container("box", container())
    engine.made()
    ref = made if by == "id" else "k8s_c"
    runtime.start_container(ref)
    assert engine.made() == [f"POST /containers/{ref}/start"]


@pytest.mark.parametrize(
    ("seen", "outcome"),
    [
        (inspection("created"), None),
        (inspection("running"), None),
        (inspection("exited", StartedAt="2030-01-01T00:00:00Z"), Conflict),
        (inspection("created", ExitCode=127, Error="no such file"), Conflict),
        (Refusal(404, "No such container: x"), NotFound),
    ],
    ids=["created", "running", "ended", "failed before", "absent"],
)
def test_what_may_have_ended_is_looked_at_before_its_start(
    engine: Engine, runtime: DockerRuntime, seen: Any, outcome: type[RuntimeFault] | None
) -> None:
    """Docker would start it again, and a new instance is to be a new container."""
    engine.on("GET /containers/x/json", seen)
    if outcome is None:
        runtime.start_container("x")
    else:
        with pytest.raises(outcome):
            runtime.start_container("x")
    started = "POST /containers/x/start" in engine.made()
    assert started == (seen == inspection("created"))


def test_a_sandbox_whose_start_failed_may_be_started_again(engine: Engine, runtime: DockerRuntime) -> None:
    """It has never run: the port may be free now."""
    engine.on("GET /containers/x/json", inspection("created", ExitCode=128, Error="port is already allocated"))
    runtime.start_sandbox("x")
    assert "POST /containers/x/start" in engine.made()


def test_a_started_sandbox_tells_its_addresses(engine: Engine, runtime: DockerRuntime) -> None:
    """From the inspection after the start."""
    seen = {**inspection("running"), "NetworkSettings": {"Networks": {"bridge": {"IPAddress": "172.17.0.2"}}}}
    engine.on("GET /containers/k8s_POD/json", seen)
    runtime.create_sandbox(SandboxSpec("k8s_POD", BOX_LABELS))
    assert runtime.start_sandbox("k8s_POD") == ("172.17.0.2",)


@pytest.mark.parametrize(("sandbox", "reason"), [(True, "CreatePodSandboxError"), (False, "RunContainerError")])
def test_refused_starts(engine: Engine, runtime: DockerRuntime, reason: str, *, sandbox: bool) -> None:
    """With the engine's words, its wrappings taken off."""
    text = "failed to create shim task: OCI runtime create failed: runc create failed: what went wrong: unknown"
    engine.on("POST /containers/x/start", Refusal(500, text))
    engine.on("GET /containers/x/json", inspection("created"))
    with pytest.raises(StartFault) as caught:
        (runtime.start_sandbox if sandbox else runtime.start_container)("x")
    assert (caught.value.reason, caught.value.message) == (reason, "what went wrong")


def test_a_score_that_was_refused_is_asked_for_no_more(engine: Engine, runtime: DockerRuntime) -> None:
    """The failed start is told; the next container gets what is allowed, and the operator a note."""
    engine.on("POST /containers/k8s_c/start", Refusal(500, "can't get final child's PID from pipe: EOF: unknown"))
    runtime.create_container("box", container(resources=Resources(oom_score_adj=-997)))
    with pytest.raises(StartFault):
        runtime.start_container("k8s_c")
    runtime.create_container("box", container(resources=Resources(oom_score_adj=-997)))
    assert engine.calls[-1][2]["HostConfig"]["OomScoreAdj"] == 0
    engine.on("GET /info", {})
    assert "oom_score_adj" in runtime.info().notes[0]
