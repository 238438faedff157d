"""Init containers: in order, each to its good end, once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from podsync.plan import CreateContainer
from podsync.runtimes.base import ContainerState
from tests.unit.reconciler.world import World, a_pod, running

MUTATIONS: dict[str, tuple[Callable[[World], object], list[list[str]]]] = {
    "created": (
        lambda w: w.set_container("j", state=ContainerState.CREATED, started_at=None),
        [["+ start container j#0 (created but not started)"]],
    ),
    "running": (lambda _: None, []),
    "unknown": (
        lambda w: w.set_container("j", state=ContainerState.UNKNOWN),
        [["~ signal container j#0 SIGKILL (init container failed)"]],
    ),
    "ended well": (
        lambda w: w.exit("j"),
        [
            [
                "+ create container a#0 (previous init container done)",
                "+ create container b#0 (previous init container done)",
            ],
            [
                "+ start container a#0 (previous init container done)",
                "+ start container b#0 (previous init container done)",
            ],
        ],
    ),
    "failed": (
        lambda w: w.exit("j", 1),
        [["+ create container j#1 (init container failed)"], ["+ start container j#1 (init container failed)"]],
    ),
    "killed for memory with exit code 0": (
        lambda w: w.exit("j", 0, oom_killed=True),
        [["+ create container j#1 (init container failed)"], ["+ start container j#1 (init container failed)"]],
    ),
    "gone": (
        lambda w: w.drop_container("j"),
        [
            ["+ create container j#0 (previous init container done)"],
            ["+ start container j#0 (previous init container done)"],
        ],
    ),
    "first one pruned": (lambda w: w.drop_container("i"), []),
    "changed image": (lambda w: w.set_container("j", labels={"podsync.io/hash": "other"}), []),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_second_of_two(name: str) -> None:
    """What is planned for each state of the init container the pod is at."""
    mutate, expected = MUTATIONS[name]
    world = running(a_pod("a", "b", init=["i", "j"])).exit("i").settle()
    mutate(world)
    assert world.stages() == expected


@pytest.mark.parametrize("policy", ["Always", "OnFailure"])
def test_failing_init_is_held_back(policy: str) -> None:
    """The crash loop's back-off holds for init containers too."""
    world = running(a_pod("a", init=["i"], policy=policy)).exit("i", 1).settle().exit("i", 1)
    assert world.waits() == {
        "i": ("CrashLoopBackOff", "back-off 10s restarting failed container=i pod=p_default(uid1)")
    }
    assert world.pass_time(10).stages()[0] == ["+ create container i#2 (init container failed)"]


def test_failed_init_ends_a_never_pod() -> None:
    """Under Never the pod has failed: nothing else is started, its sandbox is stopped."""
    world = running(a_pod("a", init=["i", "j"], policy="Never")).exit("i", 1)
    assert world.stages() == [["~ stop sandbox POD#0 (pod finished)"]]
    assert not world.settle().pass_time(1000).plan().pods


def test_unknown_init_of_a_never_pod_ends_it() -> None:
    """An init container in an unknown state is killed; that is a failure."""
    world = running(a_pod("a", init=["i"], policy="Never")).set_container("i", state=ContainerState.UNKNOWN)
    world.step()
    assert world.stages() == [["~ stop sandbox POD#0 (pod finished)"]]


@pytest.mark.parametrize("policy", ["Always", "OnFailure", "Never"])
def test_never_again_in_the_same_sandbox(policy: str) -> None:
    """Once a regular container was made, init containers are past, also when their records are gone."""
    world = running(a_pod("a", "b", init=["i"], policy=policy)).exit("i").settle()
    world.drop_container("i").exit("a", 1)
    assert "container i#" not in str(world.plan())
    world.exit("b", 1)
    assert "container i#" not in str(world.plan())


def test_again_in_a_new_sandbox() -> None:
    """A new sandbox starts initialisation over, at once and with the next number."""
    world = running(a_pod("a", init=["i", "j"])).exit("i").settle().exit("j").settle().reboot()
    assert world.stages()[2:] == [
        ["+ create container i#1 (sandbox died)", "+ start sandbox POD#1 (sandbox died)"],
        ["+ start container i#1 (sandbox died)"],
    ]
    world.settle().exit("i")
    assert world.stages()[0] == ["+ create container j#1 (previous init container done)"]
    world.settle().exit("j")
    assert world.stages()[0] == ["+ create container a#1 (sandbox died)"]
    world.settle()
    assert [s.attempt for s in world.sandboxes] == [1]
    assert sorted((r.container_name, r.attempt) for r in world.records()) == [("a", 1), ("i", 1), ("j", 1)]


def test_old_sandbox_goes_although_a_new_init_record_was_pruned() -> None:
    """Once the pod is past its init containers, their old records hold nothing back."""
    world = running(a_pod("a", init=["i"])).exit("i").settle().reboot().settle().exit("i")
    world.step()
    world.drop_container("i")
    world.settle()
    assert [s.attempt for s in world.sandboxes] == [1]


def test_init_kind_is_labelled() -> None:
    """Init containers are told apart on the engine."""
    specs = [action.spec for action in World(a_pod("a", init=["i"])).plan() if isinstance(action, CreateContainer)]
    assert [spec.labels["podsync.io/kind"] for spec in specs] == ["init"]
