"""Plays a plan forward on the fake runtime: every step until nothing is left to do.

The pure core gives forecasts free: what is really there goes into the fake, each batch
is carried out on it, and the clock moves to whatever the plan waits for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from podsync import ledger
from podsync.clock import ManualClock
from podsync.executor import Executor
from podsync.models import PodKey
from podsync.plan import Plan, PodPlan, PullImage
from podsync.runtimes.base import Observation
from podsync.runtimes.fake import FakeRuntime
from podsync.state import Actual, ActualPod, PodMemory, grouped
from podsync.volumes import MemoryVolumes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from podsync.plan import Action
    from podsync.reconciler import Reconciler
    from podsync.state import Desired

__all__ = ["forecast"]

ROUNDS = 200
"""A plan that has not come to rest by then is told as far as it got."""
HORIZON = timedelta(hours=1)


def forecast(reconciler: Reconciler, desired: Desired, actual: Actual) -> Plan:
    """All steps from ``actual`` to rest as one plan.

    Assumes that images can be pulled, init containers end well and main ones run on
    and leave when told to.
    """
    clock = ManualClock(actual.observed_at)
    sandboxes = tuple(s for pod in actual.pods.values() for s in pod.sandboxes)
    runtime = FakeRuntime.from_observation(
        Observation(actual.observed_at, sandboxes), clock, node=reconciler.settings.node_name
    )
    volumes = _seeded(actual)
    executor = Executor(runtime, volumes, clock, _in_turn)
    pods = dict(actual.pods)
    done: dict[PodKey, list[tuple[Action, ...]]] = {}
    pulls: dict[PodKey, list[PullImage]] = {}
    last: Mapping[PodKey, PodPlan] = {}
    absent = set(actual.absent_images)
    for _ in range(ROUNDS):
        plan = reconciler.sync(desired, Actual(clock.now(), pods, frozenset(absent)))
        last = plan.pods
        for key, pod_plan in plan.pods.items():
            done.setdefault(key, []).extend(pod_plan.stages)
            pulls.setdefault(key, []).extend(pod_plan.pulls)
            pods[key] = _carried_out(executor, pods.get(key, ActualPod()), pod_plan)
            absent.difference_update(pull.image for pull in pod_plan.pulls)
        pods = _looked(runtime, volumes, pods)
        if not plan:
            wake = plan.wake_at
            if wake is None or wake - actual.observed_at > HORIZON:
                break
            clock.advance(max(0.001, (wake - clock.now()).total_seconds()))
    keys = sorted({*done, *last})
    return Plan(
        {
            key: replace(last.get(key, PodPlan(key)), stages=tuple(done.get(key, ())), pulls=tuple(pulls.get(key, ())))
            for key in keys
            if done.get(key) or pulls.get(key) or key in last
        }
    )


def _seeded(actual: Actual) -> MemoryVolumes:
    volumes = MemoryVolumes()
    for key, pod in actual.pods.items():
        for uid in pod.folders:
            volumes.note(uid, key)
    return volumes


def _carried_out(executor: Executor, pod: ActualPod, plan: PodPlan) -> ActualPod:
    memory = pod.memory
    for pull in plan.pulls:
        memory = ledger.pull_succeeded(memory, pull.image)
    for outcome in executor.run(plan.stages):
        memory = ledger.remember(memory, outcome)
    return replace(pod, memory=memory)


def _looked(runtime: FakeRuntime, volumes: MemoryVolumes, pods: Mapping[PodKey, ActualPod]) -> dict[PodKey, ActualPod]:
    found = grouped(runtime.list_sandboxes(), volumes.folders())
    remembered = {key for key, pod in pods.items() if pod.memory != PodMemory()}
    seen = {key: found.get(key, ActualPod()) for key in {**found, **dict.fromkeys(remembered)}}
    return {
        key: replace(pod, memory=ledger.forget_gone(pods.get(key, ActualPod()).memory, pod.sandboxes))
        for key, pod in seen.items()
    }


def _in_turn(jobs: Sequence[Callable[[], None]]) -> None:
    for job in jobs:
        job()
