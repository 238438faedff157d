"""Decisions on instances of containers: which is the newest, has it ended for good, when may the next one run.

Pure, and shared by the planner and the status, so that what is reported is what will be done.
An *instance* is one run of a container; its restart count is its number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from podsync import labels
from podsync.backoff import CRASH_LOOP
from podsync.runtimes.base import ContainerRecord, ContainerState, SandboxRecord

if TYPE_CHECKING:
    from podsync.models import Container, Pod
    from podsync.state import PodMemory

__all__ = [
    "KILLED",
    "START_FAILED",
    "START_FAULT",
    "Instance",
    "back_off_text",
    "delay_after",
    "ended_at",
    "go_duration",
    "init_done",
    "init_position",
    "instances_of",
    "is_finished",
    "last_end",
    "runs_again",
    "sandboxes_of",
    "settled",
    "start_time",
    "will_restart",
]

KILLED = 137
"""Exit code of a process that SIGKILL ended."""
START_FAILED = 128
"""Exit code told for an instance that never came to run, where the engine gives none."""
START_FAULT = "RunContainerError"
"""The reason word of a failed start; the instance counts as ended, as on a kubelet."""


@dataclass(frozen=True, slots=True)
class Instance:
    """One instance and the attempt of the sandbox it was made for."""

    record: ContainerRecord
    sandbox_attempt: int


def sandboxes_of(sandboxes: Iterable[SandboxRecord], uid: str) -> tuple[SandboxRecord, ...]:
    """The sandboxes of one pod uid, the newest last."""
    return tuple(sorted((s for s in sandboxes if s.uid == uid), key=lambda s: s.attempt))


def instances_of(sandboxes: Iterable[SandboxRecord], memory: PodMemory) -> dict[str, list[Instance]]:
    """All instances by container name over those sandboxes, the newest last, each ``settled``."""
    found: dict[str, list[Instance]] = {}
    for sandbox in sandboxes:
        for record in sandbox.containers:
            found.setdefault(record.container_name, []).append(Instance(settled(record, memory), sandbox.attempt))
    for instances in found.values():
        instances.sort(key=lambda i: (i.record.attempt, i.sandbox_attempt))
    return found


def settled(record: ContainerRecord, memory: PodMemory) -> ContainerRecord:
    """The record as a kubelet would have it where engines leave a state open.

    A start that failed has ended the instance, although some engines go on calling it
    created. A container in an unknown state that was sent SIGKILL counts as killed.
    """
    if record.state is ContainerState.CREATED:
        failure = memory.failures.get(record.container_name)
        if failure is not None and failure.reason == START_FAULT and not _later(record.created_at, failure.at):
            return replace(
                record,
                state=ContainerState.EXITED,
                exit_code=record.exit_code or START_FAILED,
                finished_at=failure.at,
                message=record.message or failure.message,
            )
    elif record.state is ContainerState.UNKNOWN and record.id in memory.kill_sent:
        return replace(record, state=ContainerState.EXITED, exit_code=KILLED, finished_at=memory.kill_sent[record.id])
    return record


def _later(moment: datetime | None, than: datetime) -> bool:
    return moment is not None and moment > than


def will_restart(pod: Pod, container: Container, exit_code: int | None) -> bool:
    """Whether a container that ended so runs again (``spec.restartPolicy``).

    For a regular container, or for an init container that failed. An unknown exit code
    (None) counts as a failure. Refused for now, so not asked: ``container.restartPolicy``.
    """
    del container
    policy = pod.spec.restart_policy
    return policy != "Never" if exit_code != 0 else policy not in ("Never", "OnFailure")


def runs_again(pod: Pod, container: Container, record: ContainerRecord, memory: PodMemory) -> bool:
    """Whether a regular container's ended instance gets a successor.

    One that was told to end while its pod goes on (its image or its sandbox changed)
    does, whatever it made of the signal and whatever the policy.
    """
    return record.id in memory.term_sent or will_restart(pod, container, record.exit_code)


def init_done(record: ContainerRecord) -> bool:
    """Whether an init container's instance has ended well: exit code 0 and not killed for memory."""
    return record.state is ContainerState.EXITED and record.exit_code == 0 and not record.oom_killed


