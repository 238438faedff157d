"""The owner's rules on order: lanes, looks, hints, and sources."""

from __future__ import annotations

import pytest

from podsync.errors import (
    FieldError,
    ImageFault,
    RuntimeFault,
)
from podsync.models import PodKey
from podsync.runtimes.base import ContainerState
from podsync.runtimes.fake import Pullable, exits, exits_on_term
from podsync.sources.base import Refusal
from podsync.testing.builders import container, pod
from tests.unit.owned import World, edited, started

WEB = PodKey("default", "web")
LANE = "pod:default/web"


# --- single flight --------------------------------------------------------------------------------


def test_one_batch_at_a_time_in_a_pods_lane() -> None:
    """While a pod's batch is under way no edit, hint, look or time starts another; then the newest counts."""
    world = started()
    world.say(pod("web"))
    assert world.waiting == [LANE]

    for text in "123":
        world.say(edited(pod("web"), text))
    world.hint()
    world.run(60, LANE)

    assert world.lanes.submitted.count(LANE) == 1  # the lanes themselves refuse a second one at once
    world.run(60)
    assert world.names() == ["web/main#0"]
    ends = [change.uid for change in world.engine.changes() if change.what == "ended"]
    assert len(set(ends)) == 1  # of the editions only the first, which was under way, and the last were made


def test_one_pull_an_image_for_all_who_wait() -> None:
    """Two pods that need the same image cause one pull, and both go on when it is there."""
    world = started(images=[], registry={"far:1": Pullable()})
    world.say(pod("one", container(image="far:1")), pod("two", container(image="far:1")))
    world.work("pull:")

    assert world.waiting == ["pull:far:1"]
    assert not world.owner.settled
    assert world.names() == []
    world.work()
    assert world.lanes.submitted.count("pull:far:1") == 1
    assert world.names() == ["one/main#0", "two/main#0"]


def test_a_failed_pull_is_every_waiters() -> None:
    """A pull that fails puts all who waited for it into back-off, and is tried again for all of them."""
    fault = ImageFault("no such image")
    world = started(images=[], registry={"far:1": Pullable(fault=fault)})
    world.say(pod("one", container(image="far:1")), pod("two", container(image="far:1")))
    world.run(5)

    waiting = [
        status.container_statuses[0].state.waiting
        for status in world.owner.statuses.values()
        if status.container_statuses[0].state is not None
    ]
    assert [w.reason for w in waiting if w is not None] == ["ImagePullBackOff", "ImagePullBackOff"]
    assert world.times("pull_image") == [0.0]
    world.run(6)
    assert world.times("pull_image") == [0.0, 10.0]


# --- a fresh look ---------------------------------------------------------------------------------


@pytest.mark.parametrize("began", ["before the batch", "during the batch"])
def test_a_full_look_that_began_before_a_batch_ended_is_ignored(began: str) -> None:
    """A look at everything from before a batch's end tells nothing of its pod: nothing is made a second time."""
    world = started()
    world.run(10, "look:")
    if began == "before the batch":
        world.perform("look:")  # it has seen an empty engine and is still on its way back
        world.say(pod("web"))
    else:
        world.deliver("look:")
        world.say(pod("web"))
        world.clock.advance(10)
        world.step()
        world.perform("look:")
    world.work("look:")
    calls = len(world.times("create_sandbox"))

    world.deliver("look:")
    assert world.phase("web") == "Running"
    world.work()
    assert (calls, len(world.times("create_sandbox"))) == (1, 1)
    assert world.changes("created") == ["web/POD#0", "web/main#0"]


def test_a_full_look_from_before_a_pods_end_does_not_bring_it_back() -> None:
    """A pod that is gone for good is not taken for a new one because an old look still shows it."""
    world = started(pod("web"))
    world.run(10, "look:")
    world.perform("look:")  # it has seen the pod
    world.say()
    world.run(1, "look:")
    assert world.phase("web") is None

    world.deliver("look:")
    assert world.phase("web") is None
    assert world.owner.empty
    world.work()
    assert len(world.times("remove_sandbox")) == 1


