"""Threads: the inbox the owner waits on, and the workers that run its jobs.

Both are ports (``Inbox``, ``Workers``) so that the simulation can be them.
"""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol

from podsync.clock import SystemClock

if TYPE_CHECKING:
    from podsync.messages import Message

__all__ = ["Inbox", "ThreadInbox", "ThreadWorkers", "Workers"]

log = logging.getLogger(__name__)


class Inbox(Protocol):
    """Where messages for the owner collect."""

    def post(self, message: Message) -> None:
        """Add one; from any thread."""

    def wait(self, timeout: float | None) -> Sequence[Message]:
        """All that came, waiting up to ``timeout`` seconds (None: without limit) for the first."""


class Workers(Protocol):
    """Who runs jobs away from the owner."""

    def submit(self, lane: str, job: Callable[[], Message]) -> None:
        """Run ``job`` and post what it returns. The owner never submits to a lane in use."""

    def together(self, jobs: Sequence[Callable[[], None]]) -> None:
        """Run all jobs side by side and return when all have ended; jobs never raise."""

    def stop(self, timeout: float) -> bool:
        """Take no more jobs and wait for those under way; false if some still run."""


class ThreadInbox:
    """An inbox over a queue that a signal handler may post to, even while its own thread waits."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[Message] = queue.SimpleQueue()

    def post(self, message: Message) -> None:
        """Add one; from any thread."""
        self._queue.put(message)

    def wait(self, timeout: float | None) -> Sequence[Message]:
        """All that came, waiting up to ``timeout`` seconds (None: without limit) for the first."""
        try:
            messages = [self._queue.get(timeout=timeout)]
        except queue.Empty:
            return []
        with contextlib.suppress(queue.Empty):
            while True:
                messages.append(self._queue.get_nowait())
        return messages


class _Pool:
    """Daemon threads made on demand; a hung engine call must not keep the process from ending."""

    def __init__(self, name: str, size: int) -> None:
        self._name, self._size = name, size
        self._jobs: deque[Callable[[], None]] = deque()
        self._condition = threading.Condition()
        self._idle = self._threads = self._running = 0
        self._stopped = False

    def submit(self, job: Callable[[], None]) -> bool:
        """Run a job when a thread is free; false once the pool takes no more."""
        with self._condition:
            if self._stopped:
                return False
            self._jobs.append(job)
            # a notified thread counts as idle until it has the lock, so count the jobs that wait for one
            if len(self._jobs) > self._idle and self._threads < self._size:
                self._threads += 1
                threading.Thread(target=self._work, name=f"{self._name}-{self._threads}", daemon=True).start()
            self._condition.notify()
            return True

    def _work(self) -> None:
        while True:
            with self._condition:
                self._idle += 1
                while not self._jobs and not self._stopped:
                    self._condition.wait()
                self._idle -= 1
                if not self._jobs:
                    self._threads -= 1
                    return
                job = self._jobs.popleft()
                self._running += 1
            try:
                job()
            except Exception:
                log.exception("a job failed that must not")
            finally:
                with self._condition:
                    self._running -= 1
                    self._condition.notify_all()

    def stop(self, timeout: float, *, drop: bool) -> bool:
        """Take no more jobs, ``drop`` those not begun, wait for the others; false if some still run."""
        with self._condition:
            self._stopped = True
            if drop:
                self._jobs.clear()
            self._condition.notify_all()
            return self._condition.wait_for(lambda: not self._running and not self._jobs, timeout)


class ThreadWorkers:
    """Bounded pools: one for pods' batches, one for looks, one for pulls, one for side-by-side calls.

    So slow pulls hold no pod that needs none, and slow batches never keep the owner blind.
    """

    def __init__(self, inbox: Inbox, *, size: int = 16, pulls: int = 4, looks: int = 4) -> None:
        """``size`` batches, ``pulls`` pulls and ``looks`` looks at a time."""
        self._inbox = inbox
        self._clock = SystemClock()
        self._batches = _Pool("podsync-batch", size)
        self._looks = _Pool("podsync-look", looks)
        self._pulls = _Pool("podsync-pull", pulls)
        self._fan = _Pool("podsync-fan", size * 2)

    def submit(self, lane: str, job: Callable[[], Message]) -> None:
        """Run ``job`` and post what it returns."""
        pools = {"pull": self._pulls, "look": self._looks}
        pools.get(lane.partition(":")[0], self._batches).submit(lambda: self._inbox.post(job()))

    def together(self, jobs: Sequence[Callable[[], None]]) -> None:
        """Run all jobs side by side, the last on this thread."""
        if not jobs:
            return
        done = threading.Semaphore(0)

        def counted(job: Callable[[], None]) -> None:
            try:
                job()
            finally:
                done.release()

        for job in jobs[:-1]:
            if not self._fan.submit(partial(counted, job)):
                counted(job)
        jobs[-1]()
        for _ in jobs[:-1]:
            done.acquire()

    def stop(self, timeout: float) -> bool:
        """Take no more jobs and wait up to ``timeout`` seconds for those under way; false if some still run.

        Pulls are not waited for: the engine goes on with them or not, as it likes.
        """
        end = self._clock.monotonic() + timeout
        self._pulls.stop(0, drop=True)
        ended = [pool.stop(max(0.0, end - self._clock.monotonic()), drop=True) for pool in (self._batches, self._looks)]
        # what a batch still under way has asked for side by side must come to its end
        return self._fan.stop(max(0.0, end - self._clock.monotonic()), drop=False) and all(ended)
