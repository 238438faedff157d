"""Hints from two sides: the engine's events, and the kernel's word on deaths."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from typing import Final

from podsync.runtimes.base import RuntimeHint, StopToken
from podsync.runtimes.common import faults, hints, wire
from podsync.runtimes.common.faults import Refusal
from podsync.runtimes.common.images import ImageCache
from podsync.runtimes.common.looking import Looker
from podsync.runtimes.podman import records
from podsync.runtimes.podman.client import Client

__all__ = ["EVENTS", "IMAGE_EVENTS", "HintFeed"]

EVENTS: Final = ("died", "remove")
"""Events that change what a look would show and that are not always our own doing."""
IMAGE_EVENTS: Final = ("build", "import", "loadfromarchive", "pull", "remove", "tag", "untag")
"""Events after which a name may stand for another image."""
_IMAGE: Final = "image"


class _AnyOf:
    """A stop token that is set once any of several is."""

    def __init__(self, first: StopToken, *others: threading.Event) -> None:
        self._first = first
        self._others = others

    def is_set(self) -> bool:
        """True once the loop should end."""
        return self._first.is_set() or any(event.is_set() for event in self._others)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the first one, at most ``timeout`` seconds; the others are only looked at."""
        return self.is_set() or self._first.wait(timeout) or self.is_set()


class HintFeed:
    """``Runtime.hints`` of one node. Events that only repeat what is known already are left out."""

    def __init__(
        self, client: Client, node: str, looker: Looker, images: ImageCache, connecting: Callable[[], None]
    ) -> None:
        """``connecting`` is called before each connection: another engine may answer from then on.

        ``images`` is told of events about images.
        """
        self._client = client
        self._images = images
        self._connecting = connecting
        self._node = node
        self._looker = looker
        self._lock = threading.Lock()
        self._listeners: set[SimpleQueue[RuntimeHint | None]] = set()
        self._expected: set[tuple[str, str]] = set()
        self._closing = threading.Event()

    def follow(self, stop: StopToken) -> Iterator[RuntimeHint]:
        """Hints until stopped or closed."""
        queue: SimpleQueue[RuntimeHint | None] = SimpleQueue()
        left = threading.Event()
        until = _AnyOf(stop, self._closing, left)
        with self._lock:
            self._listeners.add(queue)
        events = threading.Thread(target=self._listen, args=(until, queue), name="podsync-events", daemon=True)
        events.start()
        try:
            while (hint := queue.get()) is not None:
                yield hint
        finally:
            left.set()
            with self._lock:
                self._listeners.discard(queue)

    def died(self, container: str, uid: str) -> None:
        """The kernel says that a container's process has ended."""
        self._looker.doubt(container)
        hint = RuntimeHint(uid=uid, container=container)
        with self._lock:
            self._expected.add(("died", container))
            for queue in self._listeners:
                queue.put(hint)

    def removed(self, containers: set[str]) -> None:
        """We have removed them ourselves."""
        with self._lock:
            self._expected |= {("remove", container) for container in containers}

    def keep(self, containers: set[str]) -> None:
        """Expect nothing more of any other: their events were lost."""
        with self._lock:
            self._expected = {(event, container) for event, container in self._expected if container in containers}

    def close(self) -> None:
        """Let every listener end."""
        self._closing.set()

    def _listen(self, until: StopToken, queue: SimpleQueue[RuntimeHint | None]) -> None:
        """Put the engine's events on the queue, and None at the end."""
        try:
            for hint in hints.follow(until, self._looker, self._connect, self._parse):
                queue.put(hint)
        finally:
            self._images.heard(heard=False)
            queue.put(None)

    def _connect(self) -> wire.Stream:
        """The stream of events: about containers and images, whoever's they are.

        A filter by our label would leave out all of images.
        """
        self._images.heard(heard=False)
        self._connecting()
        wanted = {"type": ["container", _IMAGE], "event": [*EVENTS, *IMAGE_EVENTS]}
        try:
            stream = self._client.stream("GET", "/events", params={"stream": "true", "filters": json.dumps(wanted)})
        except Refusal as refusal:
            raise faults.verb_fault(refusal) from refusal
        self._images.heard(heard=True)
        return stream

    def _parse(self, line: bytes) -> RuntimeHint | None:
        """One event; None when it is not ours or told before. Raises ValueError for what is none."""
        event = hints.event(line)
        if event.get("Type") == _IMAGE:
            self._images.changed()
            return None
        hint = records.hint(event, self._node)
        if hint is None:
            return None
        with self._lock:
            # Some releases tell an event twice, so what was expected stays so until a full look.
            if (event.get("Action"), hint.container) in self._expected:
                return None
        return hint
