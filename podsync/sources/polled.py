"""The loop of every source that has to look: look, speak if something changed, wait, look again.

Directory, file and URL differ in how they look and how they wait; when to speak, what a
failure means and how revisions grow is written here once. A source of your own::

    def open_source(options, clock):
        return Polled("consul:pods", read=fetch, interval=20.0, clock=clock)
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable
from typing import TYPE_CHECKING

from podsync.errors import SourceError

if TYPE_CHECKING:
    from podsync.backoff import Backoff
    from podsync.clock import Clock
    from podsync.runtimes.base import StopToken
    from podsync.sources.base import Sink, Snapshot

__all__ = ["Polled", "RetryLater"]

_LOG = logging.getLogger(__name__)
_JITTER = 0.2  # a fleet that lost its server must not come back as one


class RetryLater(SourceError):
    """A failed read whose other side said when to ask again (``Retry-After``)."""

    def __init__(self, source: str, message: str, seconds: float) -> None:
        """``seconds`` is the least to wait; the source's own delay may be longer."""
        super().__init__(source, message)
        self.seconds = seconds


class Polled:
    """A Source made of one function that reads.

    ``read`` gives the whole set, or None for "nothing to say yet" (something is just being
    written), and raises SourceError when it could not read; giving the very same Snapshot
    again says that nothing changed. ``interval`` is the seconds from the start of a look to
    the start of the next, as a number or a function asked after every look.

    ``stored``: what was good before this process began, spoken first if the first read fails.
    ``spoken``: called when the sink has a new set; the time to store it.
    ``pause``: waits that many seconds or less, until stopped or until a look seems worth while.
    ``backoff``: the delay after failures in a row; without it ``interval`` holds for them too.
    ``jitter``: a number from 0 to 1; at most a fifth of a failure's delay is added by it.
    """

    def __init__(
        self,
        name: str,
        read: Callable[[], Snapshot | None],
        interval: float | Callable[[], float],
        clock: Clock,
        *,
        stored: Callable[[], Snapshot | None] | None = None,
        spoken: Callable[[], None] | None = None,
        pause: Callable[[float, StopToken], None] | None = None,
        backoff: Backoff | None = None,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.name = name
        self.read = read
        self._interval = interval
        self._clock = clock
        self._stored = stored
        self._spoken = spoken
        self._pause = pause or _wait
        self._backoff = backoff
        self._jitter = jitter
        self._revision = 0
        self._last: Snapshot | None = None
        self._failures = 0

    def run(self, sink: Sink, stop: StopToken) -> None:
        """Look until stopped. Nothing a read raises ends the loop. Run again, it speaks again with newer revisions."""
        self._last, self._failures = None, 0
        while not stop.is_set():
            began = self._clock.monotonic()
            delay = self._look(sink)
            if stop.is_set():
                return
            self._pause(max(0.0, delay - (self._clock.monotonic() - began)), stop)

    def _look(self, sink: Sink) -> float:
        """One look; gives the seconds until the next."""
        try:
            snapshot = self.read()
        except SourceError as error:
            return self._fail(sink, error)
        except Exception as error:  # noqa: BLE001 - the thread must outlive a fault in a reader, and say so
            _LOG.exception("source failed unexpectedly", extra={"source": self.name})
            return self._fail(sink, SourceError(self.name, f"unexpected {type(error).__name__}: {error}"))
        recovered, self._failures = self._failures > 0, 0
        # after failures even an unchanged set is spoken: it is the news that reading works again
        if snapshot is not None and (recovered or snapshot is not self._last):
            self._speak(sink, snapshot)
        return self._every()

    def _speak(self, sink: Sink, snapshot: Snapshot) -> None:
        self._last = snapshot
        self._revision += 1
        sink.replace(self._revision, snapshot.pods, snapshot.refusals)
        if self._spoken is not None:
            self._spoken()

    def _fail(self, sink: Sink, error: SourceError) -> float:
        if self._last is None and self._stored is not None:
            stored = self._stored()
            if stored is not None:
                self._last = stored
                self._revision += 1
                sink.replace(self._revision, stored.pods, stored.refusals)
        self._failures += 1
        sink.failed(error)
        delay = self._every() if self._backoff is None else self._backoff.after(self._failures)
        if isinstance(error, RetryLater):
            delay = max(delay, error.seconds)
        return delay if self._backoff is None else delay * (1 + _JITTER * self._jitter())

    def _every(self) -> float:
        return self._interval() if callable(self._interval) else self._interval


def _wait(seconds: float, stop: StopToken) -> None:
    stop.wait(seconds)
