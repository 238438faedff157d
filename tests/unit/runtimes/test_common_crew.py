"""Calls side by side."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from podsync.errors import RuntimeFault, RuntimeUnavailable
from podsync.runtimes.common.crew import Crew
from podsync.runtimes.common.wire import Closed


@pytest.fixture
def crew() -> Iterator[Crew]:
    """Two threads."""
    found = Crew(2, "test")
    yield found
    found.close()


class Steps:
    """Jobs that note their names, and fail where asked to."""

    def __init__(self, *failing: str) -> None:
        self.done: list[str] = []
        self._failing = failing

    def __getitem__(self, name: str) -> Callable[[], None]:
        def job() -> None:
            self.done.append(name)
            if name in self._failing:
                raise RuntimeFault(name)

        return job


def test_results_come_in_order(crew: Crew) -> None:
    """One is found on the caller's own thread, several on others."""
    meeting = threading.Barrier(2, timeout=5)

    def slow(item: int) -> tuple[int, bool]:
        meeting.wait()
        return item, threading.current_thread() is threading.main_thread()

    assert crew.each(slow, [1, 2]) == [(1, False), (2, False)]
    assert crew.each(lambda _: threading.current_thread() is threading.main_thread(), [1]) == [True]
    assert crew.each(slow, []) == []


@pytest.mark.parametrize(
    ("failing", "told"),
    [
        ((), None),
        (("last",), "last"),
        (("b", "last"), "b"),
        (("a", "b"), "a"),
        (("meanwhile", "a", "b", "last"), "meanwhile"),
    ],
)
def test_a_removal_tries_all_and_tells_the_first_problem(
    crew: Crew, failing: tuple[str, ...], told: str | None
) -> None:
    """In the order given, whichever came first in time; the last step comes when the members are gone."""
    steps = Steps(*failing)
    members = [steps["a"], steps["b"]]
    if told is None:
        crew.remove(members, meanwhile=steps["meanwhile"], last=steps["last"])
    else:
        with pytest.raises(RuntimeFault, match=told):
            crew.remove(members, meanwhile=steps["meanwhile"], last=steps["last"])
    assert sorted(steps.done) == ["a", "b", "last", "meanwhile"]
    assert steps.done[-1] == "last"


def test_a_removal_is_done_side_by_side(crew: Crew) -> None:
    """Each step waits here for all the others."""
    meeting = threading.Barrier(3, timeout=5)
    crew.remove([meeting.wait, meeting.wait], meanwhile=meeting.wait)


CLOSED = {
    "start": lambda crew: crew.start(lambda: None),
    "each": lambda crew: crew.each(lambda item: item, [1, 2]),
    "remove": lambda crew: crew.remove([lambda: None]),
}


@pytest.mark.parametrize("verb", CLOSED)
def test_nothing_is_begun_once_closed(crew: Crew, verb: str) -> None:
    """The runtime is unavailable then, to whoever asks."""
    crew.close()
    with pytest.raises(Closed) as caught:
        CLOSED[verb](crew)
    assert isinstance(caught.value, RuntimeUnavailable)


def test_closing_lets_go_of_what_has_not_begun(crew: Crew) -> None:
    """What runs ends by itself."""
    free, running = threading.Event(), threading.Semaphore(0)

    def busy() -> bool:
        running.release()
        return free.wait(10)

    results = [crew.start(busy) for _ in range(2)]
    for _ in results:
        assert running.acquire(timeout=5)
    queued = crew.start(busy)
    crew.close()
    with pytest.raises(Closed):
        queued()
    free.set()
    assert [result() for result in results] == [True, True]
