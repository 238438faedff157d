"""Sandboxes: does the pod need a (new) one.

==============================  ================================================
what is there                   what follows
==============================  ================================================
none                            one is made, attempt 0
one, created, never started     it is started
the same, its start failed      it is removed and a new one made, attempt + 1
the newest runs, no other does  it is kept
the newest does not run         a new one, attempt + 1: the pod starts over
more than one runs              likewise
==============================  ================================================

Whether a pod that has finished gets a new one is decided before (``restarts.is_finished``).
Unlike the kubelet, a running sandbox without an address is kept: an engine that gives
none to one sandbox (rootless networks) gives none to the next.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from podsync import labels, restarts
from podsync.backoff import SANDBOX, VOLUME
from podsync.plan import Cause, CreateSandbox, MountVolumes, StartSandbox
from podsync.reconciler import build
from podsync.reconciler.draft import Draft, View, hold_pod, wait_for_pod
from podsync.reconciler.termination import end, living, remove_sandbox, stop
from podsync.runtimes.base import Ref, SandboxRecord

__all__ = ["SANDBOX_SUBJECT", "VOLUMES_SUBJECT", "Place", "find_place"]

SANDBOX_SUBJECT = "/sandbox"
VOLUMES_SUBJECT = "/volumes"


@dataclass(frozen=True, slots=True)
class Place:
    """The sandbox that containers are made for now."""

    sandbox: Ref
    attempt: int
    replaces: int | None = None
    """Attempt of the sandbox that the same plan removes, with what was made for it and never ran."""


def find_place(view: View, draft: Draft) -> Place | None:
    """The sandbox to make containers for, planning what it still needs; None while that cannot be."""
    if not view.own:
        return _new(view, draft, 0, Cause.NEW_POD, None)
    *older, current = view.own
    keep = (current.ready or not current.started) and not any(sandbox.ready for sandbox in older)
    # what runs in a dead sandbox has lost its network; its successors must find it gone
    doomed = living(older if keep else view.own, view.memory)
    if end(draft, doomed, Cause.SANDBOX_DIED):
        return None
    if keep:
        return Place(current.name, current.attempt) if current.ready else _start(view, draft, current)
    if stop(draft, view.own, Cause.SANDBOX_DIED):
        return None
    delay, due = _back_off(current, view.now)
    if due is not None and view.now < due:
        draft.wake(due)
        return None
    return _new(view, draft, current.attempt + 1, Cause.SANDBOX_DIED, delay)


def _back_off(dead: SandboxRecord, now: datetime) -> tuple[float, datetime | None]:
    """Seconds between the making of a dead sandbox and its successor, and the moment they end.

    The first successor comes at once; one that dies young makes the next ones wait.
    """
    if dead.created_at is None:
        return 0.0, None
    lived = (now - dead.created_at).total_seconds()
    delay = SANDBOX.following(labels.number(dead.labels, labels.BACKOFF), lived)
    return delay, dead.created_at + timedelta(seconds=delay)


def _new(view: View, draft: Draft, attempt: int, cause: Cause, delay: float | None) -> Place | None:
    problem = build.hostname_problem(view.pod)
    if problem:
        wait_for_pod(view, draft, problem)
        return None
    if hold_pod(view, draft, VOLUMES_SUBJECT, VOLUME) or hold_pod(view, draft, SANDBOX_SUBJECT, SANDBOX):
        return None
    spec = build.sandbox_spec(view.settings, view.pod, attempt, restarts.start_time(view.own) or view.now, delay)
    draft.before.append(MountVolumes(view.pod, cause))
    draft.sandbox.append(CreateSandbox(spec, cause))
    draft.creates.append(StartSandbox(spec.name, view.pod, cause))
    return Place(spec.name, attempt)


def _start(view: View, draft: Draft, current: SandboxRecord) -> Place | None:
    if hold_pod(view, draft, SANDBOX_SUBJECT, SANDBOX):
        return None
    if _start_failed(view, current):
        # an engine may refuse the same one for ever (it was killed while starting it)
        return _replace(view, draft, current)
    draft.creates.append(StartSandbox(current.name, view.pod, Cause.NEVER_STARTED))
    return Place(current.name, current.attempt)


def _start_failed(view: View, sandbox: SandboxRecord) -> bool:
    """Whether the last failure tells of that sandbox: one from before it was made does not."""
    failure = view.memory.failures.get(SANDBOX_SUBJECT)
    return failure is not None and (sandbox.created_at is None or sandbox.created_at <= failure.at)


def _replace(view: View, draft: Draft, current: SandboxRecord) -> Place | None:
    if end(draft, living([current], view.memory), Cause.NEVER_STARTED):
        return None
    delay = labels.number(current.labels, labels.BACKOFF)
    place = _new(view, draft, current.attempt + 1, Cause.NEVER_STARTED, delay)
    if place is None:
        return None
    draft.before.append(remove_sandbox(current, Cause.NEVER_STARTED))
    return replace(place, replaces=current.attempt)
