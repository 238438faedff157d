"""The same random verbs on the fake and on a real engine: their answers and records must agree.

Use it as a runtime's second test::

    class Agreement(RuntimeAgreement):
        def make_runtime(self, node):
            return connect({"node": node, "endpoint": "unix:///run/mine.sock"})

    TestAgreement = Agreement.TestCase
    TestAgreement.settings = settings(max_examples=5, stateful_step_count=12, deadline=None)
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from uuid import uuid4

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, precondition, rule

from podsync.clock import SystemClock
from podsync.errors import RuntimeFault
from podsync.runtimes.base import ContainerState, Runtime
from podsync.runtimes.fake import FakeRuntime
from podsync.testing.builders import PodNames
from podsync.testing.programs import DEAF, MISSING, PROGRAMS, RUN, exit_with

__all__ = ["RuntimeAgreement"]

Picture = dict[str, object]


def picture(runtime: Runtime) -> Picture:
    """What two engines have to agree on, by the objects' names."""
    seen: Picture = {}
    for sandbox in runtime.list_sandboxes():
        seen[sandbox.name] = (bool(sandbox.id), sandbox.ready, sandbox.started, bool(sandbox.ips), sandbox.attempt)
        for c in sandbox.containers:
            ran = c.started_at is not None
            # engines differ in what they call a container whose start has failed
            state = c.state if ran else "never ran"
            code = c.exit_code if ran and c.state is ContainerState.EXITED else None
            seen[c.name] = (sandbox.name, state, code, c.attempt)
    return seen


class RuntimeAgreement(RuleBasedStateMachine):
    """Two pods, two attempts each, of few containers; every verb in any order."""

    image = "docker.io/library/busybox:latest"
    patience = 15.0
    """Seconds within which the real engine has to come to what the fake says."""

    boxes: Bundle[tuple[PodNames, int]] = Bundle("boxes")
    containers: Bundle[str] = Bundle("containers")

    def make_runtime(self, node: str) -> Runtime:
        """The real one."""
        raise NotImplementedError

    @initialize()
    def connect(self) -> None:
        """Both start empty."""
        self.node = f"agreement-{uuid4().hex[:12]}"
        self.real = self.make_runtime(self.node)
        self.fake = FakeRuntime(node=self.node, images=[self.image], programs=PROGRAMS)
        self.pods = [PodNames(self.node, name=f"pod-{number}") for number in range(2)]

    @rule(target=boxes, pod=st.integers(0, 1), attempt=st.integers(0, 1))
    def create_sandbox(self, pod: int, attempt: int) -> tuple[PodNames, int]:
        """Also one that is there already."""
        spec = self.pods[pod].sandbox(attempt)
        self.both(lambda runtime: bool(runtime.create_sandbox(spec)))
        return self.pods[pod], attempt

    @rule(box=boxes)
    def start_sandbox(self, box: tuple[PodNames, int]) -> None:
        """Created, running or absent; the port leaves open what starting an ended one does."""
        pod, attempt = box
        seen = next((s for s in self.fake.list_sandboxes(pod.uid) if s.attempt == attempt), None)
        if seen is None or seen.ready or not seen.started:
            self.both(lambda runtime: bool(runtime.start_sandbox(pod.ref("POD", attempt))))

    @rule(target=containers, box=boxes, line=st.sampled_from([RUN, DEAF, exit_with(3), MISSING]))
    def run_container(self, box: tuple[PodNames, int], line: tuple[str, ...]) -> str:
        """The whole way up in one step, so that random walks get there."""
        self.start_sandbox(box)
        ref = str(self.create_container(box, "a", line))
        self.start_container(ref)
        return ref

    @rule(
        target=containers,
        box=boxes,
        name=st.sampled_from("ab"),
        line=st.sampled_from([RUN, DEAF, exit_with(3), MISSING]),
    )
    def create_container(self, box: tuple[PodNames, int], name: str, line: tuple[str, ...]) -> str:
        """In a sandbox that exists; what an absent one gives differs from engine to engine."""
        pod, attempt = box
        spec = pod.container(self.image, name, attempt, sandbox_attempt=attempt, command=line[:1], args=line[1:])
        if any(s.id and s.attempt == attempt for s in self.fake.list_sandboxes(pod.uid)):
            self.both(lambda runtime: bool(runtime.create_container(pod.ref("POD", attempt), spec)))
        return spec.name

    @rule(ref=containers)
    def start_container(self, ref: str) -> None:
        """Where the sandbox runs and no start has failed before, or there is no such container."""
        found = ((s, c) for s in self.fake.list_sandboxes() for c in s.containers if c.name == ref)
        home, record = next(found, (None, None))
        failed = record is not None and record.state is ContainerState.EXITED and record.started_at is None
        if home is None or (home.ready and not failed):
            self.both(lambda runtime: runtime.start_container(ref))

    @rule(ref=containers, signal=st.sampled_from(["SIGTERM", "SIGKILL"]))
    def signal_container(self, ref: str, signal: str) -> None:
        """In any state."""
        self.handlers_installed()
        self.both(lambda runtime: runtime.signal_container(ref, signal))

    @rule(box=boxes)
    def end_sandbox(self, box: tuple[PodNames, int]) -> None:
        """Its containers live on."""
        self.both(lambda runtime: runtime.signal_container(box[0].ref("POD", box[1]), "SIGKILL"))

    @rule(ref=containers)
    def remove_container(self, ref: str) -> None:
        """In any state."""
        self.both(lambda runtime: runtime.remove_container(ref))

    @rule(box=boxes)
    def remove_sandbox(self, box: tuple[PodNames, int]) -> None:
        """With all it has, as the planner does."""
        pod, attempt = box
        refs = [c.name for s in self.fake.list_sandboxes(pod.uid) if s.attempt == attempt for c in s.containers]
        self.both(lambda runtime: runtime.remove_sandbox(pod.ref("POD", attempt), refs))

    @precondition(lambda self: len(self.fake.list_sandboxes()) > 1)
    @rule()
    def list_one_pod(self) -> None:
        """A look limited to a pod agrees with the whole look."""
        for pod in self.pods:
            whole = {s.name for s in self.real.list_sandboxes() if s.uid == pod.uid}
            assert {s.name for s in self.real.list_sandboxes(pod.uid)} == whole

    def both(self, verb: Callable[[Runtime], object]) -> None:
        """Do it on both: same answer or same kind of error, and the same records afterwards."""
        assert _answer(verb, self.real) == _answer(verb, self.fake)
        clock, pause = SystemClock(), threading.Event()
        deadline = clock.monotonic() + self.patience
        while picture(self.fake) != picture(self.real) and clock.monotonic() < deadline:
            pause.wait(0.05)
        assert picture(self.fake) == picture(self.real)

    def handlers_installed(self) -> None:
        """A shell needs a moment from its start to its trap."""
        threading.Event().wait(0.3)

    def teardown(self) -> None:
        """Leave nothing behind."""
        if not hasattr(self, "real"):
            return
        for sandbox in self.real.list_sandboxes():
            with suppress(RuntimeFault):
                self.real.remove_sandbox(sandbox.id or sandbox.name, [c.id for c in sandbox.containers])
        self.real.close()


def _answer(verb: Callable[[Runtime], object], runtime: Runtime) -> object:
    """What the verb gives, or the class of what it raises; ids are the engine's own and not compared."""
    try:
        return verb(runtime)
    except RuntimeFault as fault:
        return type(fault)
