"""Two clocks in one, and one that a test moves."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from podsync.clock import ManualClock, SystemClock


def test_the_systems_clock() -> None:
    """Wall time is aware and in UTC; monotonic time never goes back."""
    clock = SystemClock()
    assert clock.now().tzinfo is UTC
    moments = [clock.monotonic() for _ in range(100)]
    assert moments == sorted(moments)


def test_a_manual_clock_stands_until_moved() -> None:
    """Both of its times move together, from the start given or a fixed one."""
    clock = ManualClock()
    assert (clock.now(), clock.monotonic()) == (datetime(2030, 1, 1, tzinfo=UTC), 0.0)
    assert clock.now() == clock.now()
    clock.advance(1.5)
    clock.advance(0)
    assert (clock.now(), clock.monotonic()) == (datetime(2030, 1, 1, 0, 0, 1, 500000, tzinfo=UTC), 1.5)
    start = datetime(2000, 1, 1, tzinfo=UTC)
    other = ManualClock(start)
    other.advance(60)
    assert other.now() - start == timedelta(minutes=1)


def test_time_does_not_go_back() -> None:
    """A negative step is a mistake in a test, and told."""
    with pytest.raises(ValueError, match="does not go back"):
        ManualClock().advance(-1)
