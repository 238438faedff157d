"""What must be true once trouble has ended and time has gone by."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from podsync import plan as plans
from podsync.reconciler import Reconciler
from podsync.runtimes.base import ContainerRecord, ContainerState, SandboxRecord
from podsync.state import Actual, ActualPod, Desired

if TYPE_CHECKING:
    from podsync.models import ContainerStatus, Pod, PodKey, PodStatus

__all__ = ["problems_at_rest"]

LIVE = frozenset({"Running", "Pending"})
OVER = frozenset({"Succeeded", "Failed"})


def problems_at_rest(
    *,
    wanted: Mapping[PodKey, Pod],
    statuses: Mapping[PodKey, PodStatus],
    sandboxes: Sequence[SandboxRecord],
    folders: Collection[str],
    now: datetime,
    reconciler: Reconciler,
) -> Iterator[str]:
    """Everything in which the engine, the folders and the statuses differ from the manifests."""
    uids = {pod.metadata.uid for pod in wanted.values()}
    yield from (f"{s.name} is left behind" for s in sandboxes if s.uid not in uids)
    yield from (f"the folder of {uid} is left behind" for uid in folders if uid not in uids)
    yield from (f"there is a status of {key}" for key in statuses if key not in wanted)
    for key, pod in wanted.items():
        status = statuses.get(key)
        if status is None:
            yield f"there is no status of {key}"
            continue
        own = [s for s in sandboxes if s.uid == pod.metadata.uid]
        yield from (f"{key}: {problem}" for problem in _pod(status, own))
    actual = {
        key: ActualPod(
            tuple(s for s in sandboxes if s.uid == pod.metadata.uid), frozenset(folders) & {pod.metadata.uid}
        )
        for key, pod in wanted.items()
    }
    for pod_plan in reconciler.sync(Desired(wanted), Actual(now, actual)).pods.values():
        status = statuses.get(pod_plan.key)
        waiting = {c.name for c in _all(status) if c.state.waiting is not None} if status is not None else set()
        for action in pod_plan.actions():
            if not _waits(action, waiting, wanted[pod_plan.key]):
                yield f"{pod_plan.key}: it is left to {plans.describe(action)}"


def _pod(status: PodStatus, own: Sequence[SandboxRecord]) -> Iterator[str]:
    ready = [s for s in own if s.ready]
    if len(ready) > 1:
        yield "several sandboxes run"
    if status.phase == "Running" and not ready:
        yield "it runs without a sandbox"
    if status.phase in OVER and ready:
        yield "it is over and its sandbox runs"
    for told in _all(status):
        newest = max((c for s in own for c in s.containers if c.container_name == told.name), key=_age, default=None)
        running = newest is not None and newest.state is ContainerState.RUNNING
        if running is not (told.state.running is not None):
            yield f"{told.name} is {'running' if running else 'not running'}, and its status says otherwise"
        if newest is not None and newest.started_at is not None and told.restart_count != newest.attempt:
            yield f"{told.name} is run {newest.attempt}, and its status says {told.restart_count}"
        waiting = told.state.waiting
        if waiting is not None and status.phase in LIVE and waiting.reason in {"", "ContainerCreating"}:
            yield f"{told.name} waits for nothing"


def _all(status: PodStatus) -> Iterator[ContainerStatus]:
    yield from status.init_container_statuses
    yield from status.container_statuses


def _age(record: ContainerRecord) -> int:
    return record.attempt


def _waits(action: plans.Action, waiting: Collection[str], pod: Pod) -> bool:
    """Whether the action is held back for a reason that only the agent remembers, and the status tells."""
    match action:
        case plans.CreateContainer(container_name=name) | plans.StartContainer(container_name=name):
            return name in waiting
        case plans.PullImage(image=image):
            return any(c.image == image and c.name in waiting for c in pod.spec.containers)
        case plans.MountVolumes():
            return bool(waiting)
        case _:
            return False
