"""Pods from their coming to their going, as the owner drives them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from podsync.models import ContainerPort, Pod, PodKey
from podsync.runtimes.fake import Pullable, exits, exits_on_term
from podsync.testing.builders import container, pod
from tests.unit.owned import World, edited, started

WEB = PodKey("default", "web")


def test_an_image_found_missing_is_pulled() -> None:
    """That an image is not there is found out by creating from it, which is no failure; then it is pulled."""
    world = started(images=[], registry={"far:1": Pullable()})
    world.say(pod("web", container(image="far:1")))
    world.work()

    assert world.names() == ["web/main#0"]
    assert world.events == ["Pulling", "Pulled", "Created", "Started"]


def test_an_image_that_came_by_itself_is_seen() -> None:
    """An image that may not be pulled and is loaded by hand is used without a restart of the agent."""
    world = started(images=[])
    world.say(pod("web", container(image="hand:1", image_pull_policy="Never")))
    world.run(15)
    assert world.owner.waits(WEB)
    world.engine.images.add("hand:1")
    world.run(15)
    assert world.names() == ["web/main#0"]
    assert not world.owner.waits(WEB)


def test_an_edit_replaces_the_pod() -> None:
    """The old one is ended first; the status at once tells of the new one, and of nothing the old one was."""
    world = started(pod("web", restart_policy="Never"), programs={"main": exits(3, after=1)})
    world.run(20)
    assert world.phase("web") == "Failed"
    old_start = world.owner.statuses[WEB].start_time
    world.say(edited(pod("web", restart_policy="Never")))

    status = world.owner.statuses[WEB]
    assert status.phase == "Pending"
    assert status.pod_ip == ""
    assert status.start_time is not None
    assert old_start is not None
    assert status.start_time - old_start >= timedelta(seconds=20)
    world.run(0.5)
    assert world.names() == ["web/main#0"]


def test_a_pod_refused_for_a_port_is_let_in_when_it_is_free() -> None:
    """A pod whose host port another one has is Failed, and started as soon as that one is gone."""

    def with_port(name: str) -> Pod:
        return pod(name, container(ports=(ContainerPort(container_port=80, host_port=8080),)))

    world = started(with_port("first"))
    world.say(with_port("first"), with_port("second"))
    world.work()
    assert world.phase("second") == "Failed"
    world.say(with_port("second"))
    world.run(5)
    assert (world.names(), world.phase("second")) == (["second/main#0"], "Running")


def test_a_pod_refused_for_a_port_is_let_in_when_the_other_gives_it_up() -> None:
    """An edit of the one that has the port is enough: the other is planned anew although nothing of it changed."""

    def with_port(name: str, port: int) -> Pod:
        return pod(name, container(ports=(ContainerPort(container_port=80, host_port=port),)))

    world = started(with_port("first", 8080), with_port("second", 8080))
    assert world.phase("second") == "Failed"
    world.say(with_port("first", 9090), with_port("second", 8080))
    world.run(9)  # before the next regular look
    assert world.names() == ["first/main#0", "second/main#0"]


def test_everything_is_ended_on_request() -> None:
    """After end_everything no pod is wanted, whatever sources say or do not say."""
    before = started(pod("web"), pod("old"))
    world = World(sources=("a", "b"), engine=before.engine, clock=before.clock)
    world.step()
    world.say(pod("web"))
    world.work()
    world.owner.end_everything()
    world.step()
    world.say(pod("web"), pod("more"))
    world.run(1)

    assert world.names() == []
    assert world.owner.empty
    assert world.owner.settled
    assert dict(world.owner.statuses) == {}


def test_a_deleted_pod_that_comes_back_is_no_longer_told_as_deleted() -> None:
    """A pod put back while it is being ended runs afresh in the end, and nothing waits for its end any more."""
    world = started(pod("web"), programs={"main": exits_on_term(0, after=5)})
    world.say()
    world.run(1)
    assert world.owner.ending
    world.say(pod("web"))
    world.run(20)

    assert not world.owner.ending
    assert world.names() == ["web/main#0"]
    assert world.owner.settled


def test_statuses_are_swapped_whole() -> None:
    """A map of statuses handed out never changes afterwards, nor can its holder change it."""
    world = started(pod("web"))
    before = world.owner.statuses
    world.say()
    world.run(1)

    assert list(before) == [WEB]
    assert dict(world.owner.statuses) == {}
    with pytest.raises(TypeError):
        before[WEB] = before[WEB]  # type: ignore[index]


def test_the_owner_wakes_for_what_is_due() -> None:
    """It asks to wait until the next regular look when nothing comes before, and until just then for a retry."""
    world = started(pod("web"), programs={"main": exits(1)})
    world.run(8)
    assert world.owner.waits(WEB)
    assert world.owner.seconds_to_wait() == pytest.approx(2)
    world.run(2)
    assert world.ref("web", attempt=2)
    world.run(5)
    assert world.owner.seconds_to_wait() == pytest.approx(5)  # the look at 20 s; the next retry is at 30 s
    world.run(14.9)
    assert world.owner.seconds_to_wait() == pytest.approx(0.1)


def test_progress_of_pulls_is_known_while_they_run() -> None:
    """How far a pull is can be asked until it has ended."""
    world = started(images=[], registry={"far:1": Pullable()})
    world.say(pod("web", container(image="far:1")))
    world.work("pull:")
    assert dict(world.owner.pulls) == {}
    world.perform("pull:far:1")
    world.step()
    assert [(p.image, p.status) for p in world.owner.pulls.values()] == [("far:1", "Pulling")]
    world.work()
    assert dict(world.owner.pulls) == {}
