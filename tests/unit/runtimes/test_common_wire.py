"""HTTP over a socket: bodies, limits of time, and an end from another thread."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable

import pytest

from podsync.runtimes.common.wire import Closed, Stream, Streams

Serve = Callable[[Callable[[socket.socket, bytes], None]], str]
OK = b"HTTP/1.1 200 OK\r\n"


def answer(*pieces: bytes) -> Callable[[socket.socket, bytes], None]:
    """A handler that sends the pieces and hangs up."""

    def handle(connection: socket.socket, request: bytes) -> None:
        for piece in pieces:
            connection.sendall(piece)
        connection.shutdown(socket.SHUT_RDWR)

    return handle


def fetch(path: str) -> Stream:
    """One GET."""
    return Streams(path).open("GET", "/x", timeout=5)


@pytest.mark.parametrize(
    "pieces",
    [
        [OK + b"Content-Length: 11\r\n\r\nhello", b" world", b"surplus"],
        [OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhel", b"lo\r\n", b"6;x=y\r\n world\r\n0\r\n\r\n"],
        [OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\nh\r\n4\r\nello\r\n6\r\n worl", b"d\r", b"\n", b"0", b"\r\n\r\n"],
        [OK + b"\r\nhello", b" world"],
        [b"HTTP/1.1 101 UPGRADED\r\nTransfer-Encoding: chunked\r\n", b"\r\nhello world"],
    ],
    ids=["length", "chunked", "many chunks", "until the end", "upgraded"],
)
def test_bodies_are_read_whole(serve: Serve, pieces: list[bytes]) -> None:
    """However the answer says where it ends, and however it is cut up."""
    assert fetch(serve(answer(*pieces))).body(5) == b"hello world"


def test_status_and_headers(serve: Serve) -> None:
    """Of a refusal as well: its text is the body."""
    stream = fetch(serve(answer(b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\nX-A:  b \r\n\r\nno")))
    assert (stream.status, stream.headers["x-a"], stream.body(5)) == (404, "b", b"no")


def test_a_chunked_answer_cut_off_ends(serve: Serve) -> None:
    """What came is given; the engine is gone."""
    assert fetch(serve(answer(OK + b"Transfer-Encoding: chunked\r\n\r\n9\r\nhello"))).body(5) == b"hello"


@pytest.mark.parametrize(
    "junk",
    [b"", b"SSH-2.0-x\r\n\r\n", b"HTTP/1.1 a\r\n\r\n", OK + b"Transfer-Encoding: chunked\r\n\r\nz\r\n", b"x" * 70000],
    ids=["nothing", "no http", "no status", "no chunk", "endless line"],
)
def test_what_is_not_http_is_an_error(serve: Serve, junk: bytes) -> None:
    """Never an empty answer."""
    path = serve(answer(junk))
    with pytest.raises(OSError, match=r"HTTP|without an answer"):
        fetch(path).body(5)


def test_the_request_carries_json_and_asks_for_an_upgrade(serve: Serve) -> None:
    """As engines want it for a two-way connection."""
    seen: list[bytes] = []

    def handle(connection: socket.socket, request: bytes) -> None:
        seen.append(request)
        answer(b"HTTP/1.1 101 UPGRADED\r\n\r\n")(connection, request)

    stream = Streams(serve(handle)).open("POST", "/exec/1/start", body={"Tty": False}, upgrade=True, timeout=5)
    stream.body(5)
    head, _, body = seen[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /exec/1/start HTTP/1.1\r\n")
    assert {b"Connection: Upgrade", b"Upgrade: tcp", b"Content-Length: 14"} <= set(head.split(b"\r\n"))
    assert body == b'{"Tty": false}'


def test_an_upgraded_connection_goes_both_ways(serve: Serve) -> None:
    """And tells the other side when nothing more will be sent."""

    def echo(connection: socket.socket, request: bytes) -> None:
        connection.sendall(b"HTTP/1.1 101 UPGRADED\r\n\r\n")
        while data := connection.recv(100):
            connection.sendall(data.upper())
        connection.shutdown(socket.SHUT_RDWR)

    stream = Streams(serve(echo)).open("POST", "/", upgrade=True, timeout=5)
    stream.send(b"hello")
    stream.end_input()
    assert stream.body(5) == b"HELLO"


def test_lines(serve: Serve) -> None:
    """Cut at newlines wherever the pieces end; the last may have none."""
    stream = fetch(serve(answer(OK + b"\r\n", b"one\ntw", b"o\n", b"three")))
    assert list(stream.lines(5)) == [b"one", b"two", b"three"]
    stream.close()


def test_waiting_has_a_limit(serve: Serve) -> None:
    """For the head, and for each piece of the body."""
    path = serve(lambda connection, request: None)
    with pytest.raises(TimeoutError):
        Streams(path).open("GET", "/", timeout=0.05)
    stream = fetch(serve(lambda connection, request: connection.sendall(OK + b"\r\n")))
    with pytest.raises(TimeoutError):
        stream.read(0.05)
    stream.close()


@pytest.mark.parametrize("how", ["stream", "all"])
def test_a_waiting_reader_is_woken_from_another_thread(serve: Serve, how: str) -> None:
    """By closing the stream, or all streams at once; the reader sees an end, not an error."""
    streams = Streams(serve(lambda connection, request: connection.sendall(OK + b"\r\n")))
    stream = streams.open("GET", "/", timeout=5)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(stream.read()))
    reader.start()
    (stream if how == "stream" else streams).close()
    reader.join(5)
    assert read == [b""]
    stream.close()


def test_nothing_is_opened_once_closed(serve: Serve) -> None:
    """It is told apart from an engine that is away."""
    streams = Streams(serve(answer(OK + b"\r\n")))
    streams.close()
    with pytest.raises(Closed):
        streams.open("GET", "/")


def test_an_absent_socket_is_an_os_error() -> None:
    """With the system's number, from which the advice is made."""
    with pytest.raises(FileNotFoundError):
        Streams("/nonexistent/engine.sock").open("GET", "/")
