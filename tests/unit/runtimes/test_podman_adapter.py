"""Podman's verbs on sandboxes and containers: what they ask the engine for, and what its answers mean."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from podsync.errors import Conflict, ImageAbsent, NotFound, RuntimeFault, RuntimeUnavailable, StartFault
from podsync.runtimes.base import ContainerState, Resources
from podsync.runtimes.podman.adapter import PodmanRuntime
from tests.libpod import BUSYBOX, POD, Libpod, box, connected, member


@pytest.fixture
def libpod() -> Libpod:
    """An engine of today."""
    return Libpod()


@pytest.fixture
def runtime(libpod: Libpod) -> Iterator[PodmanRuntime]:
    """A runtime for it."""
    found = connected(libpod)
    yield found
    found.close()


# -- sandboxes -------------------------------------------------------------------------


def test_the_pause_image_is_loaded_once(runtime: PodmanRuntime, libpod: Libpod) -> None:
    """The second sandbox costs one call."""
    runtime.create_sandbox(POD.sandbox())
    libpod.calls.clear()
    runtime.create_sandbox(POD.sandbox(1))
    assert libpod.calls == ["POST /containers/create"]
    assert {body["image"] for body in libpod.bodies} == {"f" * 64}


def test_a_pause_image_that_was_removed_is_loaded_again(runtime: PodmanRuntime, libpod: Libpod) -> None:
    """Users prune images."""
    runtime.create_sandbox(POD.sandbox())
    libpod.images.clear()
    runtime.create_sandbox(POD.sandbox(1))
    assert len(libpod.asked("POST /images/load")) == 2


def test_a_pause_image_of_ones_own_is_pulled(runtime: PodmanRuntime, libpod: Libpod) -> None:
    """It is looked up by its name; the built-in one is not loaded then."""
    libpod.pull = [b'{"error":"no such host"}']
    spec = POD.sandbox(image="my/pause:1")
    with pytest.raises(StartFault, match="no such host") as caught:
        runtime.create_sandbox(spec)
    assert caught.value.reason == "CreatePodSandboxError"
    libpod.images["docker.io/my/pause:1"] = {"Id": "e" * 64}
    runtime.create_sandbox(spec)
    assert libpod.bodies[-1]["image"] == "e" * 64
    assert libpod.asked("POST /images/load") == []


def test_starting_a_sandbox_gives_its_addresses(runtime: PodmanRuntime, libpod: Libpod) -> None:
    """A start and an inspection; a second start changes nothing."""
    sandbox = runtime.create_sandbox(POD.sandbox())
    libpod.calls.clear()
    assert runtime.start_sandbox(sandbox) == ("10.88.0.9",)
    assert libpod.calls == [f"POST /containers/{sandbox}/start", f"GET /containers/{sandbox}/json"]
    assert runtime.start_sandbox(sandbox) == ("10.88.0.9",)
    assert len(libpod.asked("POST /containers/" + sandbox)) == 1


def test_a_sandbox_that_failed_to_start_may_be_started_again(runtime: PodmanRuntime, libpod: Libpod) -> None:
    """Nothing of it has run; one that has ended stays ended."""
    sandbox = runtime.create_sandbox(POD.sandbox())
    libpod.refuse("POST /containers/", 500, "address already in use")
    with pytest.raises(StartFault) as caught:
        runtime.start_sandbox(sandbox)
    assert caught.value.reason == "CreatePodSandboxError"
    assert runtime.start_sandbox(sandbox) == ("10.88.0.9",)
    libpod.end(sandbox)
    with pytest.raises(Conflict):
        runtime.start_sandbox(sandbox)


def test_starting_what_is_not_there(runtime: PodmanRuntime) -> None:
    """It is NotFound."""
    for start in (runtime.start_sandbox, runtime.start_container):
        with pytest.raises(NotFound):
            start("nope")


def test_removing_a_sandbox_ends_it_while_its_containers_go(runtime: PodmanRuntime, libpod: Libpod) -> None:
    """It goes last, with whatever else still joins it."""
    sandbox = box(runtime)
    named, other = member(runtime, sandbox, "named"), member(runtime, sandbox, "other")
    runtime.start_container(named)
    libpod.calls.clear()
    runtime.remove_sandbox(sandbox, [named])
    assert libpod.containers == {}
    assert set(libpod.calls[:2]) == {f"POST /containers/{sandbox}/kill", f"DELETE /containers/{named}"}
    assert libpod.calls[2:] == [f"DELETE /containers/{sandbox}"]
    assert libpod.params[-1] == {"volumes": "true", "ignore": "true", "timeout": 0, "force": "true", "depend": "true"}
    with pytest.raises(NotFound):
        runtime.start_container(other)
    runtime.remove_sandbox(sandbox, [named])


def test_a_member_that_cannot_be_removed_is_told_of(runtime: PodmanRuntime, libpod: Libpod) -> None:
    """The sandbox is tried all the same, and takes the member along where it can; the first problem is told."""
    sandbox = box(runtime)
    container = member(runtime, sandbox)
    libpod.refuse(f"DELETE /containers/{container}", 500, "disk on fire")
    libpod.refuse(f"DELETE /containers/{sandbox}", 500, "so is this one")
    with pytest.raises(RuntimeFault, match="disk on fire"):
        runtime.remove_sandbox(sandbox, [container])
    assert f"DELETE /containers/{sandbox}" in libpod.calls
    libpod.refuse(f"DELETE /containers/{container}", 500, "disk on fire")
    with pytest.raises(RuntimeFault, match="disk on fire"):
        runtime.remove_sandbox(sandbox, [container])
    assert libpod.containers == {}


@pytest.mark.parametrize("members", [[], ["a"], ["a", "b"]])
def test_nothing_is_removed_once_closed(runtime: PodmanRuntime, libpod: Libpod, members: list[str]) -> None:
    """The runtime is unavailable, however many there are."""
    runtime.close()
    with pytest.raises(RuntimeUnavailable, match="closed"):
        runtime.remove_sandbox("box", members)
    assert libpod.calls == []


# -- containers ------------------------------------------------------------------------


def test_what_was_created_here_is_started_without_a_look(runtime: PodmanRuntime, libpod: Libpod) -> None:
    """By name or id: one more call, for the sandbox, only where its process is not watched."""
    sandbox = box(runtime)
    spec = POD.container("busybox", image_id=BUSYBOX)
    runtime.create_container(sandbox, spec)
    libpod.calls.clear()
    runtime.start_container(spec.name)
    assert libpod.asked("POST") == [f"POST /containers/{spec.name}/start"]
    assert len(libpod.asked("GET")) == 1


def test_an_image_is_looked_up_where_its_id_is_not_given(runtime: PodmanRuntime, libpod: Libpod) -> None:
    """And its absence told apart, before and at the creation."""
    sandbox = box(runtime)
    runtime.create_container(sandbox, POD.container("busybox"))
    assert libpod.bodies[-1]["image"] == BUSYBOX
    for spec in (POD.container("absent", "a"), POD.container("absent", "a", image_id="0" * 64)):
        with pytest.raises(ImageAbsent) as caught:
            runtime.create_container(sandbox, spec)
        assert caught.value.image == "absent"


def test_creation_faults_are_told_apart(runtime: PodmanRuntime, libpod: Libpod) -> None:
    """A taken name, an absent sandbox, and any other refusal."""
    sandbox = box(runtime)
    member(runtime, sandbox)
    with pytest.raises(Conflict):
        member(runtime, sandbox)
    with pytest.raises(Conflict):
        runtime.create_sandbox(POD.sandbox())
    with pytest.raises(NotFound):
        member(runtime, "nope", "other")
    libpod.refuse("POST /containers/create", 500, "statfs /x: no such file or directory")
    with pytest.raises(StartFault) as caught:
        member(runtime, sandbox, "third")
    assert caught.value.reason == "CreateContainerError"


def test_an_ended_container_is_not_started_again(runtime: PodmanRuntime, libpod: Libpod) -> None:
    """Podman would do it."""
    container = member(runtime, box(runtime))
    runtime.start_container(container)
    runtime.start_container(container)
    libpod.end(container)
    with pytest.raises(Conflict):
        runtime.start_container(container)
    assert len(libpod.asked(f"POST /containers/{container}/start")) == 1


@pytest.mark.parametrize("fresh", [True, False])
def test_no_container_is_started_into_a_dead_sandbox(libpod: Libpod, fresh: bool) -> None:
    """Podman would start the sandbox with it, in another network, whoever created the container."""
    runtime = connected(libpod)
    sandbox = box(runtime)
    container = member(runtime, sandbox)
    starter = runtime if fresh else connected(libpod)
    libpod.end(sandbox)
    with pytest.raises(StartFault, match="does not run"):
        starter.start_container(container)
    assert libpod.asked(f"POST /containers/{container}/start") == []
    for item in {runtime, starter}:
        item.close()


def test_a_sandbox_that_podman_revived_is_ended_again(runtime: PodmanRuntime, libpod: Libpod) -> None:
    """It ended between the look and the start; its new network is not that of the pod's others."""
    sandbox = box(runtime)
    container = member(runtime, sandbox)
    answers = iter([True, False, None])  # its process: before, after, and the new one
    runtime._watch.alive = lambda *_: next(answers)  # type: ignore[method-assign]
    with pytest.raises(StartFault, match="ended while"):
        runtime.start_container(container)
    assert {libpod.state(sandbox)["Status"], libpod.state(container)["Status"]} == {"exited"}


