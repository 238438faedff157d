"""Framed output: what engines send for a command's or a container's stdout and stderr.

A frame is eight bytes of header (stream number, three zeros, length as big-endian
32 bits) and that many bytes. A terminal's output is one stream without frames.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from podsync.runtimes.base import LogLine, Stream

__all__ = ["demux", "entries", "log_lines", "stamp"]

_HEADER = struct.Struct(">BxxxL")
_STREAMS = {0: Stream.STDOUT, 1: Stream.STDOUT, 2: Stream.STDERR}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def demux(chunks: Iterable[bytes], *, tty: bool = False) -> Iterator[tuple[Stream, bytes]]:
    """Bytes as they came into (stream, payload); a frame cut off by the end is given as far as it came."""
    if tty:
        yield from ((Stream.STDOUT, chunk) for chunk in chunks)
        return
    buffer = b""
    for chunk in chunks:
        buffer += chunk
        at = 0
        while len(buffer) - at >= _HEADER.size:
            number, length = _HEADER.unpack_from(buffer, at)
            begin, end = at + _HEADER.size, at + _HEADER.size + length
            if len(buffer) < end:
                break
            yield _STREAMS.get(number, Stream.STDERR), buffer[begin:end]
            at = end
        buffer = buffer[at:]
    if len(buffer) > _HEADER.size:
        yield _STREAMS.get(buffer[0], Stream.STDERR), buffer[_HEADER.size :]


def stamp(data: bytes) -> tuple[datetime | None, bytes]:
    """(moment, rest) of text that begins with an RFC 3339 moment and a blank; None when it does not."""
    text, blank, rest = data.partition(b" ")
    try:
        moment = datetime.fromisoformat(text.decode("ascii"))
    except ValueError:  # UnicodeDecodeError is one
        return None, data
    return (moment.astimezone(UTC), rest) if blank else (None, data)


def log_lines(frames: Iterable[tuple[Stream, bytes]]) -> Iterator[LogLine]:
    """Stamped entries of a log into lines, each stream's apart.

    An engine cuts a long line into entries, each with a moment of its own: they are joined
    until one ends in a newline, and the first one's moment counts. What a log ends with,
    if no newline, is a line marked ``partial``.
    """
    open_lines: dict[Stream, tuple[datetime, list[bytes]]] = {}
    for stream, payload in frames:
        moment, data = stamp(payload)
        begun, parts = open_lines.setdefault(stream, (moment or _EPOCH, []))
        parts.append(data)
        if data.endswith(b"\n"):
            del open_lines[stream]
            yield LogLine(begun, stream, b"".join(parts)[:-1])
    for stream, (begun, parts) in open_lines.items():
        yield LogLine(begun, stream, b"".join(parts), partial=True)


def entries(chunks: Iterable[bytes], *, tty: bool = False) -> Iterator[tuple[Stream, bytes]]:
    """A log's bytes into its entries: a frame each, or of a terminal's log a line each."""
    if not tty:
        yield from demux(chunks)
        return
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        yield from ((Stream.STDOUT, line.removesuffix(b"\r") + b"\n") for line in whole)
    if rest:
        yield Stream.STDOUT, rest
