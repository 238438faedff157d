"""One answer for many."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import Queue

import pytest

from podsync.errors import RuntimeUnavailable
from podsync.runtimes.common.shared import Shared
from podsync.runtimes.common.wire import Closed

MANY = 16


class Engine:
    """Answers when a test lets it: with what is put in, raised if it is an error."""

    def __init__(self) -> None:
        self.asked = threading.Semaphore(0)
        self.times = 0
        self.answers: Queue[str | Exception] = Queue()

    def ask(self) -> str:
        """One question."""
        self.times += 1
        self.asked.release()
        answer = self.answers.get(timeout=10)
        if isinstance(answer, Exception):
            raise answer
        return answer


class Callers:
    """Threads that all want the answer."""

    def __init__(self, get: Callable[[], str], count: int) -> None:
        self._get = get
        self._ready = threading.Barrier(count + 1, timeout=5)
        self.got: Queue[str | Exception] = Queue()
        self._threads = [threading.Thread(target=self._want) for _ in range(count)]
        for thread in self._threads:
            thread.start()
        self._ready.wait()

    def _want(self) -> None:
        self._ready.wait()
        try:
            self.got.put(self._get())
        except RuntimeUnavailable as error:
            self.got.put(error)

    def all(self) -> list[str | Exception]:
        """What each of them got."""
        found = [self.got.get(timeout=5) for _ in self._threads]
        for thread in self._threads:
            thread.join(5)
        return found


def waiting(shared: Shared[str], engine: Engine, count: int) -> Callers:
    """One that is being answered, and others that wait for it."""
    callers = Callers(shared.get, count)
    assert engine.asked.acquire(timeout=5)
    pause = threading.Event()
    for _ in range(500):
        answer = shared._answer
        if answer is not None and len(answer._condition._waiters) == count - 1:  # type: ignore[attr-defined]
            return callers
        pause.wait(0.01)
    raise AssertionError("not all of them wait")


@pytest.mark.parametrize("answer", ["yes", RuntimeUnavailable("away")], ids=["an answer", "a failure"])
def test_all_who_want_it_at_once_share_one_question(answer: str | Exception) -> None:
    """Also when it fails: nobody asks a hung engine after another has waited for it."""
    engine = Engine()
    callers = waiting(Shared(engine.ask), engine, MANY)
    engine.answers.put(answer)
    assert callers.all() == [answer] * MANY
    assert engine.times == 1


def test_an_answer_is_kept_and_a_failure_is_not() -> None:
    """The engine may be there again at the next question."""
    engine = Engine()
    shared = Shared(engine.ask)
    engine.answers.put(RuntimeUnavailable("away"))
    with pytest.raises(RuntimeUnavailable):
        shared.get()
    engine.answers.put("yes")
    assert [shared.get(), shared.get()] == ["yes", "yes"]
    assert engine.times == 2


def test_what_was_forgotten_is_asked_for_anew() -> None:
    """By those who come later; who waits already gets the answer that is on its way, and it is not kept."""
    engine = Engine()
    shared = Shared(engine.ask)
    early = waiting(shared, engine, 1)
    shared.forget()
    late = waiting(shared, engine, 1)
    engine.answers.put("first")
    assert early.all() == ["first"]
    engine.answers.put("second")
    assert late.all() == ["second"]
    assert shared.get() == "second"


@pytest.mark.parametrize("answer", ["yes", RuntimeUnavailable("away")], ids=["an answer", "a failure"])
def test_closing_waits_for_nobody_and_lets_all_go(answer: str | Exception) -> None:
    """Though the engine hangs; who asks it learns of the close once it has its answer."""
    engine = Engine()
    shared = Shared(engine.ask)
    callers = waiting(shared, engine, MANY)
    shared.close()
    freed = [callers.got.get(timeout=5) for _ in range(MANY - 1)]
    assert {type(item) for item in freed} == {Closed}
    engine.answers.put(answer)
    assert isinstance(callers.got.get(timeout=5), Closed)
    with pytest.raises(Closed):
        shared.get()
    assert engine.times == 1