def test_a_failed_start_is_shown_by_the_next_look() -> None:
    """Also where the engine forgets why: 4.3 keeps no text."""
    libpod = Libpod("4.3.1")
    runtime = connected(libpod)
    container = member(runtime, box(runtime))
    libpod.refuse(f"POST /containers/{container}/start", 500, 'exec: "nope": executable file not found in $PATH')
    with pytest.raises(StartFault) as caught:
        runtime.start_container(container)
    assert caught.value.reason == "RunContainerError"
    (sandbox,) = runtime.list_sandboxes(POD.uid)
    (record,) = sandbox.containers
    assert (record.state, record.exit_code, record.started_at) == (ContainerState.EXITED, 127, None)
    assert "nope" in record.message
    runtime.close()


def test_a_score_the_machine_forbids_is_asked_for_once(runtime: PodmanRuntime, libpod: Libpod) -> None:
    """What a start teaches is heeded by the next creation, and told to the operator."""
    sandbox = runtime.create_sandbox(POD.sandbox())
    assert libpod.bodies[-1]["oom_score_adj"] == -998
    libpod.refuse("POST /containers/", 500, "failed to update /proc/self/oom_score_adj: Permission denied")
    with pytest.raises(StartFault):
        runtime.start_sandbox(sandbox)
    runtime.create_sandbox(POD.sandbox(1))
    member(runtime, sandbox, resources=Resources(oom_score_adj=-997))
    assert [body["oom_score_adj"] for body in libpod.bodies] == [-998, 0, 0]
    notes = runtime._engine.facts().limits.notes
    assert any("oom_score_adj" in note for note in notes)


