"""Reaching an engine: its socket, the version spoken, connections, limits of time."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Queue
from typing import Any

import pytest

from podsync.errors import ConfigError, RuntimeUnavailable, Unsupported
from podsync.runtimes.common.faults import Refusal
from podsync.runtimes.common.wire import Closed
from podsync.runtimes.docker import client
from podsync.runtimes.docker.client import Api, negotiated, socket_path

Serve = Callable[[Callable[[socket.socket, bytes], None]], str]


def reply(connection: socket.socket, status: int, body: Any) -> None:
    """A JSON answer on a connection that stays open."""
    data = json.dumps(body).encode()
    head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
    connection.sendall(head.encode() + data)


class Engine:
    """Answers ``GET /version``, and everything else with what a test wants."""

    def __init__(self, answer: Callable[[str, str], tuple[int, Any]]) -> None:
        self._answer = answer
        self.offer = {"ApiVersion": "1.41", "MinAPIVersion": "1.12", "Version": "20.10"}
        self.connections: set[int] = set()
        self.asked: list[str] = []

    def __call__(self, connection: socket.socket, request: bytes) -> None:
        """One request."""
        self.connections.add(id(connection))
        method, target, _ = request.split(b"\r\n")[0].decode().split()
        self.asked.append(f"{method} {target}")
        if target.endswith("/version"):
            reply(connection, 200, self.offer)
        else:
            reply(connection, *self._answer(method, target))


@pytest.fixture
def opened() -> Iterator[list[Api]]:
    """What was opened, closed in the end."""
    found: list[Api] = []
    yield found
    for api in found:
        api.close()


def api_to(path: str, opened: list[Api]) -> Api:
    """One that is closed when the test ends."""
    opened.append(Api(path))
    return opened[-1]


@pytest.mark.parametrize(
    ("endpoint", "environ", "path"),
    [
        ("unix:///a/b.sock", {"DOCKER_HOST": "unix:///c"}, "/a/b.sock"),
        ("/a/b.sock", {}, "/a/b.sock"),
        ("", {"DOCKER_HOST": "unix:///c"}, "/c"),
        ("", {}, "/var/run/docker.sock"),
        ("", {"XDG_RUNTIME_DIR": "/nonexistent"}, "/var/run/docker.sock"),
    ],
)
def test_where_the_socket_is(endpoint: str, environ: dict[str, str], path: str) -> None:
    """The option, then DOCKER_HOST, then the usual place."""
    assert socket_path(endpoint, environ) == path


@pytest.mark.parametrize("endpoint", ["tcp://10.0.0.1:2375", "ssh://host", "http://x", "relative.sock"])
@pytest.mark.parametrize("by", ["option", "environment"])
def test_engines_of_other_hosts_are_refused(endpoint: str, by: str) -> None:
    """In words: pods mount this host's files."""
    with pytest.raises(ConfigError, match="this host"):
        socket_path(*((endpoint, {}) if by == "option" else ("", {"DOCKER_HOST": endpoint})))


@pytest.mark.parametrize(
    ("newest", "least", "chosen"),
    [
        ("1.41", "1.12", (1, 41)),
        ("1.56", "1.40", (1, 56)),
        ("1.56", "1.44", (1, 56)),
        ("1.99", "1.44", (1, 56)),
        ("1.100", "1.56", (1, 56)),
    ],
)
def test_the_newest_version_both_know_is_spoken(newest: str, least: str, chosen: tuple[int, int]) -> None:
    """Versions are pairs of numbers: 1.100 is newer than 1.56."""
    assert negotiated({"ApiVersion": newest, "MinAPIVersion": least}) == chosen


@pytest.mark.parametrize(("newest", "least"), [("1.40", "1.12"), ("1.99", "1.57"), ("2.0", "2.0")])
def test_engines_that_are_too_old_or_too_new_are_refused(newest: str, least: str) -> None:
    """Saying what both speak."""
    with pytest.raises(Unsupported, match=rf"speaks API {least} to {newest}, podsync 1\.41 to 1\.56"):
        negotiated({"ApiVersion": newest, "MinAPIVersion": least})


def test_calls_of_many_paths_share_one_connection(serve: Serve, opened: list[Api]) -> None:
    """And are made in the version settled once."""
    engine = Engine(lambda method, target: (200, {"Id": target}))
    api = api_to(serve(engine), opened)
    for number in range(20):
        assert api.call("GET", f"/containers/{number}/json", query={"a": "b c"})["Id"].startswith("/v1.41/containers")
    assert len(engine.connections) == 1
    assert engine.asked.count("GET /version") == 1
    assert engine.asked[1] == "GET /v1.41/containers/0/json?a=b+c"


def test_the_version_is_settled_anew_when_forgotten(serve: Serve, opened: list[Api]) -> None:
    """The engine may have been replaced by a newer one."""
    engine = Engine(lambda method, target: (200, {}))
    api = api_to(serve(engine), opened)
    assert api.version == (1, 41)
    engine.offer = {"ApiVersion": "1.56", "MinAPIVersion": "1.44"}
    assert api.version == (1, 41)
    api.forget()
    assert api.version == (1, 56)


@pytest.mark.parametrize("status", [400, 404, 409, 500])
def test_refusals_carry_the_engines_words(serve: Serve, opened: list[Api], status: int) -> None:
    """For calls and for streams alike."""
    api = api_to(serve(Engine(lambda method, target: (status, {"message": "No such container: x"}))), opened)
    for refused in (lambda: api.call("POST", "/x"), lambda: api.open("GET", "/x")):
        with pytest.raises(Refusal) as caught:
            refused()
        assert (caught.value.status, caught.value.text) == (status, "No such container: x")


