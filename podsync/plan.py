"""The plan: what to do next, why, and when to look again. A value; nothing here acts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, assert_never

from podsync import identity
from podsync.runtimes.base import ContainerId, ContainerSpec, Ref, Runtime, SandboxSpec

if TYPE_CHECKING:
    from podsync.models import Pod, PodKey

__all__ = [
    "Action",
    "Cause",
    "CreateContainer",
    "CreateSandbox",
    "MountVolumes",
    "Plan",
    "PodPlan",
    "PullImage",
    "RemoveContainer",
    "RemoveSandbox",
    "SignalContainer",
    "StartContainer",
    "StartSandbox",
    "StopSandbox",
    "UnmountVolumes",
    "Verdict",
    "Waiting",
    "describe",
]


class Cause(StrEnum):
    """Why an action is planned; for people, never for behaviour."""

    NEW_POD = "new pod"
    NEVER_STARTED = "created but not started"
    CONTAINER_EXITED = "container exited"
    CONTAINER_CHANGED = "container definition changed"
    INIT_DONE = "previous init container done"
    INIT_FAILED = "init container failed"
    SANDBOX_DIED = "sandbox died"
    POD_DELETED = "pod deleted"
    POD_REPLACED = "pod replaced by an edited manifest"
    POD_FINISHED = "pod finished"
    DEADLINE_EXCEEDED = "active deadline exceeded"
    GRACE_EXPIRED = "grace period expired"
    OUTDATED = "superseded by a newer instance"
    ORPHAN = "no owner"
    IMAGE_ABSENT = "image is not present"
    PULL_ALWAYS = "image pull policy Always"


@dataclass(frozen=True, slots=True)
class MountVolumes:
    """Make the pod's folder and volumes ready on the host."""

    pod: Pod
    cause: Cause


@dataclass(frozen=True, slots=True)
class UnmountVolumes:
    """Remove the pod's folder, its volumes' data included."""

    uid: str
    cause: Cause


@dataclass(frozen=True, slots=True)
class CreateSandbox:
    """Create the pod's sandbox, not started."""

    spec: SandboxSpec
    cause: Cause


@dataclass(frozen=True, slots=True)
class StartSandbox:
    """Start a created sandbox by name."""

    sandbox: Ref
    pod: Pod
    cause: Cause


@dataclass(frozen=True, slots=True)
class RemoveSandbox:
    """End and remove a sandbox and the containers it still has. ``name`` is for people."""

    sandbox: Ref
    name: str
    containers: tuple[Ref, ...]
    cause: Cause


@dataclass(frozen=True, slots=True)
class StopSandbox:
    """End a sandbox's process and keep it: the network of a finished pod is freed."""

    sandbox: Ref
    name: str
    cause: Cause


@dataclass(frozen=True, slots=True)
class CreateContainer:
    """Create one instance of a container, not started."""

    sandbox: Ref
    spec: ContainerSpec
    pod: Pod
    container_name: str
    cause: Cause


@dataclass(frozen=True, slots=True)
class StartContainer:
    """Start a created instance by name."""

    container: Ref
    container_name: str
    cause: Cause


@dataclass(frozen=True, slots=True)
class SignalContainer:
    """Send a signal (``SIGTERM`` first, ``SIGKILL`` at the end of the grace period)."""

    container: ContainerId
    name: str
    container_name: str
    signal: str
    cause: Cause


@dataclass(frozen=True, slots=True)
class RemoveContainer:
    """Remove an ended instance."""

    container: ContainerId
    name: str
    cause: Cause


@dataclass(frozen=True, slots=True)
class PullImage:
    """Fetch an image. In a lane of its own: never holds the pod's other work."""

    image: str
    cause: Cause


Action = (
    MountVolumes
    | UnmountVolumes
    | CreateSandbox
    | StartSandbox
    | RemoveSandbox
    | StopSandbox
    | CreateContainer
    | StartContainer
    | SignalContainer
    | RemoveContainer
    | PullImage
)