@pytest.mark.parametrize(("own", "sent"), [(15, "SIGTERM"), (3, "SIGQUIT"), ("SIGUSR1", "SIGUSR1")])
def test_term_is_the_images_own_stop_signal(runtime: PodmanRuntime, libpod: Libpod, own: int | str, sent: str) -> None:
    """Even when no look came between start and end; SIGKILL is SIGKILL."""
    container = member(runtime, box(runtime))
    runtime.start_container(container)
    libpod._find(container)["Config"]["StopSignal"] = own
    runtime.signal_container(container, "SIGTERM")
    assert libpod.params[-1] == {"signal": sent}
    libpod.state(container)["Status"] = "running"
    runtime.signal_container(container, "SIGKILL")
    assert libpod.params[-1] == {"signal": "SIGKILL"}


@pytest.mark.parametrize("signal", ["SIGTERM", "SIGKILL"])
def test_signals_to_what_does_not_run(runtime: PodmanRuntime, signal: str) -> None:
    """There is nothing left to end."""
    created = member(runtime, box(runtime))
    for ref in (created, "nope"):
        runtime.signal_container(ref, signal)


def test_removing_a_container(runtime: PodmanRuntime, libpod: Libpod) -> None:
    """Running: Conflict, without a second try. Ended: gone, with its volumes. Absent: fine."""
    container = member(runtime, box(runtime))
    runtime.start_container(container)
    with pytest.raises(Conflict):
        runtime.remove_container(container)
    libpod.end(container)
    runtime.remove_container(container)
    assert libpod.params[-1] == {"volumes": "true", "ignore": "true", "timeout": 0}
    runtime.remove_container(container)
    assert len(libpod.asked(f"DELETE /containers/{container}")) == 3