def init_position(pod: Pod, instances: Mapping[str, Sequence[Instance]], attempt: int | None) -> int:
    """Index of the init container the pod is at; their number when all are done.

    ``attempt`` is the newest sandbox's (None without one): what ran in an older one does
    not count. Once a regular container exists in this sandbox, the init containers are
    past, whether or not their instances are still there to see.
    """
    init = pod.spec.init_containers
    if any(_newest_in(instances, c.name, attempt) for c in pod.spec.containers):
        return len(init)
    for index in range(len(init) - 1, -1, -1):
        record = _newest_in(instances, init[index].name, attempt)
        if record is not None:
            return index + 1 if init_done(record) else index
    return 0


def _newest_in(instances: Mapping[str, Sequence[Instance]], name: str, attempt: int | None) -> ContainerRecord | None:
    known = instances.get(name)
    return known[-1].record if known and known[-1].sandbox_attempt == attempt else None


def ended_at(record: ContainerRecord) -> datetime | None:
    """When an ended instance ended; one that never ran ended when it was made. None: the engine does not say."""
    return record.finished_at or record.started_at or record.created_at


def delay_after(record: ContainerRecord) -> float:
    """Crash-loop back-off: seconds from the end of this instance to the next, 0 for at once.

    A function of the instance alone (its label ``podsync.io/backoff`` and how long it
    ran), so it survives the agent. An exit code of 0 counts as well, as on a kubelet.
    """
    ran = 0.0
    if record.started_at is not None and record.finished_at is not None:
        ran = (record.finished_at - record.started_at).total_seconds()
    return CRASH_LOOP.following(labels.number(record.labels, labels.BACKOFF), ran)


def back_off_text(pod: Pod, container: str, delay: float) -> str:
    """The kubelet's message of ``CrashLoopBackOff``."""
    meta = pod.metadata
    return (
        f"back-off {go_duration(delay)} restarting failed container={container} "
        f"pod={meta.name}_{meta.namespace}({meta.uid})"
    )


def go_duration(seconds: float) -> str:
    """Whole seconds as Go prints a duration: ``10s``, ``1m20s``, ``5m0s``, ``1h0m0s``."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h{minutes}m{rest}s"
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"


def start_time(sandboxes: Iterable[SandboxRecord]) -> datetime | None:
    """The pod's ``status.startTime``: the earliest that its objects' labels carry; None before the first."""
    found = [
        moment
        for sandbox in sandboxes
        for text in (
            sandbox.labels.get(labels.START_TIME),
            *(c.labels.get(labels.START_TIME) for c in sandbox.containers),
        )
        if (moment := labels.parse_time(text)) is not None
    ]
    return min(found, default=None)


def is_finished(
    pod: Pod, sandboxes: Sequence[SandboxRecord], instances: Mapping[str, Sequence[Instance]], memory: PodMemory
) -> bool:
    """Whether nothing of the pod runs or will run again.

    ``sandboxes`` are those of the pod's uid, newest last. So it is when each regular
    container has ended for good; when an init container failed under ``Never``; and when
    the sandbox of a ``Never`` pod is dead after something has run in it.
    """
    if pod.spec.restart_policy not in ("Never", "OnFailure") or not sandboxes:
        return False
    if any(_alive(i.record) for known in instances.values() for i in known):
        return False
    if all(
        (known := instances.get(c.name))
        and known[-1].record.state is ContainerState.EXITED
        and not runs_again(pod, c, known[-1].record, memory)
        for c in pod.spec.containers
    ):
        return True
    if pod.spec.restart_policy != "Never":
        return False
    current = sandboxes[-1]
    if current.started and not current.ready:
        return any(i.record.started_at is not None for known in instances.values() for i in known)
    position = init_position(pod, instances, current.attempt)
    if position == len(pod.spec.init_containers):
        return False
    record = _newest_in(instances, pod.spec.init_containers[position].name, current.attempt)
    return record is not None and record.state is ContainerState.EXITED


def last_end(instances: Mapping[str, Sequence[Instance]]) -> datetime | None:
    """When the last of the newest instances ended; None when the engine does not say."""
    ends = [moment for known in instances.values() if (moment := ended_at(known[-1].record)) is not None]
    return max(ends, default=None)


def _alive(record: ContainerRecord) -> bool:
    return record.state in (ContainerState.RUNNING, ContainerState.UNKNOWN)
