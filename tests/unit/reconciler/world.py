"""A world of records that plans are made for and carried out in: just enough engine for the planner's tables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, assert_never

from podsync import plan as steps
from podsync.models import Container, ContainerPort, ObjectMeta, Pod, PodKey, PodSpec
from podsync.plan import Action, Plan, PodPlan
from podsync.reconciler import NodeSettings, Reconciler
from podsync.runtimes.base import ContainerId, ContainerRecord, ContainerState, SandboxId, SandboxRecord
from podsync.state import Actual, ActualPod, Desired, Failure, PodMemory, PullState

START = datetime(2030, 1, 1, 12, tzinfo=UTC)
KEY = PodKey("default", "p")


def container(name: str, image: str = "img", **fields: Any) -> Container:
    """A container as defaulting leaves it; ``image`` is present unless a world says otherwise."""
    return Container(
        name=name, image=image, image_pull_policy=fields.pop("image_pull_policy", "IfNotPresent"), **fields
    )


def a_pod(
    *containers: Container | str,
    init: Iterable[Container | str] = (),
    name: str = "p",
    uid: str = "uid1",
    policy: str = "Always",
    grace: int | None = 30,
    **spec: Any,
) -> Pod:
    """A pod of those containers (``a`` when none is given), complete but for what a test leaves out."""
    made = [container(c) if isinstance(c, str) else c for c in containers or ("a",)]
    first = [container(c) if isinstance(c, str) else c for c in init]
    return Pod(
        source="test",
        metadata=ObjectMeta(name=name, namespace="default", uid=uid),
        spec=PodSpec(
            containers=tuple(made),
            init_containers=tuple(first),
            restart_policy=policy,
            termination_grace_period_seconds=grace,
            **spec,
        ),
    )


def with_port(name: str, host_port: int, host_ip: str = "", protocol: str = "TCP") -> Container:
    """A container with one published port."""
    port = ContainerPort(container_port=80, host_port=host_port, host_ip=host_ip, protocol=protocol)
    return container(name, ports=(port,))


class World:
    """Wanted pods, records, folders and memory. Plans are carried out at once and always succeed unless told."""

    def __init__(self, *pods: Pod, settings: NodeSettings | None = None) -> None:
        self.now = START
        self.pods = {pod.key: pod for pod in pods}
        self.complete = True
        self.undecided: frozenset[PodKey] = frozenset()
        self.sandboxes: list[SandboxRecord] = []
        self.folders: dict[PodKey, set[str]] = {}
        self.memory: dict[PodKey, PodMemory] = {}
        self.absent: set[str] = set()
        self.stubborn = False
        """Whether containers outlive TERM."""
        self._made = 0
        self.reconciler = Reconciler(settings or NodeSettings(root="/root"))

    # --- planning ----------------------------------------------------------------------------

    @property
    def desired(self) -> Desired:
        """What is wanted now."""
        return Desired(dict(self.pods), self.complete, self.undecided)

    @property
    def actual(self) -> Actual:
        """What is there now."""
        keys = {PodKey(s.namespace, s.pod_name) for s in self.sandboxes} | set(self.folders) | set(self.memory)
        pods = {
            key: ActualPod(
                tuple(s for s in self.sandboxes if (s.namespace, s.pod_name) == key),
                frozenset(self.folders.get(key, ())),
                self.memory.get(key, PodMemory()),
            )
            for key in keys
        }
        return Actual(self.now, pods, frozenset(self.absent))

    def plan(self) -> Plan:
        """The plan for all pods."""
        return self.reconciler.sync(self.desired, self.actual)

    def pod_plan(self, key: PodKey = KEY) -> PodPlan:
        """The plan of one pod; an empty one when nothing is planned."""
        return self.plan().pods.get(key) or PodPlan(key)

    def stages(self, key: PodKey = KEY) -> list[list[str]]:
        """The batch in words, stage by stage, sorted within each."""
        return [sorted(steps.describe(action) for action in stage) for stage in self.pod_plan(key).stages]

    def waits(self, key: PodKey = KEY) -> dict[str, tuple[str, str]]:
        """Reason and message by waiting container."""
        return {w.container_name: (w.reason, w.message) for w in self.pod_plan(key).waiting}

    def wakes_in(self, key: PodKey = KEY) -> float | None:
        """Seconds until the pod asks to be planned again."""
        wake = self.pod_plan(key).wake_at
        return None if wake is None else (wake - self.now).total_seconds()

    # --- doing -------------------------------------------------------------------------------

    def step(self) -> str:
        """Plan, carry everything out, and say what it was."""
        plan = self.plan()
        for action in tuple(plan):
            self.perform(action)
        return str(plan)

    def settle(self, limit: int = 20) -> World:
        """Step until there is nothing to do now."""
        for _ in range(limit):
            if not self.step():
                return self
        raise AssertionError(f"does not come to rest: {self.plan()}")

    def pass_time(self, seconds: float) -> World:
        """Let time go by."""
        self.now += timedelta(seconds=seconds)
        return self

    def perform(self, action: Action) -> None:
        """Do what the action says, successfully."""
        match action:
            case steps.MountVolumes(pod=pod):
                self.folders.setdefault(pod.key, set()).add(pod.metadata.uid)
            case steps.UnmountVolumes(uid=uid):
                for folders in self.folders.values():
                    folders.discard(uid)
                self.folders = {key: folders for key, folders in self.folders.items() if folders}
            case steps.CreateSandbox(spec=spec):
                self._create_sandbox(spec.name, dict(spec.labels))
            case steps.StartSandbox(sandbox=name):
                self._change_sandbox(name, started=True, ready=True, ips=("10.0.0.1",))
            case steps.StopSandbox(name=name):
                self._change_sandbox(name, ready=False, ips=())
            case steps.RemoveSandbox(name=name):
                assert any(s.name == name for s in self.sandboxes)
                self.sandboxes = [s for s in self.sandboxes if s.name != name]
            case steps.CreateContainer(sandbox=name, spec=spec):
                assert spec.image not in self.absent
                self._create_container(name, spec.name, dict(spec.labels))
            case steps.StartContainer(container=name):
                self._change_container(name, state=ContainerState.RUNNING, started_at=self.now)
            case steps.SignalContainer():
                self._signal(action)
            case steps.RemoveContainer(name=name):
                record = self.record_named(name)
                assert record.state is not ContainerState.RUNNING
                self.replace_container(name, None)
            case steps.PullImage(image=image):
                self.absent.discard(image)
                for key in self.pods:
                    pulls = {**self.memory_of(key).pulls, image: PullState(ready=True)}
                    self.remember(key, pulls=pulls)
            case _:
                assert_never(action)

    def _new_id(self) -> str:
        """Ids are never used twice."""
        self._made += 1
        return f"id{self._made}"

    def _create_sandbox(self, name: str, labels: dict[str, str]) -> None:
        assert all(s.name != name for s in self.sandboxes)
        self.sandboxes.append(
            SandboxRecord(
                id=SandboxId(self._new_id()),
                name=name,
                pod_name=labels["io.kubernetes.pod.name"],
                namespace=labels["io.kubernetes.pod.namespace"],
                uid=labels["io.kubernetes.pod.uid"],
                attempt=int(labels["podsync.io/attempt"]),
                ready=False,
                labels=labels,
                created_at=self.now,
                started=False,
            )
        )

    def _create_container(self, sandbox: str, name: str, labels: dict[str, str]) -> None:
        record = ContainerRecord(
            id=ContainerId(self._new_id()),
            name=name,
            container_name=labels["io.kubernetes.container.name"],
            attempt=int(labels["podsync.io/attempt"]),
            state=ContainerState.CREATED,
            labels=labels,
            created_at=self.now,
        )
        assert all(record.name != c.name for s in self.sandboxes for c in s.containers)
        (home,) = (s for s in self.sandboxes if s.name == sandbox)
        ordered = sorted((*home.containers, record), key=lambda r: (r.container_name, r.attempt))
        self._change_sandbox(sandbox, containers=tuple(ordered))

    def _signal(self, action: steps.SignalContainer) -> None:
        key = next(
            PodKey(s.namespace, s.pod_name)
            for s in self.sandboxes
            if any(c.id == action.container for c in s.containers)
        )
        memory = self.memory_of(key)
        if action.signal == "SIGKILL":
            self.remember(key, kill_sent={**memory.kill_sent, action.container: self.now})
            if self.record_named(action.name).state is ContainerState.RUNNING:
                self.exit_named(action.name, 137)
            return
        self.remember(key, term_sent={action.container: self.now, **memory.term_sent})
        if not self.stubborn:
            self.exit_named(action.name, 143)

    # --- what happens behind the agent's back --------------------------------------------------

    def exit(self, name: str, code: int = 0, **fields: Any) -> World:
        """The newest instance of a container ends now."""
        self.exit_named(self.newest(name).name, code, **fields)
        return self

    def exit_named(self, name: str, code: int, **fields: Any) -> None:
        """One instance ends now."""
        state = ContainerState.EXITED
        self._change_container(name, state=state, exit_code=code, finished_at=self.now, **fields)

    def set_container(self, name: str, **fields: Any) -> World:
        """The newest instance of a container is seen otherwise."""
        self._change_container(self.newest(name).name, **fields)
        return self

    def drop_container(self, name: str) -> World:
        """Somebody removes the newest instance of a container."""
        self.replace_container(self.newest(name).name, None)
        return self

    def set_sandbox(self, index: int = -1, **fields: Any) -> World:
        """A sandbox is seen otherwise."""
        self._change_sandbox(self.sandboxes[index].name, **fields)
        return self

    def sandbox_dies(self) -> World:
        """The pause process of the newest sandbox ends; containers live on without a network."""
        return self.set_sandbox(ready=False, ips=())

    def reboot(self) -> World:
        """Everything stops at once; what the agent alone knew is gone."""
        for sandbox in self.sandboxes:
            for record in sandbox.containers:
                if record.state is ContainerState.RUNNING:
                    self.exit_named(record.name, 137)
            self._change_sandbox(sandbox.name, ready=False, ips=())
        self.memory = {}
        return self

    def remember(self, key: PodKey = KEY, **fields: Any) -> World:
        """Change what the agent knows of a pod."""
        self.memory[key] = replace(self.memory_of(key), **fields)
        return self

    def fails(self, subject: str, reason: str, message: str = "broken", count: int = 1, key: PodKey = KEY) -> World:
        """The last try of that subject failed just now."""
        failure = Failure(reason, message, self.now, count)
        return self.remember(key, failures={**self.memory_of(key).failures, subject: failure})

    def pull_fails(self, image: str, reason: str = "ErrImagePull", count: int = 1) -> World:
        """The last pull of that image failed just now."""
        return self.remember(pulls={image: PullState(failure=Failure(reason, "no route", self.now, count))})

    # --- looking -------------------------------------------------------------------------------

    def memory_of(self, key: PodKey = KEY) -> PodMemory:
        """What only the agent knows of a pod."""
        return self.memory.get(key, PodMemory())

    def records(self, name: str = "") -> list[ContainerRecord]:
        """All instances (of a container), oldest first."""
        found = [c for s in self.sandboxes for c in s.containers if name in ("", c.container_name)]
        return sorted(found, key=lambda c: c.attempt)

    def newest(self, name: str) -> ContainerRecord:
        """The newest instance of a container."""
        return self.records(name)[-1]

    def record_named(self, name: str) -> ContainerRecord:
        """The instance of that engine's name."""
        return next(c for c in self.records() if c.name == name)

    def _change_sandbox(self, name: str, **fields: Any) -> None:
        self.sandboxes = [replace(s, **fields) if s.name == name else s for s in self.sandboxes]

    def _change_container(self, name: str, **fields: Any) -> None:
        self.replace_container(name, replace(self.record_named(name), **fields))

    def replace_container(self, name: str, record: ContainerRecord | None) -> None:
        """One instance is seen otherwise, or is gone."""
        for sandbox in self.sandboxes:
            if any(c.name == name for c in sandbox.containers):
                kept = tuple(record if c.name == name else c for c in sandbox.containers)
                self._change_sandbox(sandbox.name, containers=tuple(c for c in kept if c is not None))


def running(*pods: Pod) -> World:
    """A world where those pods run."""
    return World(*pods).settle()
