"""Regular containers: which start, which wait, which stay ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from podsync import labels
from podsync.plan import CreateContainer
from podsync.runtimes.base import ContainerState
from tests.unit.reconciler.world import START, World, a_pod, container, running

AGAIN = [["+ create container a#1 (container exited)"], ["+ start container a#1 (container exited)"]]
STARTED = [["+ start container a#0 (created but not started)"]]


@pytest.mark.parametrize(
    ("policy", "code", "expected"),
    [
        ("Always", 0, AGAIN),
        ("Always", 1, AGAIN),
        ("OnFailure", 0, []),
        ("OnFailure", 1, AGAIN),
        ("OnFailure", None, AGAIN),
        ("Never", 0, []),
        ("Never", 1, []),
    ],
)
def test_restart_policy(policy: str, code: int | None, expected: list[list[str]]) -> None:
    """An ended container of a pod that goes on runs again as its pod's restartPolicy says."""
    world = running(a_pod("a", "b", policy=policy)).exit("a", 0).set_container("a", exit_code=code)
    assert world.stages() == expected


@pytest.mark.parametrize("policy", ["OnFailure", "Never"])
def test_finished_pod_stops_its_sandbox_and_rests(policy: str) -> None:
    """When nothing is left to run the sandbox is stopped; then nothing is ever done again."""
    world = running(a_pod("a", "b", policy=policy)).exit("a").exit("b")
    assert world.stages() == [["~ stop sandbox POD#0 (pod finished)"]]
    world.settle().memory.clear()
    assert not world.pass_time(100_000).plan().pods
    assert len(world.records()) == 2


def test_never_pod_with_a_failed_container_is_finished_too() -> None:
    """Failed containers of a Never pod do not run again."""
    assert running(a_pod("a", policy="Never")).exit("a", 3).stages() == [["~ stop sandbox POD#0 (pod finished)"]]


