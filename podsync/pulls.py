"""Pulls under way: one an image, whoever waits for it. Part of the owner."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from podsync import ledger
from podsync.errors import ImageAbsent
from podsync.messages import PullDone, PullProgressed
from podsync.state import PullState

if TYPE_CHECKING:
    from podsync.clock import Clock
    from podsync.executor import Executor
    from podsync.ledger import Entry
    from podsync.messages import Message
    from podsync.models import PodKey
    from podsync.runtimes.base import PullProgress
    from podsync.workers import Inbox, Workers

__all__ = ["Pulls", "outcome"]


class Pulls:
    """Starts pulls, knows who waits for which, and which images are known to be missing."""

    def __init__(self, clock: Clock, workers: Workers, inbox: Inbox, executor: Executor) -> None:
        """Nothing is under way and nothing is known to be missing."""
        self._clock, self._workers, self._inbox, self._executor = clock, workers, inbox, executor
        self._waiting: dict[str, set[PodKey]] = {}
        self._progress: dict[str, PullProgress] = {}
        self.absent: frozenset[str] = frozenset()
        """Images the engine's store lacks, as far as a failed creation has shown."""

    @property
    def progress(self) -> Mapping[str, PullProgress]:
        """How far each pull under way is."""
        return self._progress

    def __bool__(self) -> bool:
        """Whether any pull is under way."""
        return bool(self._waiting)

    def missing(self, error: ImageAbsent) -> None:
        """Note that an image turned out to be missing."""
        self.absent |= {error.image}

    def progressed(self, message: PullProgressed) -> None:
        """Note how far a pull is."""
        if message.progress.image in self._waiting:
            self._progress[message.progress.image] = message.progress

    def start(self, entry: Entry, image: str) -> None:
        """Fetch an image for a pod, or let it wait for the pull that is under way."""
        memory = entry.actual.memory
        state = replace(memory.pulls.get(image, PullState()), pulling=True)
        entry.actual = replace(entry.actual, memory=replace(memory, pulls={**memory.pulls, image: state}))
        waiting = self._waiting.get(image)
        if waiting is not None:
            waiting.add(entry.key)
            return
        self._waiting[image] = {entry.key}
        self._workers.submit(f"pull:{image}", self._job(image))

    def returned(self, done: PullDone) -> set[PodKey]:
        """A pull has ended; those who waited for it."""
        self._progress.pop(done.image, None)
        if done.error is None:
            self.absent -= {done.image}
        return self._waiting.pop(done.image, set())

    def _job(self, image: str) -> Callable[[], Message]:
        clock, executor, inbox = self._clock, self._executor, self._inbox

        def job() -> Message:
            began = clock.monotonic()
            try:
                record = executor.pull(image, lambda progress: inbox.post(PullProgressed(progress)))
            except Exception as error:  # noqa: BLE001 - the owner tells a fault from a mistake
                return PullDone(image, clock.now(), clock.monotonic() - began, error=error)
            return PullDone(image, clock.now(), clock.monotonic() - began, record)

        return job


def outcome(entry: Entry, done: PullDone) -> None:
    """Write a pull's end into the memory of one who waited for it."""
    memory = entry.actual.memory
    if done.error is None:
        entry.remember(ledger.pull_succeeded(memory, done.image))
    else:
        entry.remember(ledger.pull_failed(memory, done.image, done.error, done.at))
