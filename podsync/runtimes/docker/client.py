"""The engine's socket through Docker's SDK: the one place that imports it, when first used."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from podsync.errors import ConfigError, Unsupported
from podsync.runtimes.common.faults import Refusal
from podsync.runtimes.common.shared import Shared
from podsync.runtimes.common.wire import Closed, Stream, Streams
from podsync.runtimes.docker import errors, records

if TYPE_CHECKING:
    import docker

__all__ = ["NEWEST_API", "Api", "negotiated", "socket_path"]

NEWEST_API = (1, 56)
"""The newest API version this adapter has run against; a newer engine is spoken to in this one."""
OLDEST_API = (1, 41)
"""Docker 20.10's."""

ASK = 30.0
"""Seconds an engine has for an answer that changes nothing."""
_POOL = 64
"""Connections kept open; more may be in use at once."""
_SCHEME = "unix://"
_DEFAULT_SOCKET = "/var/run/docker.sock"


def socket_path(endpoint: str, environ: Mapping[str, str] = os.environ) -> str:
    """The socket an endpoint names; DOCKER_HOST's, the default one, or a rootless engine's when it is empty.

    Only an engine on this host will do: what podsync mounts into containers are this host's
    paths. Raises ConfigError for any other address.
    """
    given = endpoint or environ.get("DOCKER_HOST", "")
    if not given:
        rootless = Path(environ.get("XDG_RUNTIME_DIR") or "/nonexistent", "docker.sock")
        return str(rootless) if rootless.exists() and not Path(_DEFAULT_SOCKET).exists() else _DEFAULT_SOCKET
    path = given.removeprefix(_SCHEME)
    if not path.startswith("/"):
        raise ConfigError(
            f"{given}: only a Docker on this host can be used, since pods mount this host's files: "
            f"give its socket as {_SCHEME}/path"
        )
    return path


def negotiated(offer: Mapping[str, Any]) -> tuple[int, int]:
    """The API version to speak with an engine that answered ``GET /version`` so.

    The newest that both know. Raises Unsupported when there is none.
    """
    newest = records.version(offer["ApiVersion"])
    least = records.version(offer.get("MinAPIVersion") or offer["ApiVersion"])
    chosen = max(min(newest, NEWEST_API), least)
    if chosen > NEWEST_API or chosen < OLDEST_API:
        spoken = f"{'.'.join(map(str, least))} to {'.'.join(map(str, newest))}"
        known = f"{'.'.join(map(str, OLDEST_API))} to {'.'.join(map(str, NEWEST_API))}"
        raise Unsupported("api", f"Docker {offer.get('Version', '')} speaks API {spoken}, podsync {known}")
    return chosen


