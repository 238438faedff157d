"""When the engine is looked at, and whether it may be planned on."""

from __future__ import annotations

import logging

import pytest

from podsync.clock import ManualClock
from podsync.errors import RuntimeUnavailable
from podsync.ledger import Entry
from podsync.looks import Looks
from podsync.messages import Looked
from podsync.models import ObjectMeta, Pod, PodKey
from podsync.observer import Observer
from podsync.runtimes.base import SandboxId, SandboxRecord
from podsync.runtimes.fake import FakeEngine, FakeRuntime
from podsync.state import ActualPod
from podsync.testing.builders import PodNames, pod
from podsync.volumes import MemoryVolumes
from tests.unit.owned import Lanes

KEY = PodKey("default", "web")
NONE = frozenset[str]()


class Desk:
    """Looks at a fake engine, carried out by hand."""

    def __init__(self) -> None:
        self.clock, self.lanes, self.volumes = ManualClock(), Lanes(), MemoryVolumes()
        self.engine = FakeEngine(self.clock)
        self.runtime = FakeRuntime(engine=self.engine)
        self.looks = Looks(self.clock, self.lanes, Observer(self.runtime, self.volumes), self.volumes)

    def full(self) -> Looked:
        """A full look that is due, sent and back."""
        self.looks.send_full_if_due(NONE)
        message = self.lanes.jobs.pop("look:")()
        assert isinstance(message, Looked)
        self.looks.full_returned(message)
        return message


def wanted(uid: str) -> Pod:
    """A pod of that uid."""
    return pod("web").evolve(metadata=ObjectMeta(name="web", namespace="default", uid=uid))


def seen(uid: str) -> SandboxRecord:
    """A sandbox of that uid."""
    return SandboxRecord(SandboxId(f"s-{uid}"), f"k8s_POD_web_default_{uid}_0", "web", "default", uid, 0, True)


def test_the_first_look_is_due_at_once() -> None:
    """Before it nothing may be planned; while it is under way no other is sent."""
    desk = Desk()
    assert desk.looks.wait() == 0
    assert not desk.looks.usable
    desk.looks.send_full_if_due(NONE)
    desk.looks.send_full_if_due(NONE)
    assert desk.lanes.submitted == ["look:"]
    assert desk.looks.full_under_way
    assert desk.looks.wait() == 3600
    assert desk.looks.full_returned(Looked(1, None))
    assert desk.looks.usable


def test_a_full_look_tells_of_everything() -> None:
    """Sandboxes, pod folders, and which of the images that were missing have come."""
    desk = Desk()
    names = PodNames("localhost")
    desk.runtime.create_sandbox(names.sandbox())
    desk.volumes.note("u7", KEY)
    desk.looks.send_full_if_due(frozenset({"busybox:1"}))
    look = desk.lanes.jobs.pop("look:")()
    assert isinstance(look, Looked)
    assert [s.uid for s in look.sandboxes] == [names.uid]
    assert (look.folders, look.images, look.uid) == ({"u7": KEY}, {"busybox:1"}, None)


def test_looks_and_batches_have_one_order() -> None:
    """Numbers only grow, whatever they are for."""
    desk = Desk()
    first = desk.looks.next()
    look = desk.full()
    entry = Entry(KEY, pod=wanted("u1"))
    desk.looks.send(entry)
    assert first < look.sequence < entry.looking < desk.looks.next()


@pytest.mark.parametrize(("connected", "seconds"), [(True, 10), (False, 1)])
def test_the_next_full_look(connected: bool, seconds: float) -> None:
    """It is due after 10 s while hints flow, after 1 s while they do not."""
    desk = Desk()
    desk.looks.hinted(connected=connected)
    desk.full()
    assert desk.looks.wait() == seconds


def test_a_look_that_is_wanted_during_another_follows_it() -> None:
    """Asked for while one is under way, which may be too old, another is due at once, and only one."""
    desk = Desk()
    desk.looks.send_full_if_due(NONE)
    desk.looks.want_full()
    desk.lanes.jobs.clear()
    desk.looks.full_returned(Looked(1, None))
    assert desk.looks.wait() == 0
    desk.full()
    assert desk.looks.wait() == 1


@pytest.mark.parametrize(
    ("pod_uid", "there", "one"),
    [
        *(("u1", (), "u1"), ("u1", ("u1",), "u1"), ("", ("u0",), "u0")),
        *(("u1", ("u0",), ""), ("", ("u0", "u1"), ""), ("", (), "")),
    ],
)
def test_looking_at_one_pod(pod_uid: str, there: tuple[str, ...], one: str) -> None:
    """With a single uid, wanted or there, a look at that is enough; else a full one is due."""
    desk = Desk()
    desk.full()
    actual = ActualPod(tuple(seen(uid) for uid in there))
    entry = Entry(KEY, pod=wanted(pod_uid) if pod_uid else None, actual=actual)
    desk.looks.send(entry)
    if not one:
        assert (entry.looking, desk.looks.wait()) == (0, 0)
        return
    look = desk.lanes.jobs.pop("look:default/web")()
    assert isinstance(look, Looked)
    assert (look.sequence, look.uid, look.error) == (entry.looking, one, None)


def test_failures_are_said_once_and_end(caplog: pytest.LogCaptureFixture) -> None:
    """Tries come at 0.25 s, doubling to 5 s; each new text is logged once, and so is the end of it."""
    caplog.set_level(logging.INFO, "podsync")
    desk = Desk()
    desk.full()
    desk.engine.unavailable()
    waits = []
    for _ in range(7):
        desk.clock.advance(desk.looks.wait())
        desk.full()
        waits.append(desk.looks.wait())
    assert waits == [0.25, 0.5, 1, 2, 4, 5, 5]
    assert not desk.looks.usable
    desk.looks.failed(RuntimeUnavailable("another reason"))
    assert desk.looks.engine_error == "another reason"
    desk.engine.unavailable(away=False)
    desk.clock.advance(5)
    desk.full()
    assert desk.looks.usable
    assert [r.message.rpartition(": ")[2] for r in caplog.records] == [
        "the fake engine is down",
        "another reason",
        "the engine answers again",
    ]
    desk.looks.failed(RuntimeUnavailable("away"))
    assert desk.looks.wait() == 0.25  # counted anew


@pytest.mark.parametrize("lane", ["look:", "look:default/web"])
def test_what_a_look_raises_is_its_news(lane: str) -> None:
    """Nothing raised inside a look is lost or reaches the worker."""
    desk = Desk()
    desk.engine.unavailable()
    desk.looks.send_full_if_due(NONE)
    desk.looks.send(Entry(KEY, pod=wanted("u1")))
    look = desk.lanes.jobs[lane]()
    assert isinstance(look, Looked)
    assert isinstance(look.error, RuntimeUnavailable)
