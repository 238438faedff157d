"""What the sources want, merged into one Desired.

Owned by the agent's thread; nothing here is locked. Unchanged pods keep their objects from
one snapshot to the next, so that a steady state costs nothing further down.

The same pod in two sources belongs to the one that comes first; the other's is refused. So is a
pod with another one's uid: both would be one pod to the engine.
What a source refuses with no version of it left to run is ``undecided``: if such a pod
still runs from an earlier life of the agent, it stays.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from podsync.clock import SystemClock
from podsync.errors import FieldError
from podsync.identity import adopt
from podsync.labels import format_time
from podsync.models import PodKey
from podsync.sources.base import Refusal
from podsync.state import Desired

if TYPE_CHECKING:
    from podsync.clock import Clock
    from podsync.errors import SourceError
    from podsync.models import Pod

__all__ = ["DesiredStore"]

_LOG = logging.getLogger(__name__)
_LONGEST_NAME = 253  # characters of a DNS subdomain, Kubernetes' limit for a pod's name


@dataclass(slots=True)
class _Said:
    """What one source said last, and how it is doing."""

    revision: int = -1
    pods: dict[PodKey, Pod] = field(default_factory=dict)
    originals: dict[PodKey, Pod] = field(default_factory=dict)
    refusals: tuple[Refusal, ...] = ()
    read_at: datetime | None = None
    failing_since: datetime | None = None
    error: str = ""

    def health(self) -> dict[str, Any]:
        return {
            "spoken": self.revision >= 0,
            "readAt": format_time(self.read_at) if self.read_at else None,
            "failingSince": format_time(self.failing_since) if self.failing_since else None,
            "error": self.error,
            "pods": len(self.pods),
            "refused": len(self.refusals),
        }


class DesiredStore:
    """Absorbs what sources say. ``sources`` are their names, first wins; ``node_name`` enters the pods' uid.

    ``name_suffix`` gives pods the kubelet's names, ``<name>-<node name>`` (its static pods).
    Raises ValueError for two sources of one name.
    """

    def __init__(
        self, sources: Sequence[str], node_name: str, *, name_suffix: bool = False, clock: Clock | None = None
    ) -> None:
        if len(set(sources)) != len(sources):
            raise ValueError(f"two sources have one name: {', '.join(sources)}")
        self._node = node_name
        self._suffix = f"-{node_name.lower()}" if name_suffix else ""
        self._clock = clock or SystemClock()
        self._said = {name: _Said() for name in sources}
        self._desired = Desired(complete=not sources)
        self._refusals: tuple[Refusal, ...] = ()

    def replace(self, source: str, revision: int, pods: Sequence[Pod], refusals: Sequence[Refusal]) -> bool:
        """A source sent its whole set. True if what is wanted, or the completeness, changed by it.

        A revision that is not newer than the last one is dropped. Raises KeyError for a
        source that was not named at the start.
        """
        said = self._said[source]
        if revision <= said.revision:
            _LOG.debug("an older set is dropped", extra={"source": source, "revision": revision})
            return False
        if said.error:
            _LOG.info("source can be read again: %s", source)
        adopted, refused = self._adopt(said, source, pods)
        said.revision = revision
        said.originals = {pod.key: pod for pod in pods}
        said.pods = adopted
        said.refusals = (*(self._suffixed(refusal) for refusal in refusals), *refused)
        said.read_at, said.failing_since, said.error = self._clock.now(), None, ""
        return self._merge()

    def failed(self, source: str, error: SourceError) -> None:
        """A source could not be read: its last set stands. Each new text is logged once.

        Raises KeyError for a source that was not named at the start.
        """
        said = self._said[source]
        if said.error != str(error):
            _LOG.warning("source cannot be read: %s", error)
        said.error = str(error)
        said.failing_since = said.failing_since or self._clock.now()

    def desired(self) -> Desired:
        """What should run. The same object until something changes."""
        return self._desired

    @property
    def heard(self) -> bool:
        """Whether every source has sent a set or said that it cannot be read."""
        return all(said.revision >= 0 or said.error for said in self._said.values())

    def refusals(self) -> tuple[Refusal, ...]:
        """Every document that is not used, source by source."""
        return self._refusals

    def health(self) -> Mapping[str, Mapping[str, Any]]:
        """How each source is doing, in their order, as plain data.

        ``spoken`` (it has sent a set), ``readAt`` (when it last sent one), ``failingSince``,
        ``error`` (the last failure's text, empty once it was read again), ``pods`` and
        ``refused`` (how many). Times are RFC 3339 or None.
        """
        return {name: said.health() for name, said in self._said.items()}

    def _adopt(self, said: _Said, source: str, pods: Sequence[Pod]) -> tuple[dict[PodKey, Pod], list[Refusal]]:
        """The pods as this node runs them, by key; and those that cannot be run."""
        adopted: dict[PodKey, Pod] = {}
        refused: list[Refusal] = []
        for pod in pods:
            key = self._key(pod.key)
            before = said.originals.get(pod.key)
            ours = said.pods.get(key)
            if ours is None or before is None or (before is not pod and before != pod):
                ours = self._own(pod, source)
            if key in adopted:
                message = f'Duplicate value: "{key}": the source names this pod twice; the first one counts'
                refused.append(_refusal(source, key, message))
            elif len(key.name) > _LONGEST_NAME:
                message = (
                    f'Invalid value: "{key.name}": must be no more than {_LONGEST_NAME} characters with its suffix'
                )
                refused.append(_refusal(source, key, message))
            else:
                adopted[key] = ours
        return adopted, refused

    def _own(self, pod: Pod, source: str) -> Pod:
        if self._suffix:
            # before the uid is computed (the kubelet does it after): under either name it is another pod
            pod = pod.evolve(metadata=pod.metadata.evolve(name=self._key(pod.key).name))
        return adopt(pod, self._node, source)

    def _key(self, key: PodKey) -> PodKey:
        return PodKey(key.namespace, key.name + self._suffix) if self._suffix else key

    def _suffixed(self, refusal: Refusal) -> Refusal:
        if not self._suffix or refusal.key is None:
            return refusal
        return Refusal(refusal.origin, refusal.errors, self._key(refusal.key), refusal.kept)

    def _merge(self) -> bool:
        pods: dict[PodKey, Pod] = {}
        owners: dict[PodKey, str] = {}
        uids: dict[str, PodKey] = {}
        refusals: list[Refusal] = []
        tentative: set[PodKey] = set()
        complete = True
        for name, said in self._said.items():
            refusals += said.refusals
            complete &= said.revision >= 0
            for key, pod in said.pods.items():
                first = owners.get(key, name)
                holder = uids.get(pod.uid, key)
                if first == name and holder != key:
                    message = (
                        f'Duplicate value: "{pod.uid}": the source {owners[holder]} gives it to pod {holder}, '
                        "which comes first"
                    )
                    refusals.append(_refusal(name, key, message, "metadata.uid"))
                elif first == name:
                    pods[key], owners[key], uids[pod.uid] = pod, name, key
                    if not complete:
                        tentative.add(key)
                else:
                    message = f'Duplicate value: "{key}": the source {first} names this pod too and comes first'
                    refusals.append(_refusal(name, key, message))
        undecided = frozenset(r.key for r in refusals if r.key is not None and r.key not in pods)
        self._refusals = tuple(refusals)
        before = self._desired
        same = before.pods.keys() == pods.keys() and all(before.pods[key] is pod for key, pod in pods.items())
        merged = Desired(before.pods if same else pods, complete, undecided, frozenset(tentative))
        if same and merged == before:
            return False
        self._desired = merged
        return True


def _refusal(source: str, key: PodKey, message: str, path: str = "metadata.name") -> Refusal:
    return Refusal(source, (FieldError(path, message, file=source),), key)
