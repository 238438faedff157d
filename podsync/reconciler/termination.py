"""How things end: TERM, the grace period, KILL, and only then removal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from podsync import labels, restarts
from podsync.plan import Cause, PodPlan, RemoveSandbox, SignalContainer, StopSandbox, UnmountVolumes
from podsync.reconciler.draft import Draft
from podsync.runtimes.base import ContainerRecord, ContainerState, SandboxRecord

if TYPE_CHECKING:
    from podsync.models import PodKey
    from podsync.state import ActualPod, PodMemory

__all__ = ["DEFAULT_GRACE", "alive", "end", "living", "removal_plan", "remove", "remove_sandbox", "stop"]

DEFAULT_GRACE = 30
"""Seconds: terminationGracePeriodSeconds where a label is lost."""
MIN_GRACE = 2
"""Seconds between TERM and KILL at the least, whatever the pod says (the kubelet's minimum)."""
KILL_AGAIN = timedelta(seconds=5)
"""A process that outlives KILL hangs in the kernel: asking again soon is of no use."""


def alive(record: ContainerRecord) -> bool:
    """Whether a process may run in it."""
    return record.state in (ContainerState.RUNNING, ContainerState.UNKNOWN)


def living(sandboxes: Iterable[SandboxRecord], memory: PodMemory) -> list[ContainerRecord]:
    """The containers of those sandboxes that may still run."""
    records = (restarts.settled(record, memory) for sandbox in sandboxes for record in sandbox.containers)
    return [record for record in records if alive(record)]


def end(draft: Draft, records: Sequence[ContainerRecord], cause: Cause) -> bool:
    """Plan the next step of ending those containers; true while any of them may run.

    All are told at the same moment. The grace period is the one they were made with.
    An unknown state has no process to ask politely: it is KILL at once.
    """
    for record in records:
        if record.state is ContainerState.UNKNOWN:
            _kill(draft, record, cause)
            continue
        grace = timedelta(seconds=max(MIN_GRACE, labels.integer(record.labels, labels.GRACE, DEFAULT_GRACE)))
        sent = draft.memory.term_sent.get(record.id)
        if sent is None:
            draft.before.append(SignalContainer(record.id, record.name, record.container_name, "SIGTERM", cause))
            draft.wake(draft.now + grace)
        elif draft.now < sent + grace:
            draft.wake(sent + grace)
        else:
            _kill(draft, record, Cause.GRACE_EXPIRED)
    return bool(records)


def _kill(draft: Draft, record: ContainerRecord, cause: Cause) -> None:
    sent = draft.memory.kill_sent.get(record.id)
    if sent is None or draft.now >= sent + KILL_AGAIN:
        draft.before.append(SignalContainer(record.id, record.name, record.container_name, "SIGKILL", cause))
        draft.wake(draft.now + KILL_AGAIN)
    else:
        draft.wake(sent + KILL_AGAIN)


def remove(draft: Draft, sandboxes: Sequence[SandboxRecord], cause: Cause) -> None:
    """Plan the next step of removing those sandboxes, their containers and their uids' folders."""
    draft.terminating = True
    if end(draft, living(sandboxes, draft.memory), cause):
        return
    draft.before += [remove_sandbox(sandbox, cause) for sandbox in sandboxes]
    draft.after += [UnmountVolumes(uid, cause) for uid in dict.fromkeys(s.uid for s in sandboxes)]


def remove_sandbox(sandbox: SandboxRecord, cause: Cause) -> RemoveSandbox:
    """The removal of a sandbox with all it holds; one already lost goes by its name."""
    containers = tuple(record.id for record in sandbox.containers)
    return RemoveSandbox(sandbox.id or sandbox.name, sandbox.name, containers, cause)


def stop(draft: Draft, sandboxes: Iterable[SandboxRecord], cause: Cause) -> bool:
    """Plan the end of those sandboxes' own processes; true while any of them runs. Records are kept."""
    running = [sandbox for sandbox in sandboxes if sandbox.ready]
    draft.before += [StopSandbox(sandbox.id, sandbox.name, cause) for sandbox in running]
    return bool(running)


def removal_plan(key: PodKey, actual: ActualPod, now: datetime) -> PodPlan | None:
    """The next step for a pod that no source wants any more."""
    draft = Draft(key, now, actual.memory)
    if actual.sandboxes:
        remove(draft, actual.sandboxes, Cause.POD_DELETED)
    left = actual.folders.difference(s.uid for s in actual.sandboxes)
    draft.after += [UnmountVolumes(uid, Cause.POD_DELETED) for uid in sorted(left)]
    draft.terminating = bool(actual.sandboxes or left)
    return draft.finish()
