"""A server on a unix socket whose answers a test writes itself."""

from __future__ import annotations

import shutil
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

Handler = Callable[[socket.socket, bytes], None]
Serve = Callable[[Handler], str]


class _Server:
    """Reads requests of kept-alive connections and hands each to a function."""

    def __init__(self, path: str, handler: Handler) -> None:
        self._handler = handler
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(path)
        self._listener.listen(64)
        self._open: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def close(self) -> None:
        """End everything and wait for it."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in self._open:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(5)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._open.append(connection)
            self._threads.append(threading.Thread(target=self._answer, args=(connection,), daemon=True))
            self._threads[-1].start()

    def _answer(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            while request := self._request(connection):
                self._handler(connection, request)

    @staticmethod
    def _request(connection: socket.socket) -> bytes:
        data = b""
        while b"\r\n\r\n" not in data:
            more = connection.recv(65536)
            if not more:
                return b""
            data += more
        head, _, body = data.partition(b"\r\n\r\n")
        lengths = [line.split(b":")[1] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")]
        while len(body) < (int(lengths[0]) if lengths else 0):
            body += connection.recv(65536)
        return head + b"\r\n\r\n" + body


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Start a server; gives the path of its socket."""
    folder = tempfile.mkdtemp(prefix="podsync-")  # pytest's own folders are too long for a socket's name
    servers: list[_Server] = []

    def start(handler: Handler) -> str:
        path = str(Path(folder, f"{len(servers)}.sock"))
        servers.append(_Server(path, handler))
        return path

    try:
        yield start
    finally:
        for server in servers:
            server.close()
        shutil.rmtree(folder)
