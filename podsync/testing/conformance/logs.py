"""Containers' output."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest

from podsync.clock import SystemClock
from podsync.errors import NotFound
from podsync.runtimes.base import ContainerId, LogLine, LogOptions, Stream
from podsync.testing.conformance.suite import Suite
from podsync.testing.programs import COUNT, LONG_LINE, RUN, SLOW_TALK, TALK, UNENDED

__all__ = ["LogConformance"]


class LogConformance(Suite):
    """``Logs``."""

    def lines(self, container: ContainerId, options: LogOptions | None = None) -> list[LogLine]:
        """A log that ends."""
        return list(self.runtime.logs(container, options or LogOptions()))

    def text(self, container: ContainerId, options: LogOptions | None = None) -> list[bytes]:
        """The lines alone."""
        return [line.data for line in self.lines(container, options)]

    def test_log_has_both_streams_in_their_order(self) -> None:
        """Each line tells its stream; the order within a stream holds."""
        lines = self.lines(self.run_to_end(self.box(), TALK).id)
        assert [line.data for line in lines if line.stream is Stream.STDOUT] == [b"one", b"two"]
        assert [line.data for line in lines if line.stream is Stream.STDERR] == [b"bad"]
        assert not any(line.partial for line in lines)

    def test_log_lines_have_their_time(self) -> None:
        """Aware, growing, and now."""
        times = [line.time for line in self.lines(self.run_to_end(self.box(), COUNT).id)]
        assert times == sorted(times)
        assert abs(SystemClock().now() - times[0]) < timedelta(seconds=60)

    @pytest.mark.parametrize(("tail", "first"), [(0, None), (2, b"line 4"), (5, b"line 1"), (9, b"line 1")])
    def test_log_tail(self, tail: int, first: bytes | None) -> None:
        """So many lines from the end."""
        found = self.text(self.run_to_end(self.box(), COUNT).id, LogOptions(tail=tail))
        assert len(found) == min(tail, 5)
        assert (found[0] if found else None) == first

    def test_log_since(self) -> None:
        """Lines before the moment are left out."""
        container = self.run_to_end(self.box(), SLOW_TALK).id
        one, two = self.lines(container)
        between = one.time + (two.time - one.time) / 2
        assert self.text(container, LogOptions(since=between)) == [b"two"]
        assert self.text(container, LogOptions(since=two.time + timedelta(seconds=5))) == []

    def test_following_ends_with_the_container(self) -> None:
        """Later lines arrive, then the stream ends by itself."""
        container = self.run(self.box(), SLOW_TALK)
        assert self.text(container, LogOptions(follow=True)) == [b"one", b"two"]

    def test_following_an_ended_container_ends(self) -> None:
        """There is nothing to wait for."""
        container = self.run_to_end(self.box(), TALK).id
        assert len(self.text(container, LogOptions(follow=True))) == 3

    def test_following_is_closed_from_another_thread(self) -> None:
        """A reader that waits for a line wakes up and ends."""
        stream = self.runtime.logs(self.run(self.box(), RUN), LogOptions(follow=True))
        reader = threading.Thread(target=lambda: list(stream), daemon=True)
        reader.start()
        self.pause(0.2)
        assert reader.is_alive()
        stream.close()
        reader.join(self.patience)
        assert not reader.is_alive()

    def test_long_lines_are_whole(self) -> None:
        """However the engine cuts them up."""
        found = self.lines(self.run_to_end(self.box(), LONG_LINE).id)
        assert [len(line.data) for line in found] == [40000, 5]
        assert not found[0].partial

    def test_last_line_without_an_end(self) -> None:
        """It is there, and marked."""
        (line,) = self.lines(self.run_to_end(self.box(), UNENDED).id)
        assert (line.data, line.partial) == (b"no end", True)

    def test_log_of_what_is_not_there(self) -> None:
        """An absent container is NotFound; one that never ran has no lines."""
        with pytest.raises(NotFound):
            self.lines(ContainerId("0" * 64))
        assert self.lines(self.create(self.box())) == []
