"""The podman SDK's HTTP client: the only module that touches the SDK.

Calls are made raw, with bodies of our own: the SDK's model layer has no way to say
much of what a pod needs. What it gives is the client, a kept-alive pool of
connections over the socket.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlencode

from podsync.errors import ConfigError
from podsync.runtimes.common import wire
from podsync.runtimes.common.faults import Refusal
from podsync.runtimes.podman.errors import message, translate

__all__ = ["API", "CALL_TIMEOUT", "LOOK_TIMEOUT", "Answer", "Client", "segment", "socket_path"]

API: Final = "4.0.0"
"""The API's version that is spoken; it picks the shape of answers, and 4.3 to 6.0 all take it."""
CALL_TIMEOUT: Final = 120.0
"""Seconds for a verb that starts or ends processes; a loaded machine may well take many."""
LOOK_TIMEOUT: Final = 30.0
"""Seconds for a question."""
_CONNECT_TIMEOUT: Final = 10.0
_POOL: Final = 32
_SCHEME: Final = "unix://"

Params = Mapping[str, str | int]


class Answer(NamedTuple):
    """A successful answer."""

    status: int
    content: bytes

    def json(self) -> Any:
        """The body as JSON; None when there is none."""
        return json.loads(self.content) if self.content.strip() else None


def socket_path(endpoint: str) -> str:
    """The path in a ``unix://`` endpoint.

    Raises ConfigError for any other: volumes are folders of this host, so the
    engine must be of this host too.
    """
    path = endpoint.removeprefix(_SCHEME)
    if not path.startswith("/"):
        raise ConfigError(
            f"Podman at {endpoint}: only an engine of this machine can be used, by its unix socket "
            "(unix:///run/podman/podman.sock)"
        )
    return path


def segment(name: str) -> str:
    """A name as one segment of a path."""
    return quote(name, safe="")


class Client:
    """libpod's API at one endpoint: short calls over the SDK's pool, long ones on a socket each.

    Connects when first used. Safe to use from several threads.
    """

    def __init__(self, path: str) -> None:
        """``path`` is the service's socket."""
        from podman import PodmanClient

        self.socket = path
        self.endpoint = f"{_SCHEME}{path}"
        self._streams = wire.Streams(path)
        self._api = PodmanClient(base_url=self.endpoint, version=API, max_pool_size=_POOL).api
        self._pool = _one_pool(self._api, path)

    def call(
        self,
        method: str,
        path: str,
        *,
        params: Params | None = None,
        body: object | None = None,
        data: bytes | None = None,
        timeout: float = CALL_TIMEOUT,
    ) -> Answer:
        """One call. ``body`` is sent as JSON, ``data`` as a tar archive.

        Raises Refusal for an answer other than success, RuntimeUnavailable for none, Closed after ``close``.
        """
        from urllib3 import Timeout

        self.check_open()
        headers = {}
        if body is not None:
            data, headers = json.dumps(body).encode(), {"Content-Type": "application/json"}
        elif data is not None:
            headers = {"Content-Type": "application/x-tar"}
        try:
            # Not through the SDK's session: it would take longer than the call itself.
            response = self._pool.urlopen(
                method,
                _target(path, params),
                body=data,
                headers=headers,
                timeout=Timeout(connect=_CONNECT_TIMEOUT, read=timeout),
                retries=False,
                redirect=False,
            )
            answer = Answer(response.status, response.data)
        except Exception as error:
            raise translate(error, self.endpoint, timeout) from error
        if answer.status >= HTTPStatus.BAD_REQUEST:
            raise Refusal(answer.status, message(answer.content))
        return answer

    def stream(
        self,
        method: str,
        path: str,
        *,
        params: Params | None = None,
        body: object | None = None,
        headers: Mapping[str, str] | None = None,
        upgrade: bool = False,
        timeout: float = LOOK_TIMEOUT,
    ) -> wire.Stream:
        """One call whose answer is read as it comes; ``timeout`` is for its beginning. Raises as ``call`` does."""
        try:
            stream = self._streams.open(
                method, _target(path, params), body=body, headers=headers, upgrade=upgrade, timeout=timeout
            )
            if stream.status < HTTPStatus.BAD_REQUEST:
                return stream
            try:
                content = stream.body(timeout)
            finally:
                stream.close()
        except OSError as error:
            raise translate(error, self.endpoint, timeout) from error
        raise Refusal(stream.status, message(content))

    def check_open(self) -> None:
        """Raises Closed after ``close``."""
        if self._streams.closed:
            raise wire.Closed("this runtime has been closed")

    def close(self) -> None:
        """End every stream and the pool's idle connections. Calls under way end by themselves."""
        self._streams.close()
        self._api.close()


def _target(path: str, params: Params | None) -> str:
    """What is asked for, in the API version spoken."""
    return f"/v{API}/libpod{path}" + (f"?{urlencode(params)}" if params else "")


def _one_pool(api: Any, path: str) -> Any:
    """The SDK's pool of connections.

    It is made to close a socket that could not be connected, which the SDK leaves to the garbage collector.
    """
    from podman.api.uds import UDSConnection, UDSConnectionPool

    class Connection(UDSConnection):
        def connect(self) -> None:
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                sock.settimeout(self.timeout)
                sock.connect(path)
            except BaseException:
                sock.close()
                raise
            self.sock = sock

    class Pool(UDSConnectionPool):
        ConnectionCls = Connection

    manager = api.get_adapter("http://").poolmanager
    manager.pool_classes_by_scheme = {"http": Pool}
    return manager.connection_from_host(quote(path, safe=""), scheme="http")
