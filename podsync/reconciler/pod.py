"""The next safe steps for one wanted pod."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from podsync import restarts
from podsync.backoff import VOLUME
from podsync.plan import Cause, MountVolumes, PodPlan, Verdict
from podsync.reconciler.cleanup import prune, sweep_folders
from podsync.reconciler.containers import changed, run_regular
from podsync.reconciler.draft import Draft, View, hold_pod
from podsync.reconciler.init import run_init
from podsync.reconciler.sandbox import VOLUMES_SUBJECT, find_place
from podsync.reconciler.termination import end, living, remove, stop

if TYPE_CHECKING:
    from podsync.runtimes.base import ContainerRecord

__all__ = ["pod_plan"]

DEADLINE_EXCEEDED = Verdict(
    "Failed", "DeadlineExceeded", "Pod was active on the node longer than the specified deadline"
)


def pod_plan(view: View, rejection: Verdict | None) -> PodPlan | None:
    """Plan one pod; None when there is nothing to do, to say or to wait for."""
    draft = Draft(view.pod.key, view.now, view.memory)
    _decide(view, draft, rejection)
    sweep_folders(view, draft, keep_own=rejection is None)
    return draft.finish()


def _decide(view: View, draft: Draft, rejection: Verdict | None) -> None:
    if rejection is not None:
        draft.verdict = rejection
        if view.actual.sandboxes:
            remove(draft, view.actual.sandboxes, Cause.POD_REPLACED)
        return
    former = [sandbox for sandbox in view.actual.sandboxes if sandbox.uid != view.uid]
    if former:
        # old and new never run side by side
        remove(draft, former, Cause.POD_REPLACED)
        return
    deadline = _deadline(view)
    if restarts.is_finished(view.pod, view.own, view.instances, view.memory):
        ended = restarts.last_end(view.instances)
        overdue = deadline is not None and ended is not None and ended >= deadline
        if overdue:
            draft.verdict = DEADLINE_EXCEEDED
        _rest(view, draft, Cause.DEADLINE_EXCEEDED if overdue else Cause.POD_FINISHED)
    elif deadline is not None and view.now >= deadline:
        draft.verdict = DEADLINE_EXCEEDED
        draft.terminating = end(draft, living(view.own, view.memory), Cause.DEADLINE_EXCEEDED)
        if not draft.terminating:
            _rest(view, draft, Cause.DEADLINE_EXCEEDED)
    elif _was_being_removed(view):
        remove(draft, view.own, Cause.POD_DELETED)
    else:
        _run(view, draft)
        if deadline is not None:
            draft.wake(deadline)


def _run(view: View, draft: Draft) -> None:
    place = find_place(view, draft)
    if place is None:
        return
    _end_strangers(view, draft)
    missing = not draft.before and view.uid not in view.actual.folders
    if missing and hold_pod(view, draft, VOLUMES_SUBJECT, VOLUME):
        return
    if run_init(view, draft, place):
        for container in view.pod.spec.containers:
            run_regular(view, draft, place, container)
    if missing and draft.creates:
        draft.before.append(MountVolumes(view.pod, Cause.NEVER_STARTED))
    if not draft.acts:
        prune(view, draft)


def _end_strangers(view: View, draft: Draft) -> None:
    """Containers that an edit has taken out of a pod whose uid is written in its manifest."""
    spec = view.pod.spec
    wanted = {container.name for container in (*spec.init_containers, *spec.containers)}
    strangers = [record for record in living(view.own, view.memory) if record.container_name not in wanted]
    end(draft, strangers, Cause.ORPHAN)


def _rest(view: View, draft: Draft, cause: Cause) -> None:
    """The pod is over: its network is freed, its records stay."""
    if not stop(draft, view.own, cause):
        prune(view, draft)


def _deadline(view: View) -> datetime | None:
    """When ``activeDeadlineSeconds`` is over; it counts from the pod's start time."""
    seconds = view.pod.spec.active_deadline_seconds
    start = restarts.start_time(view.own) if seconds is not None else None
    return None if seconds is None or start is None else start + timedelta(seconds=seconds)


def _was_being_removed(view: View) -> bool:
    """Whether the pod was taken away and put back while it was being ended.

    Told to end, although neither its sandbox nor its definition gives a reason: then the
    removal goes on to its end and the pod starts afresh, as on a kubelet.
    """
    if not view.memory.term_sent or not view.own or not view.own[-1].ready:
        return False
    spec = view.pod.spec
    containers = {container.name: container for container in (*spec.init_containers, *spec.containers)}

    def told(record: ContainerRecord) -> bool:
        container = containers.get(record.container_name)
        newest = view.newest(record.container_name)
        return (
            record.id in view.memory.term_sent
            and container is not None
            and newest is not None
            and newest.id == record.id
            and not changed(container, record)
        )

    return any(told(record) for record in view.own[-1].containers)
