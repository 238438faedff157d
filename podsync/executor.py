"""One action -> calls on the runtime and the volumes. Decides nothing."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, assert_never

from podsync import labels, plan
from podsync.clock import Clock, SystemClock
from podsync.errors import ImageAbsent, NotFound, StartFault
from podsync.messages import Outcome
from podsync.runtimes.base import ContainerSpec, ImageRecord, PullProgress, Runtime
from podsync.volumes import MemoryVolumes, Volumes, VolumeStore

if TYPE_CHECKING:
    from podsync.models import Pod
    from podsync.plan import Action, Plan

__all__ = ["Executor", "execute"]

log = logging.getLogger(__name__)

MAX_UID = 2147483647
Together = Callable[[Sequence[Callable[[], None]]], None]


class Executor:
    """Performs actions. Safe to call from several threads."""

    def __init__(self, runtime: Runtime, volumes: Volumes, clock: Clock, together: Together) -> None:
        """``together`` runs independent jobs side by side (``Workers.together``)."""
        self._runtime, self._volumes, self._clock, self._together = runtime, volumes, clock, together

    def run(self, stages: Sequence[Sequence[Action]]) -> tuple[Outcome, ...]:
        """Perform stage after stage, each stage's actions side by side; stop behind a failed stage."""
        outcomes: list[Outcome] = []
        for stage in stages:
            slots: list[Outcome | None] = [None] * len(stage)

            def job(index: int, action: Action, slots: list[Outcome | None] = slots) -> None:
                slots[index] = self._outcome(action)

            self._together([lambda i=i, a=a: job(i, a) for i, a in enumerate(stage)])  # type: ignore[misc]
            done = [outcome for outcome in slots if outcome is not None]
            outcomes += done
            if any(outcome.error for outcome in done):
                break
        return tuple(outcomes)

    def _outcome(self, action: Action) -> Outcome:
        began = self._clock.monotonic()
        error: Exception | None = None
        try:
            self.perform(action)
        except Exception as fault:  # noqa: BLE001 - one broken action stops no other: the owner logs and counts it
            error = fault
        return Outcome(action, self._clock.now(), self._clock.monotonic() - began, error)

    def perform(self, action: Action) -> None:
        """Carry out one action. Raises RuntimeFault."""
        runtime, volumes = self._runtime, self._volumes
        match action:
            case plan.MountVolumes(pod=pod):
                volumes.prepare(pod)
            case plan.UnmountVolumes(uid=uid):
                volumes.remove(uid)
            case plan.CreateSandbox(spec=spec):
                runtime.create_sandbox(spec)
            case plan.StartSandbox(sandbox=ref, pod=pod):
                volumes.write_hosts(pod, runtime.start_sandbox(ref))
            case plan.RemoveSandbox(sandbox=ref, containers=containers):
                runtime.remove_sandbox(ref, containers)
            case plan.StopSandbox(sandbox=ref):
                runtime.signal_container(ref, "SIGTERM")
            case plan.CreateContainer(sandbox=ref, spec=spec, pod=pod):
                self._create_container(ref, spec, pod)
            case plan.StartContainer(container=ref):
                runtime.start_container(ref)
            case plan.SignalContainer(container=ref, signal=signal):
                runtime.signal_container(ref, signal)
            case plan.RemoveContainer(container=ref):
                runtime.remove_container(ref)
            case plan.PullImage(image=image):
                self.pull(image)
            case _:
                assert_never(action)

    def pull(self, image: str, progress: Callable[[PullProgress], None] | None = None) -> ImageRecord:
        """Fetch an image. Raises ImageFault, RuntimeUnavailable."""
        return self._runtime.pull_image(image, None, progress)

    def _create_container(self, sandbox: str, spec: ContainerSpec, pod: Pod) -> None:
        # by name each time: a tag may have moved. Adapters keep what they may keep
        image = self._runtime.image(spec.image)
        if image is None:
            raise ImageAbsent(spec.image)
        if spec.run_as_non_root:
            _check_non_root(spec, image, pod)
        message_file = spec.labels.get(labels.TERMINATION_MESSAGE_FILE)
        if message_file:
            self._volumes.prepare_message(message_file)
        security = spec.security
        if security.user.startswith(":"):
            # a group alone (runAsGroup) belongs to the image's own user
            security = replace(security, user=f"{image.user.partition(':')[0] or '0'}{security.user}")
        complete = replace(
            spec,
            security=security,
            image_id=image.id,
            labels={**spec.labels, labels.IMAGE: spec.image, labels.IMAGE_ID: image.reference},
        )
        try:
            self._runtime.create_container(sandbox, complete)
        except NotFound as error:
            raise StartFault(error.message, reason="CreateContainerError") from error


