"""The stream of events as hints."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from podsync.clock import ManualClock
from podsync.errors import RuntimeUnavailable
from podsync.runtimes.base import ContainerState, RuntimeHint
from podsync.runtimes.common import hints
from podsync.runtimes.common.looking import Looker
from podsync.runtimes.common.records import Detail
from podsync.runtimes.common.wire import Stream, Streams

Serve = Callable[[Callable[[socket.socket, bytes], None]], str]
HEAD = b"HTTP/1.1 200 OK\r\n\r\n"


@pytest.fixture
def looker() -> Iterator[Looker]:
    """One that knows one running container."""
    found = Looker(ManualClock(), lambda uid: [], lambda key: Detail("1" * 64, ContainerState.RUNNING))
    found.ask("1")
    yield found
    found.close()


def parse(line: bytes) -> RuntimeHint | None:
    """A line is a container's id; an empty one is of no interest."""
    return RuntimeHint(container=line.decode()) if line else None


def test_lines_become_hints_and_their_containers_are_doubted_first(serve: Serve, looker: Looker) -> None:
    """A look made for the hint then knows of the death."""
    streams = Streams(serve(lambda connection, request: connection.sendall(HEAD + b"\nabc\n")))
    stop = threading.Event()
    seen = hints.follow(stop, looker, lambda: streams.open("GET", "/events"), parse)
    assert next(seen) == RuntimeHint()
    assert next(seen) == RuntimeHint(container="abc")
    assert "abc" in looker._doubts
    stop.set()
    assert list(seen) == []
    streams.close()


def test_a_broken_stream_is_told_and_opened_again(serve: Serve, looker: Looker) -> None:
    """Then all that ran is doubted: deaths may have been missed."""

    def handle(connection: socket.socket, request: bytes) -> None:
        connection.sendall(HEAD)
        connection.shutdown(socket.SHUT_RDWR)

    streams = Streams(serve(handle))
    seen = hints.follow(threading.Event(), looker, lambda: streams.open("GET", "/events"), parse)
    assert [next(seen) for _ in range(3)] == [RuntimeHint(), RuntimeHint(connected=False), RuntimeHint()]
    assert "1" * 64 in looker._doubts
    seen.close()  # type: ignore[attr-defined]
    streams.close()


@pytest.mark.parametrize("error", [ConnectionRefusedError("no"), RuntimeUnavailable("no")])
def test_an_engine_that_is_away_is_told_once_and_tried_again(serve: Serve, looker: Looker, error: Exception) -> None:
    """With growing waits, until it is back."""
    streams = Streams(serve(lambda connection, request: connection.sendall(HEAD)))
    failures = [error, error, error]

    class Stop(threading.Event):
        waits: list[float | None] = []  # noqa: RUF012 - one test's

        def wait(self, timeout: float | None = None) -> bool:
            self.waits.append(timeout)
            return False

    def connect() -> Stream:
        if failures:
            raise failures.pop()
        return streams.open("GET", "/events")

    stop = Stop()
    stop.waits.clear()
    seen = hints.follow(stop, looker, connect, parse)
    assert [next(seen), next(seen)] == [RuntimeHint(connected=False), RuntimeHint()]
    assert stop.waits == [0.1, 0.2, 0.4]
    seen.close()  # type: ignore[attr-defined]
    streams.close()


def test_closing_the_streams_ends_the_hints(serve: Serve, looker: Looker) -> None:
    """Without the stop token, from another thread."""
    streams = Streams(serve(lambda connection, request: connection.sendall(HEAD)))
    connected = threading.Event()

    def listen() -> None:
        for _ in hints.follow(threading.Event(), looker, lambda: streams.open("GET", "/events"), parse):
            connected.set()

    listener = threading.Thread(target=listen)
    listener.start()
    assert connected.wait(5)
    streams.close()
    listener.join(5)
    assert not listener.is_alive()
