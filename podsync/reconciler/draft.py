"""A pod's plan while it is being made, and what it is made from."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from podsync import restarts
from podsync.plan import Action, PodPlan, PullImage, Verdict, Waiting
from podsync.runtimes.base import ContainerState

if TYPE_CHECKING:
    from podsync.backoff import Backoff
    from podsync.models import Pod, PodKey
    from podsync.reconciler.settings import NodeSettings
    from podsync.restarts import Instance
    from podsync.runtimes.base import ContainerRecord, SandboxRecord
    from podsync.state import Actual, ActualPod, PodMemory

__all__ = ["Draft", "View", "hold_pod", "not_yet", "view_of", "wait_for_pod"]


@dataclass(frozen=True, slots=True)
class View:
    """One wanted pod and everything that is known of it."""

    settings: NodeSettings
    pod: Pod
    actual: ActualPod
    now: datetime
    absent_images: frozenset[str]
    own: tuple[SandboxRecord, ...]
    """Sandboxes of the pod's own uid, newest last."""
    instances: dict[str, list[Instance]]
    """Their containers' instances by name, newest last."""

    @property
    def uid(self) -> str:
        """The wanted pod's uid."""
        return self.pod.metadata.uid

    @property
    def memory(self) -> PodMemory:
        """What only the agent knows."""
        return self.actual.memory

    def newest(self, name: str) -> ContainerRecord | None:
        """The newest instance of a container, whichever sandbox it was made for."""
        known = self.instances.get(name)
        return known[-1].record if known else None


def view_of(settings: NodeSettings, pod: Pod, known: ActualPod, actual: Actual) -> View:
    """Sort out what belongs to the pod's uid. ``known`` is the part of ``actual`` with the pod's key."""
    own = restarts.sandboxes_of(known.sandboxes, pod.metadata.uid)
    return View(
        settings=settings,
        pod=pod,
        actual=known,
        now=actual.observed_at,
        absent_images=actual.absent_images,
        own=own,
        instances=restarts.instances_of(own, known.memory),
    )


@dataclass(slots=True)
class Draft:
    """The stages of a batch by what they are for, in the order they run, and the rest of a pod's plan."""

    key: PodKey
    now: datetime
    memory: PodMemory
    before: list[Action] = field(default_factory=list)
    """Signals, stops, removals, or the mounting of volumes."""
    sandbox: list[Action] = field(default_factory=list)
    creates: list[Action] = field(default_factory=list)
    """Creation of containers, beside the start of a new sandbox."""
    starts: list[Action] = field(default_factory=list)
    after: list[Action] = field(default_factory=list)
    """Removal of folders."""
    pulls: dict[str, PullImage] = field(default_factory=dict)
    waiting: list[Waiting] = field(default_factory=list)
    wake_at: datetime | None = None
    verdict: Verdict | None = None
    terminating: bool = False

    @property
    def acts(self) -> bool:
        """Whether there is anything to do on the engine now."""
        return bool(self.before or self.sandbox or self.creates or self.starts)

    def wake(self, moment: datetime) -> None:
        """Ask to be planned again at that moment, or before."""
        if self.wake_at is None or moment < self.wake_at:
            self.wake_at = moment

    def wait(self, container: str, reason: str, message: str = "", until: datetime | None = None) -> None:
        """Say why a container does not run now, and until when nothing is tried."""
        self.waiting.append(Waiting(container, reason, message, until))
        if until is not None:
            self.wake(until)

    def finish(self) -> PodPlan | None:
        """The plan; None when it would say nothing."""
        stages = tuple(
            tuple(stage) for stage in (self.before, self.sandbox, self.creates, self.starts, self.after) if stage
        )
        if not (stages or self.pulls or self.waiting or self.wake_at or self.verdict or self.terminating):
            return None
        return PodPlan(
            self.key,
            stages,
            tuple(self.pulls.values()),
            tuple(self.waiting),
            self.verdict,
            self.wake_at,
            self.terminating,
        )


def hold_pod(view: View, draft: Draft, subject: str, backoff: Backoff) -> bool:
    """Whether an earlier failure of the pod's sandbox or volumes still holds it back.

    Its containers wait meanwhile as on a kubelet, which has no reason word of their own
    for this; the message tells what failed.
    """
    failure = view.memory.failures.get(subject)
    if failure is None:
        return False
    until = failure.at + timedelta(seconds=backoff.after(failure.count))
    if view.now >= until:
        return False
    wait_for_pod(view, draft, failure.message, until)
    return True


def wait_for_pod(view: View, draft: Draft, message: str, until: datetime | None = None) -> None:
    """Let every container without an instance, or with one that was never started, wait for the pod as a whole."""
    spec = view.pod.spec
    for container in (*spec.init_containers, *spec.containers):
        newest = view.newest(container.name)
        if newest is None or newest.state is ContainerState.CREATED:
            draft.wait(container.name, not_yet(view.pod), message)
    if until is not None:
        draft.wake(until)


def not_yet(pod: Pod) -> str:
    """The reason of a container that has not been tried yet."""
    return "PodInitializing" if pod.spec.init_containers else "ContainerCreating"