@pytest.mark.parametrize(
    "text",
    [
        "unlinkat /x: device or resource busy",
        "removal of container 1 is already in progress",
        "container 1 is running or paused, refusing to clean up: container state improper",
        "rmdir /x: directory not empty",
    ],
)
def test_a_removal_waits_for_the_cleanup(runtime: PodmanRuntime, libpod: Libpod, text: str) -> None:
    """Podman cleans up an ended container in a process of its own, which may still hold it."""
    container = member(runtime, box(runtime))
    libpod.refuse(f"DELETE /containers/{container}", 500, text, times=3)
    runtime.remove_container(container)
    assert container not in libpod.containers


def test_a_removal_does_not_wait_for_ever(
    runtime: PodmanRuntime, libpod: Libpod, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What stays busy is a fault in the end, in the engine's words."""
    monkeypatch.setattr("podsync.runtimes.podman.engine._LONGEST_WAIT", 0.001)
    container = member(runtime, box(runtime))
    libpod.refuse(f"DELETE /containers/{container}", 500, "device or resource busy", times=100)
    with pytest.raises(RuntimeFault, match="busy"):
        runtime.remove_container(container)


@pytest.mark.parametrize("of", ["a container", "a sandbox"])
@pytest.mark.parametrize("text", ['getting container from store "1": container not known', "container not known"])
def test_what_a_removal_has_left_over_is_shown_and_removed(
    runtime: PodmanRuntime, libpod: Libpod, text: str, of: str
) -> None:
    """It freezes no look, shows as ended, and goes by force with what joins it."""
    sandbox = box(runtime)
    container = member(runtime, sandbox)
    broken = container if of == "a container" else libpod._find(sandbox)["Id"]
    libpod.state(broken)["Status"] = "removing"
    libpod.refuse(f"GET /containers/{broken}/json", 500, text, times=10)
    runtime._looker.doubt(broken)
    (seen,) = runtime.list_sandboxes()
    assert [item.id for item in seen.containers] == [container]
    if of == "a container":
        assert seen.containers[0].state is ContainerState.EXITED
        libpod.refuse(f"DELETE /containers/{broken}", 500, text)
        runtime.remove_container(broken)
    else:
        assert (seen.ready, seen.started) == (False, True)
        libpod.refuse(f"DELETE /containers/{broken}", 500, text)
        libpod.refuse(f"POST /containers/{broken}/kill", 500, text)
        runtime.remove_sandbox(broken, [container])
    assert libpod.params[-1] == {"volumes": "true", "ignore": "true", "timeout": 0, "force": "true", "depend": "true"}
    assert broken not in libpod.containers


def test_one_that_went_between_list_and_inspection_is_not_shown(runtime: PodmanRuntime, libpod: Libpod) -> None:
    """Podman says so with a 500, too."""
    container = member(runtime, box(runtime))
    text = f"container {container} does not exist in database: no such container"
    libpod.refuse(f"GET /containers/{container}/json", 500, text)
    runtime._looker.doubt(container)
    (seen,) = runtime.list_sandboxes()
    assert seen.containers == ()
