"""Logs read from conmon's files."""

from __future__ import annotations

import io
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from podsync.runtimes.base import LogLine, LogOptions, Stream
from podsync.runtimes.podman.logs import FileLog, join, tail_offset

START = datetime(2026, 12, 1, 12, tzinfo=UTC)


def entry(second: float, text: str, stream: str = "stdout", tag: str = "F") -> bytes:
    """A line of the file, with its end."""
    return f"{(START + timedelta(seconds=second)).isoformat()} {stream} {tag} {text}\n".encode()


def read(path: Path, *, tail: int | None = None, since: datetime | None = None, follow: bool = False) -> list[bytes]:
    """The texts of a log whose container has ended."""
    return [line.data for line in FileLog(path, LogOptions(follow, tail, since), lambda: True)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Five lines, a second each."""
    found = tmp_path / "ctr.log"
    found.write_bytes(b"".join(entry(number, f"line {number}") for number in range(5)))
    return found


def test_a_line(tmp_path: Path) -> None:
    """Moment, stream and text, blanks and all."""
    path = tmp_path / "log"
    path.write_bytes(b"2026-12-01T12:00:00.123456789+00:00 stderr F  a  b \n")
    (line,) = FileLog(path, LogOptions(), lambda: True)
    moment = datetime(2026, 12, 1, 12, 0, 0, 123456, UTC)
    assert line == LogLine(moment, Stream.STDERR, b" a  b ")


def test_a_terminals_line_ends(tmp_path: Path) -> None:
    """A carriage return belongs to the terminal, not to the line; only there."""
    path = tmp_path / "log"
    path.write_bytes(entry(1, "a\r"))
    assert [line.data for line in FileLog(path, LogOptions(), lambda: True, tty=True)] == [b"a"]
    assert [line.data for line in FileLog(path, LogOptions(), lambda: True)] == [b"a\r"]


def test_pieces_are_joined_a_stream_each() -> None:
    """The first piece's moment counts; the other stream may come between."""
    pieces = [entry(1, "ab", tag="P"), entry(2, "bad", "stderr"), entry(3, "cd", tag="P"), entry(4, "ef")]
    lines = list(join(piece[:-1] for piece in pieces))
    assert [(line.data, line.stream) for line in lines] == [(b"bad", Stream.STDERR), (b"abcdef", Stream.STDOUT)]
    assert lines[1].time == START + timedelta(seconds=1)


def test_what_has_no_end_is_partial() -> None:
    """It is the last of its stream."""
    lines = list(join([entry(1, "a")[:-1], entry(2, "b", tag="P")[:-1]]))
    assert [(line.data, line.partial) for line in lines] == [(b"a", False), (b"b", True)]


@pytest.mark.parametrize("junk", [b"", b"ut F rest of a line", b"2026-12-01T12:00:00+00:00 other F x", b"\xff\xfe"])
def test_what_is_no_entry_is_skipped(junk: bytes) -> None:
    """A file that grew too large is cut in the middle of one."""
    assert [line.data for line in join([junk, entry(1, "a")[:-1]])] == [b"a"]


@pytest.mark.parametrize(("tail", "first"), [(0, None), (1, 4), (3, 2), (5, 0), (9, 0)])
@pytest.mark.parametrize("follow", [False, True])
def test_tail(path: Path, tail: int, first: int | None, follow: bool) -> None:
    """So many lines from the end, followed or not."""
    expected = [] if first is None else [f"line {number}".encode() for number in range(first, 5)]
    assert read(path, tail=tail, follow=follow) == expected


def test_tail_counts_lines_not_pieces(tmp_path: Path) -> None:
    """A long line is one."""
    path = tmp_path / "log"
    path.write_bytes(entry(1, "a") + b"".join(entry(2, "x", tag="P") for _ in range(9)) + entry(3, "y") + entry(4, "b"))
    assert read(path, tail=2) == [b"x" * 9 + b"y", b"b"]


@pytest.mark.parametrize("lines", [1, 10, 2000, 6000])
def test_tail_of_a_large_log(tmp_path: Path, lines: int) -> None:
    """It is read from its end, and says the same as reading it all."""
    path = tmp_path / "log"
    path.write_bytes(b"".join(entry(number, f"line {number} F " + "x" * (number % 90)) for number in range(5000)))
    everything = read(path)
    assert read(path, tail=lines) == everything[-lines:]
    with path.open("rb") as file:
        offset = tail_offset(file, lines)
    assert (offset == 0) is (lines >= 5000)


def test_since(path: Path) -> None:
    """Lines before the moment are left out."""
    assert read(path, since=START + timedelta(seconds=2.5)) == [b"line 3", b"line 4"]
    assert read(path, since=START + timedelta(seconds=9)) == []


def test_a_log_that_was_never_written(tmp_path: Path) -> None:
    """A container that never ran has no lines, followed or not."""
    assert read(tmp_path / "none") == []
    assert read(tmp_path / "none", follow=True) == []


def test_an_entry_being_written_is_not_shown(path: Path) -> None:
    """Half a line of the file is no line of the container."""
    with path.open("ab") as file:
        file.write(entry(9, "half")[:-3])
    assert len(read(path)) == 5
    assert len(read(path, tail=5)) == 5


def test_following_waits_for_more(path: Path) -> None:
    """Lines written later come, and the end is the container's; what it wrote last is not missed."""
    ended, seen = threading.Event(), threading.Event()
    lines: list[bytes] = []

    def follow() -> None:
        for line in FileLog(path, LogOptions(follow=True, tail=1), ended.is_set):
            lines.append(line.data)
            seen.set()

    thread = threading.Thread(target=follow)
    thread.start()
    assert seen.wait(5)
    with path.open("ab") as file:
        file.write(entry(9, "late") + entry(10, "last"))
    ended.set()
    thread.join(5)
    assert lines == [b"line 4", b"late", b"last"]


def test_following_a_log_that_is_cut(path: Path) -> None:
    """The engine truncates a file that has grown too large and goes on at its beginning."""
    ended = threading.Event()
    log = FileLog(path, LogOptions(follow=True), ended.is_set)
    assert [next(log).data for _ in range(5)][-1] == b"line 4"
    path.write_bytes(entry(20, "new"))
    assert next(log).data == b"new"
    ended.set()
    assert list(log) == []


def test_closing_wakes_a_reader(path: Path) -> None:
    """From another thread."""
    log = FileLog(path, LogOptions(follow=True, tail=0), lambda: False)
    thread = threading.Thread(target=lambda: list(log))
    thread.start()
    log.close()
    thread.join(5)
    assert not thread.is_alive()


def test_where_a_tail_begins() -> None:
    """Never past the last lines' beginnings; at the start for a short log."""
    data = b"".join(entry(number, "x" * 200) for number in range(2000))
    offset = tail_offset(io.BytesIO(data), 5)
    assert 5 <= data[offset:].count(b"\n") < 2000
    assert data[offset - 1 : offset] == b"\n"
    assert tail_offset(io.BytesIO(b""), 5) == 0
