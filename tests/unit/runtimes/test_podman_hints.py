"""Hints from the engine's events and from the kernel."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from queue import Queue
from typing import NamedTuple

import pytest

from podsync import labels
from podsync.clock import ManualClock
from podsync.runtimes.base import ContainerState, RuntimeHint
from podsync.runtimes.common.looking import Looker
from podsync.runtimes.common.records import Detail
from podsync.runtimes.podman.connect import Client
from podsync.runtimes.podman.hints import HintFeed

Serve = Callable[[Callable[[socket.socket, bytes], None]], str]


def event(action: str, container: str, node: str = "me", uid: str = "u") -> bytes:
    """A line of the stream."""
    attributes = {labels.NODE: node, labels.POD_UID: uid}
    return json.dumps({"Action": action, "Actor": {"ID": container, "Attributes": attributes}}).encode() + b"\n"


class World(NamedTuple):
    """A feed, the engine's side of its stream, and what was heard."""

    feed: HintFeed
    engine: Queue[bytes]
    heard: Queue[RuntimeHint | None]
    requests: list[bytes]
    looker: Looker
    connections: list[int]


@pytest.fixture
def world(serve: Serve) -> Iterator[World]:
    """A listener on a thread of its own."""
    engine: Queue[bytes] = Queue()
    heard: Queue[RuntimeHint | None] = Queue()
    requests: list[bytes] = []
    connections: list[int] = []

    def handle(connection: socket.socket, request: bytes) -> None:
        requests.append(request)
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while data := engine.get():
            connection.sendall(data)
        connection.shutdown(socket.SHUT_RDWR)

    client = Client(serve(handle))
    looker = Looker(ManualClock(), lambda uid: [], lambda key: Detail(key, ContainerState.RUNNING))
    feed = HintFeed(client, "me", looker, lambda: connections.append(1))
    stop = threading.Event()

    def listen() -> None:
        for hint in feed.follow(stop):
            heard.put(hint)
        heard.put(None)

    thread = threading.Thread(target=listen)
    thread.start()
    assert heard.get(timeout=5) == RuntimeHint()
    yield World(feed, engine, heard, requests, looker, connections)
    stop.set()
    engine.put(b"")
    engine.put(b"")
    client.close()
    thread.join(5)
    looker.close()
    assert not thread.is_alive()


def test_only_our_own_events_are_asked_for(world: World) -> None:
    """And only those that a look would show."""
    request = world.requests[0]
    assert b"GET /v4.0.0/libpod/events?stream=true" in request
    assert b"podsync.io%2Fnode%3Dme" in request
    assert b"died" in request
    assert b"start" not in request


def test_the_engines_events(world: World) -> None:
    """With pod and container; another node's, and what is no event, are of no interest."""
    world.engine.put(event("died", "2", node="other") + b"garbage\n[]\n" + event("remove", "1"))
    assert world.heard.get(timeout=5) == RuntimeHint(uid="u", container="1")


def test_the_kernels_word_comes_first_and_the_engines_no_more(world: World) -> None:
    """The late event, which some releases send twice, would only cause another look."""
    world.feed.died("1", "u")
    assert world.heard.get(timeout=5) == RuntimeHint(uid="u", container="1")
    assert "1" in world.looker._doubts
    world.engine.put(event("died", "1") * 2 + event("died", "2"))
    assert world.heard.get(timeout=5) == RuntimeHint(uid="u", container="2")


def test_our_own_removals_are_no_news(world: World) -> None:
    """Those of others are."""
    world.feed.removed({"1"})
    world.engine.put(event("remove", "1") + event("remove", "2"))
    assert world.heard.get(timeout=5) == RuntimeHint(uid="u", container="2")


def test_what_is_gone_is_expected_no_longer(world: World) -> None:
    """Else the list of it would only grow."""
    world.feed.died("1", "u")
    world.feed.died("2", "u")
    world.feed.keep({"2"})
    assert world.feed._expected == {("died", "2")}


def test_a_broken_stream_is_told_and_opened_anew(world: World) -> None:
    """Each time another engine may answer."""
    world.engine.put(b"")
    assert world.heard.get(timeout=5) == RuntimeHint(connected=False)
    assert world.heard.get(timeout=5) == RuntimeHint()
    assert len(world.connections) == 2


def test_closing_the_feed_ends_listeners(world: World) -> None:
    """Without their own stop."""
    world.feed.close()
    assert world.heard.get(timeout=5) is None


def test_every_listener_is_told(world: World) -> None:
    """Also one that comes later, which may leave before the others."""
    second = world.feed.follow(threading.Event())
    world.engine.put(b"")  # its connection is served by the same queue
    assert next(second) is not None
    world.feed.died("1", "u")
    seen = [world.heard.get(timeout=5) for _ in range(1)]
    while RuntimeHint(uid="u", container="1") not in seen:
        seen.append(world.heard.get(timeout=5))
    hint = next(second)
    while hint.container != "1":
        hint = next(second)
    second.close()
    assert len(world.feed._listeners) == 1
