"""Logs and exec sessions of the fake engine."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import datetime

from podsync.runtimes.base import ContainerState, LogLine, LogOptions, Stream
from podsync.runtimes.fake.engine import FakeContainer, FakeEngine
from podsync.runtimes.fake.programs import Output, ScriptedExec

__all__ = ["FakeExecSession", "FakeLogStream"]

_LOOK_AGAIN = 0.02  # seconds between two looks of a follower; only real threads wait here


def _lines(pieces: list[tuple[float, Output]], engine: FakeEngine) -> list[LogLine]:
    """The pieces cut at their line ends, each stream by itself, in order of their ends."""
    open_lines: dict[Stream, tuple[datetime, bytes]] = {}
    lines: list[LogLine] = []
    for moment, piece in pieces:
        *whole, rest = piece.data.split(b"\n")
        for data in whole:
            at, begun = open_lines.pop(piece.stream, (engine.wall(moment), b""))
            lines.append(LogLine(at, piece.stream, begun + data))
        if rest:
            at, begun = open_lines.get(piece.stream, (engine.wall(moment), b""))
            open_lines[piece.stream] = (at, begun + rest)
    lines.extend(LogLine(at, stream, data, partial=True) for stream, (at, data) in open_lines.items())
    return lines


class FakeLogStream:
    """A container's lines, as its program writes them."""

    def __init__(self, engine: FakeEngine, container: FakeContainer, options: LogOptions) -> None:
        """Starts with what is there; following, it waits for more."""
        self._engine = engine
        self._container = container
        self._options = options
        self._closed = threading.Event()
        lines, self._ended = self._look()
        first = [line for line in lines if options.since is None or line.time >= options.since]
        if options.tail is not None:
            first = first[max(0, len(first) - options.tail) :]
        self._waiting = first
        self._seen = len(lines)

    def __iter__(self) -> Iterator[LogLine]:
        """Itself."""
        return self

    def __next__(self) -> LogLine:
        """The next line; StopIteration at the end or once closed."""
        while not self._closed.is_set():
            if self._waiting:
                return self._waiting.pop(0)
            if self._ended or not self._options.follow:
                break
            lines, self._ended = self._look()
            self._waiting, self._seen = lines[self._seen :], len(lines)
            if not self._waiting:
                self._closed.wait(_LOOK_AGAIN)
        raise StopIteration

    def close(self) -> None:
        """Wake a blocked reader."""
        self._closed.set()

    def _look(self) -> tuple[list[LogLine], bool]:
        with self._engine.lock:
            self._engine.advance()
            running = self._container.record.state is ContainerState.RUNNING
            gone = self._container.record.id not in self._engine.containers
            lines = _lines(self._container.output_until(self._engine.clock.monotonic()), self._engine)
        if running and not gone:  # a line still being written is told once it is whole
            lines = [line for line in lines if not line.partial]
        return lines, gone or not running


class FakeExecSession:
    """A scripted command with its streams."""

    def __init__(self, script: ScriptedExec, *, stdin: bool) -> None:
        """Its output is known at once, but for what it echoes."""
        self._script = script
        self._input: list[bytes] = []
        self._ended = threading.Event()
        if not (stdin and script.echo):
            self._ended.set()

    def write(self, data: bytes) -> None:
        """Send to the command's stdin."""
        self._input.append(data)

    def close_stdin(self) -> None:
        """An echoing command ends with its input."""
        self._ended.set()

    def resize(self, rows: int, columns: int) -> None:
        """A scripted command has no screen: nothing to do."""

    def frames(self) -> Iterator[tuple[Stream, bytes]]:
        """Output, until the command ends."""
        if self._script.stdout:
            yield Stream.STDOUT, self._script.stdout
        if self._script.stderr:
            yield Stream.STDERR, self._script.stderr
        self._ended.wait()
        if self._script.echo and self._input:
            yield Stream.STDOUT, b"".join(self._input)

    def exit_code(self) -> int:
        """The command's exit code, once its output has ended."""
        self._ended.wait()
        return self._script.exit_code

    def close(self) -> None:
        """End the session."""
        self._ended.set()
