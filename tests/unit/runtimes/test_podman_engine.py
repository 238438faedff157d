"""What is found out about one Podman, by many at once and while it hangs."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from queue import Queue

import pytest

from podsync.errors import RuntimeUnavailable
from podsync.runtimes.common.wire import Closed
from podsync.runtimes.podman import facts
from podsync.runtimes.podman.client import Client
from podsync.runtimes.podman.engine import Engine

Serve = Callable[[Callable[[socket.socket, bytes], None]], str]
MANY = 16


class Silent:
    """An engine that takes every request and answers none."""

    def __init__(self) -> None:
        self.requests = 0
        self.asked = threading.Event()

    def __call__(self, connection: socket.socket, request: bytes) -> None:
        """One request."""
        self.requests += 1
        self.asked.set()


def at_once(engine: Engine, count: int) -> Queue[Exception]:
    """Faults of so many questions begun at the same moment, as they come."""
    faults: Queue[Exception] = Queue()
    ready = threading.Barrier(count)

    def ask() -> None:
        ready.wait(5)
        try:
            engine.facts()
        except RuntimeUnavailable as fault:
            faults.put(fault)

    for _ in range(count):
        threading.Thread(target=ask, daemon=True).start()
    return faults


def test_many_who_meet_a_hung_engine_wait_once(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them for the same answer, so for one limit of time, not one after another."""
    monkeypatch.setattr(facts, "LOOK_TIMEOUT", 1.0)
    silent = Silent()
    client = Client(serve(silent))
    told = at_once(Engine(client, "me", threading.Event()), MANY)
    texts = {str(told.get(timeout=5)) for _ in range(MANY)}
    assert len(texts) == 1
    assert "did not answer within 1 s" in texts.pop()
    assert silent.requests == 1
    client.close()


def test_closing_does_not_wait_for_a_hung_engine(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """And lets go of those who wait for another's question."""
    monkeypatch.setattr(facts, "LOOK_TIMEOUT", 5.0)
    silent = Silent()
    client = Client(serve(silent))
    engine = Engine(client, "me", threading.Event())
    told = at_once(engine, MANY)
    assert silent.asked.wait(2)

    def close() -> None:
        client.close()
        engine.close()

    closer = threading.Thread(target=close, daemon=True)
    closer.start()
    closer.join(3)
    assert not closer.is_alive()
    assert {type(told.get(timeout=4)) for _ in range(MANY - 1)} == {Closed}


def test_nothing_is_asked_once_closed(serve: Serve) -> None:
    """By no kind of call."""
    silent = Silent()
    client = Client(serve(silent))
    client.close()
    for late in (lambda: client.call("GET", "/x"), lambda: client.stream("GET", "/x")):
        with pytest.raises(Closed):
            late()
    assert silent.requests == 0