def test_a_hung_engine_is_unavailable_in_time(serve: Serve, opened: list[Api]) -> None:
    """Whether it hangs from the start or later."""

    def hang(connection: socket.socket, request: bytes) -> None:
        if b"/version" in request.split(b"\r\n")[0]:
            reply(connection, 200, {"ApiVersion": "1.41"})

    api = api_to(serve(hang), opened)
    for hung in (lambda: api.call("GET", "/x", timeout=0.05), lambda: api.open("GET", "/x", timeout=0.05)):
        with pytest.raises(RuntimeUnavailable, match=r"did not answer within 0\.05 s"):
            hung()


def test_an_engine_that_hangs_at_first_sight(serve: Serve, opened: list[Api], monkeypatch: pytest.MonkeyPatch) -> None:
    """It cannot even be asked for its version."""
    monkeypatch.setattr(client, "ASK", 0.05)
    api = api_to(serve(lambda connection, request: None), opened)
    with pytest.raises(RuntimeUnavailable, match="did not answer within"):
        api.call("GET", "/x")


def test_an_absent_socket(opened: list[Api]) -> None:
    """It says so, and how to start the engine; nothing is asked before the first call."""
    api = api_to("/nonexistent/docker.sock", opened)
    with pytest.raises(RuntimeUnavailable, match=r"no such socket.*start it with"):
        api.call("GET", "/x")


def test_a_socket_nobody_listens_on(opened: list[Api], serve: Serve) -> None:
    """It is told apart from an absent one."""
    path = serve(lambda connection, request: None)
    abandoned = str(Path(path).with_name("abandoned"))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(abandoned)
    with pytest.raises(RuntimeUnavailable, match="nobody listens"):
        api_to(abandoned, opened).call("GET", "/x")


def test_a_socket_of_others(serve: Serve) -> None:
    """Permission denied is told, with what to do; tried as a user without rights."""
    path = serve(lambda connection, request: None)
    if os.getuid() != 0:
        pytest.skip("only root can become somebody else")
    Path(path).chmod(0o600)
    Path(path).parent.chmod(0o755)
    script = (
        "import os, sys; from podsync.runtimes.docker.client import Api\n"
        "import docker.transport; os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "api = Api(sys.argv[1])\n"
        "try: api.call('GET', '/x')\n"
        "except Exception as error: print(type(error).__name__, error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("RuntimeUnavailable")
    assert "permission denied on its socket" in done.stdout


def test_nothing_is_asked_once_closed(serve: Serve, opened: list[Api]) -> None:
    """By no kind of call."""
    engine = Engine(lambda method, target: (200, {}))
    api = api_to(serve(engine), opened)
    api.call("GET", "/x")
    api.close()
    api.forget()
    asked = len(engine.asked)
    for late in (lambda: api.call("GET", "/x"), lambda: api.open("GET", "/x"), api.check_open):
        with pytest.raises(Closed):
            late()
    assert len(engine.asked) == asked


def test_an_engine_that_comes_back_is_talked_to_again(serve: Serve, opened: list[Api]) -> None:
    """A connection that the engine has closed meanwhile costs no call."""
    hung_up = threading.Semaphore(0)

    def once(connection: socket.socket, request: bytes) -> None:
        reply(connection, 200, {"ApiVersion": "1.41"})
        connection.shutdown(socket.SHUT_RDWR)
        hung_up.release()

    api = api_to(serve(once), opened)
    assert api.version == (1, 41)
    for _ in range(3):
        assert hung_up.acquire(timeout=5)
        assert api.call("GET", "/x") == {"ApiVersion": "1.41"}


MANY = 16


class Silent:
    """An engine that takes every request and answers none."""

    def __init__(self) -> None:
        self.requests = 0
        self.asked = threading.Event()

    def __call__(self, connection: socket.socket, request: bytes) -> None:
        """One request."""
        self.requests += 1
        self.asked.set()


def at_once(api: Api, count: int) -> Queue[Exception]:
    """Faults of so many calls begun at the same moment, as they come."""
    faults: Queue[Exception] = Queue()
    ready = threading.Barrier(count)

    def call() -> None:
        ready.wait(5)
        try:
            api.call("GET", "/x")
        except RuntimeUnavailable as fault:
            faults.put(fault)

    for _ in range(count):
        threading.Thread(target=call, daemon=True).start()
    return faults


def test_many_who_meet_a_hung_engine_wait_once(
    serve: Serve, opened: list[Api], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of them for the same answer, so for one limit of time, not one after another."""
    monkeypatch.setattr(client, "ASK", 1.0)
    engine = Silent()
    faults = at_once(api_to(serve(engine), opened), MANY)
    texts = {str(faults.get(timeout=5)) for _ in range(MANY)}
    assert len(texts) == 1
    assert "did not answer within 1 s" in texts.pop()
    assert engine.requests == 1


def test_closing_does_not_wait_for_a_hung_engine(
    serve: Serve, opened: list[Api], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And lets go of those who wait for another's question."""
    monkeypatch.setattr(client, "ASK", 5.0)
    engine = Silent()
    api = api_to(serve(engine), opened)
    faults = at_once(api, MANY)
    assert engine.asked.wait(2)
    closer = threading.Thread(target=api.close, daemon=True)
    closer.start()
    closer.join(3)
    assert not closer.is_alive()
    assert {type(faults.get(timeout=4)) for _ in range(MANY - 1)} == {Closed}


def test_importing_the_adapter_loads_no_sdk() -> None:
    """Only the first call does."""
    script = (
        "import sys, podsync.runtimes.docker as package\n"
        "package.connect({'node': 'n', 'endpoint': 'unix:///x'}).close()\n"
        "print([name for name in ('docker', 'requests', 'urllib3') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
