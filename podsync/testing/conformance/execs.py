"""Commands inside a running container."""

from __future__ import annotations

import pytest

from podsync.clock import SystemClock
from podsync.errors import Conflict, ExecTimeout, NotFound
from podsync.runtimes.base import ContainerState, Stream
from podsync.testing.conformance.suite import Suite
from podsync.testing.programs import CAT, ECHO_BOTH, MISSING, RUN, SLEEP_30, exit_with, shell

__all__ = ["ExecConformance"]


class ExecConformance(Suite):
    """The verbs of ``Execs``."""

    def test_exec_tells_code_and_both_streams(self) -> None:
        """Output and errors come apart, as bytes."""
        result = self.runtime.exec(self.run(self.box()), ECHO_BOTH, 20)
        assert (result.exit_code, result.stdout, result.stderr) == (3, b"out\n", b"err\n")

    @pytest.mark.parametrize("code", [0, 1, 255])
    def test_exec_exit_codes(self, code: int) -> None:
        """Whatever the command gives."""
        assert self.runtime.exec(self.run(self.box()), exit_with(code), 20).exit_code == code

    def test_exec_of_a_missing_command(self) -> None:
        """It is an exit code of 126 or 127, not an error of the engine."""
        assert self.runtime.exec(self.run(self.box()), MISSING, 20).exit_code in {126, 127}

    def test_exec_where_nothing_runs(self) -> None:
        """Conflict where the container does not run, NotFound where there is none."""
        box = self.box()
        for container in (self.create(box, name="created"), self.run_to_end(box, exit_with(0), "ended").id):
            with pytest.raises(Conflict):
                self.runtime.exec(container, CAT, 5)
        with pytest.raises(NotFound):
            self.runtime.exec("0" * 64, CAT, 5)

    def test_exec_time_out(self) -> None:
        """It is raised in time, and the container runs on."""
        container = self.run(self.box())
        began = SystemClock().monotonic()
        with pytest.raises(ExecTimeout):
            self.runtime.exec(container, SLEEP_30, 0.5)
        assert SystemClock().monotonic() - began < 10
        assert self.state(container) is ContainerState.RUNNING

    def test_exec_time_out_ends_the_process(self) -> None:
        """Nothing of the command is left behind."""
        self.needs_processes()
        container = self.run(self.box(), RUN)
        with pytest.raises(ExecTimeout):
            self.runtime.exec(container, ("sleep", "1234"), 0.5)
        gone = lambda: b"sleep 1234" not in self.runtime.exec(container, ("ps",), 10).stdout  # noqa: E731
        self.until(gone, "the command to be gone")

    def test_session_passes_stdin_through(self) -> None:
        """What is written comes back, and the command ends with its input."""
        session = self.runtime.open_exec(self.run(self.box()), CAT, stdin=True, tty=False)
        try:
            session.write(b"hello ")
            session.write(b"there\n")
            session.close_stdin()
            frames = list(session.frames())
            assert b"".join(data for _, data in frames) == b"hello there\n"
            assert {stream for stream, _ in frames} == {Stream.STDOUT}
            assert session.exit_code() == 0
        finally:
            session.close()

    def test_session_keeps_streams_apart(self) -> None:
        """Frames say where they came from, and the code is known at the end."""
        session = self.runtime.open_exec(self.run(self.box()), ECHO_BOTH, stdin=False, tty=False)
        try:
            frames = list(session.frames())
            assert b"".join(data for stream, data in frames if stream is Stream.STDOUT) == b"out\n"
            assert b"".join(data for stream, data in frames if stream is Stream.STDERR) == b"err\n"
            assert session.exit_code() == 3
        finally:
            session.close()

    def test_session_with_a_terminal(self) -> None:
        """It has a size that can be set."""
        self.needs_processes()
        container = self.run(self.box())
        session = self.runtime.open_exec(container, shell("read x; stty size"), stdin=True, tty=True)
        try:
            session.resize(33, 101)
            session.write(b"\n")
            out = b"".join(data for _, data in session.frames())
            assert b"33 101" in out
            assert session.exit_code() == 0
        finally:
            session.close()

    def test_session_where_nothing_runs(self) -> None:
        """Conflict where the container does not run, NotFound where there is none."""
        with pytest.raises(Conflict):
            self.runtime.open_exec(self.create(self.box()), CAT, stdin=False, tty=False)
        with pytest.raises(NotFound):
            self.runtime.open_exec("0" * 64, CAT, stdin=False, tty=False)
