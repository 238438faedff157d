"""The planner's inputs: what should be, what is, and what only the agent remembers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from podsync.models import PodKey
from podsync.runtimes.base import ContainerId, SandboxRecord

if TYPE_CHECKING:
    from podsync.models import Pod

__all__ = ["Actual", "ActualPod", "Desired", "Failure", "PodMemory", "PullState", "grouped", "in_order"]

_LONG_AGO = datetime(1, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Desired:
    """What the sources want, merged.

    ``complete`` is false until every source has spoken once: until then nothing is
    ended merely because no source names it. ``undecided`` holds keys that must be left
    as they are although no source names a usable pod for them. ``tentative`` holds keys
    whose pod a source that has not spoken yet may overrule: another pod that runs under
    such a key stays.
    """

    pods: Mapping[PodKey, Pod] = field(default_factory=dict)
    complete: bool = True
    undecided: frozenset[PodKey] = frozenset()
    tentative: frozenset[PodKey] = frozenset()


@dataclass(frozen=True, slots=True)
class Failure:
    """The last failed try of one subject, and how many failed in a row."""

    reason: str
    message: str
    at: datetime
    count: int = 1


@dataclass(frozen=True, slots=True)
class PullState:
    """What is remembered of pulling one image for one pod.

    ``ready``: a pull succeeded and no container has been created from it yet
    (``imagePullPolicy: Always`` asks for one pull a start). ``pulling``: one is under way.
    """

    ready: bool = False
    pulling: bool = False
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class PodMemory:
    """What the agent alone knows of one pod uid; gone when it dies, so nothing right may depend on it.

    ``failures`` is keyed by subject: a container's name, ``"sandbox"`` or ``"volumes"``
    written as ``/sandbox`` and ``/volumes`` (no container can be named so).
    ``term_sent``: when each container was first told to end, kept while its record is
    there; ``kill_sent``: when it was last sent ``SIGKILL``.
    """

    uid: str = ""
    pulls: Mapping[str, PullState] = field(default_factory=dict)
    failures: Mapping[str, Failure] = field(default_factory=dict)
    term_sent: Mapping[ContainerId, datetime] = field(default_factory=dict)
    kill_sent: Mapping[ContainerId, datetime] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ActualPod:
    """What is there for one pod key: sandboxes of any uid, newest last, and pod folders by uid."""

    sandboxes: tuple[SandboxRecord, ...] = ()
    folders: frozenset[str] = frozenset()
    memory: PodMemory = PodMemory()


@dataclass(frozen=True, slots=True)
class Actual:
    """One observation. Time is part of it, so planning needs no clock.

    ``absent_images``: names known to be missing from the engine's store; a name not
    listed is tried first and found missing by the attempt.
    """

    observed_at: datetime
    pods: Mapping[PodKey, ActualPod] = field(default_factory=dict)
    absent_images: frozenset[str] = frozenset()


def in_order(sandboxes: Iterable[SandboxRecord]) -> tuple[SandboxRecord, ...]:
    """Oldest first: by when they were made, then by attempt."""
    return tuple(sorted(sandboxes, key=lambda s: (s.created_at or _LONG_AGO, s.attempt)))


def grouped(sandboxes: Iterable[SandboxRecord], folders: Mapping[str, PodKey]) -> dict[PodKey, ActualPod]:
    """What was seen, by pod: its sandboxes in order and its folders (uid to key)."""
    found: dict[PodKey, list[SandboxRecord]] = {}
    for sandbox in sandboxes:
        found.setdefault(PodKey(sandbox.namespace, sandbox.pod_name), []).append(sandbox)
    uids: dict[PodKey, set[str]] = {}
    for uid, key in folders.items():
        uids.setdefault(key, set()).add(uid)
    return {key: ActualPod(in_order(found.get(key, ())), frozenset(uids.get(key, ()))) for key in {**found, **uids}}
