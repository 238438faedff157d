"""The owner when things go wrong: an engine that is away, broken jobs, slow neighbours."""

from __future__ import annotations

import logging
from collections.abc import Collection
from datetime import datetime

import pytest

from podsync.errors import (
    NotFound,
    RuntimeFault,
    RuntimeUnavailable,
    StartFault,
)
from podsync.ledger import Entry
from podsync.models import Pod, PodKey
from podsync.plan import Plan
from podsync.publisher import Publisher
from podsync.reconciler import Reconciler
from podsync.runtimes.fake import Pullable, exits, ignores_term
from podsync.state import Actual, Desired
from podsync.testing.builders import container, pod
from tests.unit.owned import edited, gaps, started

# --- an engine that cannot be asked ---------------------------------------------------------------


@pytest.mark.parametrize("news", ["the regular look", "a hint", "a batch", "an edit", "a deletion"])
def test_a_failed_look_freezes_planning(news: str, caplog: pytest.LogCaptureFixture) -> None:
    """While the engine is away nothing is touched, however that is found out; it is said once, then goes on."""
    world = started(pod("web"))
    world.engine.unavailable()
    caplog.set_level(logging.INFO, "podsync")
    wanted: tuple[Pod, ...] = (pod("web"),)
    if news == "a hint":
        world.hint(world.ref("web"))
    elif news == "a batch":
        wanted = (pod("web"), pod("two"))
        world.say(*wanted)
    elif news == "an edit":
        wanted = (edited(pod("web")),)
        world.say(*wanted)
    elif news == "a deletion":
        wanted = ()
        world.say()
    world.run(60)

    assert world.names() == ["web/main#0"]
    assert world.phase("web") == ("Pending" if news == "an edit" else "Running")
    assert "the fake engine is down" in world.owner.engine_error
    assert [r.levelname for r in caplog.records if "cannot be asked, pods are left" in r.message] == ["WARNING"]
    assert world.publisher.problems == ("the engine cannot be asked: the fake engine is down",)

    world.engine.unavailable(away=False)
    world.run(40)

    assert world.owner.engine_error == ""
    assert world.publisher.problems == ()
    assert [name.split("/")[0] for name in world.names()] == sorted(p.metadata.name for p in wanted)
    assert sum("answers again" in r.message for r in caplog.records) == 1


def test_an_engine_that_is_away_is_asked_ever_more_seldom() -> None:
    """Looks at an engine that does not answer come at 0.25 s, doubling to 5 s."""
    world = started()
    world.engine.unavailable()
    world.clock.advance(10)
    world.run(30)

    times = [at for at in world.times("list_sandboxes") if at >= 10]
    assert gaps(times)[:7] == [0.25, 0.5, 1, 2, 4, 5, 5]


def test_actions_the_engine_did_not_hear_are_tried_again() -> None:
    """An engine that goes away under a batch is no failure of the pod: what was not done is done when it is back."""
    world = started()
    world.say(pod("web"))
    world.faults.raise_at(1, RuntimeUnavailable("gone"), verb="create_container")
    world.run(1)

    assert world.names() == ["web/main#0"]
    assert world.phase("web") == "Running"


def test_a_look_that_fails_for_an_unforeseen_reason_freezes_and_tells(caplog: pytest.LogCaptureFixture) -> None:
    """A mistake in a look freezes planning as well, with its traceback in the log and a count."""
    world = started(pod("web"))
    world.broken["list_sandboxes"] = ValueError("odd record")
    world.run(15)

    assert world.names() == ["web/main#0"]
    assert world.owner.engine_error == "unexpected ValueError: odd record"
    assert [r.exc_info[0] for r in caplog.records if r.exc_info] == [ValueError]  # once, not at each try
    assert world.mistakes > 1

    world.broken.clear()
    world.run(10)
    assert world.owner.engine_error == ""


