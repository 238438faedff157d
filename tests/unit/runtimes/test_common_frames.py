"""Framed output and log lines."""

from __future__ import annotations

import struct
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podsync.runtimes.base import Stream
from podsync.runtimes.common.frames import demux, entries, log_lines, stamp

OUT, ERR = Stream.STDOUT, Stream.STDERR


def frame(stream: Stream, data: bytes) -> bytes:
    """As an engine sends it."""
    return struct.pack(">BxxxL", 1 if stream is OUT else 2, len(data)) + data


@given(
    st.lists(st.tuples(st.sampled_from([OUT, ERR]), st.binary(min_size=1, max_size=40)), max_size=8),
    st.lists(st.integers(1, 30), max_size=20),
)
def test_frames_survive_any_cutting(sent: list[tuple[Stream, bytes]], cuts: list[int]) -> None:
    """However the connection cuts the bytes up, the frames come out as they were sent."""
    data = b"".join(frame(stream, payload) for stream, payload in sent)
    chunks = []
    for cut in cuts:
        chunks.append(data[:cut])
        data = data[cut:]

    assert list(demux([*chunks, data])) == sent


def test_a_frame_cut_off_by_the_end_is_given_as_far_as_it_came() -> None:
    """Nothing that was received is lost."""
    assert list(demux([frame(ERR, b"hello")[:-2]])) == [(ERR, b"hel")]


def test_a_terminal_has_no_frames() -> None:
    """What it writes is one stream."""
    assert list(demux([b"a\x01", b"b"], tty=True)) == [(OUT, b"a\x01"), (OUT, b"b")]


@pytest.mark.parametrize(
    ("text", "moment", "rest"),
    [
        (b"2030-01-02T03:04:05.123456789Z hello", datetime(2030, 1, 2, 3, 4, 5, 123456, UTC), b"hello"),
        (b"2030-01-02T03:04:05Z hello", datetime(2030, 1, 2, 3, 4, 5, 0, UTC), b"hello"),
        (b"2030-01-02T05:04:05+02:00 ", datetime(2030, 1, 2, 3, 4, 5, 0, UTC), b""),
        (b"no moment here", None, b"no moment here"),
        (b"\xff\xfe x", None, b"\xff\xfe x"),
        (b"2030-01-02T03:04:05Z", None, b"2030-01-02T03:04:05Z"),
    ],
)
def test_stamps(text: bytes, moment: datetime | None, rest: bytes) -> None:
    """A moment is cut off where there is one; text without stays whole."""
    assert stamp(text) == (moment, rest)


def test_pieces_of_a_long_line_are_joined_apart_from_the_other_stream() -> None:
    """The first piece's moment counts, and another stream's line may come between."""
    first, later = b"2030-01-01T00:00:01Z ", b"2030-01-01T00:00:02Z "
    sent = [(OUT, first + b"long "), (ERR, later + b"bad\n"), (OUT, later + b"line\n"), (OUT, later + b"rest")]

    found = [(line.time.second, line.stream, line.data, line.partial) for line in log_lines(sent)]

    assert found == [(2, ERR, b"bad", False), (1, OUT, b"long line", False), (2, OUT, b"rest", True)]


def test_a_terminals_log_is_cut_at_its_lines() -> None:
    """Chunks end anywhere; a carriage return before the newline goes."""
    chunks = [b"one\r\ntw", b"o\r\nthr", b"ee"]

    assert list(entries(chunks, tty=True)) == [(OUT, b"one\n"), (OUT, b"two\n"), (OUT, b"three")]
