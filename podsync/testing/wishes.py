"""What the simulated sources hold, what they have said of it, and since when a pod is unwanted."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from podsync import identity
from podsync.errors import SourceError
from podsync.messages import SourceFailed, SourceSpoke

if TYPE_CHECKING:
    from podsync.messages import Message
    from podsync.models import Pod, PodKey

__all__ = ["Wishes"]

REMEMBERED = 180.0
"""Seconds for which a pod that was unwanted may still be treated so: word, job, grace and all."""
_STILL = float("inf")


class Wishes:
    """Manifests by source, the first source winning a doubled name."""

    def __init__(self, sources: Sequence[str], node: str, now: Callable[[], float]) -> None:
        """``now`` is monotonic time."""
        self.held: dict[str, dict[PodKey, Pod]] = {name: {} for name in sources}
        self.broken: set[str] = set()
        self.pods: dict[str, Pod] = {}
        """Every pod there ever was, by uid, as the node runs it."""
        self._said: dict[str, dict[PodKey, Pod]] = {name: {} for name in sources}
        self._node, self._now = node, now
        self._revisions = itertools.count(1)
        self._unwanted_at: dict[str, float] = {}

    def put(self, source: str, pod: Pod) -> None:
        """Write a manifest, or another in its place."""
        self.held[source][pod.key] = pod
        mine = identity.adopt(pod, self._node, source)
        self.pods[mine.metadata.uid] = mine

    def say(self, source: str) -> Message:
        """The source's next word: its whole set, or that it cannot be read."""
        revision = next(self._revisions)
        if source in self.broken:
            return SourceFailed(source, SourceError(source, "broken"))
        self._said[source] = dict(self.held[source])
        self._mark()
        return SourceSpoke(source, revision, tuple(self._said[source].values()), ())

    def wanted(self) -> dict[PodKey, Pod]:
        """What should run according to the manifests."""
        return self._merged(self.held)

    def lately_unwanted(self, uid: str) -> bool:
        """Whether no source wanted the pod just now, or a short while ago."""
        return self._unwanted_at.get(uid, -_STILL) > self._now() - REMEMBERED

    def _merged(self, sets: dict[str, dict[PodKey, Pod]]) -> dict[PodKey, Pod]:
        found: dict[PodKey, Pod] = {}
        for name, pods in sets.items():
            for key, pod in pods.items():
                found.setdefault(key, identity.adopt(pod, self._node, name))
        return found

    def _mark(self) -> None:
        wanted = {pod.metadata.uid for pod in self._merged(self._said).values()}
        for uid in self.pods:
            if uid not in wanted:
                self._unwanted_at[uid] = _STILL
            elif self._unwanted_at.get(uid) == _STILL:
                self._unwanted_at[uid] = self._now()
