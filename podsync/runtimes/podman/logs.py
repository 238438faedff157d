"""Containers' output, read from the file conmon writes.

Podman's API gives whole seconds; the file has nanoseconds. It is in the CRI's format,
``2026-12-01T12:00:00.123456789+00:00 stdout F text``, long lines in several pieces (P).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final

from podsync.runtimes.base import LogLine, LogOptions, LogStream, Stream
from podsync.runtimes.common import faults
from podsync.runtimes.common.faults import Refusal
from podsync.runtimes.common.frames import stamp
from podsync.runtimes.common.logs import LogReader
from podsync.runtimes.common.records import Detail
from podsync.runtimes.podman.client import Client
from podsync.runtimes.podman.records import LOG_PATH

__all__ = ["FileLog", "join", "open_log", "tail_offset"]

_BLOCK: Final = 65536
_POLL: Final = 0.1
_STREAMS: Final = {b"stdout": Stream.STDOUT, b"stderr": Stream.STDERR}
_FULL: Final = b"F"


def open_log(
    client: Client, detail: Detail, options: LogOptions, *, local: bool, ended: Callable[[], bool]
) -> LogStream:
    """A container's log: its file where this process can read it, else the engine's answer.

    Raises NotFound.
    """
    path = Path(detail.extra.get(LOG_PATH) or "/nonexistent")
    if local and (detail.started_at is None or os.access(path, os.R_OK)):
        return FileLog(path, options, ended, tty=detail.tty)
    params: dict[str, str | int] = {"stdout": "true", "stderr": "true", "timestamps": "true"}
    params["follow"] = "true" if options.follow else "false"
    if options.tail is not None:
        params["tail"] = options.tail
    if options.since is not None:
        params["since"] = int(options.since.timestamp())
    try:
        stream = client.stream("GET", f"/containers/{detail.id}/logs", params=params)
    except Refusal as refusal:
        raise faults.verb_fault(refusal) from refusal
    return LogReader(stream, tty=detail.tty, broken_off=(lambda: not ended()) if options.follow else None)


class FileLog:
    """Lines of a log file, oldest first; another thread may close it.

    ``ended`` tells whether the container has ended and can write no more; a followed log
    ends with it. ``path`` need not exist: a container that never ran has no lines. A
    terminal's (``tty``) end in a carriage return, which is none of the text.
    """

    def __init__(self, path: Path, options: LogOptions, ended: Callable[[], bool], *, tty: bool = False) -> None:
        self._path = path
        self._options = options
        self._ended = ended
        self._tty = tty
        self._closed = threading.Event()
        self._lines = self._read()

    def __iter__(self) -> Iterator[LogLine]:
        return self

    def __next__(self) -> LogLine:
        return next(self._lines)

    def close(self) -> None:
        """End it, waking a blocked reader."""
        self._closed.set()

    def _read(self) -> Iterator[LogLine]:
        """The lines asked for."""
        options = self._options
        for line in self._wanted():
            if options.since is None or line.time >= options.since:
                yield replace(line, data=line.data.removesuffix(b"\r")) if self._tty else line

    def _wanted(self) -> Iterator[LogLine]:
        """From the tail on, to the end or for as long as the container runs."""
        try:
            file = self._path.open("rb")
        except FileNotFoundError:
            return
        with file:
            skip = 0
            if self._options.tail is not None:
                offset = tail_offset(file, self._options.tail)
                file.seek(offset)
                skip = max(0, sum(1 for _ in join(_entries(file))) - self._options.tail)
                file.seek(offset)
            yield from islice(join(self._follow(file) if self._options.follow else _entries(file)), skip, None)

    def _follow(self, file: BinaryIO) -> Iterator[bytes]:
        """Entries as they are written."""
        rest = b""
        while not self._closed.is_set():
            last = self._ended()  # before the read: what it wrote to its end is in the file then
            if os.fstat(file.fileno()).st_size < file.tell():
                file.seek(0)  # grown too large and cut by the engine
                rest = b""
            while data := file.read(_BLOCK):
                *whole, rest = (rest + data).split(b"\n")
                yield from whole
                if self._closed.is_set():
                    return
            if last:
                return
            self._closed.wait(_POLL)


def _entries(file: BinaryIO) -> Iterator[bytes]:
    """Entries from where the file stands to its end; one being written is left out."""
    rest = b""
    while data := file.read(_BLOCK):
        *whole, rest = (rest + data).split(b"\n")
        yield from whole


def join(entries: Iterable[bytes]) -> Iterator[LogLine]:
    """Entries into lines; the first piece's moment counts. What is left open at the end is ``partial``."""
    begun: dict[Stream, tuple[datetime, list[bytes]]] = {}
    for entry in entries:
        moment, rest = stamp(entry)
        name, _, rest = rest.partition(b" ")
        tag, _, text = rest.partition(b" ")
        stream = _STREAMS.get(name)
        if moment is None or stream is None:
            continue  # no entry: the file was cut in the middle of one
        since, pieces = begun.setdefault(stream, (moment, []))
        pieces.append(text)
        if tag.partition(b":")[0] == _FULL:
            del begun[stream]
            yield LogLine(since, stream, b"".join(pieces))
    for stream, (since, pieces) in begun.items():
        yield LogLine(since, stream, b"".join(pieces), partial=True)


def tail_offset(file: BinaryIO, lines: int) -> int:
    """Where to begin reading so that the last ``lines`` lines are whole; some more may come before them.

    Read from the end, block by block: a log may be large and its tail is asked for often.
    """
    position = file.seek(0, os.SEEK_END)
    data = b""
    while position > 0:
        size = min(_BLOCK, position)
        position -= size
        file.seek(position)
        data = file.read(size) + data
        first = data.find(b"\n") + 1 if position else 0
        whole = data[first:]
        # One more than asked for, as the first may lack pieces, and one for each stream's open line.
        if whole.count(b" F ") > lines + len(_STREAMS) and _full_entries(whole) > lines + len(_STREAMS):
            return position + first
    return 0


def _full_entries(data: bytes) -> int:
    """How many entries end a line."""
    return sum(1 for line in data.split(b"\n") if line.split(b" ", 3)[2:3] == [_FULL])
