"""Commands in containers: sessions with open streams, and runs with a limit of time."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from podsync.clock import Clock
from podsync.errors import ExecTimeout, RuntimeUnavailable
from podsync.runtimes.base import ExecResult, Stream
from podsync.runtimes.common import frames, wire
from podsync.runtimes.common.whose import runs_in

__all__ = ["ExecState", "Session", "end_process", "run"]

_FIRST_WAIT = 0.002
_LONGEST_WAIT = 0.1
_MAX_OUTPUT = 16 * 1024 * 1024
"""Bytes kept of each stream of a run; what comes after is read and dropped."""
_AFTER_END = 2.0
"""Seconds a process ended for its time-out has to be reported as gone."""


@dataclass(frozen=True, slots=True)
class ExecState:
    """What the engine says of a command."""

    running: bool
    exit_code: int | None = None
    pid: int = 0
    """On the engine's host; 0 when not known."""


class Session:
    """A command with its streams open: ``podsync.runtimes.base.ExecSession`` over an upgraded connection.

    ``state`` asks the engine for the command's state, ``resize`` sets its terminal's size
    (rows, columns).
    """

    def __init__(
        self,
        stream: wire.Stream,
        state: Callable[[], ExecState],
        resize: Callable[[int, int], None],
        *,
        tty: bool,
    ) -> None:
        self._stream = stream
        self._state = state
        self._resize = resize
        self._tty = tty

    def write(self, data: bytes) -> None:
        """Send to the command's stdin. Raises RuntimeUnavailable when the connection is gone."""
        try:
            self._stream.send(data)
        except OSError as error:
            raise RuntimeUnavailable("the connection to the command is gone") from error

    def close_stdin(self) -> None:
        """Tell the command that its input has ended."""
        self._stream.end_input()

    def resize(self, rows: int, columns: int) -> None:
        """Set the terminal's size; nothing without a tty."""
        if self._tty:
            self._resize(rows, columns)

    def frames(self) -> Iterator[tuple[Stream, bytes]]:
        """Output as it comes, until the command ends."""
        return frames.demux(self._chunks(), tty=self._tty)

    def exit_code(self) -> int:
        """The command's exit code, once its output has ended."""
        code = _settled(self._state, None)
        assert code is not None  # no deadline was given
        return code

    def close(self) -> None:
        """Free the connection; the command may live on."""
        self._stream.close()

    def _chunks(self) -> Iterator[bytes]:
        """The connection's bytes to its end."""
        try:
            while data := self._stream.read():
                yield data
        except OSError as error:
            raise RuntimeUnavailable("the engine broke the command's output off") from error


def _settled(state: Callable[[], ExecState], left: Callable[[], float] | None) -> int | None:
    """The exit code once the engine says that the command has ended; None when no time is left before."""
    pause = threading.Event()
    wait = _FIRST_WAIT
    while True:
        now = state()
        if not now.running and now.exit_code is not None:
            return now.exit_code
        if left is not None and left() <= 0:
            return None
        pause.wait(wait)
        wait = min(_LONGEST_WAIT, wait * 2)


class _Output:
    """What a run has written so far, of bounded size."""

    def __init__(self) -> None:
        self.kept = {Stream.STDOUT: bytearray(), Stream.STDERR: bytearray()}

    def add(self, stream: Stream, data: bytes) -> None:
        """Keep what still fits."""
        kept = self.kept[stream]
        kept += data[: _MAX_OUTPUT - len(kept)]


def run(
    stream: wire.Stream,
    state: Callable[[], ExecState],
    *,
    clock: Clock,
    command: Sequence[str],
    container: str,
    began: float,
    timeout: float,
) -> ExecResult:
    """Read a command to its end, at most ``timeout`` seconds from ``began``, the moment it was started at.

    Raises ExecTimeout after ending its process on the host. ``container`` is the id of
    the container it runs in.
    """
    deadline = began + timeout

    def left() -> float:
        return deadline - clock.monotonic()

    def chunks() -> Iterator[bytes]:
        while (rest := left()) > 0:  # asked each time: a command may write without end
            data = stream.read(rest)
            if not data:
                return
            yield data
        raise TimeoutError

    output = _Output()
    try:
        for kind, data in frames.demux(chunks()):
            output.add(kind, data)
        code = _settled(state, left)
    except TimeoutError:
        code = None
    except OSError as error:
        raise RuntimeUnavailable("the engine broke the command's output off") from error
    finally:
        stream.close()
    if code is None:
        ended = _end(state, container, clock)
        text = f"command {' '.join(command)!r} timed out after {timeout:g}s"
        raise ExecTimeout(text if ended else f"{text}, and its process could not be ended from here")
    return ExecResult(code, bytes(output.kept[Stream.STDOUT]), bytes(output.kept[Stream.STDERR]))


def _end(state: Callable[[], ExecState], container: str, clock: Clock) -> bool:
    """End a command that ran too long; whether it is gone."""
    now = _started(state, clock)
    if not now.running:
        return now.exit_code is not None
    if not end_process(now.pid, container, lambda: state().running):
        return False
    deadline = clock.monotonic() + _AFTER_END
    return _settled(state, lambda: deadline - clock.monotonic()) is not None


def _started(state: Callable[[], ExecState], clock: Clock) -> ExecState:
    """What a command is once it runs or has ended: a busy engine may still be about to start it."""
    deadline, pause, wait = clock.monotonic() + _AFTER_END, threading.Event(), _FIRST_WAIT
    now = state()
    while not (now.pid if now.running else now.exit_code is not None) and clock.monotonic() < deadline:
        pause.wait(wait)
        wait = min(_LONGEST_WAIT, wait * 2)
        now = state()
    return now


def end_process(pid: int, container: str, still_runs: Callable[[], bool]) -> bool:
    """Kill the process of a command, and the group it leads, if it is one of this host in that container.

    A number may have been given to another process since it was read: the process is
    held by a pidfd, then the engine is asked once more, and it must be one of
    that container's. False when any of this does not hold (a remote engine, another pid namespace).
    """
    if pid <= 1:
        return False
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        if not runs_in(pid, container) or not still_runs():
            return False
        if os.getpgid(pid) == pid:
            with suppress(OSError):
                os.killpg(pid, signal.SIGKILL)
        signal.pidfd_send_signal(handle, signal.SIGKILL)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    finally:
        os.close(handle)
    return True
