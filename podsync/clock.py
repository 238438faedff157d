"""Where time comes from: the only module that may read it."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Protocol

__all__ = ["Clock", "ManualClock", "SystemClock"]


class Clock(Protocol):
    """Two clocks in one: wall time for what people read, monotonic for waiting."""

    def now(self) -> datetime:
        """Wall time, aware, in UTC."""

    def monotonic(self) -> float:
        """Seconds from an unknown start; never goes back."""


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """Wall time, aware, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds from an unknown start; never goes back."""
        return time.monotonic()


class ManualClock:
    """A clock that stands still until told otherwise; nothing sleeps on it."""

    def __init__(self, start: datetime | None = None) -> None:
        """Start at ``start``, or at a fixed moment of 2030."""
        self._start = start or datetime(2030, 1, 1, tzinfo=UTC)
        self._elapsed = 0.0

    def now(self) -> datetime:
        """The start plus what was advanced."""
        return self._start + timedelta(seconds=self._elapsed)

    def monotonic(self) -> float:
        """Seconds advanced so far."""
        return self._elapsed

    def advance(self, seconds: float) -> None:
        """Move both clocks on. Raises ValueError for a negative number."""
        if seconds < 0:
            msg = "time does not go back"
            raise ValueError(msg)
        self._elapsed += seconds
