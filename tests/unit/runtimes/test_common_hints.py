"""The stream of events as hints."""

from __future__ import annotations

import json
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


def test_a_line_that_cannot_be_read_breaks_the_stream(serve: Serve, looker: Looker) -> None:
    """What it told of is lost, so all that ran is doubted, and the engine is given time before it is asked again."""
    lines = [b"garbage\nlate\n", b"abc\n"]
    streams = Streams(serve(lambda connection, request: connection.sendall(HEAD + lines.pop(0))))

    class Stop(threading.Event):
        waits: list[float | None] = []  # noqa: RUF012 - one test's

        def wait(self, timeout: float | None = None) -> bool:
            self.waits.append(timeout)
            return False

    def parse_or_not(line: bytes) -> RuntimeHint | None:
        if line == b"garbage":
            raise ValueError("no event")
        return parse(line)

    stop = Stop()
    stop.waits.clear()
    seen = hints.follow(stop, looker, lambda: streams.open("GET", "/events"), parse_or_not)
    assert [next(seen), next(seen)] == [RuntimeHint(), RuntimeHint(connected=False)]
    assert looker._away_since is not None
    assert [next(seen), next(seen)] == [RuntimeHint(), RuntimeHint(container="abc")]
    assert "1" * 64 in looker._doubts
    assert "late" not in looker._doubts
    assert stop.waits == [2.0]
    seen.close()  # type: ignore[attr-defined]
    streams.close()


@pytest.mark.parametrize(
    "line", [b"garbage", b"[]", b"null", b'"die"', b'{"Actor": [1]}', b'{"Actor": {"Attributes": "x"}}', b'"\xff"']
)
def test_what_is_no_event(line: bytes) -> None:
    """Whatever else it is."""
    with pytest.raises(ValueError, match=r"."):
        hints.event(line)


@pytest.mark.parametrize("line", [b"", b" ", b"{}", b'{"Actor": null}', b'{"Actor": {"Attributes": {"a": "b"}}}\r'])
def test_what_may_be_an_event(line: bytes) -> None:
    """An empty line is one that tells of nothing."""
    assert hints.event(line) == json.loads(line.strip() or b"{}")


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
