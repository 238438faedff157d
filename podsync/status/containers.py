"""Container statuses: what each container does now and how its last instance ended."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from podsync import labels
from podsync.models import (
    Container,
    ContainerState,
    ContainerStateRunning,
    ContainerStateTerminated,
    ContainerStateWaiting,
    ContainerStatus,
    ResourceRequirements,
    VolumeMount,
    VolumeMountStatus,
)
from podsync.restarts import KILLED
from podsync.runtimes import base

if TYPE_CHECKING:
    from podsync.plan import Waiting
    from podsync.restarts import Instance
    from podsync.runtimes.base import ContainerRecord

__all__ = ["DEFAULT_REASONS", "MESSAGE_BUDGET", "Reporter", "whole_seconds"]

DEFAULT_REASONS = frozenset({"", "ContainerCreating", "PodInitializing"})
"""Reasons that say no more than "not yet": they do not hide how an instance ended."""
_START_CODES = frozenset({126, 127, 128})
"""Exit codes engines give a container whose command could not be started."""
MESSAGE_BUDGET = 12288
"""Bytes of termination messages one pod may publish, shared evenly by its containers."""

_TERMINATED_LOST = "The container could not be located when the pod was terminated"
_DELETED_LOST = (
    "The container could not be located when the pod was deleted.  The container used to be Running"  # two spaces
)
_INIT_LOST = (
    "Unable to get init container status from container runtime and pod has been initialized, "
    "treat it as exited normally"
)


def whole_seconds(moment: datetime | None) -> datetime | None:
    """The moment as it is published: UTC, cut to whole seconds."""
    return None if moment is None else moment.astimezone(UTC).replace(microsecond=0)


def _reason(record: ContainerRecord) -> str:
    if record.exit_code is None:
        return "ContainerStatusUnknown"
    if record.exit_code == 0:
        return "Completed"
    if record.oom_killed and record.exit_code == KILLED:
        return "OOMKilled"
    if record.started_at is None and (record.exit_code in _START_CODES or record.message):
        return "ContainerCannotRun"
    return "Error"


def _lost(container_id: str, message: str) -> ContainerStateTerminated:
    return ContainerStateTerminated(
        reason="ContainerStatusUnknown", exit_code=KILLED, message=message, container_id=container_id
    )


def _cut(text: str, limit: int) -> str:
    """At most ``limit`` bytes of the text, never half a character."""
    data = text.encode("utf-8", "replace")
    return text if len(data) <= limit else data[:limit].decode("utf-8", "ignore")


@dataclass(frozen=True, slots=True)
class Reporter:
    """What the statuses of one pod's containers have in common.

    ``runtime`` prefixes ids. ``current`` is the newest sandbox's attempt (None without
    one), ``initialized`` says that a regular container has started in it. ``waiting`` and
    ``previous`` go by container name. ``ending`` says that the pod is being ended, ``over``
    that nothing of it runs or will run again. ``told`` are the ids of containers that have
    been told to end: they may still work, but nobody should count on them.
    """

    runtime: str
    containers: int
    has_init: bool
    current: int | None
    initialized: bool
    waiting: Mapping[str, Waiting]
    previous: Mapping[str, ContainerStatus]
    ending: bool
    over: bool
    told: Collection[str] = ()

    def report(self, container: Container, instances: Sequence[Instance], *, init: bool) -> ContainerStatus:
        """The status of one container."""
        if init and instances and instances[-1].sandbox_attempt != self.current and not self.initialized:
            # a new sandbox starts initialisation over: what ran before is no longer told, only counted
            return self._status(container, self._not_yet(container.name), None, instances[-1].record.attempt, None)
        if not instances:
            return self._absent(container, init=init)
        record = instances[-1].record
        state = self._state(record)
        if self.over and state.terminated is None:
            # never started, and nobody remembers why
            state = ContainerState(terminated=_lost(self._id(record), _TERMINATED_LOST))
        last = self._last_state(container, record, instances[:-1])
        waiting = self.waiting.get(container.name)
        if (
            state.running is None
            and waiting is not None
            and (state.terminated is None or waiting.reason not in DEFAULT_REASONS)
        ):
            last = state.terminated or last
            state = ContainerState(waiting=ContainerStateWaiting(reason=waiting.reason, message=waiting.message))
        count = record.attempt + (1 if record.state is base.ContainerState.UNKNOWN and state.terminated else 0)
        return self._status(container, state, last, count, record, init=init)

    def _not_yet(self, name: str) -> ContainerState:
        waiting = self.waiting.get(name)
        if waiting is not None:
            return ContainerState(waiting=ContainerStateWaiting(reason=waiting.reason, message=waiting.message))
        reason = "PodInitializing" if self.has_init else "ContainerCreating"
        return ContainerState(waiting=ContainerStateWaiting(reason=reason))

    def _absent(self, container: Container, *, init: bool) -> ContainerStatus:
        """No instance is there: never made, or removed behind our back."""
        before = self.previous.get(container.name)
        if init and self.initialized:
            if before is not None and before.state.terminated is not None:
                return before
            done = ContainerStateTerminated(reason="Completed", exit_code=0, message=_INIT_LOST)
            count = before.restart_count if before is not None else 0
            return self._status(container, ContainerState(terminated=done), None, count, None, init=True)
        if self.over:
            if before is not None and before.state.terminated is not None:
                return before
            gone = _lost(before.container_id if before is not None else "", _TERMINATED_LOST)
            count = before.restart_count if before is not None else 0
            return self._status(container, ContainerState(terminated=gone), None, count, None, init=init)
        if before is None:
            return self._status(container, self._not_yet(container.name), None, 0, None)
        last = before.state.terminated or before.last_state.terminated
        count = before.restart_count
        if before.state.running is not None:
            last = _lost(before.container_id, _DELETED_LOST)
            count += 0 if self.ending else 1
        return self._status(container, self._not_yet(container.name), last, count, None)

    def _state(self, record: ContainerRecord) -> ContainerState:
        started = whole_seconds(record.started_at)
        match record.state:
            case base.ContainerState.RUNNING:
                return ContainerState(running=ContainerStateRunning(started_at=started))
            case base.ContainerState.EXITED:
                return ContainerState(terminated=self._terminated(record))
            case base.ContainerState.UNKNOWN:
                before = self.previous.get(record.container_name)
                if before is not None and before.state.running is not None:
                    return ContainerState(terminated=_lost(self._id(record), _TERMINATED_LOST))
        return self._not_yet(record.container_name)

    def _terminated(self, record: ContainerRecord) -> ContainerStateTerminated:
        message = ": ".join(text for text in (record.message, record.termination_message) if text)
        if record.exit_code is None and not message:
            message = _TERMINATED_LOST
        return ContainerStateTerminated(
            exit_code=KILLED if record.exit_code is None else record.exit_code,
            reason=_reason(record),
            message=_cut(message, MESSAGE_BUDGET // self.containers),
            started_at=whole_seconds(record.started_at),
            finished_at=whole_seconds(record.finished_at),
            container_id=self._id(record),
        )

    def _last_state(
        self, container: Container, newest: ContainerRecord, older: Sequence[Instance]
    ) -> ContainerStateTerminated | None:
        for instance in reversed(older):
            if instance.record.state is base.ContainerState.EXITED:
                return self._terminated(instance.record)
        # the instance before went away with its sandbox: tell what was told of it
        before = self.previous.get(container.name)
        if before is None or newest.attempt == 0:
            return None
        if before.restart_count == newest.attempt - 1:
            return before.state.terminated or before.last_state.terminated
        return before.last_state.terminated if before.restart_count == newest.attempt else None

    def _id(self, record: ContainerRecord) -> str:
        return f"{self.runtime}://{record.id}"

    def _status(
        self,
        container: Container,
        state: ContainerState,
        last: ContainerStateTerminated | None,
        count: int,
        record: ContainerRecord | None,
        *,
        init: bool = False,
    ) -> ContainerStatus:
        running = state.running is not None
        done = state.terminated is not None and state.terminated.exit_code == 0
        status = ContainerStatus(
            name=container.name,
            state=state,
            last_state=ContainerState(terminated=last),
            ready=done if init else running and (record is None or record.id not in self.told),
            started=running,
            restart_count=count,
            image=container.image,
            image_id="",
            container_id="",
            allocated_resources=container.resources.requests,
            resources=_resources(container.resources),
            volume_mounts=tuple(_mount(mount) for mount in container.volume_mounts),
        )
        if record is None:
            return status
        image = record.labels.get(labels.IMAGE) or container.image
        image_id = record.labels.get(labels.IMAGE_ID) or record.image_id
        return replace(status, image=image, image_id=image_id, container_id=self._id(record))


def _resources(resources: ResourceRequirements) -> ResourceRequirements | None:
    return resources if resources.limits or resources.requests else None


def _mount(mount: VolumeMount) -> VolumeMountStatus:
    # a read-only mount leaves what is mounted below it writable
    recursive = "Disabled" if mount.read_only else None
    return VolumeMountStatus(
        name=mount.name, mount_path=mount.mount_path, read_only=mount.read_only, recursive_read_only=recursive
    )
