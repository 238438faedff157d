"""What is left over once newer things run: old instances, dead sandboxes, folders of former uids."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from podsync import restarts
from podsync.plan import Cause, RemoveContainer, UnmountVolumes
from podsync.reconciler.draft import Draft, View
from podsync.reconciler.termination import alive, remove_sandbox
from podsync.runtimes.base import ContainerState

if TYPE_CHECKING:
    from podsync.runtimes.base import ContainerRecord, SandboxRecord

__all__ = ["prune", "sweep_folders"]


def prune(view: View, draft: Draft) -> None:
    """Plan the removal of records nobody needs. Only for a pod with nothing else to do.

    Of each container the newest instance stays and the one that ended before it, for its
    logs and ``lastState``. A dead sandbox stays until all it holds has a successor that
    was started: restart counts are read from there.
    """
    dead = [sandbox for sandbox in view.own[:-1] if all(_superseded(view, sandbox, r) for r in sandbox.containers)]
    draft.before += [remove_sandbox(sandbox, Cause.OUTDATED) for sandbox in dead]
    going = {record.id for sandbox in dead for record in sandbox.containers}
    spec = view.pod.spec
    wanted = {container.name for container in (*spec.init_containers, *spec.containers)}
    for name, known in view.instances.items():
        records = [instance.record for instance in known]
        cause = Cause.OUTDATED if name in wanted else Cause.ORPHAN
        useless = _useless(records) if name in wanted else (r for r in records if not alive(r))
        draft.before += [RemoveContainer(r.id, r.name, cause) for r in useless if r.id not in going]


def _superseded(view: View, sandbox: SandboxRecord, record: ContainerRecord) -> bool:
    newest = view.instances[record.container_name][-1]
    if newest.sandbox_attempt > sandbox.attempt:
        return newest.record.state is not ContainerState.CREATED
    init = view.pod.spec.init_containers
    if all(container.name != record.container_name for container in init):
        return False
    # its successor has been removed behind our back, but the pod is past it
    return restarts.init_position(view.pod, view.instances, view.own[-1].attempt) == len(init)


def _useless(records: list[ContainerRecord]) -> Iterator[ContainerRecord]:
    kept = False
    for record in reversed(records[:-1]):
        if alive(record):
            continue
        if record.state is ContainerState.EXITED and not kept:
            kept = True
            continue
        yield record


def sweep_folders(view: View, draft: Draft, *, keep_own: bool) -> None:
    """Plan the removal of folders of uids that are neither wanted nor have a sandbox left."""
    in_use = {sandbox.uid for sandbox in view.actual.sandboxes}
    if keep_own:
        in_use.add(view.uid)
    draft.after += [UnmountVolumes(uid, Cause.POD_REPLACED) for uid in sorted(view.actual.folders - in_use)]
