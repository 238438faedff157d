"""A plan played forward to rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from podsync import forecast as forecasts
from podsync import identity
from podsync.clock import ManualClock
from podsync.executor import Executor
from podsync.forecast import forecast
from podsync.models import EnvVar, Pod, PodKey
from podsync.plan import Plan, describe
from podsync.reconciler import NodeSettings, Reconciler
from podsync.runtimes.fake import FakeEngine, FakeRuntime, exits
from podsync.state import Actual, ActualPod, Desired
from podsync.testing.builders import container, pod
from podsync.volumes import MemoryVolumes

NODE = "node-1"
RECONCILER = Reconciler(NodeSettings(node_name=NODE, root="/root"))
WEB = PodKey("default", "web")


def wanted(*pods: Pod) -> Desired:
    """What a source would want, adopted."""
    return Desired({p.key: identity.adopt(p, NODE, "a") for p in pods})


class Host:
    """An engine with pods on it, that forecasts are made for."""

    def __init__(self, **programs: object) -> None:
        self.clock = ManualClock()
        self.runtime = FakeRuntime(node=NODE, engine=FakeEngine(self.clock), programs=programs)  # type: ignore[arg-type]
        self.volumes = MemoryVolumes()

    def actual(self, absent: Sequence[str] = ()) -> Actual:
        """What is there, as the agent would see it at its start."""
        pods: dict[PodKey, ActualPod] = {}
        for sandbox in self.runtime.list_sandboxes():
            key = PodKey(sandbox.namespace, sandbox.pod_name)
            known = pods.get(key, ActualPod())
            pods[key] = ActualPod((*known.sandboxes, sandbox))
        for uid, key in self.volumes.folders().items():
            known = pods.get(key, ActualPod())
            pods[key] = ActualPod(known.sandboxes, known.folders | {uid})
        return Actual(self.clock.now(), pods, frozenset(absent))

    def bring(self, desired: Desired) -> None:
        """Carry out what is wanted."""
        executor = Executor(self.runtime, self.volumes, self.clock, _in_turn)
        while plan := RECONCILER.sync(desired, self.actual()):
            for pod_plan in plan.pods.values():
                executor.run(pod_plan.stages)


def _in_turn(jobs: Sequence[Callable[[], None]]) -> None:
    for job in jobs:
        job()


def steps(plan: Plan, key: PodKey = WEB) -> list[str]:
    """One pod's steps in words, without causes and uids."""
    words = [describe(action).rpartition(" (")[0] for action in plan.pods[key].actions()] if key in plan.pods else []
    return [line.rpartition(" of ")[0] if "volumes of" in line else line for line in words]


def edited(before: Pod) -> Pod:
    """The same pod with another environment."""
    containers = tuple(c.evolve(env=(EnvVar(name="E", value="1"),)) for c in before.spec.containers)
    return before.evolve(spec=before.spec.evolve(containers=containers))


MAKE = ["+ mount volumes", "+ create sandbox POD#0", "+ start sandbox POD#0"]
RUN = ["+ create container main#0", "+ start container main#0"]
END = ["~ signal container main#0 SIGTERM", "- remove sandbox POD#0 and 1 containers", "- unmount volumes"]


def test_a_new_pod_with_init_containers() -> None:
    """Init containers end well one after the other, then the main ones start; that is all."""
    new = pod("web", container("a"), container("b"), init_containers=(container("i"), container("j")))
    assert steps(forecast(RECONCILER, wanted(new), Host().actual())) == [
        *MAKE,
        *(f"+ {verb} container {name}#0" for name in "ij" for verb in ("create", "start")),
        *(f"+ {verb} container {name}#0" for verb in ("create", "start") for name in "ab"),
    ]


def test_what_is_as_it_should_be_has_no_steps() -> None:
    """A forecast of rest is empty, and leaves the engine it was made for alone."""
    host = Host()
    host.bring(wanted(pod("web")))
    before = host.runtime.engine.changes()
    assert not forecast(RECONCILER, wanted(pod("web")), host.actual())
    assert forecast(RECONCILER, wanted(), host.actual())
    assert host.runtime.engine.changes() == before


def test_an_edit() -> None:
    """The old pod is told to end and removed with its volumes, then the new one is made."""
    host = Host()
    host.bring(wanted(pod("web")))
    plan = forecast(RECONCILER, wanted(edited(pod("web"))), host.actual())
    assert steps(plan) == [*END, *MAKE, *RUN]
    assert str(plan).splitlines()[0].endswith("SIGTERM (pod replaced by an edited manifest)")


