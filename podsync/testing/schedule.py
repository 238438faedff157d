"""Virtual time: what happens when, drawn from one seed."""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable

from podsync.clock import ManualClock

__all__ = ["Schedule"]


class Schedule:
    """A heap of events on a clock that moves only here.

    An event may belong to a *life*; it is void once another life has begun. ``pump`` may
    be called from within an event: whatever is due meanwhile happens inside it, which is
    how a call takes its time.
    """

    def __init__(self, seed: int) -> None:
        """Nothing is due."""
        self.clock = ManualClock()
        self.random = random.Random(seed)  # noqa: S311 - a game, not a secret
        self.life = 0
        self.slow = 0.05
        """The share of calls and messages that take seconds."""
        self.next_change: Callable[[], float | None] = lambda: None
        """When the world next changes by itself."""
        self.look: Callable[[], None] = lambda: None
        """Called after everything that happens."""
        self.halted: Callable[[], bool] = lambda: False
        """Whether to stop letting things happen."""
        self._events: list[tuple[float, int, int | None, Callable[[], None]]] = []
        self._order = itertools.count()

    def delay(self) -> float:
        """Seconds that something takes: mostly little, sometimes long."""
        if self.random.random() < self.slow:
            return self.random.uniform(1, 8)
        return self.random.uniform(0.001, 0.05 if self.random.random() < 0.8 else 1.0)

    def at(self, seconds: float, event: Callable[[], None], life: int | None = None) -> None:
        """Let something happen in so many seconds, if its life still goes on then."""
        heapq.heappush(self._events, (self.clock.monotonic() + seconds, next(self._order), life, event))

    def pump(self, until: float) -> None:
        """Let everything happen that is due by then, each at its moment."""
        while not self.halted():
            change = self.next_change()
            due = self._events[0][0] if self._events else float("inf")
            moment = min(due, change if change is not None else float("inf"))
            if moment > until:
                break
            self._forward(moment)
            self.look()
            if due <= moment:
                _, _, life, event = heapq.heappop(self._events)
                if life in {None, self.life}:
                    event()
                    self.look()
        self._forward(until)

    def pause(self, seconds: float) -> None:
        """Let time go by within an event."""
        self.pump(self.clock.monotonic() + seconds)

    def _forward(self, moment: float) -> None:
        step = moment - self.clock.monotonic()
        if step > 0:
            self.clock.advance(step)