def test_a_look_of_one_pod_from_before_its_batch_is_ignored() -> None:
    """A look at one pod that returns after the pod's batch was planned from a newer one is not believed."""
    world = started(pod("web"))
    world.hint(world.ref("web"))
    world.perform("look:default/web")  # it has seen a running container
    world.engine.kill(world.ref("web"))
    world.hint()  # a look at everything, which is faster and sees the death
    world.deliver("look:")
    assert LANE in world.waiting
    world.deliver(LANE)
    assert world.names() == ["web/main#1"]

    world.deliver("look:default/web")
    assert [c.restart_count for c in world.owner.statuses[WEB].container_statuses] == [1]
    world.work()

    assert world.names() == ["web/main#1"]
    assert len(world.times("create_container")) == 2


def test_nothing_is_planned_before_the_look_after_a_batch() -> None:
    """When the look at a batch's end fails, the pod is looked at again before anything else is planned for it."""
    world = started()
    world.say(pod("web"))
    world.faults.raise_at(1, RuntimeFault("engine trouble"), verb="list_sandboxes")
    world.deliver(LANE)

    assert LANE not in world.waiting
    world.run(3)
    assert world.names() == ["web/main#0"]
    assert world.changes("created") == ["web/POD#0", "web/main#0"]


# --- hints ----------------------------------------------------------------------------------------


def test_a_hint_is_followed_at_once() -> None:
    """A container's end is answered without any time going by."""
    world = started(pod("web"))
    world.engine.kill(world.ref("web"))
    world.hint(world.ref("web"))
    world.work()

    assert world.clock.monotonic() == 0
    assert world.names() == ["web/main#1"]


def test_a_hint_while_busy_that_the_batch_explains_costs_no_look() -> None:
    """A death that the look at the end of a batch shows already is not looked for again."""
    world = started(pod("web", container("main"), container("other")))
    dying = world.ref("web")
    world.engine.kill(world.ref("web", "other"))
    world.hint(world.ref("web", "other"))
    world.deliver("look:default/web")
    assert world.waiting == [LANE]
    world.engine.kill(dying)
    world.hint(dying)  # the batch's own look comes later
    submitted = len(world.lanes.submitted)
    world.deliver(LANE)

    assert world.lanes.submitted[submitted:] == [LANE]  # straight on to the next batch
    world.work()
    assert world.names() == ["web/main#1", "web/other#1"]


@pytest.mark.parametrize("how", ["killed", "removed"])
def test_a_hint_while_busy_that_nothing_explains_is_looked_for(how: str) -> None:
    """What happens after a batch's last look and is hinted at while the batch is on its way back is seen at once."""
    world = started(pod("web", container("main"), container("other")))
    dying = world.ref("web")
    world.engine.kill(world.ref("web", "other"))
    world.hint(world.ref("web", "other"))
    world.deliver("look:default/web")
    world.perform(LANE)
    if how == "killed":
        world.engine.kill(dying)
        world.hint(dying)
    else:
        world.hint(dying)
        world.engine.remove_behind(dying)
    world.deliver(LANE)

    assert world.waiting == ["look:default/web"]
    world.work()
    assert [name for name in world.names() if name.startswith("web/main")] != []
    assert world.clock.monotonic() == 0


def test_a_hint_that_is_explained_already_costs_nothing() -> None:
    """A hint of a death that has been seen starts no look."""
    world = started(pod("web", restart_policy="Never"), programs={"main": exits(0, after=1)})
    world.run(20)
    submitted = len(world.lanes.submitted)

    world.hint(world.ref("web"))

    assert world.phase("web") == "Succeeded"
    assert len(world.lanes.submitted) == submitted


def test_a_hint_during_a_full_look_is_not_lost() -> None:
    """What happens after a full look has seen the engine and before it is back is found without waiting."""
    world = started(pod("web"))
    world.run(10, "look:")
    world.perform("look:")
    world.engine.kill(world.ref("web"))
    world.hint(world.ref("web"))
    world.deliver("look:")
    world.work()

    assert world.names() == ["web/main#1"]
    assert world.clock.monotonic() == 10


def test_a_hint_during_the_first_look_is_not_lost() -> None:
    """The same holds for the very first look, before which no single pod is looked at."""
    before = started(pod("web"))
    world = World(engine=before.engine, clock=before.clock)
    world.step()
    world.say(pod("web"))
    world.perform("look:")
    world.engine.kill(world.ref("web"))
    world.hint(world.ref("web"))
    world.deliver("look:")
    world.work()

    assert world.names() == ["web/main#1"]
    assert world.clock.monotonic() == 0


