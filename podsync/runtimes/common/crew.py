"""Calls side by side, on threads of a runtime's own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from typing import TypeVar

from podsync.errors import RuntimeFault
from podsync.runtimes.common.wire import Closed

__all__ = ["Crew"]

T = TypeVar("T")
A = TypeVar("A")


class Crew:
    """Threads, started as they are needed. Once closed, everything asked of it raises Closed."""

    def __init__(self, width: int, name: str) -> None:
        """At most ``width`` threads, whose names begin with ``name``."""
        self._pool = ThreadPoolExecutor(width, thread_name_prefix=name)

    def start(self, job: Callable[[], T]) -> Callable[[], T]:
        """Begin a job; what is returned waits for its result, or raises what it raised."""
        try:
            begun = self._pool.submit(job)
        except RuntimeError as error:  # the pool's word for having been shut down
            raise Closed("this runtime has been closed") from error

        def result() -> T:
            try:
                return begun.result()
            except CancelledError as error:
                raise Closed("this runtime has been closed") from error

        return result

    def each(self, job: Callable[[A], T], items: Sequence[A]) -> list[T]:
        """The job's results in order; a single one is done on the caller's thread. Raises the first one's fault."""
        if len(items) == 1:
            return [job(items[0])]
        begun = [self.start(lambda item=item: job(item)) for item in items]  # type: ignore[misc]
        return [result() for result in begun]

    def remove(
        self,
        members: Iterable[Callable[[], object]],
        *,
        meanwhile: Callable[[], object] | None = None,
        last: Callable[[], object] | None = None,
    ) -> None:
        """Remove a pod's containers side by side, doing ``meanwhile`` here, and ``last`` when they are gone.

        Each is tried whatever becomes of the others; then the first problem in that order
        (meanwhile, members, last) is raised.
        """
        begun = [self.start(member) for member in members]
        problems: list[RuntimeFault] = []
        for step in (meanwhile, *begun, last):
            try:
                if step is not None:
                    step()
            except RuntimeFault as fault:
                problems.append(fault)
        if problems:
            raise problems[0]

    def close(self) -> None:
        """End the threads; what has not begun does not begin."""
        self._pool.shutdown(wait=False, cancel_futures=True)
