"""HTTP over an engine's unix socket, for what an SDK's client cannot do.

An event stream, a followed log and the two-way connection of a command share three
needs: a wait with a limit, an end from another thread, and bytes as they come. One
request is one connection here; the short calls go through the SDKs' kept-alive ones.
"""

from __future__ import annotations

import json
import select
import socket
import threading
import weakref
from collections.abc import Iterator, Mapping
from contextlib import suppress
from http import HTTPStatus

from podsync.errors import RuntimeUnavailable

__all__ = ["Closed", "Stream", "Streams"]

_CHUNK = 65536
_MAX_HEAD = 65536


class Closed(RuntimeUnavailable):
    """The runtime has been closed by its own side."""


class Stream:
    """An HTTP answer being read, and after an upgrade a plain two-way connection.

    One thread reads; another may ``send``, and any may ``close``.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._data = b""  # received; read as far as _at
        self._at = 0
        self._lock = threading.Lock()
        self._closed = False
        self._waiting = False
        self._ended = False
        self._chunked = False
        self._in_chunk = 0
        self._left: int | None = None
        self.status = 0
        self.headers: dict[str, str] = {}

    def read(self, timeout: float | None = None) -> bytes:
        """The next bytes of the body, as many as there are; empty at its end or once closed.

        Raises TimeoutError when nothing came within ``timeout`` seconds, OSError when the
        connection broke.
        """
        if self._ended:
            return b""
        if self._chunked:
            return self._read_chunked(timeout)
        data = self._take(self._left, timeout)
        if self._left is not None:
            self._left -= len(data)
        self._ended = self._left == 0 or not data
        return data

    def body(self, timeout: float) -> bytes:
        """All that is left of the body, each wait limited to ``timeout`` seconds; then it is closed."""
        parts = []
        try:
            while data := self.read(timeout):
                parts.append(data)
        finally:
            self.close()
        return b"".join(parts)

    def lines(self, timeout: float | None = None) -> Iterator[bytes]:
        """The body line by line. Raises as ``read`` does."""
        rest = b""
        while data := self.read(timeout):
            *whole, rest = (rest + data).split(b"\n")
            yield from whole
        if rest:
            yield rest

    def send(self, data: bytes) -> None:
        """Write to an upgraded connection. Raises OSError when it is gone."""
        self._sock.sendall(data)

    def end_input(self) -> None:
        """Say that nothing more will be sent."""
        with suppress(OSError):
            self._sock.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """End it, waking a blocked reader; from any thread, as often as wished."""
        with self._lock:
            self._closed = True
            with suppress(OSError):
                self._sock.shutdown(socket.SHUT_RDWR)
            if not self._waiting:  # a descriptor freed under a waiting reader could become someone else's
                self._sock.close()

    def _receive(self, timeout: float | None) -> bytes:
        """Bytes off the socket; empty when the other side, or ``close``, has ended it."""
        with self._lock:
            if self._closed:
                return b""
            self._waiting = True
        try:
            poll = select.poll()
            poll.register(self._sock, select.POLLIN)
            if poll.poll(None if timeout is None else max(0, round(timeout * 1000))):
                return self._sock.recv(_CHUNK)
        finally:
            self._woken()
        raise TimeoutError(f"no answer within {timeout:g} s")

    def _woken(self) -> None:
        """The reader waits no more; it frees what ``close`` had to leave."""
        with self._lock:
            self._waiting = False
            if self._closed:
                self._sock.close()

    def _fill(self, timeout: float | None) -> bool:
        """Wait for more; false when none will come."""
        more = self._receive(timeout)
        self._data, self._at = self._data[self._at :] + more, 0
        return bool(more)

    def _take(self, limit: int | None, timeout: float | None) -> bytes:
        """What is there, else what comes, at most ``limit`` bytes; empty at the end."""
        if self._at == len(self._data) and not self._fill(timeout):
            return b""
        end = len(self._data) if limit is None else min(len(self._data), self._at + limit)
        data = self._data[self._at : end]
        self._at = end
        return data

    def _line(self, timeout: float | None) -> bytes | None:
        """One line of the protocol without its end; None when the connection ended first."""
        while (end := self._data.find(b"\n", self._at)) < 0:
            if len(self._data) - self._at > _MAX_HEAD:
                raise OSError("the engine's answer is not HTTP")
            if not self._fill(timeout):
                return None
        line = self._data[self._at : end]
        self._at = end + 1
        return line.rstrip(b"\r")

    def _read_chunked(self, timeout: float | None) -> bytes:
        """All chunks that are there, else the next piece of one that comes."""
        pieces: list[bytes] = []
        while not self._ended and (not pieces or self._more_is_there()):
            if self._in_chunk == 0:
                self._begin_chunk(timeout)
            else:
                piece = self._take(self._in_chunk, timeout)
                self._ended = not piece
                self._in_chunk -= len(piece)
                pieces.append(piece)
        return b"".join(pieces)

    def _more_is_there(self) -> bool:
        """Whether a chunked body can be read on without waiting: some of a chunk, or the line before one."""
        if self._in_chunk:
            return self._at < len(self._data)
        return self._data.find(b"\n", self._at + len(b"\r\n")) >= 0

    def _begin_chunk(self, timeout: float | None) -> None:
        """Read the line that a chunk begins with; the last one has no bytes."""
        size = self._line(timeout)
        if size == b"":  # the end of the chunk before
            size = self._line(timeout)
        self._in_chunk = _chunk_size(size) if size is not None else 0
        self._ended = self._in_chunk == 0

    def read_head(self, timeout: float) -> None:
        """Read status and headers. Raises OSError when the engine hung up instead, TimeoutError."""
        first = self._line(timeout)
        if first is None:
            raise ConnectionResetError("the engine closed the connection without an answer")
        words = first.split(None, 2)
        if len(words) < 2 or not words[0].startswith(b"HTTP/") or not words[1].isdigit():  # noqa: PLR2004
            raise OSError("the engine's answer is not HTTP")
        self.status = int(words[1])
        while header := self._line(timeout):
            name, _, value = header.decode("latin-1").partition(":")
            self.headers[name.strip().lower()] = value.strip()
        upgraded = self.status == HTTPStatus.SWITCHING_PROTOCOLS
        self._chunked = not upgraded and "chunked" in self.headers.get("transfer-encoding", "").lower()
        length = self.headers.get("content-length", "")
        if not upgraded and not self._chunked and length.isdigit():
            self._left = int(length)
            self._ended = self._left == 0


def _chunk_size(line: bytes) -> int:
    """The number a chunk begins with. Raises OSError when there is none."""
    try:
        return int(line.split(b";")[0], 16)
    except ValueError:
        raise OSError("the engine's answer is not HTTP") from None


class Streams:
    """Opens streams to one socket and can end them all."""

    def __init__(self, socket_path: str) -> None:
        self.socket_path = socket_path
        self._lock = threading.Lock()
        self._open: weakref.WeakSet[Stream] = weakref.WeakSet()
        self.closed = False

    def open(
        self,
        method: str,
        target: str,
        *,
        body: object | None = None,
        headers: Mapping[str, str] | None = None,
        upgrade: bool = False,
        timeout: float = 30.0,
    ) -> Stream:
        """Send one request and read the head of its answer, whatever its status.

        ``body`` is sent as JSON. ``upgrade`` asks for a two-way connection. ``timeout``
        (seconds) limits each wait up to the head. Raises OSError (FileNotFoundError,
        PermissionError, ConnectionRefusedError, TimeoutError, …), Closed.
        """
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        stream = Stream(sock)
        try:
            with self._lock:
                if self.closed:
                    raise Closed("this runtime has been closed")
                self._open.add(stream)
            sock.settimeout(timeout)
            sock.connect(self.socket_path)
            sock.sendall(_request(method, target, body, headers or {}, upgrade=upgrade))
            sock.settimeout(None)
            stream.read_head(timeout)
        except BaseException:
            stream.close()
            raise
        return stream

    def close(self) -> None:
        """End every stream that is open, and open no more."""
        with self._lock:
            self.closed = True
            streams = list(self._open)
        for stream in streams:
            stream.close()


def _request(method: str, target: str, body: object | None, headers: Mapping[str, str], *, upgrade: bool) -> bytes:
    """The bytes of one request."""
    data = b"" if body is None else json.dumps(body).encode()
    fields = {"Host": "localhost", "Connection": "Upgrade" if upgrade else "close", **headers}
    if upgrade:
        fields["Upgrade"] = "tcp"
    if body is not None:
        fields["Content-Type"] = "application/json"
    if body is not None or method != "GET":
        fields["Content-Length"] = str(len(data))
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"{method} {target} HTTP/1.1\r\n{head}\r\n".encode() + data
