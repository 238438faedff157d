"""A pod's batch: the job that carries it out, and what its end means for the pod's entry. Part of the owner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from podsync import ledger
from podsync.backoff import Backoff
from podsync.errors import ImageAbsent
from podsync.messages import BatchDone

if TYPE_CHECKING:
    from podsync.executor import Executor
    from podsync.ledger import Entry
    from podsync.messages import Message, Outcome
    from podsync.observer import Observer
    from podsync.plan import PodPlan

__all__ = ["absorb", "job"]

RETRY = Backoff(initial=0.5, maximum=30)
"""Between batches that failed in a way the planner does not remember."""


def job(executor: Executor, observer: Observer, plan: PodPlan) -> Callable[[], Message]:
    """Carry the stages out, then look at the pods they touched: the look began after the last action ended."""
    uids = ledger.uids_of(plan.stages)

    def run() -> Message:
        outcomes: tuple[Outcome, ...] = ()
        try:
            outcomes = executor.run(plan.stages)
            sandboxes = tuple(s for uid in uids for s in observer.look(uid))
        except Exception as error:  # noqa: BLE001 - the owner tells a fault from a mistake
            return BatchDone(plan.key, outcomes, uids, look_error=error)
        return BatchDone(plan.key, outcomes, uids, sandboxes)

    return run


def absorb(entry: Entry, done: BatchDone, now: float) -> None:
    """Bring the entry up to date; it has to be looked at again if the batch's own look told nothing.

    ``now`` is the monotonic time.
    """
    entry.busy = False
    entry.dirty = entry.changed = True
    memory, setback = entry.actual.memory, False
    for outcome in done.outcomes:
        memory = ledger.remember(memory, outcome)
        if outcome.error is not None and not isinstance(outcome.error, ImageAbsent):
            setback |= not ledger.remembers(outcome)
    entry.remember(memory)
    entry.actual = replace(entry.actual, folders=ledger.folder_changes(done.outcomes, entry.actual.folders))
    entry.setbacks = entry.setbacks + 1 if setback else 0
    entry.hold_until = now + RETRY.after(entry.setbacks) if entry.setbacks else 0.0
    if done.look_error is not None or (not done.uids and entry.actual.sandboxes):
        entry.stale = True
    else:
        entry.see(done.sandboxes, done.uids)
        entry.stale = False