def test_a_removal() -> None:
    """Told to end, removed, volumes too; nothing at all while not every source has spoken."""
    host = Host()
    host.bring(wanted(pod("web")))
    assert steps(forecast(RECONCILER, wanted(), host.actual())) == END
    assert not forecast(RECONCILER, Desired({}, complete=False), host.actual())


@pytest.mark.parametrize(("policy", "absent"), [("IfNotPresent", ["far:1"]), ("Always", ["far:1"]), ("Always", [])])
def test_an_image_is_pulled_once(policy: str, absent: list[str]) -> None:
    """What is not there, or always wanted anew, is pulled and used; what else can start does not wait for it."""
    new = pod("web", container(image="far:1", image_pull_policy=policy), container("near"))
    assert steps(forecast(RECONCILER, wanted(new), Host().actual(absent))) == [
        "+ pull image far:1",
        *MAKE,
        *("+ create container near#0", "+ start container near#0"),
        *RUN,
    ]


def test_an_image_that_is_never_pulled_ends_the_forecast() -> None:
    """A pod that waits for ever is told as far as it gets."""
    new = pod("web", container(image="far:1", image_pull_policy="Never"))
    plan = forecast(RECONCILER, wanted(new), Host().actual(["far:1"]))
    assert steps(plan) == MAKE
    assert [w.reason for w in plan.pods[WEB].waiting] == ["ErrImageNeverPull"]


def test_a_crash_loop_is_told_to_its_next_start() -> None:
    """A container in back-off is started once more, and assumed to run on from there."""
    host = Host(main=exits(1))
    host.bring(wanted(pod("web")))
    assert [w.reason for w in RECONCILER.sync(wanted(pod("web")), host.actual()).pods[WEB].waiting] == [
        "CrashLoopBackOff"
    ]
    assert steps(forecast(RECONCILER, wanted(pod("web")), host.actual())) == [
        *("+ create container main#2", "+ start container main#2", "- remove container main#0"),
    ]


@pytest.mark.parametrize(("seconds", "ends"), [(600, True), (7200, False)])
def test_how_far_it_looks(seconds: int, ends: bool) -> None:
    """What time alone brings is told for an hour ahead."""
    plan = forecast(RECONCILER, wanted(pod("web", active_deadline_seconds=seconds)), Host().actual())
    assert steps(plan)[:5] == [*MAKE, *RUN]
    assert ("~ signal container main#0 SIGTERM" in steps(plan)) is ends


def test_a_forecast_that_finds_no_rest_ends_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """After so many rounds it is told as far as it got."""
    monkeypatch.setattr(forecasts, "ROUNDS", 2)
    new = pod("web", init_containers=(container("i"), container("j")))
    assert steps(forecast(RECONCILER, wanted(new), Host().actual())) == [
        *MAKE,
        *(f"+ {verb} container {name}#0" for name in "ij" for verb in ("create", "start")),
    ]


def test_several_pods_are_told_each_by_itself() -> None:
    """One pod's waiting holds up no other's steps; folders without a pod are swept."""
    host = Host()
    host.volumes.note("f" * 32, PodKey("default", "left"))
    held = pod("held", container(image="far:1", image_pull_policy="Never"))
    plan = forecast(RECONCILER, wanted(pod("web"), held), host.actual(["far:1"]))
    assert steps(plan) == [*MAKE, *RUN]
    assert steps(plan, PodKey("default", "held")) == MAKE
    assert steps(plan, PodKey("default", "left")) == ["- unmount volumes"]
    assert [str(key) for key in plan.pods] == ["default/held", "default/left", "default/web"]


def test_a_grace_period_is_played_to_its_end() -> None:
    """A container that was told to end before is waited for and killed when its grace is over."""
    host = Host()
    host.bring(wanted(pod("web")))
    seen = host.actual()
    known = seen.pods[WEB]
    ident = known.sandboxes[0].containers[0].id
    memory = replace(known.memory, term_sent={ident: host.clock.now() - timedelta(seconds=10)})
    told = replace(seen, pods={WEB: replace(known, memory=memory)})
    assert steps(forecast(RECONCILER, wanted(), told)) == ["~ signal container main#0 SIGKILL", *END[1:]]