# --- broken jobs ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "verb", ["create_sandbox", "start_sandbox", "create_container", "start_container", "prepare_volumes", "image"]
)
def test_a_mistake_in_a_job_stops_no_other_pod(verb: str, caplog: pytest.LogCaptureFixture) -> None:
    """An unforeseen exception is logged with its traceback and counted; its pod tries again, the others go on."""
    world = started()
    world.faults.raise_at(1, ZeroDivisionError("a mistake"), verb=verb)
    world.say(pod("bad"), pod("good"))
    world.work()

    assert "good/main#0" in world.names()
    assert [r.exc_info[0] for r in caplog.records if r.exc_info] == [ZeroDivisionError]
    assert world.mistakes == 1

    world.run(30)
    assert world.names() == ["bad/main#0", "good/main#0"]


@pytest.mark.parametrize("verb", ["remove_sandbox", "signal_container", "remove_volumes"])
def test_a_mistake_while_ending_backs_the_lane_off(verb: str, caplog: pytest.LogCaptureFixture) -> None:
    """What fails without a place in the pod's memory makes its lane wait, not the others; then it is done."""
    world = started(pod("bad"), pod("good"))
    world.engine.kill(world.ref("bad"))
    world.hint(world.ref("bad"))
    world.run(1)
    world.broken[verb] = ZeroDivisionError("a mistake")
    world.say(pod("good"), pod("new"))
    world.run(100)

    assert "new/main#0" in world.names()
    tries = [at for at in world.times(verb) if at >= 1]
    assert [gap for gap in gaps(tries) if gap > 0][:7] == [0.5, 1, 2, 4, 8, 16, 30]
    assert any(r.exc_info and r.exc_info[0] is ZeroDivisionError for r in caplog.records)

    world.broken.clear()
    world.run(40)
    assert world.names() == ["good/main#0", "new/main#0"]
    assert world.phase("bad") is None


def test_a_mistake_in_tidying_up_leaves_the_pod_running() -> None:
    """What cannot be tidied up is tried ever more seldom, and the pod runs on."""
    world = started(pod("web"))
    world.broken["remove_container"] = ZeroDivisionError("a mistake")
    for attempt in range(2):
        world.engine.kill(world.ref("web", attempt=attempt))
        world.hint(world.ref("web", attempt=attempt))
        world.run(11)

    assert world.names() == ["web/main#2"]
    world.run(100)
    tries = world.times("remove_container")
    assert gaps(tries)[:6] == [0.5, 1, 2, 4, 8, 16]
    assert world.phase("web") == "Running"


def test_a_mistake_in_a_pull_is_a_failed_pull(caplog: pytest.LogCaptureFixture) -> None:
    """An unforeseen exception in a pull is logged with its traceback and counted, and the pull tried again later."""
    world = started(images=[], registry={"far:1": Pullable()})
    world.faults.raise_at(1, ZeroDivisionError("a mistake"), verb="pull_image")
    world.say(pod("web", container(image="far:1")))
    world.run(9)
    assert world.names() == []
    assert world.mistakes == 1
    assert any(r.exc_info and r.exc_info[0] is ZeroDivisionError for r in caplog.records)

    world.run(2)
    assert world.names() == ["web/main#0"]


@pytest.mark.parametrize("fault", [RuntimeFault("busy"), NotFound("gone"), StartFault("no")])
def test_a_sandbox_that_cannot_be_removed(fault: RuntimeFault, caplog: pytest.LogCaptureFixture) -> None:
    """Removal is tried again after 0.5 s, doubling to 30 s, with the engine's words in log and events."""
    world = started(pod("web"))
    world.broken["remove_sandbox"] = fault
    world.say()
    world.run(130)

    tries = world.times("remove_sandbox")
    assert gaps(tries) == [0.5, 1, 2, 4, 8, 16, 30, 30, 30]
    assert any(f"default/web: {fault}" in r.message for r in caplog.records)
    assert not any(r.exc_info for r in caplog.records)
    assert "FailedKillPod" in world.events
    assert world.owner.ending

    world.broken.clear()
    world.run(30)
    assert world.phase("web") is None
    assert world.owner.empty


def test_a_lane_that_works_again_starts_its_back_off_anew() -> None:
    """One good batch ends a series of setbacks."""
    world = started(pod("web"))
    world.broken["remove_sandbox"] = RuntimeFault("busy")
    world.say()
    world.run(20)
    world.broken.clear()
    world.run(20)
    world.say(pod("web"))
    world.run(1)
    world.broken["remove_sandbox"] = RuntimeFault("busy")
    begun = world.clock.monotonic()
    world.say()
    world.run(2)

    tries = [at - begun for at in world.times("remove_sandbox") if at >= begun]
    assert [round(at, 6) for at in tries] == [0, 0.5, 1.5]


