"""What scripted containers and commands do: values, read by the fake engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from podsync.runtimes.base import Stream

__all__ = [
    "Output",
    "Program",
    "ProgramKey",
    "ScriptedExec",
    "exits",
    "exits_on_term",
    "fails_to_start",
    "ignores_term",
    "oom",
    "runs",
    "select",
]

ProgramKey = str | tuple[str, ...]
"""A container's name (the manifest's or the engine's), an image, ``(image, *command)``, or a command line."""


@dataclass(frozen=True, slots=True)
class Output:
    """Bytes a program writes ``after`` seconds of running; each line brings its own end of line."""

    data: bytes
    after: float = 0.0
    stream: Stream = Stream.STDOUT


@dataclass(frozen=True, slots=True)
class Program:
    """How one container behaves from its start to its end.

    ``after`` is how many seconds it runs before it ends by itself with ``exit_code``
    (None: it never does). ``term`` is its answer to SIGTERM: exit code and seconds
    until the end; None ignores the signal. A ``start_fault`` is the text with which
    starting it fails; it has then ended with ``exit_code`` and never run.
    """

    exit_code: int = 0
    after: float | None = None
    term: tuple[int, float] | None = (143, 0.0)
    oom: bool = False
    start_fault: str = ""
    output: tuple[Output, ...] = ()

    def saying(self, *lines: str, after: float = 0.0, stream: Stream = Stream.STDOUT) -> Program:
        """The same program, writing these lines as well."""
        more = tuple(Output(f"{line}\n".encode(), after, stream) for line in lines)
        return replace(self, output=self.output + more)

    def on_term(self, exit_code: int, after: float = 0.0) -> Program:
        """The same program, ending so many seconds after SIGTERM with that code."""
        return replace(self, term=(exit_code, after))


def runs() -> Program:
    """Runs until told to end; SIGTERM ends it at once with 143."""
    return Program()


def exits(exit_code: int = 0, after: float = 0.0) -> Program:
    """Ends by itself after so many seconds."""
    return Program(exit_code=exit_code, after=after)


def exits_on_term(exit_code: int = 0, after: float = 0.0) -> Program:
    """Runs until SIGTERM, then takes ``after`` seconds to end with ``exit_code``."""
    return runs().on_term(exit_code, after)


def ignores_term() -> Program:
    """Runs until SIGKILL."""
    return Program(term=None)


def fails_to_start(text: str, exit_code: int = 127) -> Program:
    """Cannot be started: StartFault with ``text``; 127 is "not found", 126 "not executable", 128 the rest."""
    return Program(start_fault=text, exit_code=exit_code)


def oom(after: float = 0.0) -> Program:
    """Is ended by the kernel for want of memory after so many seconds."""
    return Program(exit_code=137, after=after, oom=True)


@dataclass(frozen=True, slots=True)
class ScriptedExec:
    """How a command run inside a container behaves.

    ``seconds`` is how long it would take; nothing waits for it, but a shorter
    time-out ends it. ``echo`` copies its stdin to stdout.
    """

    exit_code: int = 0
    stdout: bytes = b""
    stderr: bytes = b""
    seconds: float = 0.0
    echo: bool = False


Programs = Mapping[ProgramKey, Program | Sequence[Program]]


def select(programs: Programs, keys: Sequence[ProgramKey], attempt: int, default: Program) -> Program:
    """The program of the first key that has one.

    A sequence of programs gives the first instance its first, the second its second,
    and so on; the last one repeats.
    """
    for key in keys:
        script = programs.get(key)
        if isinstance(script, Program):
            return script
        if script:
            return script[min(attempt, len(script) - 1)]
    return default