def _check_non_root(spec: ContainerSpec, image: ImageRecord, pod: Pod) -> None:
    """``runAsNonRoot`` against the user the container would have. Raises StartFault with the kubelet's words."""
    meta = pod.metadata
    container = spec.labels[labels.CONTAINER_NAME]
    where = f'(pod: "{meta.name}_{meta.namespace}({meta.uid})", container: {container})'
    given = spec.security.user.partition(":")[0]
    if given:
        if int(given) == 0:
            raise StartFault(
                f"container's runAsUser breaks non-root policy {where}", reason="CreateContainerConfigError"
            )
        return
    user = image.user.partition(":")[0]
    if user and not user.isdecimal():
        raise StartFault(
            f"container has runAsNonRoot and image has non-numeric user ({user}), "
            f"cannot verify user is non-root {where}",
            reason="CreateContainerConfigError",
        )
    if not user or int(user) == 0:
        raise StartFault(
            f"container has runAsNonRoot and image will run as root {where}", reason="CreateContainerConfigError"
        )
    if int(user) > MAX_UID:
        raise StartFault(
            f"container has runAsNonRoot and image has an invalid user id ({user}). "
            f"(Must be 1-({MAX_UID})): must be between 1 and {MAX_UID}, inclusive {where}",
            reason="CreateContainerConfigError",
        )


def _one_by_one(jobs: Sequence[Callable[[], None]]) -> None:
    for job in jobs:
        job()


def execute(plan_: Plan, runtime: Runtime, *, root: str | None = None) -> None:
    """Carry a whole plan out, action by action; see ``Plan.execute``. Raises an ExceptionGroup of RuntimeFaults."""
    executor = Executor(runtime, _volumes(runtime, root), SystemClock(), _one_by_one)
    faults: list[Exception] = []
    for pod_plan in plan_.pods.values():
        stages: list[Sequence[Action]] = [(pull,) for pull in pod_plan.pulls]
        pulled = {pull.image for pull in pod_plan.pulls}
        for stage in pod_plan.stages:
            stages += [tuple(_pulls(runtime, stage, pulled)), stage]
        outcomes = executor.run(stages)
        faults += [outcome.error for outcome in outcomes if outcome.error is not None]
    if faults:
        raise ExceptionGroup("some actions failed", faults)


def _volumes(runtime: Runtime, root: str | None) -> Volumes:
    from podsync.store import default_root  # only here: the agent is given its root

    if root is None and "virtual" in runtime.info().capabilities:
        return MemoryVolumes()
    return VolumeStore(str(Path(root or default_root()).absolute()))


def _pulls(runtime: Runtime, stage: Sequence[Action], pulled: set[str]) -> Iterator[plan.PullImage]:
    """What the policies of the containers made in this stage ask for: nobody remembers an earlier pull."""
    for action in stage:
        if not isinstance(action, plan.CreateContainer) or action.spec.image in pulled:
            continue
        image = action.spec.image
        containers = (*action.pod.spec.init_containers, *action.pod.spec.containers)
        policy = next((c.image_pull_policy for c in containers if c.name == action.container_name), "")
        if policy == "Always":
            yield plan.PullImage(image, plan.Cause.PULL_ALWAYS)
        elif policy != "Never" and runtime.image(image) is None:
            yield plan.PullImage(image, plan.Cause.IMAGE_ABSENT)
        pulled.add(image)
