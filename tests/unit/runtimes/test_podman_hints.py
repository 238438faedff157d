"""Hints from the engine's events and from the kernel."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from queue import Queue
from typing import NamedTuple
from urllib.parse import parse_qs

import pytest

from podsync import labels
from podsync.clock import ManualClock
from podsync.runtimes.base import ContainerState, ImageRecord, RuntimeHint
from podsync.runtimes.common.images import UNHEARD, ImageCache
from podsync.runtimes.common.looking import Looker
from podsync.runtimes.common.records import Detail
from podsync.runtimes.podman.client import Client
from podsync.runtimes.podman.hints import HintFeed

Serve = Callable[[Callable[[socket.socket, bytes], None]], str]


def event(action: str, container: str, node: str = "me", uid: str = "u") -> bytes:
    """A line of the stream."""
    actor = {"ID": container, "Attributes": {labels.NODE: node, labels.POD_UID: uid}}
    return json.dumps({"Type": "container", "Action": action, "Actor": actor}).encode() + b"\n"


def image_event(action: str) -> bytes:
    """A line about an image, which is nobody's."""
    actor = {"ID": "i", "Attributes": {"name": "localhost/x:1"}}
    return json.dumps({"Type": "image", "Action": action, "Actor": actor}).encode() + b"\n"


class World(NamedTuple):
    """A feed, the engine's side of its stream, and what was heard."""

    feed: HintFeed
    engine: Queue[bytes]
    heard: Queue[RuntimeHint | None]
    requests: list[bytes]
    looker: Looker
    connections: list[int]
    images: ImageCache
    clock: ManualClock

    def is_remembered(self) -> bool:
        """Whether an image that is looked up now is known from memory long after."""
        self.images.find("a", lambda: ImageRecord("1"))
        self.clock.advance(10 * UNHEARD)
        return self.images.find("a", lambda: None) is not None


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
    clock = ManualClock()
    images = ImageCache(clock)
    looker = Looker(clock, lambda uid: [], lambda key: Detail(key, ContainerState.RUNNING))
    feed = HintFeed(client, "me", looker, images, lambda: connections.append(1))
    stop = threading.Event()

    def listen() -> None:
        for hint in feed.follow(stop):
            heard.put(hint)
        heard.put(None)

    thread = threading.Thread(target=listen)
    thread.start()
    assert heard.get(timeout=5) == RuntimeHint()
    yield World(feed, engine, heard, requests, looker, connections, images, clock)
    stop.set()
    engine.put(b"")
    engine.put(b"")
    client.close()
    thread.join(5)
    looker.close()
    assert not thread.is_alive()


def test_only_events_that_matter_are_asked_for(world: World) -> None:
    """Those that a look would show, and those after which a name may stand for another image."""
    target = world.requests[0].split()[1].decode()
    path, _, query = target.partition("?")
    assert path == "/v4.0.0/libpod/events"
    wanted = parse_qs(query)
    assert wanted["stream"] == ["true"]
    assert json.loads(wanted["filters"][0]) == {
        "type": ["container", "image"],
        "event": ["died", "remove", "build", "import", "loadfromarchive", "pull", "remove", "tag", "untag"],
    }


def test_the_engines_events(world: World) -> None:
    """With pod and container; another node's, and an image's, are of no interest."""
    world.engine.put(event("died", "2", node="other") + image_event("remove") + b"\n" + event("remove", "1"))
    assert world.heard.get(timeout=5) == RuntimeHint(uid="u", container="1")


def test_a_line_that_is_no_event_breaks_the_stream(world: World) -> None:
    """What it told of is lost."""
    world.engine.put(b"garbage\n" + event("died", "1"))
    assert world.heard.get(timeout=5) == RuntimeHint(connected=False)
    assert world.looker._away_since is not None


@pytest.mark.parametrize("action", ["tag", "untag", "pull", "remove", "build", "import", "loadfromarchive"])
def test_an_event_about_an_image_drops_what_is_remembered_of_any(world: World, action: str) -> None:
    """A name may stand for another one."""
    assert world.is_remembered()
    world.engine.put(image_event(action) + event("died", "1"))
    world.heard.get(timeout=5)
    found = world.images.find("a", lambda: ImageRecord("2"))
    assert found == ImageRecord("2")


def test_images_are_remembered_for_long_only_while_events_are_heard(world: World) -> None:
    """Not once the listener has ended; a new connection begins with nothing."""
    assert world.is_remembered()
    world.engine.put(b"")
    assert world.heard.get(timeout=5) == RuntimeHint(connected=False)
    assert world.heard.get(timeout=5) == RuntimeHint()
    assert world.images.find("a", lambda: ImageRecord("2")) == ImageRecord("2")
    world.feed.close()
    assert world.heard.get(timeout=5) is None
    assert not world.is_remembered()


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
    second.close()  # type: ignore[attr-defined]
    assert len(world.feed._listeners) == 1
