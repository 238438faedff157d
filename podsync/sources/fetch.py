"""One HTTP GET that can neither hang, nor flood, nor wander off.

``requests`` bounds a connection attempt and the silence between two bytes, but not the
whole: a server that sends a byte a second holds it for ever. So the request runs on a
thread of its own whose sockets are shut down at the deadline or when the caller stops.
"""

from __future__ import annotations

import contextlib
import re
import socket
import ssl
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

if TYPE_CHECKING:
    import requests

    from podsync.clock import Clock
    from podsync.runtimes.base import StopToken

__all__ = ["Answer", "FetchError", "Fetcher", "follow", "without_user"]

_GLANCE = 0.05  # seconds between two glances at the stop token while a request runs
_REDIRECTS = 5
_MOVED = frozenset({301, 302, 303, 307, 308})
_CHUNK = 1 << 16
_WORDS = {  # of http.client and urllib3, by the class's name
    "IncompleteRead": "the answer was cut off",
    "RemoteDisconnected": "the server hung up without an answer",
    "BadStatusLine": "the answer is not HTTP",
}
_USER = re.compile(r"^([^/?]*//)[^/?]*@")


class FetchError(Exception):
    """The request gave no answer; the text says why, without the URL."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server said."""

    status: int
    reason: str
    headers: Mapping[str, str]
    """By name, in any case."""
    body: bytes = b""
    """Empty unless the status is 200."""
    measured: bool = True
    """False when the server neither announced a length nor sent chunks, so that a cut body looks whole."""


class Fetcher:
    """Makes GETs with one set of files and limits. Used by one thread at a time.

    ``timeout``: seconds for a connection and for each silence; ``deadline``: for everything.
    ``ca_file`` replaces the known authorities; ``cert_file`` and ``key_file`` are the client's.
    These files are looked at before each request and loaded again when they changed.
    ``guarded``: requests carry something secret, so a redirect must stay with its host.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        timeout: float,
        deadline: float,
        limit: int,
        ca_file: str | None = None,
        cert_file: str | None = None,
        key_file: str | None = None,
        guarded: bool = False,
    ) -> None:
        self._clock = clock
        self._timeout = timeout
        self._deadline = deadline
        self._limit = limit
        self._verify: str | bool = ca_file or True
        self._cert = (cert_file, key_file) if cert_file and key_file else cert_file
        self._files = [file for file in (ca_file, cert_file, key_file) if file]
        self._guarded = guarded or cert_file is not None
        self._loaded: list[tuple[int, int, int]] = []
        self._session: requests.Session | None = None
        self._line = _Line()
        self._thread: threading.Thread | None = None

    def get(self, url: str, headers: Mapping[str, str], stop: StopToken | None = None) -> Answer:
        """The answer to a GET, redirects followed. Raises FetchError, also when stopped meanwhile."""
        if self._thread is not None and self._thread.is_alive():
            raise FetchError("the request before has not ended yet")
        session = self._prepared()
        outcome: list[Answer | FetchError] = []
        done = threading.Event()

        def work() -> None:
            try:
                outcome.append(self._get(session, url, dict(headers)))
            except FetchError as error:
                outcome.append(error)
            except Exception as error:  # noqa: BLE001 - whatever the libraries raise ends here, in words
                outcome.append(FetchError(_words(error, self._timeout)))
            finally:
                done.set()

        self._line.open()
        self._thread = threading.Thread(target=work, name="podsync-fetch", daemon=True)
        self._thread.start()
        end = self._clock.monotonic() + self._deadline
        try:
            while not done.wait(_GLANCE):
                if stop is not None and stop.is_set():
                    raise FetchError("stopped")
                if self._clock.monotonic() >= end:
                    raise FetchError(f"the answer was not complete within {self._deadline:g} s")
        finally:
            self._line.hang_up()
            self._thread.join(_GLANCE)  # woken by that; only a slow name server holds it longer
        result = outcome[0]
        if isinstance(result, FetchError):
            raise result
        return result

    def close(self) -> None:
        """Let connections go."""
        self._line.hang_up()
        if self._session is not None:
            self._session.close()
            self._session = None

    def _prepared(self) -> requests.Session:
        """The session, made again when a certificate file changed."""
        loaded = []
        for file in self._files:
            try:
                status = Path(file).stat()
            except OSError as error:
                raise FetchError(f"{file} cannot be read: {error.strerror}") from error
            loaded.append((status.st_ino, status.st_size, status.st_mtime_ns))
        if self._session is None or loaded != self._loaded:
            self.close()
            self._session, self._loaded = _session(self._line, self._verify, self._cert), loaded
        return self._session

    def _get(self, session: requests.Session, url: str, headers: dict[str, str]) -> Answer:
        from requests.utils import get_environ_proxies

        for _ in range(_REDIRECTS + 1):
            with session.get(
                url, headers=headers, stream=True, allow_redirects=False,
                timeout=(self._timeout, self._timeout), proxies=get_environ_proxies(url, no_proxy=None),
            ) as response:  # fmt: skip
                if response.status_code not in _MOVED or "Location" not in response.headers:
                    return self._answer(response)
                url = follow(url, response.headers["Location"], guarded=self._guarded)
        raise FetchError(f"more than {_REDIRECTS} redirects")

    def _answer(self, response: requests.Response) -> Answer:
        headers = response.headers
        measured = "Content-Length" in headers or "chunked" in headers.get("Transfer-Encoding", "").lower()
        body = bytearray()
        if response.status_code == 200:  # noqa: PLR2004 - OK
            while part := response.raw.read1(_CHUNK, decode_content=True):
                body += part
                if len(body) > self._limit:
                    raise FetchError(f"the answer is larger than {self._limit >> 20} MiB")
        return Answer(response.status_code, response.reason or "", headers, bytes(body), measured)


class _Line:
    """The sockets of one request, as duplicates: those stay good when TLS wraps the originals."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cut = False
        self._sockets: list[socket.socket] = []

    def open(self) -> None:
        """A new request begins."""
        with self._lock:
            self._cut = False

    def add(self, opened: socket.socket) -> None:
        """Note a socket; shut it at once if the caller has already given up."""
        with self._lock:
            self._sockets.append(opened.dup())
            if not self._cut:
                return
        self.hang_up()

    def hang_up(self) -> None:
        """Wake whoever waits on one of them, and let them go."""
        with self._lock:
            self._cut = True
            for opened in self._sockets:
                with contextlib.suppress(OSError):  # the other side was first
                    opened.shutdown(socket.SHUT_RDWR)
                opened.close()
            self._sockets.clear()


