"""The plan as a value: iterable, countable, printable, executable."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import get_args

import pytest

from podsync import plan
from podsync.models import ObjectMeta, PodKey
from podsync.plan import Action, Cause, Plan, PodPlan, Waiting, describe
from podsync.reconciler import Reconciler
from podsync.runtimes.base import ContainerId
from podsync.runtimes.fake import FakeRuntime
from podsync.testing.builders import PodNames, container, pod

AT = datetime(2030, 1, 1, tzinfo=UTC)
NEW = Cause.NEW_POD
NAMES = PodNames("n", name="web", uid="0123456789abcdef")
POD = pod("web").evolve(metadata=ObjectMeta(name="web", namespace="default", uid=NAMES.uid))
KEY, OTHER = PodKey("default", "web"), PodKey("a", "web")

WORDS: list[tuple[Action, str]] = [
    (plan.MountVolumes(POD, NEW), "+ mount volumes of 01234567 (new pod)"),
    (plan.UnmountVolumes(NAMES.uid, Cause.POD_DELETED), "- unmount volumes of 01234567 (pod deleted)"),
    (plan.CreateSandbox(NAMES.sandbox(2), NEW), "+ create sandbox POD#2 (new pod)"),
    (plan.StartSandbox(NAMES.ref("POD"), POD, NEW), "+ start sandbox POD#0 (new pod)"),
    (
        plan.RemoveSandbox("id", NAMES.ref("POD"), (), Cause.OUTDATED),
        "- remove sandbox POD#0 (superseded by a newer instance)",
    ),
    (plan.RemoveSandbox("id", NAMES.ref("POD"), ("a", "b"), NEW), "- remove sandbox POD#0 and 2 containers (new pod)"),
    (plan.StopSandbox("id", NAMES.ref("POD"), Cause.POD_FINISHED), "~ stop sandbox POD#0 (pod finished)"),
    (
        plan.CreateContainer(NAMES.ref("POD"), NAMES.container("busybox", attempt=3), POD, "main", NEW),
        "+ create container main#3 (new pod)",
    ),
    (plan.StartContainer(NAMES.ref("main"), "main", NEW), "+ start container main#0 (new pod)"),
    (
        plan.SignalContainer(ContainerId("c"), NAMES.ref("main", 1), "main", "SIGKILL", Cause.GRACE_EXPIRED),
        "~ signal container main#1 SIGKILL (grace period expired)",
    ),
    (plan.RemoveContainer(ContainerId("c"), NAMES.ref("main"), NEW), "- remove container main#0 (new pod)"),
    (plan.PullImage("busybox", Cause.IMAGE_ABSENT), "+ pull image busybox (image is not present)"),
]
ACTIONS = [action for action, _ in WORDS]


@pytest.mark.parametrize(("action", "words"), WORDS, ids=[type(action).__name__ for action in ACTIONS])
def test_every_action_in_words(action: Action, words: str) -> None:
    """One line: a sign, what is done to which instance, and why."""
    assert describe(action) == words


def test_no_kind_of_action_is_forgotten_here() -> None:
    """The table above has every kind."""
    assert {type(action) for action in ACTIONS} == set(get_args(Action))


def test_a_name_of_somebody_else_is_shown_as_it_is() -> None:
    """What does not follow the naming is not cut."""
    assert describe(plan.RemoveSandbox("id", "their_thing", (), NEW)) == "- remove sandbox their_thing (new pod)"


PULL = plan.PullImage("busybox", NEW)
MOUNT, CREATE, START = ACTIONS[0], ACTIONS[2], ACTIONS[3]
SOME = Plan(
    {
        KEY: PodPlan(KEY, stages=((MOUNT,), (CREATE, START)), wake_at=AT + timedelta(seconds=5)),
        OTHER: PodPlan(OTHER, stages=((MOUNT,),), pulls=(PULL,), wake_at=AT),
    }
)


def test_a_plan_is_its_actions() -> None:
    """Pod by pod in key order, a pod's pulls first, then its stages."""
    assert list(SOME) == [PULL, MOUNT, MOUNT, CREATE, START]
    assert len(SOME) == 5
    assert list(SOME.pods[OTHER].actions()) == [PULL, MOUNT]


def test_a_plan_as_text() -> None:
    """One line an action, with its pod; nothing for nothing."""
    assert str(SOME).splitlines() == [
        f"a/web: {describe(PULL)}",
        f"a/web: {describe(MOUNT)}",
        *(f"default/web: {describe(action)}" for action in (MOUNT, CREATE, START)),
    ]
    assert str(Plan()) == ""


@pytest.mark.parametrize(
    ("one", "true"),
    [
        (PodPlan(KEY), False),
        (PodPlan(KEY, waiting=(Waiting("main", "CrashLoopBackOff"),), wake_at=AT, terminating=True), False),
        (PodPlan(KEY, pulls=(PULL,)), True),
        (PodPlan(KEY, stages=((MOUNT,),)), True),
    ],
)
def test_a_plan_is_true_when_there_is_something_to_do(one: PodPlan, true: bool) -> None:
    """Waiting alone is nothing to do."""
    made = Plan({KEY: one})
    assert bool(made) is true
    assert bool(len(made)) is true
    assert not Plan()


def test_when_to_plan_again() -> None:
    """The earliest moment any pod asks for; none when none does."""
    assert SOME.wake_at == AT
    assert Plan({KEY: PodPlan(KEY)}).wake_at is None
    assert Plan().wake_at is None


def test_executing_until_nothing_is_left() -> None:
    """Plan, execute, look, plan again: on the fake engine this ends at what is wanted, and at nothing."""
    runtime = FakeRuntime()
    pods = [pod("web", container("a"), container("b"), init_containers=(container("i"),)), pod("two")]
    rounds = 0
    while made := Reconciler().sync(pods, runtime.observe()):
        made.execute(runtime)
        rounds += 1
    running = [c.container_name for s in runtime.observe().sandboxes for c in s.containers if c.state == "running"]
    assert sorted(running) == ["a", "b", "main"]
    assert rounds == 2
    while made := Reconciler().sync([], runtime.observe()):
        made.execute(runtime)
    assert runtime.observe().sandboxes == ()