@dataclass(frozen=True, slots=True)
class Waiting:
    """Why a container does not run now: the reason and message its status shows."""

    container_name: str
    reason: str
    message: str = ""
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """A phase that the containers do not tell by themselves (rejected, over its deadline)."""

    phase: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class PodPlan:
    """The next safe steps for one pod.

    The actions of one stage have no order among them; a stage begins when the one
    before ended well. ``pulls`` go to lanes of their own. ``wake_at`` is when to plan
    again even if nothing happens.
    """

    key: PodKey
    stages: tuple[tuple[Action, ...], ...] = ()
    pulls: tuple[PullImage, ...] = ()
    waiting: tuple[Waiting, ...] = ()
    verdict: Verdict | None = None
    wake_at: datetime | None = None
    terminating: bool = False
    """The pod, or a former one of its name, is being ended."""

    def actions(self) -> Iterator[Action]:
        """Pulls, then the stages' actions in order."""
        yield from self.pulls
        for stage in self.stages:
            yield from stage


def describe(action: Action) -> str:
    """One action in words, ``+``/``-``/``~`` first, its cause last in brackets."""
    match action:
        case MountVolumes(pod=pod):
            text = f"+ mount volumes of {pod.metadata.uid[:8]}"
        case UnmountVolumes(uid=uid):
            text = f"- unmount volumes of {uid[:8]}"
        case CreateSandbox(spec=spec):
            text = f"+ create sandbox {identity.short(spec.name)}"
        case StartSandbox(sandbox=name):
            text = f"+ start sandbox {identity.short(name)}"
        case RemoveSandbox(name=name, containers=containers):
            also = f" and {len(containers)} containers" if containers else ""
            text = f"- remove sandbox {identity.short(name)}{also}"
        case StopSandbox(name=name):
            text = f"~ stop sandbox {identity.short(name)}"
        case CreateContainer(spec=spec):
            text = f"+ create container {identity.short(spec.name)}"
        case StartContainer(container=name):
            text = f"+ start container {identity.short(name)}"
        case SignalContainer(name=name, signal=signal):
            text = f"~ signal container {identity.short(name)} {signal}"
        case RemoveContainer(name=name):
            text = f"- remove container {identity.short(name)}"
        case PullImage(image=image):
            text = f"+ pull image {image}"
        case _:
            assert_never(action)
    return f"{text} ({action.cause})"


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do next for every pod: iterable (its actions), printable, and fit for JSON."""

    pods: Mapping[PodKey, PodPlan] = field(default_factory=dict)

    @property
    def wake_at(self) -> datetime | None:
        """The earliest moment any pod asks to be planned again."""
        return min((p.wake_at for p in self.pods.values() if p.wake_at is not None), default=None)

    def __iter__(self) -> Iterator[Action]:
        """All actions, pod by pod in key order."""
        for key in sorted(self.pods):
            yield from self.pods[key].actions()

    def __len__(self) -> int:
        """How many actions."""
        return sum(1 for _ in self)

    def __bool__(self) -> bool:
        """Whether there is anything to do now."""
        return any(plan.stages or plan.pulls for plan in self.pods.values())

    def __str__(self) -> str:
        """One line an action, ``namespace/name: …``; empty when there is nothing to do."""
        return "\n".join(f"{key}: {describe(a)}" for key in sorted(self.pods) for a in self.pods[key].actions())

    def execute(self, runtime: Runtime, *, root: str | None = None) -> None:
        """Carry the plan out on ``runtime``, pod by pod; the library's short way.

        Images are pulled as the containers' policies say. ``root`` is where volumes and pod
        files live (default: podsync's own; a virtual runtime needs none). A pod's stages end
        behind the first that failed, the other pods go on; what failed is raised at the end
        as one ``ExceptionGroup`` of ``RuntimeFault``.

        Nothing is remembered from one call to the next: a container that does not heed
        SIGTERM is told again each time and never killed, and a failed start is tried again
        at once. ``converge`` and the agent remember.
        """
        from podsync.executor import execute  # the one look upwards: a plan stays a plain value

        execute(self, runtime, root=root)
