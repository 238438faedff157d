"""An answer that many want and one asks for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

from podsync.runtimes.common.wire import Closed

__all__ = ["Shared"]

T = TypeVar("T")


class Shared(Generic[T]):
    """What ``ask`` gives, kept until forgotten.

    Whoever wants it first asks, with no lock held; whoever comes meanwhile waits for that
    one's answer, or failure. So a hung engine costs all of them one limit of time, not one
    after another. A failure is not kept.
    """

    def __init__(self, ask: Callable[[], T]) -> None:
        self._ask = ask
        self._lock = threading.Lock()
        self._answer: Future[T] | None = None
        self._closed = False

    def get(self) -> T:
        """The answer. Raises what asking raises, and Closed after ``close``."""
        with self._lock:
            if self._closed:
                raise Closed("this runtime has been closed")
            answer, mine = self._answer, self._answer is None
            if answer is None:
                answer = self._answer = Future()
        if mine:
            self._settle(answer)
        return answer.result()

    def forget(self) -> None:
        """Have it asked for anew; those who wait already get the answer they wait for."""
        with self._lock:
            self._answer = None

    def close(self) -> None:
        """Let go of all who wait; the one who asks ends by itself."""
        with self._lock:
            self._closed = True
            if self._answer is not None and not self._answer.done():
                self._answer.set_exception(Closed("this runtime has been closed"))

    def _settle(self, answer: Future[T]) -> None:
        """Ask, and tell those who wait."""
        try:
            found = self._ask()
        except BaseException as error:  # noqa: BLE001 - whoever waits must be let go, whatever it is
            with self._lock:
                if self._answer is answer:
                    self._answer = None
                if not answer.done():
                    answer.set_exception(error)
            return
        with self._lock:
            if not answer.done():
                answer.set_result(found)
