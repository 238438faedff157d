"""A log being read: lines of an engine's log stream, which another thread may close."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from podsync.errors import RuntimeUnavailable
from podsync.runtimes.base import LogLine
from podsync.runtimes.common import frames
from podsync.runtimes.common.wire import Stream

__all__ = ["LogReader"]


class LogReader:
    """Lines off a stream, oldest first.

    ``broken_off`` is asked at the end of a followed log that nobody closed: an engine that
    goes away ends its streams as if the container had ended. Reading then raises
    ``RuntimeUnavailable``.
    """

    def __init__(self, stream: Stream, *, tty: bool = False, broken_off: Callable[[], bool] | None = None) -> None:
        self._stream = stream
        self._broken_off = broken_off
        self._closed = False
        self._lines = frames.log_lines(frames.entries(self._chunks(), tty=tty))

    def __iter__(self) -> Iterator[LogLine]:
        return self

    def __next__(self) -> LogLine:
        return next(self._lines)

    def close(self) -> None:
        """Wake a blocked reader and free the connection."""
        self._closed = True
        self._stream.close()

    def _chunks(self) -> Iterator[bytes]:
        """The stream's bytes to its end."""
        try:
            while data := self._stream.read():
                yield data
        except OSError as error:
            if not self._closed:
                raise RuntimeUnavailable("the engine broke the log off") from error
        finally:
            self._stream.close()
        if not self._closed and self._broken_off is not None and self._broken_off():
            raise RuntimeUnavailable("the engine broke the log off while the container was running")