def follow(url: str, location: str, *, guarded: bool) -> str:
    """Where a redirect leads. Raises FetchError where it must not: out of https, or off the host with secrets."""
    target = urljoin(url, location)
    old, new = urlsplit(url), urlsplit(target)
    if new.scheme not in ("http", "https") or not new.hostname:
        raise FetchError(f"redirected to {without_user(target)!r}, which is no http or https URL")
    if old.scheme == "https" and new.scheme != "https":
        raise FetchError(f"redirected out of https to {without_user(target)}; not followed")
    try:
        ports = old.port, new.port
    except ValueError as error:
        raise FetchError(f"redirected to {without_user(target)!r}: {error}") from error
    same = old.hostname == new.hostname and (ports[0] == ports[1] or (old.scheme != new.scheme and not any(ports)))
    if guarded and not same:
        raise FetchError(f"redirected to {without_user(target)}; not followed there with credentials")
    return target


def without_user(url: str) -> str:
    """The URL without user, password and fragment; also of something that is no URL."""
    return _USER.sub(r"\1", url.partition("#")[0])


def _session(line: _Line, verify: str | bool, cert: Any) -> requests.Session:
    """A session that reads no netrc and notes every socket it opens."""
    import requests
    from requests.adapters import HTTPAdapter

    class Adapter(HTTPAdapter):
        def get_connection_with_tls_context(self, *args: Any, **kwargs: Any) -> Any:
            pool: Any = super().get_connection_with_tls_context(*args, **kwargs)
            if not hasattr(pool.ConnectionCls, "noting"):
                pool.ConnectionCls = _noting(pool.ConnectionCls, line)
            return pool

    session = requests.Session()
    session.trust_env = False  # no ~/.netrc; proxies are passed to each request
    session.verify = verify
    session.cert = cert
    session.headers.update({"Connection": "close", "Accept-Encoding": "identity", "User-Agent": "podsync"})
    for scheme in ("http://", "https://"):
        session.mount(scheme, Adapter(max_retries=0))
    return session


def _noting(connection: Any, line: _Line) -> Any:
    """A connection class like ``connection`` that tells ``line`` of its socket."""

    def _new_conn(self: Any) -> socket.socket:
        opened: socket.socket = connection._new_conn(self)  # noqa: SLF001 - the one place where a socket is made
        line.add(opened)
        return opened

    return type("NotingConnection", (connection,), {"_new_conn": _new_conn, "noting": True})


def _words(error: BaseException, timeout: float) -> str:
    """What went wrong, from the innermost error that says so."""
    chain: list[BaseException] = []
    todo: list[BaseException] = [error]
    while todo:
        found = todo.pop(0)
        if found in chain:
            continue
        chain.append(found)
        nested = (found.__cause__, found.__context__, getattr(found, "reason", None), *found.args)
        todo += [each for each in nested if isinstance(each, BaseException)]
    for found in chain:
        if isinstance(found, ssl.SSLCertVerificationError):
            return f"the server's certificate is not accepted: {found.verify_message}"
    for found in reversed(chain):
        name = type(found).__name__
        if isinstance(found, TimeoutError) or name in ("ReadTimeoutError", "ConnectTimeoutError"):
            return f"no answer for {timeout:g} s"
        if name in _WORDS:
            return _WORDS[name]
        if isinstance(found, socket.gaierror):
            return f"the host's name is not known: {found.strerror}"
        if isinstance(found, OSError) and found.strerror:
            return found.strerror
    return f"{type(error).__name__}: {str(error)[:200]}"