def test_a_hint_for_a_pod_of_two_uids_is_not_lost() -> None:
    """While an edit is under way only a full look tells; one that began before a hint is followed by another."""
    world = started(pod("web"), programs={"main": exits_on_term(0, after=60)})
    old = world.ref("web")
    world.say(edited(pod("web")))
    world.work()
    assert ContainerState.RUNNING in {c.record.state for c in world.engine.containers.values()}
    world.hint(connected=False)
    world.perform("look:")
    world.engine.kill(old)
    world.hint(old)
    world.deliver("look:")
    world.work()

    assert world.clock.monotonic() == 0
    assert world.names() == ["web/main#0"]
    assert world.ref("web") != old


def test_a_hint_of_a_stranger_asks_for_a_full_look() -> None:
    """A uid nobody knows is looked for among everything, and once more if such a look is under way."""
    world = started()
    for _ in range(2):
        world.hint("k8s_main_other_default_ffff_0")
    assert world.waiting == ["look:"]

    world.deliver("look:")
    world.step()
    assert world.waiting == ["look:"]
    world.deliver("look:")
    world.step()
    assert world.waiting == []


@pytest.mark.parametrize(("connected", "seconds"), [(True, 10.0), (False, 1.0)])
def test_the_net_below_lost_hints(connected: bool, seconds: float) -> None:
    """A death nobody hints at is found by the regular full look: each 10 s, or each second without hints."""
    world = started(pod("web"))
    world.hint(connected=connected)
    world.work()
    world.engine.kill(world.ref("web"))
    world.run(seconds - 0.01)
    assert world.names() == []
    world.run(0.01)
    assert world.names() == ["web/main#1"]


# --- sources --------------------------------------------------------------------------------------


def test_an_older_revision_is_dropped() -> None:
    """A set that was overtaken by a newer one of its source changes nothing."""
    world = started()
    world.say(pod("web"), revision=7)
    world.work()
    for late in (6, 7):
        world.say(revision=late)
        world.run(60)

    assert world.names() == ["web/main#0"]
    assert world.changes("signalled") == []


def test_nothing_unnamed_is_ended_before_all_sources_have_spoken() -> None:
    """Pods of an earlier life stay as they are until every source has sent a set; the last word decides."""
    before = started(pod("mine"), pod("theirs"))
    world = World(sources=("a", "b"), engine=before.engine, clock=before.clock)
    world.step()
    world.say(pod("mine"))
    world.fail("b")
    world.run(600)
    assert world.names() == ["mine/main#0", "theirs/main#0"]
    assert world.phase("theirs") == "Running"
    assert not world.owner.ending

    world.say(source="b")
    world.run(1)

    assert world.names() == ["mine/main#0"]


def test_a_source_that_cannot_be_read_keeps_its_pods() -> None:
    """After a failed read the last set stands, and the pods that are ended are those another set leaves out."""
    world = started(pod("web"))
    world.fail()
    world.run(60)
    assert world.names() == ["web/main#0"]

    world.say()
    world.run(60)
    assert world.names() == []


def test_an_undecided_pod_is_left_alone_and_told() -> None:
    """A pod of an earlier life whose manifest is refused now runs on, is reported, and is not told as being deleted."""
    before = started(pod("web"))
    world = World(engine=before.engine, clock=before.clock)
    refusal = Refusal("web.yaml", (FieldError("spec", "Required value"),), WEB)
    world.step()
    world.say(refusals=[refusal])
    world.run(60)

    assert world.names() == ["web/main#0"]
    assert world.phase("web") == "Running"
    assert not world.owner.ending
    assert world.owner.settled

    world.say()  # the file is gone
    world.run(1)
    assert world.names() == []


def test_settled_needs_every_source_heard() -> None:
    """Before each source has sent a set or said that it cannot, nothing is settled."""
    world = started(sources=("a", "b"))
    fresh = World(sources=("a", "b"), engine=world.engine, clock=world.clock)
    fresh.step()
    fresh.say()
    fresh.work()
    assert not fresh.owner.settled
    fresh.fail("b")
    fresh.work()
    assert fresh.owner.settled
