"""Which containers are due: the regular ones, and what both kinds share.

=====================================  ==============================================
newest instance                        what follows
=====================================  ==============================================
none                                   created and started
created, never started                 started
running                                kept
running, name or image changed         told to end; a successor follows
unknown                                killed; then as exited
exited, will not run again             kept
exited, runs again                     a successor, once its back-off is over
of an older sandbox                    likewise, whatever state it is in
=====================================  ==============================================
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from podsync import identity, labels, restarts
from podsync.backoff import START
from podsync.plan import Cause, CreateContainer, StartContainer
from podsync.reconciler import build
from podsync.reconciler.images import image_ready
from podsync.reconciler.termination import end
from podsync.runtimes.base import ContainerState

if TYPE_CHECKING:
    from podsync.models import Container
    from podsync.reconciler.draft import Draft, View
    from podsync.reconciler.sandbox import Place
    from podsync.restarts import Instance
    from podsync.runtimes.base import ContainerRecord
    from podsync.state import Failure

__all__ = ["changed", "first_cause", "run_regular", "start_again", "start_next"]


def changed(container: Container, record: ContainerRecord) -> bool:
    """Whether the instance was made from another name or image, the fields a kubelet compares."""
    made_from = record.labels.get(labels.HASH)
    return made_from is not None and made_from != identity.container_hash(container)


def first_cause(place: Place, *, after_init: bool) -> Cause:
    """Why a container without an instance in this sandbox is made."""
    if after_init:
        return Cause.INIT_DONE
    return Cause.SANDBOX_DIED if place.attempt else Cause.NEW_POD


def run_regular(view: View, draft: Draft, place: Place, container: Container) -> None:
    """Plan the next step of one regular container of an initialised pod."""
    known = view.instances.get(container.name)
    if not known:
        after_init = bool(view.pod.spec.init_containers)
        start_next(view, draft, place, container, first_cause(place, after_init=after_init))
        return
    running = [i.record for i in known if i.record.state is ContainerState.RUNNING]
    if running:
        end(draft, running[:-1], Cause.OUTDATED)
        if changed(container, running[-1]):
            end(draft, running[-1:], Cause.CONTAINER_CHANGED)
        return
    record, here = known[-1].record, known[-1].sandbox_attempt == place.attempt
    if record.state is ContainerState.UNKNOWN:
        end(draft, [record], Cause.CONTAINER_EXITED)
    elif record.state is ContainerState.CREATED:
        if here and not changed(container, record):
            start_again(view, draft, record)
        else:
            cause = Cause.CONTAINER_CHANGED if here else Cause.SANDBOX_DIED
            # it never ran: what it waited for before it was made still counts
            delay = labels.number(record.labels, labels.BACKOFF)
            start_next(view, draft, place, container, cause, delay=delay)
    elif restarts.runs_again(view.pod, container, record, view.memory):
        _follow(view, draft, place, container, known[-1])


def _follow(view: View, draft: Draft, place: Place, container: Container, ended: Instance) -> None:
    """Plan the successor of an ended instance: a changed definition starts its back-off over."""
    record = ended.record
    if changed(container, record):
        start_next(view, draft, place, container, Cause.CONTAINER_CHANGED)
        return
    cause = Cause.CONTAINER_EXITED if ended.sandbox_attempt == place.attempt else Cause.SANDBOX_DIED
    start_next(view, draft, place, container, cause, delay=restarts.delay_after(record), after=record)


def start_again(view: View, draft: Draft, record: ContainerRecord) -> None:
    """Start an instance that was created and never started, unless that has just failed."""
    if not _held(view, draft, record.container_name, view.memory.failures.get(record.container_name)):
        draft.starts.append(StartContainer(record.name, record.container_name, Cause.NEVER_STARTED))


def start_next(
    view: View,
    draft: Draft,
    place: Place,
    container: Container,
    cause: Cause,
    *,
    delay: float | None = None,
    after: ContainerRecord | None = None,
    init: bool = False,
) -> None:
    """Plan the container's next instance, unless a back-off, its settings or its image hold it.

    ``delay`` is the crash-loop back-off in seconds that precedes it, counted from the end
    of ``after``; None for an instance that counts as the first.
    """
    name = container.name
    ended = restarts.ended_at(after) if after is not None else None
    due = ended + timedelta(seconds=delay) if ended is not None and delay is not None else None
    if _held(view, draft, name, _failure_since(view, name, after), crash_loop=(due, delay or 0.0)):
        return
    if not image_ready(view, draft, container):
        return
    origin = build.Origin(
        sandbox_attempt=place.attempt,
        attempt=_number(view, place, name),
        start_time=restarts.start_time(view.own) or view.now,
        delay=delay,
        init=init,
    )
    spec = build.container_spec(view.settings, view.pod, container, origin)
    draft.creates.append(CreateContainer(place.sandbox, spec, view.pod, name, cause))
    draft.starts.append(StartContainer(spec.name, name, cause))


def _number(view: View, place: Place, name: str) -> int:
    """The restart count of the next instance."""
    known = view.instances.get(name)
    if not known:
        return 0
    newest = known[-1]
    # one that never ran and goes with its sandbox leaves its number to its successor
    gone = newest.sandbox_attempt == place.replaces and newest.record.state is ContainerState.CREATED
    return newest.record.attempt + (0 if gone else 1)


def _failure_since(view: View, name: str, after: ContainerRecord | None) -> Failure | None:
    """The container's last failed try, unless an instance has ended since: that one tells more."""
    failure = view.memory.failures.get(name)
    if failure is None or after is None:
        return failure
    ended = restarts.ended_at(after)
    return None if ended is not None and ended > failure.at else failure


def _held(
    view: View,
    draft: Draft,
    name: str,
    failure: Failure | None,
    *,
    crash_loop: tuple[datetime | None, float] = (None, 0.0),
) -> bool:
    """Whether a failed try or the crash loop (its end, its seconds) holds the container back; if so, say which."""
    due, delay = crash_loop
    retry = failure.at + timedelta(seconds=START.after(failure.count)) if failure is not None else None
    until = max((moment for moment in (retry, due) if moment is not None), default=None)
    if until is None or view.now >= until:
        return False
    if failure is not None and retry is not None and view.now < retry:
        draft.wait(name, failure.reason, failure.message, until)
    else:
        draft.wait(name, "CrashLoopBackOff", restarts.back_off_text(view.pod, name, delay), until)
    return True
