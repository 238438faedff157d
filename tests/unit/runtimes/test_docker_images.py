"""Pulls, commands and logs over a played engine's socket."""

from __future__ import annotations

import base64
import json
import socket
import struct
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from podsync.clock import SystemClock
from podsync.errors import Conflict, ImageFault, NotFound, RuntimeUnavailable
from podsync.runtimes.base import Auth, ExecResult, LogOptions, PullProgress
from podsync.runtimes.docker import images
from podsync.runtimes.docker.adapter import DockerRuntime
from podsync.runtimes.docker.client import Api

Serve = Callable[[Callable[[socket.socket, bytes], None]], str]
Play = Callable[..., DockerRuntime]
FOUND = {"Id": "sha256:1", "RepoDigests": ["r:5000/a@sha256:2"]}


def frame(data: bytes) -> bytes:
    """A piece of stdout."""
    return struct.pack(">BxxxL", 1, len(data)) + data


class Engine:
    """Answers by the path's last words: (status, JSON), or bytes after which it hangs up."""

    def __init__(self, answers: dict[str, Any]) -> None:
        self._answers: dict[str, Any] = {"/version": (200, {"ApiVersion": "1.41"}), **answers}
        self.requests: list[bytes] = []

    def __call__(self, connection: socket.socket, request: bytes) -> None:
        """One request."""
        self.requests.append(request)
        path = request.split()[1].decode().partition("?")[0]
        answer = next(self._answers[end] for end in sorted(self._answers, key=len, reverse=True) if path.endswith(end))
        if isinstance(answer, bytes):
            connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + answer)
            connection.shutdown(socket.SHUT_RDWR)
            return
        status, value = answer
        body = json.dumps(value).encode()
        head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall(head.encode() + body)

    def to(self, path: str) -> list[bytes]:
        """Requests to a path."""
        return [request for request in self.requests if path.encode() in request.split()[1]]


@pytest.fixture
def play(serve: Serve) -> Iterator[Callable[[Engine], DockerRuntime]]:
    """A runtime on a played engine."""
    runtimes: list[DockerRuntime] = []

    def start(engine: Engine) -> DockerRuntime:
        runtimes.append(DockerRuntime(Api(serve(engine)), node="n", clock=SystemClock()))
        return runtimes[-1]

    yield start
    for runtime in runtimes:
        runtime.close()


def lines(*items: Any) -> bytes:
    """A pull's progress."""
    return b"".join(json.dumps(item).encode() + b"\r\n" for item in items)


def header(request: bytes, name: str) -> str:
    """A header's value."""
    found = [line for line in request.split(b"\r\n") if line.lower().startswith(name.lower().encode() + b":")]
    return found[0].partition(b":")[2].strip().decode()


def test_a_pull_tells_its_progress_and_gives_the_image(play: Play) -> None:
    """The tag is always named, or Docker would fetch every one there is."""
    steps = lines(
        {"status": "Pulling from a", "id": "latest"},
        {"status": "Downloading", "id": "f1", "progressDetail": {"current": 5, "total": 9}},
    )
    engine = Engine({"/images/create": steps, "/json": (200, FOUND)})
    seen: list[PullProgress] = []

    found = play(engine).pull_image("r:5000/a", Auth("me", "secret", "r:5000"), seen.append)

    assert found.reference == "r:5000/a@sha256:2"
    assert seen == [
        PullProgress("r:5000/a", "latest: Pulling from a"),
        PullProgress("r:5000/a", "f1: Downloading", 5, 9),
    ]
    (request,) = engine.to("/images/create")
    assert request.split()[1] == b"/v1.41/images/create?fromImage=r%3A5000%2Fa&tag=latest"
    sent = json.loads(base64.urlsafe_b64decode(header(request, "X-Registry-Auth")))
    assert sent == {"username": "me", "password": "secret", "serveraddress": "r:5000"}


