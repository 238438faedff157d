"""Threads: the inbox the owner waits on, and the workers that run its jobs.

Both are ports (``Inbox``, ``Workers``) so that the simulation can be them.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

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
    """An inbox over a condition variable."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._condition = threading.Condition()

    def post(self, message: Message) -> None:
        """Add one; from any thread."""
        with self._condition:
            self._messages.append(message)
            self._condition.notify()

    def wait(self, timeout: float | None) -> Sequence[Message]:
        """All that came, waiting up to ``timeout`` seconds (None: without limit) for the first."""
        with self._condition:
            if not self._messages:
                self._condition.wait(timeout)
            messages, self._messages = self._messages, []
            return messages


class _Pool:
    """Daemon threads made on demand; a hung engine call must not keep the process from ending."""

    def __init__(self, name: str, size: int) -> None:
        self._name, self._size = name, size
        self._jobs: deque[Callable[[], None]] = deque()
        self._condition = threading.Condition()
        self._idle = self._threads = self._running = 0
        self._stopped = False

    def submit(self, job: Callable[[], None]) -> None:
        with self._condition:
            if self._stopped:
                return
            self._jobs.append(job)
            if self._idle:
                self._condition.notify()
            elif self._threads < self._size:
                self._threads += 1
                threading.Thread(target=self._work, name=f"{self._name}-{self._threads}", daemon=True).start()

    def _work(self) -> None:
        while True:
            with self._condition:
                self._idle += 1
                while not self._jobs and not self._stopped:
                    self._condition.wait()
                self._idle -= 1
                if not self._jobs:
                    return
                job = self._jobs.popleft()
                self._running += 1
            try:
                job()
            finally:
                with self._condition:
                    self._running -= 1
                    self._condition.notify_all()

    def stop(self, timeout: float) -> bool:
        with self._condition:
            self._stopped = True
            self._jobs.clear()
            self._condition.notify_all()
            return self._condition.wait_for(lambda: self._running == 0, timeout)


class ThreadWorkers:
    """Bounded pools: one for pods' batches and looks, one for pulls, one for side-by-side calls.

    Pulls have threads of their own, so that slow ones never hold pods that need none.
    """

    def __init__(self, inbox: Inbox, *, size: int = 16, pulls: int = 4) -> None:
        """``size`` batches at a time, ``pulls`` pulls at a time."""
        self._inbox = inbox
        self._batches = _Pool("podsync-worker", size)
        self._pulls = _Pool("podsync-pull", pulls)
        self._fan = _Pool("podsync-fan", size * 2)

    def submit(self, lane: str, job: Callable[[], Message]) -> None:
        """Run ``job`` and post what it returns."""
        pool = self._pulls if lane.startswith("pull:") else self._batches
        pool.submit(lambda: self._inbox.post(job()))

    def together(self, jobs: Sequence[Callable[[], None]]) -> None:
        """Run all jobs side by side, the last on this thread."""
        if not jobs:
            return
        left = len(jobs) - 1
        done = threading.Semaphore(0)

        def counted(job: Callable[[], None]) -> None:
            try:
                job()
            finally:
                done.release()

        for job in jobs[:-1]:
            self._fan.submit(lambda job=job: counted(job))  # type: ignore[misc]
        jobs[-1]()
        for _ in range(left):
            done.acquire()

    def stop(self, timeout: float) -> bool:
        """Take no more jobs and wait for those under way; false if some still run."""
        ended = [self._batches.stop(timeout), self._pulls.stop(0), self._fan.stop(timeout)]
        return all(ended)
