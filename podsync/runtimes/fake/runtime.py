"""The Runtime port on the fake engine."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Self

from podsync import labels
from podsync.clock import Clock
from podsync.errors import Conflict, ExecTimeout, ImageAbsent, ImageFault, NotFound, StartFault
from podsync.runtimes.base import (
    Auth,
    ContainerId,
    ContainerRecord,
    ContainerSpec,
    ContainerState,
    ExecResult,
    HostPort,
    ImageRecord,
    LogOptions,
    NamespaceMode,
    Observation,
    PullProgress,
    Ref,
    RuntimeHint,
    RuntimeInfo,
    SandboxId,
    SandboxRecord,
    SandboxSpec,
    StopToken,
)
from podsync.runtimes.fake.engine import FakeContainer, FakeEngine, FakeSandbox
from podsync.runtimes.fake.images import ImageStore, Pullable
from podsync.runtimes.fake.listing import arrange, clash
from podsync.runtimes.fake.programs import Programs, ScriptedExec, exits, runs, select
from podsync.runtimes.fake.streams import FakeExecSession, FakeLogStream

__all__ = ["FakeRuntime"]

_LOOK_AGAIN = 0.02  # seconds between two looks for hints and pulls; only real threads wait here


class FakeRuntime:
    """A container engine in memory that behaves like one: for unit tests, forecasts and simulations.

    Without arguments every image is present, main containers run until they are told
    to end, and init containers end well at once. ``programs`` scripts them::

        FakeRuntime(programs={"web": exits(1, after=5), "busybox:1.36": ignores_term()})

    A key is a container's name (in the manifest, or the engine's whole name), an image,
    a command line ``("sh", "-c", "exit 3")`` or ``(image, *command)``; see ``programs``.
    ``execs`` does the same for commands run inside containers, by command line.
    ``images`` are the names in the store, ``registry`` what can be pulled besides.

    State is a function of the clock: with a ``ManualClock`` a test moves time itself.
    Several runtimes may stand for several nodes on one engine: give them the same ``engine``.
    """

    def __init__(
        self,
        *,
        node: str = labels.DEFAULT_NODE,
        clock: Clock | None = None,
        images: Iterable[str] | None = None,
        registry: Mapping[str, Pullable] | None = None,
        programs: Programs | None = None,
        execs: Mapping[tuple[str, ...], ScriptedExec] | None = None,
        engine: FakeEngine | None = None,
    ) -> None:
        """All by keyword; ``clock``, ``images`` and ``registry`` make a new engine, so not with ``engine``."""
        if engine is not None and (clock, images, registry) != (None, None, None):
            raise ValueError("an engine brings its own clock and images")
        self.node = node
        self.engine = engine or FakeEngine(clock, ImageStore(images, registry))
        self.programs: Programs = dict(programs or {})
        self.execs = dict(execs or {})
        self._closed = threading.Event()

    @classmethod
    def from_observation(
        cls,
        observation: Observation,
        clock: Clock,
        *,
        node: str = labels.DEFAULT_NODE,
        images: Iterable[str] | None = None,
    ) -> Self:
        """A fake that starts from what a real engine was seen to hold.

        What runs goes on running; containers created from here on run for ever, and
        init containers end well. ``node`` has to be the one observed.
        """
        runtime = cls(node=node, clock=clock, images=images)
        runtime.engine.seed(observation.sandboxes)
        return runtime

    # -- sandboxes -------------------------------------------------------------------

    def list_sandboxes(self, uid: str | None = None) -> Sequence[SandboxRecord]:
        """See ``Sandboxes``."""
        engine = self.engine
        with engine.lock:
            engine.enter()
            return arrange(
                [s.record for s in engine.sandboxes.values() if self._ours(s.record.labels, uid)],
                [c.record for c in engine.containers.values() if self._ours(c.record.labels, uid)],
            )

    def create_sandbox(self, spec: SandboxSpec) -> SandboxId:
        """See ``Sandboxes``."""
        engine = self.engine
        with engine.lock:
            engine.enter()
            self._claim(spec.name)
            record = SandboxRecord(
                id=SandboxId(engine.new_id()),
                name=spec.name,
                pod_name=spec.labels.get(labels.POD_NAME, ""),
                namespace=spec.labels.get(labels.POD_NAMESPACE, ""),
                uid=spec.labels.get(labels.POD_UID, ""),
                attempt=labels.integer(spec.labels, labels.ATTEMPT),
                ready=False,
                labels=dict(spec.labels),
                created_at=engine.now(),
                started=False,
            )
            ports = frozenset(HostPort(p.protocol, p.host_ip, p.host_port) for p in spec.ports)
            engine.add_sandbox(FakeSandbox(record, spec.network, ports))
            return record.id

    def start_sandbox(self, sandbox: Ref) -> tuple[str, ...]:
        """See ``Sandboxes``."""
        engine = self.engine
        with engine.lock:
            engine.enter()
            found = self._sandbox(sandbox)
            if not found.record.ready:
                self._claim_ports(found)
                engine.set_ready(found, ready=True)
            return found.record.ips

    def remove_sandbox(self, sandbox: Ref, containers: Sequence[Ref] = ()) -> None:
        """See ``Sandboxes``."""
        engine = self.engine
        with engine.lock:
            engine.enter()
            for thing in (*(engine.find_container(ref) for ref in containers), engine.find_sandbox(sandbox)):
                if thing is not None:
                    engine.drop(thing)

    # -- containers ------------------------------------------------------------------

    def create_container(self, sandbox: Ref, spec: ContainerSpec) -> ContainerId:
        """See ``Containers``."""
        engine = self.engine
        with engine.lock:
            engine.enter()
            self._claim(spec.name)
            home = self._sandbox(sandbox)
            image = engine.images.find(spec.image_id or spec.image)
            if image is None:
                raise ImageAbsent(spec.image)
            name, attempt = spec.labels.get(labels.CONTAINER_NAME, ""), labels.integer(spec.labels, labels.ATTEMPT)
            record = ContainerRecord(
                id=ContainerId(engine.new_id()),
                name=spec.name,
                container_name=name,
                attempt=attempt,
                state=ContainerState.CREATED,
                labels={labels.SANDBOX_ATTEMPT: str(home.record.attempt), **spec.labels},
                created_at=engine.now(),
                image_id=image.id,
            )
            command = (*spec.command, *spec.args)
            default = exits() if spec.labels.get(labels.KIND) == "init" else runs()
            keys = (spec.name, name, (spec.image, *command), command, spec.image)
            program = select(self.programs, keys, attempt, default)
            engine.add_container(FakeContainer(record, program, spec.pid is NamespaceMode.POD))
            return record.id

    def start_container(self, container: Ref) -> None:
        """See ``Containers``."""
        engine = self.engine
        with engine.lock:
            engine.enter()
            found = self._container(container)
            if found.record.state is ContainerState.RUNNING:
                return
            if found.record.state is ContainerState.EXITED:
                raise Conflict(f"container {found.record.name} has ended")
            program = found.program
            fault, code = program.start_fault, program.exit_code
            if not engine.networked(found):
                fault, code = "cannot join network of a non running container", 128
            if fault:
                engine.refuse(found, fault, code)
                raise StartFault(fault)
            engine.begin(found)
            engine.advance()

    def signal_container(self, container: Ref, signal: str) -> None:
        """See ``Containers``."""
        engine = self.engine
        with engine.lock:
            engine.enter()
            if (found := engine.find_container(container)) is not None:
                engine.signal(found, signal)
            elif (sandbox := engine.find_sandbox(container)) is not None:
                engine.signal_sandbox(sandbox, signal)

    def remove_container(self, container: Ref) -> None:
        """See ``Containers``."""
        engine = self.engine
        with engine.lock:
            engine.enter()
            found = engine.find_container(container)
            if found is None:
                return
            if found.record.state is ContainerState.RUNNING:
                raise Conflict(f"cannot remove running container {found.record.name}")
            engine.drop(found)

    # -- images, commands, logs ------------------------------------------------------

    def image(self, image: str) -> ImageRecord | None:
        """See ``Images``."""
        with self.engine.lock:
            self.engine.enter()
            return self.engine.images.find(image)

    def pull_image(
        self, image: str, auth: Auth | None = None, progress: Callable[[PullProgress], None] | None = None
    ) -> ImageRecord:
        """See ``Images``. Takes the registry's delay on the runtime's clock; credentials are not looked at."""
        del auth
        engine = self.engine
        with engine.lock:
            engine.enter()
            offer = engine.images.offer(image)
            done_at = engine.clock.monotonic() + offer.delay
        if progress is not None:
            progress(PullProgress(image, "Pulling"))
        while engine.clock.monotonic() < done_at:
            if self._closed.wait(_LOOK_AGAIN):
                raise ImageFault(f"pull of {image} was given up")
        if offer.fault is not None:
            raise offer.fault
        with engine.lock:
            engine.enter()
            return engine.images.add(image)

    def exec(self, container: Ref, command: Sequence[str], timeout: float) -> ExecResult:
        """See ``Execs``. Answers at once: a script's ``seconds`` are only compared with the time-out."""
        script = self._exec(container, command)
        if script.seconds > timeout:
            raise ExecTimeout(f"command {command[0]!r} timed out after {timeout:g}s")
        return ExecResult(script.exit_code, script.stdout, script.stderr)

    def open_exec(self, container: Ref, command: Sequence[str], *, stdin: bool, tty: bool) -> FakeExecSession:
        """See ``Execs``; a terminal changes nothing here."""
        del tty
        return FakeExecSession(self._exec(container, command), stdin=stdin)

    def logs(self, container: Ref, options: LogOptions) -> FakeLogStream:
        """See ``Logs``."""
        with self.engine.lock:
            self.engine.enter()
            return FakeLogStream(self.engine, self._container(container), options)

    # -- the whole -------------------------------------------------------------------

    def info(self) -> RuntimeInfo:
        """See ``Runtime``."""
        with self.engine.lock:
            self.engine.enter()
        return RuntimeInfo(
            name="fake", version="1", api_version="1", endpoint="memory", capabilities=frozenset({"virtual"})
        )

    def observe(self) -> Observation:
        """See ``Runtime``."""
        with self.engine.lock:
            observed_at = self.engine.now()
            return Observation(observed_at, tuple(self.list_sandboxes()))

    def hints(self, stop: StopToken) -> Iterator[RuntimeHint]:
        """See ``Runtime``. Loses nothing by itself; looks fifty times a second."""
        changes = self.engine.changes()
        seen = changes[-1].number if changes else 0
        yield RuntimeHint()
        while not stop.is_set() and not self._closed.is_set():
            for change in self.engine.changes(after=seen):
                seen = change.number
                if change.what == "connection":
                    yield RuntimeHint(connected=change.connected)
                elif change.what in {"ended", "removed"}:
                    yield RuntimeHint(change.uid, change.id)
            stop.wait(_LOOK_AGAIN)

    def close(self) -> None:
        """Ends hints and pulls of this runtime; the engine and what runs on it stay."""
        self._closed.set()

    # -- for tests -------------------------------------------------------------------

    def kill(self, ref: Ref, exit_code: int = 137) -> None:
        """End a container's or sandbox's process behind podsync's back. Raises NotFound."""
        self.engine.kill(ref, exit_code)

    def remove_behind(self, ref: Ref) -> None:
        """Remove a container or sandbox behind podsync's back. Raises NotFound."""
        self.engine.remove_behind(ref)

    def restart_engine(self, *, live_restore: bool = True) -> None:
        """Restart the engine; without ``live_restore`` everything that ran is ended."""
        self.engine.restart(live_restore=live_restore)

    def unavailable(self, away: bool = True) -> None:
        """Let every call raise RuntimeUnavailable, or end that."""
        self.engine.unavailable(away)

    def next_change(self) -> float | None:
        """The monotonic moment when something next changes by itself; None if nothing will."""
        return self.engine.next_change()

    # -- inner parts -----------------------------------------------------------------

    def _ours(self, found: Mapping[str, str], uid: str | None) -> bool:
        return found.get(labels.NODE) == self.node and (uid is None or found.get(labels.POD_UID) == uid)

    def _claim(self, name: str) -> None:
        if self.engine.taken(name):
            raise Conflict(f'the container name "{name}" is already in use')

    def _claim_ports(self, sandbox: FakeSandbox) -> None:
        held = {port for other in self.engine.sandboxes.values() if other.record.ready for port in other.ports}
        for port in sandbox.ports:
            if any(clash(port, other) for other in held):
                raise StartFault(f"port {port.port} is already allocated", reason="CreatePodSandboxError")

    def _sandbox(self, ref: Ref) -> FakeSandbox:
        found = self.engine.find_sandbox(ref)
        if found is None:
            raise NotFound(f"no such container: {ref}")
        return found

    def _container(self, ref: Ref) -> FakeContainer:
        found = self.engine.find_container(ref)
        if found is None:
            raise NotFound(f"no such container: {ref}")
        return found

    def _exec(self, container: Ref, command: Sequence[str]) -> ScriptedExec:
        with self.engine.lock:
            self.engine.enter()
            if self._container(container).record.state is not ContainerState.RUNNING:
                raise Conflict(f"container {container} is not running")
        return self.execs.get(tuple(command), ScriptedExec())