# --- one pod's trouble is nobody else's -----------------------------------------------------------


def test_a_slow_pull_delays_no_other_pod() -> None:
    """While an image is being fetched other pods start, change and end."""
    world = started(images=["busybox:1.36"], registry={"far:1": Pullable()})
    world.say(pod("slow", container(image="far:1")), pod("web"))
    world.work("pull:")
    assert world.names() == ["web/main#0"]
    world.say(pod("slow", container(image="far:1")), pod("new"))
    world.run(60, "pull:")
    assert world.names() == ["new/main#0"]
    assert world.phase("slow") == "Pending"
    world.work()
    assert world.names() == ["new/main#0", "slow/main#0"]


def test_a_pull_delays_no_container_of_its_own_pod() -> None:
    """A container whose image is there does not wait for another one's."""
    world = started(images=["busybox:1.36"], registry={"far:1": Pullable()})
    world.say(pod("web", container("main"), container("late", image="far:1")))
    world.work("pull:")
    assert world.names() == ["web/main#0"]


def test_a_slow_init_container_delays_no_other_pod() -> None:
    """While one pod is being initialised the others start, also those that come first."""
    world = started(programs={"init": exits(0, after=300)})
    world.say(pod("a-slow", init_containers=(container("init"),)), pod("web"))
    world.run(299)
    assert world.names() == ["a-slow/init#0", "web/main#0"]
    assert world.phase("a-slow") == "Pending"
    world.run(2)
    assert world.names() == ["a-slow/main#0", "web/main#0"]


def test_a_slow_stop_delays_no_other_pod() -> None:
    """A pod that uses its whole grace period to end holds up nothing but itself."""
    world = started(pod("a-deaf"), programs={"main": ignores_term()})
    world.say(pod("web"))
    world.work()
    assert world.names() == ["a-deaf/main#0", "web/main#0"]
    world.run(29.9)
    assert world.names() == ["a-deaf/main#0", "web/main#0"]
    world.run(0.2)
    assert world.names() == ["web/main#0"]


def test_a_hung_engine_call_delays_no_other_pod() -> None:
    """A batch that does not come back keeps its own pod's lane, and nothing else."""
    world = started()
    world.say(pod("a-hung"), pod("web"))
    world.run(60, "pod:default/a-hung")
    assert world.names() == ["web/main#0"]
    world.say(pod("a-hung"))
    world.run(60, "pod:default/a-hung")
    assert world.names() == []


def test_a_pod_that_cannot_be_planned_is_held_alone(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A mistake in planning one pod is logged, counted and tried again later; the other pods go on."""
    original = Reconciler.sync

    def sync(self: Reconciler, desired: Desired, actual: Actual, *, only: Collection[PodKey]) -> Plan:
        if PodKey("default", "bad") in only:
            raise ValueError("cannot plan")
        return original(self, desired, actual, only=only)

    monkeypatch.setattr(Reconciler, "sync", sync)
    world = started()
    world.say(pod("bad"), pod("good"))
    world.run(5)

    assert world.names() == ["good/main#0"]
    held = [record for record in caplog.records if "planning failed" in record.message]
    assert 2 <= len(held) <= 5
    assert held[0].exc_info is not None
    monkeypatch.setattr(Reconciler, "sync", original)
    world.run(60)
    assert world.names() == ["bad/main#0", "good/main#0"]


def test_a_status_that_cannot_be_told_stops_nobody(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A mistake in reporting one pod is logged and counted; it runs all the same, and others are reported."""
    original = Publisher.report

    def report(self: Publisher, entry: Entry, at: datetime) -> bool:
        if entry.key.name == "bad":
            raise ValueError("cannot tell")
        return original(self, entry, at)

    monkeypatch.setattr(Publisher, "report", report)
    world = started()
    world.say(pod("bad"), pod("good"))
    world.work()

    assert world.names() == ["bad/main#0", "good/main#0"]
    assert [key.name for key in world.owner.statuses] == ["good"]
    assert any("cannot be told" in record.message for record in caplog.records)
