"""The SDK's client against a server whose answers the tests write."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from podsync.errors import ConfigError, RuntimeUnavailable
from podsync.runtimes.common.faults import Refusal
from podsync.runtimes.podman.client import Client, segment, socket_path

Serve = Callable[[Callable[[socket.socket, bytes], None]], str]


def answer(status: str, body: bytes, more: bytes = b"") -> bytes:
    """An HTTP answer."""
    return b"HTTP/1.1 %s\r\nContent-Length: %d\r\n%s\r\n%s" % (status.encode(), len(body), more, body)


class Recorder:
    """Answers every request the same, and keeps them."""

    def __init__(self, reply: bytes) -> None:
        self.reply = reply
        self.requests: list[bytes] = []
        self.connections: set[int] = set()

    def __call__(self, connection: socket.socket, request: bytes) -> None:
        """One request."""
        self.requests.append(request)
        self.connections.add(id(connection))
        connection.sendall(self.reply)


@pytest.fixture
def clients() -> Iterator[Callable[[str], Client]]:
    """Makes clients and closes them."""
    made: list[Client] = []

    def make(path: str) -> Client:
        made.append(Client(path))
        return made[-1]

    yield make
    for client in made:
        client.close()


def test_calls_speak_one_version_over_one_connection(serve: Serve, clients: Callable[[str], Client]) -> None:
    """Kept alive, with bodies as JSON."""
    server = Recorder(answer("200 OK", b'{"Id":"1"}'))
    client = clients(serve(server))
    for _ in range(3):
        found = client.call("POST", "/containers/create", params={"a": "b c"}, body={"name": "x"})
    assert (found.status, found.json()) == (200, {"Id": "1"})
    assert server.requests[0].startswith(b"POST /v4.0.0/libpod/containers/create?a=b+c HTTP/1.1\r\n")
    assert server.requests[0].endswith(b'\r\n\r\n{"name": "x"}')
    assert b"application/json" in server.requests[0]
    assert len(server.connections) == 1


def test_an_empty_answer_has_no_json(serve: Serve, clients: Callable[[str], Client]) -> None:
    """As that of a start."""
    client = clients(serve(Recorder(b"HTTP/1.1 204 No Content\r\n\r\n")))
    assert client.call("POST", "/containers/x/start").json() is None


@pytest.mark.parametrize("status", ["400 Bad Request", "404 Not Found", "409 Conflict", "500 Internal Server Error"])
@pytest.mark.parametrize("streamed", [False, True])
def test_a_no_is_a_refusal(serve: Serve, clients: Callable[[str], Client], status: str, streamed: bool) -> None:
    """With its status and the engine's words."""
    client = clients(serve(Recorder(answer(status, b'{"cause":"c","message":"why not"}'))))
    with pytest.raises(Refusal) as caught:
        (client.stream if streamed else client.call)("GET", "/x")
    assert (caught.value.status, caught.value.text) == (int(status[:3]), "why not")


def hang_up(connection: socket.socket, request: bytes) -> None:
    """No answer but the end."""
    connection.shutdown(socket.SHUT_RDWR)


def babble(connection: socket.socket, request: bytes) -> None:
    """No HTTP."""
    connection.sendall(b"hello there\r\n\r\n")
    connection.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("behave", [hang_up, babble])
@pytest.mark.parametrize("streamed", [False, True])
def test_no_answer_is_an_engine_that_cannot_be_asked(
    serve: Serve, clients: Callable[[str], Client], behave: Callable[[socket.socket, bytes], None], streamed: bool
) -> None:
    """Whatever it does instead."""
    client = clients(serve(behave))
    with pytest.raises(RuntimeUnavailable):
        (client.stream if streamed else client.call)("GET", "/x")


@pytest.mark.parametrize("streamed", [False, True])
def test_a_hung_engine_is_told_apart(serve: Serve, clients: Callable[[str], Client], streamed: bool) -> None:
    """It took the call and says nothing: the limit of time is named."""
    free = threading.Event()
    client = clients(serve(lambda connection, request: free.wait(10) and None))
    try:
        with pytest.raises(RuntimeUnavailable, match=r"did not answer within 0\.2 s"):
            (client.stream if streamed else client.call)("GET", "/x", timeout=0.2)
    finally:
        free.set()


@pytest.mark.parametrize("streamed", [False, True])
def test_an_absent_socket_says_what_to_do(clients: Callable[[str], Client], streamed: bool) -> None:
    """How Podman's service is started."""
    client = clients("/nonexistent/podman.sock")
    with pytest.raises(RuntimeUnavailable, match=r"no such socket.*systemctl"):
        (client.stream if streamed else client.call)("GET", "/x")


def test_closing_ends_streams(serve: Serve, clients: Callable[[str], Client]) -> None:
    """A reader wakes up, and no new stream is opened."""
    client = clients(serve(Recorder(b"HTTP/1.1 200 OK\r\n\r\n")))
    stream = client.stream("GET", "/events")
    client.close()
    assert stream.read(5) == b""
    with pytest.raises(RuntimeUnavailable):
        client.stream("GET", "/events")


@pytest.mark.parametrize(
    ("endpoint", "path"), [("unix:///run/podman/x.sock", "/run/podman/x.sock"), ("/run/x.sock", "/run/x.sock")]
)
def test_sockets_of_this_host(endpoint: str, path: str) -> None:
    """With or without the scheme."""
    assert socket_path(endpoint) == path


@pytest.mark.parametrize("endpoint", ["tcp://127.0.0.1:8080", "ssh://core@host/run/podman.sock", "podman.sock", ""])
def test_engines_elsewhere_are_refused(endpoint: str) -> None:
    """Their volumes would be of another host."""
    with pytest.raises(ConfigError, match="unix:///"):
        socket_path(endpoint)


def test_names_are_one_segment_of_a_path() -> None:
    """Image names have slashes, colons and at signs."""
    assert segment("a/b:c@d") == "a%2Fb%3Ac%40d"
