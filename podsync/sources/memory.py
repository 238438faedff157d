"""A source that says what it is told: for embedding and for tests."""

from __future__ import annotations

import contextlib
import queue
from collections.abc import Iterable
from typing import TYPE_CHECKING

from podsync.errors import SourceError
from podsync.sources.base import Refusal, Snapshot

if TYPE_CHECKING:
    from podsync.models import Pod
    from podsync.runtimes.base import StopToken
    from podsync.sources.base import Sink

__all__ = ["MemorySource"]

_GLANCE = 0.1  # seconds between two glances at the stop token


class MemorySource:
    """The pods a program wants. ``set`` and ``fail`` may be called from any thread, before and during ``run``.

    One object serves one ``run`` at a time.
    """

    def __init__(self, pods: Iterable[Pod] = (), *, name: str = "memory") -> None:
        """Want ``pods`` from the start. ``name`` enters their uid: keep it from run to run."""
        self.name = name
        self._revision = 0
        self._said: queue.SimpleQueue[Snapshot | SourceError] = queue.SimpleQueue()
        self._last = Snapshot(pods=tuple(pods))

    def set(self, pods: Iterable[Pod], refusals: Iterable[Refusal] = ()) -> None:
        """Want exactly these pods from now on."""
        self._last = Snapshot(pods=tuple(pods), refusals=tuple(refusals))
        self._said.put(self._last)

    def fail(self, message: str) -> None:
        """Say that the set could not be read: what was wanted before stands."""
        self._said.put(SourceError(self.name, message))

    def run(self, sink: Sink, stop: StopToken) -> None:
        """Blocks until stopped; passes on what it is told, in order, from the newest set at the start."""
        last_words = self._drain()
        self._speak(sink, self._last)
        if isinstance(last_words, SourceError):
            sink.failed(last_words)
        while not stop.is_set():
            try:
                said = self._said.get(timeout=_GLANCE)
            except queue.Empty:
                continue
            if isinstance(said, SourceError):
                sink.failed(said)
            else:
                self._speak(sink, said)

    def _drain(self) -> Snapshot | SourceError | None:
        last = None
        with contextlib.suppress(queue.Empty):
            while True:
                last = self._said.get_nowait()
        return last

    def _speak(self, sink: Sink, snapshot: Snapshot) -> None:
        self._revision += 1
        sink.replace(self._revision, snapshot.pods, snapshot.refusals)
