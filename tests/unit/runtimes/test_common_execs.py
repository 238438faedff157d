"""Commands: runs with a limit, sessions, and ending a process of this host."""

from __future__ import annotations

import os
import re
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from podsync.clock import SystemClock
from podsync.errors import ExecTimeout, RuntimeUnavailable
from podsync.runtimes.base import ExecResult, Stream
from podsync.runtimes.common import execs
from podsync.runtimes.common.execs import ExecState, Session
from podsync.runtimes.common.wire import Streams

Serve = Callable[[Callable[[socket.socket, bytes], None]], str]
HEAD = b"HTTP/1.1 200 OK\r\n\r\n"
DONE = ExecState(running=False, exit_code=3)


def frame(number: int, data: bytes) -> bytes:
    """As an engine sends it."""
    return struct.pack(">BxxxL", number, len(data)) + data


def run(path: str, state: Callable[[], ExecState], timeout: float = 5.0, since: float = 0.0) -> ExecResult:
    """Run what the server plays; its start was asked for ``since`` seconds ago."""
    stream, clock = Streams(path).open("POST", "/exec/1/start", timeout=5), SystemClock()
    began = clock.monotonic() - since
    return execs.run(stream, state, clock=clock, command=["cmd"], container="c" * 64, began=began, timeout=timeout)


def test_a_run_gives_both_streams_and_the_code(serve: Serve) -> None:
    """The code is asked for until the engine knows it."""

    def handle(connection: socket.socket, request: bytes) -> None:
        connection.sendall(HEAD + frame(1, b"out") + frame(2, b"err") + frame(1, b"!"))
        connection.shutdown(socket.SHUT_RDWR)

    states = iter([ExecState(running=True), ExecState(running=False), DONE])
    assert run(serve(handle), lambda: next(states)) == ExecResult(3, b"out!", b"err")


@pytest.mark.parametrize("endless", [False, True])
def test_a_run_that_never_ends_times_out(serve: Serve, *, endless: bool) -> None:
    """Whether it writes nothing or without end; a process that cannot be ended is told."""

    def handle(connection: socket.socket, request: bytes) -> None:
        connection.sendall(HEAD)
        while endless:
            connection.sendall(frame(1, b"x" * 1000))

    path = serve(handle)
    with pytest.raises(ExecTimeout, match=r"'cmd' timed out after 0\.05s, and its process could not be ended"):
        run(path, lambda: ExecState(running=True, pid=1), 0.05)


def test_the_time_it_took_to_start_counts(serve: Serve) -> None:
    """The whole limit is told, not what was left of it."""
    path = serve(lambda connection, request: connection.sendall(HEAD))
    with pytest.raises(ExecTimeout, match=r"timed out after 30s"):
        run(path, lambda: DONE, 30.0, since=29.95)


def test_a_run_whose_output_ended_but_not_its_process_times_out(serve: Serve) -> None:
    """A command may close its output and go on."""

    def handle(connection: socket.socket, request: bytes) -> None:
        connection.sendall(HEAD)
        connection.shutdown(socket.SHUT_RDWR)

    with pytest.raises(ExecTimeout):
        run(serve(handle), lambda: ExecState(running=True, pid=1), 0.05)


def test_a_run_that_just_ended_when_time_was_up_is_a_time_out_without_blame(serve: Serve) -> None:
    """Its process is gone, so there is nothing to add."""
    path = serve(lambda connection, request: connection.sendall(HEAD))
    with pytest.raises(ExecTimeout, match=r"after 0\.05s$"):
        run(path, lambda: DONE, 0.05)


@pytest.mark.parametrize("first", [ExecState(running=False), ExecState(running=True)])
def test_a_run_not_yet_started_when_time_was_up_is_ended_once_it_is(serve: Serve, first: ExecState) -> None:
    """A busy engine starts it later all the same: it is not taken for gone."""
    asked: list[ExecState] = []

    def state() -> ExecState:
        asked.append(first if len(asked) < 3 else ExecState(running=True, pid=1))
        return asked[-1]

    path = serve(lambda connection, request: connection.sendall(HEAD))
    with pytest.raises(ExecTimeout, match="could not be ended from here"):
        run(path, state, 0.05)
    assert asked[-1].pid == 1


def test_output_is_kept_up_to_a_bound(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest is read, so that the command can end, and dropped."""
    monkeypatch.setattr(execs, "_MAX_OUTPUT", 4)

    def handle(connection: socket.socket, request: bytes) -> None:
        connection.sendall(HEAD + frame(1, b"abc") + frame(1, b"def") + frame(2, b"g"))
        connection.shutdown(socket.SHUT_RDWR)

    assert run(serve(handle), lambda: DONE) == ExecResult(3, b"abcd", b"g")


@pytest.mark.parametrize("tty", [False, True])
def test_a_session_passes_bytes_both_ways(serve: Serve, *, tty: bool) -> None:
    """Framed without a terminal, plain with one, which alone has a size."""

    def handle(connection: socket.socket, request: bytes) -> None:
        connection.sendall(b"HTTP/1.1 101 UPGRADED\r\n\r\n")
        while data := connection.recv(100):
            connection.sendall(data if tty else frame(2, data))
        connection.shutdown(socket.SHUT_RDWR)

    sizes: list[tuple[int, int]] = []
    stream = Streams(serve(handle)).open("POST", "/", upgrade=True, timeout=5)
    session = Session(stream, lambda: DONE, lambda rows, columns: sizes.append((rows, columns)), tty=tty)
    session.write(b"hello")
    session.close_stdin()
    session.resize(24, 80)

    found = list(session.frames())
    assert b"".join(data for _, data in found) == b"hello"
    assert {kind for kind, _ in found} == {Stream.STDOUT if tty else Stream.STDERR}
    assert sizes == ([(24, 80)] if tty else [])
    assert session.exit_code() == 3
    session.close()
    with pytest.raises(RuntimeUnavailable):
        session.write(b"late")


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    """A process of this host that leads a group with a child in it."""
    script = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'input()'])"
    found = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, start_new_session=True)
    yield found
    found.kill()
    found.wait()
    assert found.stdin is not None
    found.stdin.close()


def own_cgroup() -> str:
    """What stands for the container: the name of the cgroup that processes started here are in."""
    paths = re.findall(r"^[^:]*:[^:]*:(.+)$", Path("/proc/self/cgroup").read_text(), re.MULTILINE)
    return str(max(paths, key=len))


def test_a_process_is_ended_with_its_group(process: subprocess.Popen[bytes]) -> None:
    """It is of this host, in that container, and the engine still says that it runs."""
    assert execs.end_process(process.pid, own_cgroup(), lambda: True)
    assert process.wait(5) == -signal.SIGKILL


def test_a_process_that_may_be_another_one_is_left_alone(process: subprocess.Popen[bytes]) -> None:
    """In another cgroup, or ended meanwhile so that its number may have been given away."""
    assert not execs.end_process(process.pid, "f" * 64, lambda: True)
    assert not execs.end_process(process.pid, own_cgroup(), lambda: False)
    assert process.poll() is None


@pytest.mark.parametrize("pid", [0, 1, 2**22 + 1])
def test_what_is_no_process_of_a_container_is_never_ended(pid: int) -> None:
    """No number, the host's first process, or nobody."""
    assert not execs.end_process(pid, "/", lambda: True)
    assert os.getpid() > 1