def test_credentials_of_docker_login_are_used(play: Play, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """For the registry they were given for, and no other."""
    stored = base64.b64encode(b"me:secret").decode()
    (tmp_path / "config.json").write_text(json.dumps({"auths": {"r:5000": {"auth": stored}}}))
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    engine = Engine({"/images/create": b"", "/json": (200, FOUND)})
    runtime = play(engine)
    for image in ("r:5000/a", "other.example/a"):
        runtime.pull_image(image)
    ours, others = (
        json.loads(base64.urlsafe_b64decode(header(r, "X-Registry-Auth"))) for r in engine.to("/images/create")
    )
    assert (ours["username"], ours["password"]) == ("me", "secret")
    assert others == {}


@pytest.mark.parametrize(
    ("answer", "words", "reason"),
    [
        (lines({"status": "Pulling"}, {"error": "manifest unknown"}), "manifest unknown", "ErrImagePull"),
        ((500, {"message": "unauthorized: bad password"}), "bad password", "ErrImagePull"),
        ((404, {"message": "manifest for a:b not found"}), "not found", "ErrImagePull"),
        ((500, {"message": "dial tcp 127.0.0.1:1: connection refused"}), "connection refused", "ErrImagePull"),
    ],
)
def test_failed_pulls(play: Play, answer: Any, words: str, reason: str) -> None:
    """Told at once or in the midst of it, with the engine's words."""
    with pytest.raises(ImageFault, match=words) as caught:
        play(Engine({"/images/create": answer})).pull_image("a:b")
    assert caught.value.reason == reason


def test_a_pull_that_hangs_is_given_up(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a word for so long, it is a failed pull, to be tried again later."""
    monkeypatch.setattr(images, "_NO_PROGRESS", 0.05)
    engine = Engine({})
    answer = engine.__call__

    def hang(connection: socket.socket, request: bytes) -> None:
        if b"/images/create" in request:
            connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + lines({"status": "Waiting"}))
        else:
            answer(connection, request)

    with pytest.raises(ImageFault, match=r"no progress for 0\.05 s"):
        play(hang).pull_image("a")


def test_what_was_pulled_but_is_not_there_is_a_failed_pull(play: Play) -> None:
    """Another look would only pull it once more."""
    engine = Engine({"/images/create": b"", "/json": (404, {"message": "No such image: a"})})
    with pytest.raises(ImageFault, match="does not know it"):
        play(engine).pull_image("a")


RUNNING = {"Id": "c" * 64, "State": {"Status": "running"}, "Config": {}}


def test_a_command_that_cannot_be_run_has_a_code(play: Play) -> None:
    """Not found is 127, whether or not the engine wrote a code down."""
    text = 'OCI runtime exec failed: exec: "nope": executable file not found in $PATH'
    answers = {"/exec": (201, {"Id": "e"}), "/start": (400, {"message": text}), "/e/json": (200, {"Running": False})}
    result = play(Engine({**answers, "/json": (200, RUNNING)})).exec("c" * 64, ["nope"], 5)
    assert result.exit_code == 127
    assert b"executable file not found" in result.stderr


@pytest.mark.parametrize(
    ("status", "text", "fault"),
    [(409, "Container c is not running", Conflict), (404, "No such container: c", NotFound)],
)
def test_commands_where_nothing_runs(play: Play, status: int, text: str, fault: type[Exception]) -> None:
    """Whether that shows when the session is made or when it is started."""
    refused = (status, {"message": text})
    for answers in ({"/exec": refused}, {"/exec": (201, {"Id": "e"}), "/start": refused}):
        runtime = play(Engine({**answers, "/json": (200, RUNNING)}))
        with pytest.raises(fault):
            runtime.exec("c" * 64, ["true"], 5)
        with pytest.raises(fault):
            runtime.open_exec("c" * 64, ["true"], stdin=False, tty=False)


def test_a_command_runs_to_its_end(play: Play) -> None:
    """Three calls: make, start and read, ask for the code."""
    ended = (200, {"Running": False, "ExitCode": 4})
    engine = Engine({"/exec": (201, {"Id": "e"}), "/start": frame(b"out"), "/e/json": ended, "/json": (200, RUNNING)})
    runtime = play(engine)
    runtime._looker.ask("c" * 64)
    before = len(engine.requests)
    assert runtime.exec("c" * 64, ["x"], 5) == ExecResult(4, b"out")
    assert len(engine.requests) - before == 3


@pytest.mark.parametrize(("status", "broken"), [("running", True), ("exited", False)])
def test_a_followed_log_that_the_engine_broke_off_is_told(play: Play, status: str, *, broken: bool) -> None:
    """An engine that goes away ends its streams as if the container had ended."""
    entry = frame(b"2030-01-01T00:00:00Z one\n")
    engine = Engine({"/logs": entry, "/json": (200, {**RUNNING, "State": {"Status": status}})})
    log = iter(play(engine).logs("c" * 64, LogOptions(follow=True)))
    assert next(log).data == b"one"
    with pytest.raises(RuntimeUnavailable if broken else StopIteration):
        next(log)
