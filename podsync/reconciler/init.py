"""Init containers: one after the other, each to its good end, before anything else.

They run once in each sandbox. Once a regular container exists in the sandbox they are
past for good, even if their instances have been pruned behind our back.
"""

from __future__ import annotations

from podsync import restarts
from podsync.plan import Cause
from podsync.reconciler.containers import first_cause, start_again, start_next
from podsync.reconciler.draft import Draft, View
from podsync.reconciler.sandbox import Place
from podsync.reconciler.termination import end
from podsync.runtimes.base import ContainerState

__all__ = ["run_init"]


def run_init(view: View, draft: Draft, place: Place) -> bool:
    """Plan the next step of the pod's initialisation; true once it is done."""
    init = view.pod.spec.init_containers
    position = restarts.init_position(view.pod, view.instances, place.attempt)
    if position == len(init):
        return True
    container = init[position]
    known = view.instances.get(container.name)
    if not known or known[-1].sandbox_attempt != place.attempt:
        cause = first_cause(place, after_init=position > 0)
        start_next(view, draft, place, container, cause, init=True)
        return False
    record = known[-1].record
    match record.state:
        case ContainerState.CREATED:
            start_again(view, draft, record)
        case ContainerState.UNKNOWN:
            end(draft, [record], Cause.INIT_FAILED)
        case ContainerState.EXITED:
            delay = restarts.delay_after(record)
            start_next(view, draft, place, container, Cause.INIT_FAILED, delay=delay, after=record, init=True)
        case _:
            pass  # it runs: the others wait
    return False
