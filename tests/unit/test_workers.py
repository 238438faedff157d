"""Inbox and workers on real threads."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from podsync.messages import Woken
from podsync.workers import ThreadInbox, ThreadWorkers

LONG = 5.0


def test_inbox_gives_everything_at_once() -> None:
    """What was posted before comes without waiting, in order; then nothing is left."""
    inbox = ThreadInbox()
    first, second = Woken(), Woken()
    inbox.post(first)
    inbox.post(second)

    assert inbox.wait(LONG) == [first, second]
    assert inbox.wait(0) == []


def test_inbox_wakes_on_a_post_from_another_thread() -> None:
    """A waiting owner is woken by the first message."""
    inbox = ThreadInbox()
    threading.Timer(0.05, lambda: inbox.post(Woken())).start()

    assert len(inbox.wait(LONG)) == 1


def test_results_are_posted() -> None:
    """What a job returns arrives in the inbox."""
    inbox = ThreadInbox()
    workers = ThreadWorkers(inbox, size=1)

    workers.submit("pod:a", Woken)

    assert inbox.wait(LONG) == [Woken()]
    assert workers.stop(LONG)


def test_slow_pulls_hold_no_pod() -> None:
    """With every pull thread busy a pod's batch still runs at once."""
    inbox, release = ThreadInbox(), threading.Event()
    workers = ThreadWorkers(inbox, size=1, pulls=1)

    def slow() -> Woken:
        release.wait(LONG)
        return Woken()

    workers.submit("pull:a", slow)
    workers.submit("pull:b", slow)
    workers.submit("pod:a", Woken)

    assert inbox.wait(LONG) == [Woken()]
    release.set()
    workers.stop(LONG)


def test_together_runs_side_by_side_and_waits_for_all() -> None:
    """Jobs that need each other to go on all end before ``together`` returns."""
    workers = ThreadWorkers(ThreadInbox(), size=2)
    barrier, done = threading.Barrier(3, timeout=LONG), []

    def job(name: str) -> None:
        barrier.wait()
        done.append(name)

    workers.together([lambda: job("a"), lambda: job("b"), lambda: job("c")])
    assert sorted(done) == ["a", "b", "c"]
    workers.together([])
    workers.stop(LONG)


def test_stop_waits_for_what_is_under_way_and_takes_no_more() -> None:
    """Stopping says whether jobs are still running, and later jobs are dropped."""
    inbox, release, begun = ThreadInbox(), threading.Event(), threading.Event()
    workers = ThreadWorkers(inbox, size=1)

    def slow() -> Woken:
        begun.set()
        release.wait(LONG)
        return Woken()

    workers.submit("pod:a", slow)
    assert begun.wait(LONG)
    assert not workers.stop(0.01)
    release.set()
    assert workers.stop(LONG)
    workers.submit("pod:b", Woken)

    assert len(inbox.wait(0)) == 1


@pytest.mark.parametrize("lane", ["pod", "pull", "look"])
def test_a_burst_gets_a_thread_for_each_job(lane: str) -> None:
    """Jobs that come while one thread is idle do not queue up behind it."""
    inbox = ThreadInbox()
    workers = ThreadWorkers(inbox, size=4, pulls=4, looks=4)
    workers.submit(f"{lane}:first", Woken)
    assert inbox.wait(LONG)
    barrier = threading.Barrier(4, timeout=LONG)

    def meet() -> Woken:
        barrier.wait()
        return Woken()

    for number in range(4):
        workers.submit(f"{lane}:{number}", meet)

    came = 0
    while came < 4:
        messages = inbox.wait(LONG)
        assert messages, "the jobs ran one after the other"
        came += len(messages)
    assert workers.stop(LONG)


def test_together_with_idle_threads() -> None:
    """The second stage of a batch is side by side as well, with the threads of the first."""
    workers = ThreadWorkers(ThreadInbox(), size=4)
    for _ in range(3):
        barrier = threading.Barrier(4, timeout=LONG)
        workers.together([barrier.wait] * 4)
        assert not barrier.broken
    assert workers.stop(LONG)


def test_together_after_the_end() -> None:
    """A batch that outlives the stop comes to its end, one action after the other."""
    workers = ThreadWorkers(ThreadInbox(), size=2)
    workers.stop(0)
    done: list[str] = []

    workers.together([lambda: done.append("a"), lambda: done.append("b")])

    assert sorted(done) == ["a", "b"]


def test_a_job_that_fails_costs_no_thread(caplog: pytest.LogCaptureFixture) -> None:
    """A job that raises is logged, and its thread goes on."""
    inbox = ThreadInbox()
    workers = ThreadWorkers(inbox, size=1)

    def broken() -> Woken:
        raise ValueError("broken")

    for _ in range(3):
        workers.submit("pod:a", broken)
    workers.submit("pod:a", Woken)

    assert inbox.wait(LONG) == [Woken()]
    assert workers.stop(LONG)
    assert [r.getMessage() for r in caplog.records] == ["a job failed that must not"] * 3


def test_a_signal_handler_may_post() -> None:
    """What a handler posts while its own thread waits wakes that thread."""
    inbox = ThreadInbox()
    before = signal.signal(signal.SIGUSR1, lambda *_: inbox.post(Woken()))
    try:
        threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGUSR1)).start()
        assert inbox.wait(LONG) == [Woken()]
    finally:
        signal.signal(signal.SIGUSR1, before)
