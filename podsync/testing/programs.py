"""Small programs for suites: commands a real engine runs, and what the fake has to know of them."""

from __future__ import annotations

from collections.abc import Mapping

from podsync.runtimes.base import Stream
from podsync.runtimes.fake import Output, Program, ScriptedExec, exits, fails_to_start, ignores_term, runs

__all__ = [
    "CAT",
    "COUNT",
    "DEAF",
    "ECHO_BOTH",
    "EXECS",
    "LONG_LINE",
    "MISSING",
    "PROGRAMS",
    "RUN",
    "SLEEP_30",
    "SLOW_TALK",
    "TALK",
    "UNENDED",
    "exit_with",
    "shell",
]

Command = tuple[str, ...]


def shell(script: str) -> Command:
    """A command line that runs a shell script."""
    return ("sh", "-c", script)


def exit_with(code: int) -> Command:
    """Ends at once with that code."""
    return shell(f"exit {code}")


RUN = shell("trap 'kill $!; exit 143' TERM; sleep 3600 & wait $!")
"""Runs until SIGTERM, then ends with 143 at once."""
DEAF = shell("trap '' TERM; sleep 3600 & wait $!; sleep 3600")
"""Takes no notice of SIGTERM."""
TALK = shell("echo one; echo two; echo bad >&2")
SLOW_TALK = shell("echo one; sleep 1; echo two")
COUNT = shell("for i in 1 2 3 4 5; do echo line $i; done")
LONG_LINE = shell("head -c 40000 /dev/zero | tr '\\0' x; echo; echo after")
UNENDED = shell("printf 'no end'")
MISSING = ("/no/such/program",)

_LINES = tuple(f"line {number}" for number in range(1, 6))

PROGRAMS: Mapping[str | Command, Program] = {
    RUN: runs(),
    DEAF: ignores_term(),
    **{exit_with(code): exits(code) for code in (0, 1, 3, 42, 137)},
    TALK: Program(after=0.0, output=(Output(b"one\n"), Output(b"two\n"), Output(b"bad\n", stream=Stream.STDERR))),
    SLOW_TALK: exits(after=1.0).saying("one").saying("two", after=1.0),
    COUNT: exits().saying(*_LINES),
    LONG_LINE: exits().saying("x" * 40000, "after"),
    UNENDED: Program(after=0.0, output=(Output(b"no end"),)),
    MISSING: fails_to_start('exec: "/no/such/program": no such file or directory', 127),
}
"""For ``FakeRuntime(programs=…)``."""

ECHO_BOTH = shell("echo out; echo err >&2; exit 3")
CAT = ("cat",)
SLEEP_30 = ("sleep", "30")

EXECS: Mapping[Command, ScriptedExec] = {
    ECHO_BOTH: ScriptedExec(3, b"out\n", b"err\n"),
    CAT: ScriptedExec(echo=True),
    SLEEP_30: ScriptedExec(seconds=30),
    MISSING: ScriptedExec(127, b"", b"no such file or directory\n"),
    **{exit_with(code): ScriptedExec(code) for code in (0, 1, 255)},
}
"""For ``FakeRuntime(execs=…)``."""
