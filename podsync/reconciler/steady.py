"""The quick answer for pods that just run: nearly all of them, nearly always."""

from __future__ import annotations

from typing import TYPE_CHECKING

from podsync import labels
from podsync.identity import container_hash
from podsync.runtimes.base import ContainerState

if TYPE_CHECKING:
    from podsync.models import Pod
    from podsync.runtimes.base import ContainerRecord
    from podsync.state import ActualPod

__all__ = ["is_steady"]

_RUNNING = ContainerState.RUNNING
_EXITED = ContainerState.EXITED
_HASH = labels.HASH


def is_steady(pod: Pod, actual: ActualPod) -> bool:
    """True only if the full planning would find nothing to do, to say or to wait for.

    False says nothing. One sandbox of the wanted uid runs, every regular container's
    newest instance runs and was made from the wanted definition, nothing else is there
    but one ended instance before it and init containers that have ended.
    """
    sandboxes = actual.sandboxes
    if len(sandboxes) != 1:
        return False
    sandbox, spec, uid = sandboxes[0], pod.spec, pod.metadata.uid
    memory, folders = actual.memory, actual.folders
    if (
        not sandbox.ready
        or sandbox.uid != uid
        or memory.failures
        or memory.term_sent
        or spec.active_deadline_seconds is not None
        or not (not folders or (len(folders) == 1 and uid in folders))
    ):
        return False
    records = sandbox.containers
    containers = spec.containers
    running = {record.container_name: record for record in records if record.state is _RUNNING}
    if len(running) != len(containers):
        return False
    for container in containers:
        record = running.get(container.name)
        if record is None:
            return False
        made_from = record.labels.get(_HASH)
        if made_from is not None and made_from != container_hash(container):
            return False
    return len(records) == len(containers) or _only_history(pod, records, running)


def _only_history(pod: Pod, records: tuple[ContainerRecord, ...], running: dict[str, ContainerRecord]) -> bool:
    """Whether what does not run are ended instances that are kept anyway."""
    left = {container.name: 2 for container in pod.spec.init_containers}
    left.update(dict.fromkeys(running, 1))
    for record in records:
        name = record.container_name
        newest = running.get(name)
        if newest is record:
            continue
        if record.state is not _EXITED or not left.get(name):
            return False
        if newest is not None and record.attempt > newest.attempt:
            return False
        left[name] -= 1
    return True
