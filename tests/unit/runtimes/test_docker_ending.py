"""Signals and removals on a scripted Docker."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from podsync.errors import Conflict, RuntimeFault, RuntimeUnavailable
from podsync.runtimes.common.faults import Refusal
from podsync.runtimes.docker.adapter import DockerRuntime
from tests.dockerd import Engine, connected, container, inspection


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


ENDINGS: Mapping[str, tuple[Callable[[DockerRuntime], None], str]] = {
    "signal": (lambda r: r.signal_container("x", "SIGKILL"), "POST /containers/x/kill"),
    "remove container": (lambda r: r.remove_container("x"), "DELETE /containers/x"),
    "remove sandbox": (lambda r: r.remove_sandbox("x"), "DELETE /containers/x"),
}


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (None, None),
        (Refusal(404, "No such container: x"), None),
        (Refusal(500, "boom"), RuntimeFault),
        (RuntimeUnavailable("away"), RuntimeUnavailable),
    ],
    ids=["ok", "absent", "refused", "away"],
)
def test_ending_what_is_absent_succeeds(
    engine: Engine, runtime: DockerRuntime, ending: str, answer: Any, outcome: type[RuntimeFault] | None
) -> None:
    """And nothing else that is refused does."""
    verb, call = ENDINGS[ending]
    engine.on(call, answer)
    if outcome is None:
        verb(runtime)
    else:
        with pytest.raises(outcome):
            verb(runtime)
    assert call in engine.made()


def test_signalling_what_has_ended_succeeds(engine: Engine, runtime: DockerRuntime) -> None:
    """There is nobody left to signal."""
    engine.on("POST /containers/x/kill", Refusal(409, "Cannot kill container: x: Container x is not running"))
    runtime.signal_container("x", "SIGKILL")
    assert engine.calls[0][1] == {"signal": "SIGKILL"}


@pytest.mark.parametrize(("image", "sent"), [("SIGQUIT", "SIGQUIT"), ("", "SIGTERM"), (None, "SIGTERM")])
def test_term_means_the_images_own_stop_signal(
    engine: Engine, runtime: DockerRuntime, image: str | None, sent: str
) -> None:
    """Where it sets one; SIGKILL never does."""
    engine.on("GET /containers/x/json", {**inspection("running"), "Config": {"StopSignal": image}})
    runtime.signal_container("x", "SIGTERM")
    assert engine.calls[-1][1] == {"signal": sent}
    runtime.signal_container("x", "SIGKILL")
    assert engine.calls[-1][1] == {"signal": "SIGKILL"}


@pytest.mark.parametrize("started", [False, True])
@pytest.mark.parametrize("by", ["name", "id"])
def test_term_means_the_images_own_stop_signal_before_any_look(
    engine: Engine, runtime: DockerRuntime, by: str, *, started: bool
) -> None:
    """What is known of one just created is less than its image tells."""
    made = runtime.create_container("box", container())
    ref = made if by == "id" else "k8s_c"
    if started:
        runtime.start_container(ref)
    engine.on(f"GET /containers/{ref}/json", {**inspection("running"), "Config": {"StopSignal": "SIGQUIT"}})
    runtime.signal_container(ref, "SIGTERM")
    assert engine.calls[-1][:2] == (f"POST /containers/{ref}/kill", {"signal": "SIGQUIT"})


def test_removing_a_running_container_is_a_conflict(engine: Engine, runtime: DockerRuntime) -> None:
    """It is not forced."""
    engine.on("DELETE /containers/x", Refusal(409, "You cannot remove a running container x"))
    with pytest.raises(Conflict):
        runtime.remove_container("x")
    assert engine.calls[-1][1] == {"v": "1", "force": "0"}


def test_a_removal_by_someone_else_is_waited_for(engine: Engine, runtime: DockerRuntime) -> None:
    """It is gone when the verb returns."""
    engine.on("DELETE /containers/x", Refusal(409, "removal of container x is already in progress"))
    engine.on("POST /containers/x/wait", Refusal(404, "No such container: x"))
    runtime.remove_sandbox("x")
    assert engine.made() == ["DELETE /containers/x", "POST /containers/x/wait"]


def test_all_are_removed_though_some_cannot_be(engine: Engine, runtime: DockerRuntime) -> None:
    """The first problem is told in the end."""
    engine.on("DELETE /containers/b", Refusal(500, "boom"))
    engine.on("DELETE /containers/c", Refusal(500, "later"))
    with pytest.raises(RuntimeFault, match="boom"):
        runtime.remove_sandbox("box", ["a", "b", "c"])
    assert sorted(engine.made()) == [f"DELETE /containers/{ref}" for ref in ("a", "b", "box", "c")]


@pytest.mark.parametrize("members", [[], ["a"], ["a", "b"]])
def test_nothing_is_removed_once_closed(engine: Engine, runtime: DockerRuntime, members: list[str]) -> None:
    """The runtime is unavailable, however many there are."""
    runtime.close()
    with pytest.raises(RuntimeUnavailable, match="closed"):
        runtime.remove_sandbox("box", members)
    assert engine.made() == []