class Api:
    """One engine: short calls over the SDK's kept-alive connections, streams over their own.

    Connects when first asked, and settles the API version then; ``forget`` has it settled
    anew, as the engine may have been replaced. Safe to use from several threads.
    """

    def __init__(self, path: str) -> None:
        self.socket_path = path
        self.endpoint = _SCHEME + path
        self._streams = Streams(path)
        self._lock = threading.Lock()
        self._client: docker.APIClient | None = None
        self._pool: Any = None
        self._offer = Shared(self._ask_version)

    @property
    def offer(self) -> Mapping[str, Any]:
        """What the engine answered to ``GET /version``. Raises RuntimeUnavailable."""
        return self._offer.get()

    @property
    def version(self) -> tuple[int, int]:
        """The API version that is spoken. Raises RuntimeUnavailable, Unsupported."""
        return negotiated(self.offer)

    def forget(self) -> None:
        """Settle the version anew at the next call."""
        self._offer.forget()

    def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: object | None = None,
        data: bytes | None = None,
        timeout: float = ASK,
    ) -> Any:
        """One call; its JSON answer, None for an empty one.

        ``body`` goes as JSON, ``data`` as a tar archive. Raises Refusal when the engine says
        no, RuntimeUnavailable when it cannot be asked or does not answer within ``timeout`` seconds.
        """
        target = self._target(path, query)
        headers = {}
        if body is not None:
            data, headers = json.dumps(body).encode(), {"Content-Type": "application/json"}
        elif data is not None:
            headers = {"Content-Type": "application/x-tar"}
        try:
            # Not through the SDK's session: it would take as long again as the call itself.
            answer = self._pool.urlopen(
                method, target, body=data, headers=headers, timeout=timeout, retries=False, redirect=False
            )
        except Exception as error:
            raise errors.translate(error, self.endpoint, timeout) from error
        if answer.status >= HTTPStatus.BAD_REQUEST:
            raise Refusal(answer.status, _message(answer.data.decode("utf-8", "replace")))
        if answer.status in {HTTPStatus.OK, HTTPStatus.CREATED}:
            return _json(answer)
        return None

    def open(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: object | None = None,
        headers: Mapping[str, str] | None = None,
        upgrade: bool = False,
        timeout: float = ASK,
    ) -> Stream:
        """A stream of its own connection. Raises as ``call`` does; ``timeout`` is for its beginning."""
        target = self._target(path, query)
        try:
            stream = self._streams.open(method, target, body=body, headers=headers, upgrade=upgrade, timeout=timeout)
            if stream.status < HTTPStatus.BAD_REQUEST:
                return stream
            text = stream.body(timeout).decode("utf-8", "replace")
        except OSError as error:
            raise errors.translate(error, self.endpoint, timeout) from error
        raise Refusal(stream.status, _message(text))

    def credentials(self, registry: str) -> Mapping[str, str] | None:
        """What ``docker login`` has stored for a registry, if anything."""
        from docker import auth

        try:
            found = auth.load_config().resolve_authconfig(registry)
        except Exception as error:
            raise errors.translate(error, self.endpoint, ASK) from error
        if not found:
            return None
        return {key.lower(): value for key, value in found.items() if isinstance(value, str) and value}

    def check_open(self) -> None:
        """Raises Closed after ``close``."""
        if self._streams.closed:
            raise Closed("this runtime has been closed")

    def close(self) -> None:
        """End every stream and the idle connections. Calls under way end by themselves."""
        self._streams.close()
        self._offer.close()
        with self._lock:
            if self._client is not None:
                self._client.close()

    def _target(self, path: str, query: Mapping[str, str] | None) -> str:
        """What is asked for, in the API version settled on; that has connected the client, and so made the pool."""
        major, minor = self.version
        return f"/v{major}.{minor}{quote(path)}" + (f"?{urlencode(query)}" if query else "")

    def _ask_version(self) -> Mapping[str, Any]:
        """The engine's own word on itself."""
        try:
            found: Mapping[str, Any] = self._connected().version(api_version=False)
        except Closed:
            raise
        except Exception as error:
            raise errors.translate(error, self.endpoint, ASK) from error
        return found

    def _connected(self) -> docker.APIClient:
        """The SDK's client. It asks nothing: the version given here is never used."""
        import docker

        with self._lock:
            self.check_open()
            if self._client is None:
                client = docker.APIClient(
                    base_url=self.endpoint, version=".".join(map(str, OLDEST_API)), timeout=ASK, max_pool_size=_POOL
                )
                client.get_adapter(client.base_url).close()
                adapter, self._pool = _one_pool(self.socket_path)
                client.mount("http+docker://", adapter)
                client.trust_env = False  # proxies and netrc mean nothing on a socket
                self._client = client
            return self._client


def _one_pool(path: str) -> tuple[Any, Any]:
    """The SDK's transport with one pool of connections for the whole engine, and that pool.

    The SDK keeps a pool for each URL, so that a container's calls would hardly ever find an open one.
    """
    from docker.transport import unixconn

    class Connection(unixconn.UnixHTTPConnection):  # type: ignore[misc]  # the SDK ships no types
        """The SDK's leaves its socket open when nobody listens."""

        def connect(self) -> None:
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                sock.settimeout(self.timeout)
                sock.connect(self.unix_socket)
            except OSError:
                sock.close()
                raise
            self.sock = sock

    class Pool(unixconn.UnixHTTPConnectionPool):  # type: ignore[misc]
        """Hands out such connections."""

        def _new_conn(self) -> Connection:
            return Connection(self.base_url, self.socket_path, self.timeout)

    class OnePool(unixconn.UnixHTTPAdapter):  # type: ignore[misc]
        """Knows one pool whatever the URL."""

        def get_connection(self, url: str, proxies: object = None) -> Pool:
            del url, proxies
            return pool

    pool = Pool("http+docker://localhost", path, ASK, maxsize=_POOL)
    adapter = OnePool(f"http+unix://{path}", ASK, max_pool_size=_POOL)
    adapter.pools["http+docker://localhost"] = pool  # so that closing the client closes it
    return adapter, pool


def _json(answer: Any) -> Any:
    """An answer's JSON; None where it is empty or not JSON (a progress stream)."""
    if not answer.data or "json" not in answer.headers.get("content-type", ""):
        return None
    try:
        return json.loads(answer.data)
    except ValueError:
        return None


def _message(text: str) -> str:
    """The engine's words in an error's body."""
    try:
        body = json.loads(text)
    except ValueError:
        return text.strip()
    return str(body.get("message", text)) if isinstance(body, dict) else text.strip()