MUTATIONS: dict[str, tuple[Callable[[World], object], list[list[str]]]] = {
    "gone": (
        lambda w: w.drop_container("a"),
        [["+ create container a#0 (new pod)"], ["+ start container a#0 (new pod)"]],
    ),
    "created": (lambda w: w.set_container("a", state=ContainerState.CREATED, started_at=None), STARTED),
    "unknown": (
        lambda w: w.set_container("a", state=ContainerState.UNKNOWN),
        [["~ signal container a#0 SIGKILL (container exited)"]],
    ),
    "running": (lambda _: None, []),
    "exited": (lambda w: w.exit("a", 1), AGAIN),
    "image changed": (
        lambda w: w.pods.update({a_pod().key: a_pod(container("a", "other"), "b")}),
        [["~ signal container a#0 SIGTERM (container definition changed)"]],
    ),
    "made by hand, without a hash": (lambda w: w.set_container("a", labels={}), []),
    "not in the manifest any more": (
        lambda w: w.pods.update({a_pod().key: a_pod("b")}),
        [["~ signal container a#0 SIGTERM (no owner)"]],
    ),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_one_container_of_a_running_pod(name: str) -> None:
    """What is planned for each state of one container while the other runs."""
    mutate, expected = MUTATIONS[name]
    world = running(a_pod("a", "b"))
    mutate(world)
    assert world.stages() == expected


def test_container_without_a_hash_is_not_taken_for_changed() -> None:
    """What does not tell what it was made from is kept, also when its pod is looked at closely."""
    world = running(a_pod("a", "b")).set_container("a", labels={}).exit("b", 1)
    assert "container a#" not in str(world.plan())


def test_two_that_run_under_one_name() -> None:
    """Only the newest may: what an engine brought back behind our back is ended."""
    world = running(a_pod("a")).exit("a", 1).settle()
    (sandbox,) = world.sandboxes
    revived = replace(sandbox.containers[0], state=ContainerState.RUNNING, finished_at=None)
    world.sandboxes = [replace(sandbox, containers=(revived, sandbox.containers[1]))]
    assert world.stages() == [["~ signal container a#0 SIGTERM (superseded by a newer instance)"]]
    world.stubborn = True
    world.step()
    assert (world.stages(), world.wakes_in()) == ([], 30.0)


@pytest.mark.parametrize("policy", ["Always", "OnFailure", "Never"])
def test_changed_definition_restarts_whatever_the_policy(policy: str) -> None:
    """A container that was ended for its new image runs again, even after exit 0 and under Never."""
    world = running(a_pod("a", "b", policy=policy))
    world.pods[a_pod().key] = a_pod(container("a", "other"), "b", policy=policy)
    world.step()
    world.exit("a", 0)
    assert world.stages() == [
        ["+ create container a#1 (container definition changed)"],
        ["+ start container a#1 (container definition changed)"],
    ]
    spec = next(action.spec for action in world.plan() if isinstance(action, CreateContainer))
    assert (spec.image, labels.BACKOFF in spec.labels) == ("other", False)


def test_created_container_of_a_former_definition_is_replaced() -> None:
    """A container that was created from another image and never started gets a successor, and then goes."""
    world = World(a_pod("a", "b"))
    for action in list(world.plan())[:5]:
        world.perform(action)
    world.pods[a_pod().key] = a_pod(container("a", "other"), "b")
    assert world.stages() == [
        ["+ create container a#1 (container definition changed)"],
        ["+ start container a#1 (container definition changed)", "+ start container b#0 (created but not started)"],
    ]
    world.step()
    assert world.stages() == [["- remove container a#0 (superseded by a newer instance)"]]


def test_unknown_container_counts_as_killed_once_it_was_sent_kill() -> None:
    """A state that stays unknown does not stop the container for ever."""
    world = running(a_pod("a")).set_container("a", state=ContainerState.UNKNOWN)
    world.step()
    assert world.stages() == AGAIN


class TestCrashLoop:
    """Back-off between restarts, told by labels alone."""

    def test_sequence(self) -> None:
        """The first restart is immediate, then 10 s doubling to 300 s."""
        world, waits = running(a_pod("a")), []
        for _ in range(8):
            world.pass_time(1).exit("a", 1)
            waits.append(world.wakes_in() or 0.0)
            world.pass_time(waits[-1]).settle()
            world.memory.clear()
        assert waits == [0, 10, 20, 40, 80, 160, 300, 300]
        assert world.newest("a").attempt == 8

    def test_waiting_reason_and_message(self) -> None:
        """The kubelet's words, and nothing done until then."""
        world = running(a_pod("a", "b")).exit("a", 1).settle().exit("a", 1)
        assert world.waits() == {
            "a": ("CrashLoopBackOff", "back-off 10s restarting failed container=a pod=p_default(uid1)")
        }
        # the one before the last is not needed for anything: it goes while there is time
        assert world.stages() == []
        assert world.pod_plan().waiting[0].until == world.now + timedelta(seconds=10)

    def test_exit_code_zero_takes_part(self) -> None:
        """A container that ends well is held back as well."""
        world = running(a_pod("a")).exit("a").settle().exit("a")
        assert world.waits()["a"][0] == "CrashLoopBackOff"

    @pytest.mark.parametrize(("ran", "expected"), [(600, 20.0), (601, None)])
    def test_reset_after_ten_minutes(self, ran: int, expected: float | None) -> None:
        """An instance that ran over ten minutes starts the sequence over."""
        world = running(a_pod("a")).exit("a", 1).settle().exit("a", 1).pass_time(10).settle()
        world.pass_time(ran).exit("a", 1)
        assert world.wakes_in() == expected

    def test_survives_the_agent(self) -> None:
        """Without any memory the back-off is the same."""
        world = running(a_pod("a")).exit("a", 1).settle().exit("a", 1)
        before = world.pod_plan()
        world.memory.clear()
        assert world.pod_plan() == before

    def test_changed_definition_forgets_it(self) -> None:
        """A new image is tried at once."""
        world = running(a_pod("a", "b")).exit("a", 1).settle().exit("a", 1)
        world.pods[a_pod().key] = a_pod(container("a", "other"), "b")
        assert world.stages()[0] == ["+ create container a#2 (container definition changed)"]

    def test_engine_that_tells_no_time_does_not_stop_it(self) -> None:
        """An ended container without any time is restarted at once rather than never."""
        world = running(a_pod("a")).exit("a", 1).settle().exit("a", 1)
        world.set_container("a", finished_at=None, started_at=None, created_at=None)
        assert world.stages()[0] == ["+ create container a#2 (container exited)"]


class TestFailedTries:
    """Create or start of a container failed."""

    def test_create_failed(self) -> None:
        """The engine's words are shown, and the next try comes after a while."""
        world = running(a_pod("a", "b")).drop_container("a").fails("a", "CreateContainerError", "bad mount", count=2)
        assert world.waits() == {"a": ("CreateContainerError", "bad mount")}
        assert (world.stages(), world.wakes_in()) == ([], 20.0)
        assert world.pass_time(20).stages()[0] == ["+ create container a#0 (new pod)"]

    def test_start_failed_and_the_engine_calls_it_created(self) -> None:
        """The instance counts as ended: its successor has the next number, after a while."""
        world = running(a_pod("a", "b")).set_container("a", state=ContainerState.CREATED, started_at=None)
        world.fails("a", "RunContainerError", "no such command")
        assert world.waits() == {"a": ("RunContainerError", "no such command")}
        assert (world.stages(), world.wakes_in()) == ([], 10.0)
        assert world.pass_time(10).stages() == AGAIN

    def test_start_failed_and_the_engine_calls_it_ended(self) -> None:
        """The same on an engine that gives it an exit code."""
        world = running(a_pod("a", "b"))
        world.set_container("a", state=ContainerState.EXITED, started_at=None, exit_code=127)
        world.fails("a", "RunContainerError", "no such command")
        assert world.waits() == {"a": ("RunContainerError", "no such command")}
        assert world.pass_time(10).stages() == AGAIN

    def test_start_failed_under_never_ends_the_pod(self) -> None:
        """A Never pod whose only container could not be started is finished, as on a kubelet."""
        world = running(a_pod("a", policy="Never")).set_container("a", state=ContainerState.CREATED, started_at=None)
        world.fails("a", "RunContainerError")
        assert world.stages() == [["~ stop sandbox POD#0 (pod finished)"]]

    def test_start_failed_and_the_agent_has_forgotten(self) -> None:
        """Without the memory of it the start is tried once more."""
        world = running(a_pod("a", "b")).set_container("a", state=ContainerState.CREATED, started_at=None)
        assert world.stages() == STARTED

    def test_start_refused_for_another_reason_is_tried_again(self) -> None:
        """A conflict says nothing about the container: the same instance is started later."""
        world = running(a_pod("a", "b")).set_container("a", state=ContainerState.CREATED, started_at=None)
        world.fails("a", "Conflict", "busy")
        assert world.waits() == {"a": ("Conflict", "busy")}
        assert world.pass_time(10).stages() == STARTED

    def test_failure_of_an_earlier_instance_does_not_count(self) -> None:
        """A failure older than the newest instance is past."""
        world = running(a_pod("a", "b")).fails("a", "RunContainerError").pass_time(1)
        world.set_container("a", state=ContainerState.CREATED, started_at=None, created_at=world.now)
        assert world.waits() == {"a": ("RunContainerError", "broken")}  # still holds the next try
        world.set_container("a", state=ContainerState.EXITED, exit_code=1, started_at=START, finished_at=world.now)
        assert world.stages() == AGAIN

    def test_crash_loop_longer_than_the_failure(self) -> None:
        """Whichever holds longer holds; the failure is told while it lasts, then the crash loop."""
        world = running(a_pod("a", "b")).exit("a", 1)
        labelled = {**world.newest("a").labels, labels.BACKOFF: "80"}
        world.set_container("a", labels=labelled).fails("a", "CreateContainerError")
        assert world.waits()["a"][0] == "CreateContainerError"
        assert world.pod_plan().waiting[0].until == world.now + timedelta(seconds=160)
        assert world.pass_time(10).waits()["a"][0] == "CrashLoopBackOff"


class TestCleanup:
    """Old instances go when there is nothing else to do."""

    def test_one_ended_instance_is_kept(self) -> None:
        """The instance before the newest stays for its logs, older ones are removed once the new one runs."""
        world = running(a_pod("a")).exit("a", 1).settle().exit("a", 1).pass_time(10)
        assert world.stages() == [
            ["+ create container a#2 (container exited)"],
            ["+ start container a#2 (container exited)"],
        ]
        world.step()
        assert world.stages() == [["- remove container a#0 (superseded by a newer instance)"]]
        assert [r.attempt for r in world.settle().records("a")] == [1, 2]

    def test_not_while_there_is_something_to_start(self) -> None:
        """A restart is never made longer by tidying up."""
        world = running(a_pod("a")).exit("a", 1).settle().exit("a", 1).pass_time(10)
        world.step()
        world.exit("a", 1).pass_time(20)
        assert world.stages() == [
            ["+ create container a#3 (container exited)"],
            ["+ start container a#3 (container exited)"],
        ]

    def test_ended_stranger_goes(self) -> None:
        """What an edit took out of the manifest is removed once it has ended."""
        world = running(a_pod("a", "b"))
        world.pods[a_pod().key] = a_pod("b")
        world.step()
        assert world.stages() == [["- remove container a#0 (no owner)"]]

    def test_unknown_old_instance_goes(self) -> None:
        """Only a running instance is spared."""
        world = running(a_pod("a")).exit("a", 1).settle()
        first = world.records("a")[0]
        world.sandboxes = [
            replace(s, containers=(replace(first, state=ContainerState.CREATED), *s.containers[1:]))
            for s in world.sandboxes
        ]
        assert world.stages() == [["- remove container a#0 (superseded by a newer instance)"]]
