"""A runtime that fails where it is told to: at the n-th call, before or after its effect."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

from podsync.runtimes.base import (
    Auth,
    ContainerId,
    ContainerSpec,
    ExecResult,
    ExecSession,
    ImageRecord,
    LogOptions,
    LogStream,
    Observation,
    PullProgress,
    Ref,
    Runtime,
    RuntimeHint,
    RuntimeInfo,
    SandboxId,
    SandboxRecord,
    SandboxSpec,
    StopToken,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from podsync.models import Pod, PodKey
    from podsync.volumes import Volumes

__all__ = ["Around", "Faults", "FaultyRuntime", "FaultyVolumes"]

T = TypeVar("T")


class Around(Protocol):
    """Something that carries a call out, in its own way."""

    def __call__(self, verb: str, call: Callable[[], T]) -> T:
        """Call ``call``, which does what ``verb`` names, and return what it gives."""


@dataclass(frozen=True, slots=True)
class _Fault:
    at: int
    error: BaseException
    after: bool
    verb: str


class Faults:
    """Counts calls by verb and in all, and raises what was asked for. One thread at a time."""

    def __init__(self) -> None:
        """Nothing fails."""
        self.calls = 0
        self.by_verb: dict[str, int] = {}
        self.raised: list[tuple[str, BaseException]] = []
        self._faults: list[_Fault] = []

    def raise_at(self, n: int, error: BaseException, *, after: bool = False, verb: str = "") -> None:
        """Raise ``error`` at the n-th call from now (1 is the next), of ``verb`` where given.

        ``after``: the engine does what it was asked, and only then the call fails, as when
        an answer is lost. Any BaseException will do: one that is no Exception stands for
        the end of the whole process.
        """
        self._faults.append(_Fault(self._count(verb) + n, error, after, verb))

    def clear(self) -> None:
        """Forget what was asked for and has not happened."""
        self._faults.clear()

    def around(self, verb: str, call: Callable[[], T]) -> T:
        """One call of ``verb``, failing if it is its turn."""
        self.calls += 1
        self.by_verb[verb] = self.by_verb.get(verb, 0) + 1
        due = [f for f in self._faults if f.verb in {"", verb} and f.at <= self._count(f.verb)]
        if not due:
            return call()
        fault = due[0]
        self._faults.remove(fault)
        self.raised.append((verb, fault.error))
        if fault.after:
            call()
        raise fault.error

    def _count(self, verb: str) -> int:
        return self.by_verb.get(verb, 0) if verb else self.calls


class FaultyRuntime:
    """A runtime whose every call goes through ``around``.

    ``Faults().around`` lets calls fail; a test may pass one of its own that delays them.
    Hints pass through untouched.
    """

    def __init__(self, inner: Runtime, around: Around) -> None:
        """Wrap ``inner``."""
        self._inner, self._around = inner, around
        self.node = inner.node

    def list_sandboxes(self, uid: str | None = None) -> Sequence[SandboxRecord]:
        """See ``Sandboxes``."""
        return self._around("list_sandboxes", lambda: self._inner.list_sandboxes(uid))

    def create_sandbox(self, spec: SandboxSpec) -> SandboxId:
        """See ``Sandboxes``."""
        return self._around("create_sandbox", lambda: self._inner.create_sandbox(spec))

    def start_sandbox(self, sandbox: Ref) -> tuple[str, ...]:
        """See ``Sandboxes``."""
        return self._around("start_sandbox", lambda: self._inner.start_sandbox(sandbox))

    def remove_sandbox(self, sandbox: Ref, containers: Sequence[Ref] = ()) -> None:
        """See ``Sandboxes``."""
        return self._around("remove_sandbox", lambda: self._inner.remove_sandbox(sandbox, containers))

    def create_container(self, sandbox: Ref, spec: ContainerSpec) -> ContainerId:
        """See ``Containers``."""
        return self._around("create_container", lambda: self._inner.create_container(sandbox, spec))

    def start_container(self, container: Ref) -> None:
        """See ``Containers``."""
        return self._around("start_container", lambda: self._inner.start_container(container))

    def signal_container(self, container: Ref, signal: str) -> None:
        """See ``Containers``."""
        return self._around("signal_container", lambda: self._inner.signal_container(container, signal))

    def remove_container(self, container: Ref) -> None:
        """See ``Containers``."""
        return self._around("remove_container", lambda: self._inner.remove_container(container))

    def image(self, image: str) -> ImageRecord | None:
        """See ``Images``."""
        return self._around("image", lambda: self._inner.image(image))

    def pull_image(
        self, image: str, auth: Auth | None = None, progress: Callable[[PullProgress], None] | None = None
    ) -> ImageRecord:
        """See ``Images``."""
        return self._around("pull_image", lambda: self._inner.pull_image(image, auth, progress))

    def exec(self, container: Ref, command: Sequence[str], timeout: float) -> ExecResult:
        """See ``Execs``."""
        return self._around("exec", lambda: self._inner.exec(container, command, timeout))

    def open_exec(self, container: Ref, command: Sequence[str], *, stdin: bool, tty: bool) -> ExecSession:
        """See ``Execs``."""
        return self._around("open_exec", lambda: self._inner.open_exec(container, command, stdin=stdin, tty=tty))

    def logs(self, container: Ref, options: LogOptions) -> LogStream:
        """See ``Logs``."""
        return self._around("logs", lambda: self._inner.logs(container, options))

    def info(self) -> RuntimeInfo:
        """See ``Runtime``."""
        return self._around("info", self._inner.info)

    def observe(self) -> Observation:
        """See ``Runtime``."""
        return self._around("observe", self._inner.observe)

    def hints(self, stop: StopToken) -> Iterator[RuntimeHint]:
        """See ``Runtime``."""
        return self._inner.hints(stop)

    def close(self) -> None:
        """See ``Runtime``."""
        self._inner.close()


class FaultyVolumes:
    """Volumes whose making and removal go through ``around``; the rest passes through untouched."""

    def __init__(self, inner: Volumes, around: Around) -> None:
        """Wrap ``inner``."""
        self._inner, self._around = inner, around

    def prepare(self, pod: Pod) -> None:
        """See ``Volumes``."""
        self._around("prepare_volumes", lambda: self._inner.prepare(pod))

    def remove(self, uid: str) -> None:
        """See ``Volumes``."""
        self._around("remove_volumes", lambda: self._inner.remove(uid))

    def write_hosts(self, pod: Pod, ips: Sequence[str]) -> None:
        """See ``Volumes``."""
        self._inner.write_hosts(pod, ips)

    def prepare_message(self, path: str) -> None:
        """See ``Volumes``."""
        self._inner.prepare_message(path)

    def read_message(self, path: str) -> str:
        """See ``Volumes``."""
        return self._inner.read_message(path)

    def folders(self) -> Mapping[str, PodKey]:
        """See ``Volumes``."""
        return self._inner.folders()
