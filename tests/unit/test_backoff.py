"""How long to wait before the next try."""

from __future__ import annotations

import pytest

from podsync.backoff import CRASH_LOOP, IMAGE_PULL, SANDBOX, START, VOLUME, Backoff


@pytest.mark.parametrize(
    ("backoff", "delays"),
    [
        (CRASH_LOOP, [0, 10, 20, 40, 80, 160, 300, 300]),
        (IMAGE_PULL, [0, 10, 20, 40, 80, 160, 300, 300]),
        (START, [0, 10, 20, 40, 80, 160, 300, 300]),
        (SANDBOX, [0, 2, 4, 8, 16, 32, 60, 60]),
        (VOLUME, [0, 0.5, 1, 2, 4, 8, 16, 32, 64, 122, 122]),
        (Backoff(initial=5, maximum=3), [0, 3, 3]),
    ],
)
def test_after_so_many_failures(backoff: Backoff, delays: list[float]) -> None:
    """None after no failure, then doubling from the first to the last."""
    assert [backoff.after(failures) for failures in range(len(delays))] == delays


@pytest.mark.parametrize("failures", [-1, 10**6])
def test_any_count_will_do(failures: int) -> None:
    """Neither a strange count nor a huge one is a problem."""
    assert IMAGE_PULL.after(failures) == (0 if failures < 0 else 300)


def test_a_crash_loop() -> None:
    """The first restart is immediate; each one that follows a short run waits twice as long, to 5 minutes."""
    delays: list[float] = []
    previous = None
    for _ in range(9):
        previous = CRASH_LOOP.following(previous, ran=1)
        delays.append(previous)
    assert delays == [0, 10, 20, 40, 80, 160, 300, 300, 300]


@pytest.mark.parametrize(("ran", "delay"), [(600, 80), (600.1, 0)])
def test_a_long_run_starts_it_over(ran: float, delay: float) -> None:
    """More than ten minutes of running forgive everything."""
    assert CRASH_LOOP.following(40, ran) == delay
