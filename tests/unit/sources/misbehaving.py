"""A server that answers as told: well, badly, late, endlessly or not at all."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

from podsync.clock import SystemClock
from podsync.sources import open as open_source
from podsync.sources.http import HttpSource

Answerer = Callable[["Handler"], None]


@dataclass
class Server:
    """What to answer next and what was asked. ``answer`` may be swapped at any time."""

    url: str = ""
    answer: Answerer = field(default=lambda handler: handler.send_error(500))
    asked: list[Mapping[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)


class Handler(BaseHTTPRequestHandler):
    """One request."""

    played: Server

    def do_GET(self) -> None:
        """Answer as told; the client may have gone."""
        self.played.asked.append(dict(self.headers.items()))
        self.played.paths.append(self.path)
        with suppress(ConnectionError):
            self.played.answer(self)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Be quiet."""

    def reply(
        self, body: bytes, status: int = 200, headers: Mapping[str, str] | None = None, *, length: bool = True
    ) -> None:
        """A whole answer; without ``length`` its end is the end of the connection."""
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if length and "Content-Length" not in (headers or {}):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class _Quiet(socketserver.ThreadingMixIn, HTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is no error here."""


@contextmanager
def serving(answer: Answerer | None = None) -> Iterator[Server]:
    """A server on a free port of this machine."""
    played = Server()
    if answer is not None:
        played.answer = answer
    server = _Quiet(("127.0.0.1", 0), type("Bound", (Handler,), {"played": played}))
    played.url = f"http://127.0.0.1:{server.server_address[1]}/pods.yaml"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield played
    finally:
        played.closing.set()
        server.shutdown()
        thread.join()
        server.server_close()


def text(body: str, **headers: str) -> Answerer:
    """A good answer; underscores in header names mean dashes."""
    return lambda handler: handler.reply(body.encode(), headers={k.replace("_", "-"): v for k, v in headers.items()})


def status(code: int, **headers: str) -> Answerer:
    """An answer of another status, with a body that must not be read as a manifest."""
    named = {k.replace("_", "-"): v for k, v in headers.items()}
    return lambda handler: handler.reply(b"kind: List\napiVersion: v1\nitems: []\n", code, named)


def unmeasured(body: str) -> Answerer:
    """A good answer that neither tells its length nor is sent in chunks."""
    return lambda handler: handler.reply(body.encode(), length=False)


def chunked(*parts: str, end: bool = True) -> Answerer:
    """An answer in chunks; without ``end`` it is cut off after the last one."""

    def answer(handler: Handler) -> None:
        handler.protocol_version = "HTTP/1.1"
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        for part in parts:
            handler.wfile.write(f"{len(part):x}\r\n{part}\r\n".encode())
        if end:
            handler.wfile.write(b"0\r\n\r\n")
        handler.close_connection = True

    return answer


def cut(body: str, missing: int = 10) -> Answerer:
    """An answer that ends before its length is reached."""
    return lambda handler: handler.reply(body.encode(), headers={"Content-Length": str(len(body) + missing)})


def _drip(handler: Handler, head: bytes) -> None:
    handler.wfile.write(head)
    while not handler.played.closing.wait(0.05):
        handler.wfile.write(b"#")
        handler.wfile.flush()


def endless_body(handler: Handler) -> None:
    """Never silent for long, never done."""
    _drip(handler, b"HTTP/1.1 200 OK\r\n\r\n")


def endless_chunk(handler: Handler) -> None:
    """The same within one announced chunk."""
    _drip(handler, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffff\r\n")


def endless_headers(handler: Handler) -> None:
    """Not even the first line ends."""
    _drip(handler, b"HTTP/1.1 200 ")


def silent(handler: Handler) -> None:
    """Accepts and says nothing."""
    handler.played.closing.wait()


def silent_body(handler: Handler) -> None:
    """Announces a body and sends none."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n")
    handler.played.closing.wait()


def flood(handler: Handler) -> None:
    """As much as the other side takes."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
    while not handler.played.closing.is_set():
        handler.wfile.write(b"#" * (1 << 20))


def garbage(handler: Handler) -> None:
    """No HTTP at all."""
    handler.wfile.write(b"\x16\x03\x01 what?\r\n\r\n")


def hang_up(handler: Handler) -> None:
    """No answer, the connection ends."""
    handler.close_connection = True


def source(played: Server, root: Path | None = None, **options: str) -> HttpSource:
    """The source of that server, impatient."""
    opened = open_source(played.url, SystemClock(), root, **{"timeout": "0.3", **options})
    assert isinstance(opened, HttpSource)
    return opened
