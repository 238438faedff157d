"""What crosses pods, and what no node of ours runs."""

from __future__ import annotations

from typing import Any

import pytest

from podsync.models import Container, ContainerPort, Pod, PodKey, PodOS
from podsync.plan import Verdict
from tests.unit.reconciler.world import World, a_pod, container, running, with_port

PORTS = Verdict(
    "Failed",
    "NodePorts",
    "Pod was rejected: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
)
FIRST, SECOND = PodKey("default", "first"), PodKey("default", "second")


def two(one: Container, other: Container, **spec: Any) -> tuple[Pod, Pod]:
    """Two pods of one container each."""
    return a_pod(one, name="first", uid="u1", **spec), a_pod(other, name="second", uid="u2", **spec)


def refused(world: World) -> list[str]:
    """Names of the pods with a verdict."""
    return [key.name for key, plan in sorted(world.plan().pods.items()) if plan.verdict is not None]


@pytest.mark.parametrize(
    ("one", "other", "clash"),
    [
        (("", "TCP", 80), ("", "TCP", 80), True),
        (("", "TCP", 80), ("", "TCP", 81), False),
        (("", "TCP", 80), ("", "UDP", 80), False),
        (("", "TCP", 80), ("", "", 80), True),
        (("127.0.0.1", "TCP", 80), ("", "TCP", 80), True),
        (("", "TCP", 80), ("127.0.0.1", "TCP", 80), True),
        (("0.0.0.0", "TCP", 80), ("127.0.0.1", "TCP", 80), True),
        (("::", "TCP", 80), ("127.0.0.1", "TCP", 80), True),
        (("127.0.0.1", "TCP", 80), ("127.0.0.1", "TCP", 80), True),
        (("127.0.0.1", "TCP", 80), ("127.0.0.2", "TCP", 80), False),
    ],
)
def test_when_host_ports_clash(one: tuple[str, str, int], other: tuple[str, str, int], clash: bool) -> None:
    """Same port and protocol on addresses that overlap; the later pod by name is refused."""
    world = World(*two(with_port("a", one[2], one[0], one[1]), with_port("a", other[2], other[0], other[1])))
    assert refused(world) == (["second"] if clash else [])


def test_refused_pod_gets_nothing() -> None:
    """Its verdict is all there is."""
    plan = World(*two(with_port("a", 80), with_port("a", 80))).plan()
    assert plan.pods[SECOND].verdict == PORTS
    assert plan.pods[SECOND].stages == ()


def test_folder_of_a_refused_pod_goes() -> None:
    """What was made before it was refused is not left behind."""
    world = World(*two(with_port("a", 80), with_port("a", 80)))
    world.folders[SECOND] = {"u2"}
    assert world.stages(SECOND) == [["- unmount volumes of u2 (pod replaced by an edited manifest)"]]


def test_who_runs_keeps_its_port() -> None:
    """A pod that has its sandbox wins over one that comes first by name."""
    first, second = two(with_port("a", 80), with_port("a", 80))
    world = running(second)
    world.pods[FIRST] = first
    assert refused(world) == ["first"]


def test_two_that_run_are_left_alone() -> None:
    """What was let in is not asked again."""
    first, second = two(with_port("a", 80), with_port("a", 81))
    world = running(first, second)
    world.pods[SECOND] = two(with_port("a", 80), with_port("a", 80))[1]
    for record in world.records():
        world.exit_named(record.name, 1)
    assert refused(world) == []


def test_created_sandbox_comes_before_none() -> None:
    """Of two that do not run yet the one already begun wins; what is there of the other is removed."""
    first, second = two(with_port("a", 80), with_port("a", 80))
    world = World(second)
    for action in list(world.plan())[:2]:
        world.perform(action)
    world.pods[FIRST] = first
    assert refused(world) == ["first"]
    world.pods[FIRST] = first
    world.pods.pop(SECOND)
    assert refused(world) == []
    for action in world.plan().pods[FIRST].actions():
        world.perform(action)
        if len([s for s in world.sandboxes if s.uid == "u1"]) == 1:
            break
    world.pods[SECOND] = second
    assert refused(world) == ["second"]
    assert world.stages(SECOND) == [
        ["- remove sandbox POD#0 (pod replaced by an edited manifest)"],
        ["- unmount volumes of u2 (pod replaced by an edited manifest)"],
    ]


def test_let_in_when_the_other_goes() -> None:
    """Unlike on a kubelet a refused pod starts once its port is free."""
    world = World(*two(with_port("a", 80), with_port("a", 80)))
    world.settle()
    world.pods.pop(FIRST)
    world.settle()
    assert {s.pod_name for s in world.sandboxes} == {"second"}


def test_finished_pod_holds_no_port() -> None:
    """A pod that is over gives its port to the next, and is not refused itself."""
    first, second = two(with_port("a", 80), with_port("a", 80), policy="Never")
    world = running(first).exit("a").settle()
    world.pods[SECOND] = second
    assert refused(world) == []
    world.settle()
    assert {s.pod_name for s in world.sandboxes if s.ready} == {"second"}


def test_host_network_claims_container_ports() -> None:
    """On the host's network each port of a container is one of the node's."""
    listening = container("a", ports=(ContainerPort(container_port=80),))
    assert refused(World(*two(listening, listening))) == []
    assert refused(World(*two(listening, listening, host_network=True))) == ["second"]


def test_ports_of_init_containers_are_not_claimed() -> None:
    """As on a kubelet only regular containers publish."""
    first = a_pod("a", init=[with_port("i", 80)], name="first", uid="u1")
    second = a_pod(with_port("a", 80), name="second", uid="u2")
    assert refused(World(first, second)) == []


def test_one_pod_alone_sees_the_others() -> None:
    """Planning one key still weighs it against all pods."""
    world = World(*two(with_port("a", 80), with_port("a", 80)))
    plan = world.reconciler.sync(world.desired, world.actual, only={SECOND})
    assert list(plan.pods) == [SECOND]
    assert plan.pods[SECOND].verdict == PORTS


@pytest.mark.parametrize(("name", "admitted"), [("", True), ("linux", True), ("windows", False)])
def test_operating_system(name: str, admitted: bool) -> None:
    """A pod for another operating system is refused with the kubelet's words."""
    plan = World(a_pod("a", os=PodOS(name=name))).pod_plan()
    assert (plan.verdict is None) is admitted
    if plan.verdict is not None:
        assert plan.verdict.reason == "PodOSNotSupported"
        assert plan.verdict.message == "Pod was rejected: Failed to admit pod as the OS field doesn't match node OS"


def test_former_pod_is_still_ended_when_the_new_one_is_refused() -> None:
    """A refused edit does not keep the old version alive: that is the source's business, not the planner's."""
    world = running(a_pod("a"))
    world.pods[PodKey("default", "p")] = a_pod("a", uid="uid2", os=PodOS(name="windows"))
    assert world.stages() == [["~ signal container a#0 SIGTERM (pod replaced by an edited manifest)"]]
    world.settle()
    assert (world.sandboxes, world.folders, refused(world)) == ([], {}, ["p"])
