"""The Runtime port: what podsync asks of a container engine, and the records it gives back.

Nothing here knows Docker or Podman. A runtime is any object with these methods;
``podsync.testing.conformance`` says, as tests, what each of them must do.

Verbs take a *ref*: the engine's id or the name given at creation. All are safe to
call from several threads, and all raise ``RuntimeUnavailable`` when the engine
cannot be asked. Only ``pull_image``, ``exec``, ``open_exec`` and ``logs`` may take long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from podsync.runtimes.values import (
    API_VERSION,
    EMPTY,
    Auth,
    ContainerId,
    ContainerRecord,
    ContainerSpec,
    ContainerState,
    ExecResult,
    HostPort,
    ImageRecord,
    LogLine,
    LogOptions,
    Mount,
    NamespaceMode,
    Observation,
    PortMapping,
    PullProgress,
    Ref,
    Resources,
    RuntimeHint,
    RuntimeInfo,
    SandboxId,
    SandboxRecord,
    SandboxSpec,
    SecuritySpec,
    Stream,
)

__all__ = [
    "API_VERSION",
    "EMPTY",
    "Auth",
    "ContainerId",
    "ContainerRecord",
    "ContainerSpec",
    "ContainerState",
    "Containers",
    "ExecResult",
    "ExecSession",
    "Execs",
    "HostPort",
    "ImageRecord",
    "Images",
    "LogLine",
    "LogOptions",
    "LogStream",
    "Logs",
    "Mount",
    "NamespaceMode",
    "Observation",
    "PortMapping",
    "PullProgress",
    "Ref",
    "Resources",
    "Runtime",
    "RuntimeHint",
    "RuntimeInfo",
    "SandboxId",
    "SandboxRecord",
    "SandboxSpec",
    "Sandboxes",
    "SecuritySpec",
    "StopToken",
    "Stream",
]


class StopToken(Protocol):
    """Tells a blocking loop that it should end; ``threading.Event`` is one."""

    def is_set(self) -> bool:
        """True once the loop should end."""

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end, at most ``timeout`` seconds; true when it has come."""


class LogStream(Protocol):
    """An iterator over lines that another thread may close."""

    def __iter__(self) -> Iterator[LogLine]:
        """Itself."""

    def __next__(self) -> LogLine:
        """The next line; StopIteration at the end or once closed."""

    def close(self) -> None:
        """Wake a blocked reader and free the connection."""


class ExecSession(Protocol):
    """A running command with its streams open; one reader and one writer thread."""

    def write(self, data: bytes) -> None:
        """Send to the command's stdin."""

    def close_stdin(self) -> None:
        """Tell the command that its input has ended."""

    def resize(self, rows: int, columns: int) -> None:
        """Set the terminal's size; nothing without a tty."""

    def frames(self) -> Iterator[tuple[Stream, bytes]]:
        """Output as it comes, until the command ends."""

    def exit_code(self) -> int:
        """The command's exit code, once its output has ended. Not found is 126 or 127."""

    def close(self) -> None:
        """Free the connection; the command may live on."""


class Sandboxes(Protocol):
    """CRI's sandbox verbs, without a blocking stop."""

    def list_sandboxes(self, uid: str | None = None) -> Sequence[SandboxRecord]:
        """All of ours (label ``podsync.io/node`` of this runtime's node) with their containers, ended ones too.

        ``uid`` limits the look to one pod. May keep what cannot change (an ended
        container) from an earlier look; must know of any death that a hint was given for.
        A container whose sandbox is gone is reported under a sandbox record that is
        not ready, has an empty id, and the attempt of the container's sandbox label.
        """

    def create_sandbox(self, spec: SandboxSpec) -> SandboxId:
        """Created, not running. Raises Conflict if the name is taken, StartFault if refused."""

    def start_sandbox(self, sandbox: Ref) -> tuple[str, ...]:
        """Start it; returns its addresses. Running already: succeeds. Raises StartFault."""

    def remove_sandbox(self, sandbox: Ref, containers: Sequence[Ref] = ()) -> None:
        """End and remove it and the containers named, at once and without grace. Absent: succeeds."""


class Containers(Protocol):
    """CRI's container verbs, without a blocking stop."""

    def create_container(self, sandbox: Ref, spec: ContainerSpec) -> ContainerId:
        """Created, not running; the sandbox need not run yet.

        Raises Conflict if the name is taken, ImageAbsent if the image is gone,
        StartFault (``CreateContainerError``) if refused.
        """

    def start_container(self, container: Ref) -> None:
        """Start it. Raises StartFault (``RunContainerError``), Conflict if it has ended before."""

    def signal_container(self, container: Ref, signal: str) -> None:
        """Send ``SIGTERM``, ``SIGKILL``, … Ended or absent: succeeds.

        ``SIGTERM`` means the image's own stop signal where it sets one.
        """

    def remove_container(self, container: Ref) -> None:
        """Absent: succeeds. Running: raises Conflict."""


class Images(Protocol):
    """What is needed of the engine's image store."""

    def image(self, image: str) -> ImageRecord | None:
        """The image of that name or id; None when the store lacks it."""

    def pull_image(
        self, image: str, auth: Auth | None = None, progress: Callable[[PullProgress], None] | None = None
    ) -> ImageRecord:
        """Fetch it. Raises ImageFault (``ErrImagePull``, ``InvalidImageName``, …) with the engine's words."""


class Execs(Protocol):
    """Commands inside a running container."""

    def exec(self, container: Ref, command: Sequence[str], timeout: float) -> ExecResult:
        """Run to the end, at most ``timeout`` seconds; then the process is ended and ExecTimeout raised.

        Raises NotFound, or Conflict if the container does not run.
        """

    def open_exec(self, container: Ref, command: Sequence[str], *, stdin: bool, tty: bool) -> ExecSession:
        """Start a command with streams open. Raises NotFound, or Conflict if it does not run."""


class Logs(Protocol):
    """Containers' output."""

    def logs(self, container: Ref, options: LogOptions) -> LogStream:
        """Lines, oldest first. Following ends when the container does. Raises NotFound."""


class Runtime(Sandboxes, Containers, Images, Execs, Logs, Protocol):
    """Everything podsync asks of an engine."""

    @property
    def node(self) -> str:
        """The node name it was made for: what carries another is not seen."""

    def info(self) -> RuntimeInfo:
        """Who it is; asks the engine."""

    def observe(self) -> Observation:
        """One look at everything of ours, with its time."""

    def hints(self, stop: StopToken) -> Iterator[RuntimeHint]:
        """Blocks for hints until stopped; reconnects by itself; may lose any hint.

        Yields one with ``connected=False`` when the stream breaks and one without a
        uid each time it is connected (again).
        """

    def close(self) -> None:
        """Free connections, and end what the runtime itself started for the agent."""
