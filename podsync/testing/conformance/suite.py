"""What the parts of the suite share: the runtime under test, and how to make things on it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import uuid4

import pytest

from podsync.clock import SystemClock
from podsync.errors import RuntimeFault
from podsync.runtimes.base import (
    ContainerId,
    ContainerRecord,
    ContainerState,
    LogOptions,
    Runtime,
    SandboxId,
    SandboxRecord,
)
from podsync.testing.builders import PodNames
from podsync.testing.programs import RUN, shell

__all__ = ["Box", "Suite"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Box:
    """A sandbox made for a test."""

    pod: PodNames
    id: SandboxId
    name: str
    attempt: int = 0


class Suite:
    """Settings a subclass may change, and helpers."""

    image = "docker.io/library/busybox:latest"
    """Present in the engine's store; has a shell, no entrypoint, and runs as root."""
    absent_image = "localhost:1/podsync/absent:latest"
    """Not in the store, and its registry refuses."""
    processes = True
    """Programs are real processes with a network, a file system and cgroups, on this host."""
    orphans = True
    """A sandbox can be removed while its containers live on."""
    patience = 20.0
    """Seconds within which an engine has to show what it did."""
    hint_patience = 3.0
    """Seconds within which a death has to be hinted at."""

    runtime: Runtime
    node: str

    def make_runtime(self, node: str) -> Runtime:
        """A runtime for that node; all runtimes of one test must reach the same engine."""
        raise NotImplementedError

    @pytest.fixture(autouse=True)
    def _on_a_runtime(self) -> Iterator[None]:
        self.node = f"conformance-{uuid4().hex[:12]}"
        self.runtime = self.make_runtime(self.node)
        try:
            yield
        finally:
            self.clear(self.runtime)
            self.runtime.close()

    def clear(self, runtime: Runtime) -> None:
        """Remove everything of the runtime's node."""
        for sandbox in runtime.list_sandboxes():
            with suppress(RuntimeFault):
                runtime.remove_sandbox(sandbox.id or sandbox.name, [c.id for c in sandbox.containers])

    def needs_processes(self) -> None:
        """Skip a test that looks at real processes."""
        if not self.processes:
            pytest.skip("its programs are scripted, not processes")

    def pause(self, seconds: float) -> None:
        """Let a real process come to a point that cannot be seen from outside."""
        threading.Event().wait(seconds)

    # -- making ----------------------------------------------------------------------

    def box(self, attempt: int = 0, *, pod: PodNames | None = None, start: bool = True, **settings: Any) -> Box:
        """A sandbox, running unless ``start`` is false."""
        pod = pod or PodNames(self.node)
        spec = pod.sandbox(attempt, **settings)
        sandbox = self.runtime.create_sandbox(spec)
        if start:
            self.runtime.start_sandbox(sandbox)
        return Box(pod, sandbox, spec.name, attempt)

    def create(
        self, box: Box, line: tuple[str, ...] = RUN, name: str = "main", attempt: int = 0, **settings: Any
    ) -> ContainerId:
        """A container of that command line, not started; ``settings`` are fields of ``ContainerSpec``."""
        settings = {"command": line[:1], "args": line[1:], **settings}
        spec = box.pod.container(self.image, name, attempt, sandbox_attempt=box.attempt, **settings)
        return self.runtime.create_container(box.id, spec)

    def run(
        self, box: Box, line: tuple[str, ...] = RUN, name: str = "main", attempt: int = 0, **settings: Any
    ) -> ContainerId:
        """A started container."""
        container = self.create(box, line, name, attempt, **settings)
        self.runtime.start_container(container)
        return container

    def run_to_end(self, box: Box, line: tuple[str, ...], name: str = "main", **settings: Any) -> ContainerRecord:
        """A container that has ended."""
        return self.ended(self.run(box, line, name, **settings))

    def output(self, box: Box, script: str, name: str = "main", **settings: Any) -> str:
        """What a shell script in a container of its own writes, both streams."""
        record = self.run_to_end(box, shell(script), name, **settings)
        lines = self.runtime.logs(record.id, LogOptions())
        return "\n".join(line.data.decode() for line in lines)

    # -- looking ---------------------------------------------------------------------

    def sandbox(self, box: Box) -> SandboxRecord | None:
        """The sandbox as it is listed now, or the stand-in for one that is gone."""
        found = self.runtime.list_sandboxes(box.pod.uid)
        return next((s for s in found if s.attempt == box.attempt), None)

    def listed(self, box: Box) -> SandboxRecord:
        """The sandbox as it is listed now."""
        found = self.sandbox(box)
        assert found is not None, f"{box.name} is not listed"
        return found

    def record(self, container: ContainerId) -> ContainerRecord | None:
        """The container as it is listed now."""
        every = (c for sandbox in self.runtime.list_sandboxes() for c in sandbox.containers)
        return next((c for c in every if c.id == container), None)

    def now(self, container: ContainerId) -> ContainerRecord:
        """The container as it is listed now; it must be."""
        found = self.record(container)
        assert found is not None, f"{container} is not listed"
        return found

    def state(self, container: ContainerId) -> ContainerState:
        """The state it is listed in now."""
        return self.now(container).state

    def ended(self, container: ContainerId) -> ContainerRecord:
        """The container once it has ended."""

        def look() -> ContainerRecord | None:
            record = self.now(container)
            return record if record.state is ContainerState.EXITED else None

        return self.until(look, f"{container} to end")

    def until(self, look: Callable[[], T | None], what: str, patience: float | None = None) -> T:
        """The first answer that is neither None nor False; fails when patience runs out."""
        clock, pause = SystemClock(), threading.Event()
        deadline = clock.monotonic() + (self.patience if patience is None else patience)
        while True:
            answer = look()
            if answer is not None and answer is not False:
                return answer
            if clock.monotonic() > deadline:
                pytest.fail(f"waited in vain for {what}")
            pause.wait(0.02)
