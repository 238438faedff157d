"""Which events a step of the agent gives rise to: the kubelet's reasons and wordings.

Three moments tell them all: an action begins (``on_start``), it has ended (``on_done``),
a pod is planned anew (``on_plan``). Time comes in as an argument.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from podsync import identity, labels
from podsync.errors import Conflict, ImageAbsent, PodsyncError, RuntimeUnavailable
from podsync.events.log import Event, EventType
from podsync.plan import (
    Action,
    Cause,
    CreateContainer,
    CreateSandbox,
    MountVolumes,
    PodPlan,
    PullImage,
    RemoveSandbox,
    SignalContainer,
    StartContainer,
    StartSandbox,
    StopSandbox,
    Waiting,
)

if TYPE_CHECKING:
    from podsync.models import Pod
    from podsync.sources.base import Refusal

__all__ = ["Subject", "on_done", "on_plan", "on_refusal", "on_start"]

_REJECTED = "Pod was rejected: "
_IMAGE_REASONS = {
    "ErrImageNeverPull": "ErrImageNeverPull",
    "InvalidImageName": "InspectFailed",
    "ImageInspectError": "InspectFailed",
}


@dataclass(frozen=True, slots=True)
class Subject:
    """The pod an event is about. ``pod`` tells init containers from others and may be missing.

    ``pulled`` names the images fetched for it since it last created a container from them.
    """

    namespace: str
    name: str
    uid: str
    pod: Pod | None = None
    pulled: frozenset[str] = frozenset()

    @classmethod
    def of(cls, pod: Pod, pulled: frozenset[str] = frozenset()) -> Subject:
        """The subject of a known pod."""
        meta = pod.metadata
        return cls(meta.namespace, meta.name, meta.uid, pod, pulled)

    def event(
        self, kind: EventType, reason: str, message: str, at: datetime, *, container: str = "", init: bool = False
    ) -> Event:
        """One event of this pod, about ``container`` when given."""
        path = ""
        if container:
            init = init or (self.pod is not None and any(c.name == container for c in self.pod.spec.init_containers))
            path = f"spec.{'initContainers' if init else 'containers'}{{{container}}}"
        return Event(kind, reason, message, self.namespace, self.name, self.uid, at, at, path)

    def named_by(self, ref: str) -> Subject:
        """The pod an engine's name belongs to: a former pod of the same name has another uid."""
        parts = identity.split(ref)
        if parts is None or parts[3] == self.uid:
            return self
        return Subject(namespace=parts[2], name=parts[1], uid=parts[3])

    def container_with(self, image: str) -> str:
        """The first container that uses an image; empty when none is known."""
        if self.pod is None:
            return ""
        containers = (*self.pod.spec.init_containers, *self.pod.spec.containers)
        return next((c.name for c in containers if c.image == image), "")

    def image_of(self, container: str) -> str:
        """The image of a container; empty when not known."""
        if self.pod is None:
            return ""
        containers = (*self.pod.spec.init_containers, *self.pod.spec.containers)
        return next((c.image for c in containers if c.name == container), "")


def on_start(subject: Subject, action: Action, at: datetime) -> tuple[Event, ...]:
    """What is told when an action begins: Pulling, Killing, SandboxChanged."""
    normal = EventType.NORMAL
    match action:
        case PullImage(image=image):
            text = f'Pulling image "{image}"'
            return (subject.event(normal, "Pulling", text, at, container=subject.container_with(image)),)
        case SignalContainer(name=ref, container_name=container, cause=cause) if cause is not Cause.GRACE_EXPIRED:
            text = f"Stopping container {container}"
            if cause is Cause.CONTAINER_CHANGED:
                text = f"Container {container} definition changed, will be restarted"
            return (subject.named_by(ref).event(normal, "Killing", text, at, container=container),)
        case CreateSandbox(cause=Cause.SANDBOX_DIED):
            text = "Pod sandbox changed, it will be killed and re-created."
            return (subject.event(normal, "SandboxChanged", text, at),)
        case _:
            return ()


def on_done(
    subject: Subject, action: Action, error: Exception | None, seconds: float, at: datetime, *, size: int = 0
) -> tuple[Event, ...]:
    """What is told when an action has ended, well (``error`` None) or not.

    ``seconds`` is how long it took, ``size`` (bytes) belongs to a pulled image. An engine
    that cannot be asked, a name already taken and an image that turns out to be absent
    are no events: the agent deals with them.
    """
    if isinstance(error, RuntimeUnavailable | Conflict | ImageAbsent):
        return ()
    if error is None:
        return tuple(_succeeded(subject, action, seconds, at, size))
    return tuple(_failed(subject, action, error, at))


def _succeeded(subject: Subject, action: Action, seconds: float, at: datetime, size: int) -> Iterator[Event]:
    normal = EventType.NORMAL
    match action:
        case PullImage(image=image):
            took = _duration(seconds)
            details = f"in {took} ({took} including waiting). Image size: {size} bytes."
            text = f'Successfully pulled image "{image}" {details}'
            yield subject.event(normal, "Pulled", text, at, container=subject.container_with(image))
        case CreateContainer(spec=spec, container_name=container):
            init = spec.labels.get(labels.KIND) == "init"
            if spec.image not in subject.pulled:
                text = f'Container image "{spec.image}" already present on machine'
                yield subject.event(normal, "Pulled", text, at, container=container, init=init)
            yield subject.event(normal, "Created", "Container created", at, container=container, init=init)
        case StartContainer(container_name=container):
            yield subject.event(normal, "Started", "Container started", at, container=container)
        case _:
            return


def _failed(subject: Subject, action: Action, error: Exception, at: datetime) -> Iterator[Event]:
    warning = EventType.WARNING
    match action:
        case PullImage(image=image):
            container = subject.container_with(image)
            reason = error.reason if isinstance(error, PodsyncError) else "ErrImagePull"
            if reason in _IMAGE_REASONS:
                return  # told when the container waits for it
            yield subject.event(warning, "Failed", f'Failed to pull image "{image}": {error}', at, container=container)
            yield subject.event(warning, "Failed", f"Error: {reason}", at, container=container)
        case CreateContainer(container_name=container) | StartContainer(container_name=container):
            yield subject.event(warning, "Failed", f"Error: {error}", at, container=container)
        case CreateSandbox() | StartSandbox():
            yield subject.event(warning, "FailedCreatePodSandBox", f"Failed to create pod sandbox: {error}", at)
        case MountVolumes():
            yield subject.event(warning, "FailedMount", str(error), at)
        case SignalContainer(name=ref) | StopSandbox(name=ref) | RemoveSandbox(name=ref):
            text = f"error killing pod: {error}"
            yield subject.named_by(ref).event(warning, "FailedKillPod", text, at)
        case _:
            return


def on_plan(subject: Subject, previous: PodPlan | None, new: PodPlan, at: datetime) -> tuple[Event, ...]:
    """What is told when a pod's plan differs from the one before: back-offs, refused images, verdicts."""
    before = {(w.container_name, w.reason, w.until or w.message) for w in previous.waiting} if previous else set()
    events: list[Event] = []
    for waiting in new.waiting:
        if (waiting.container_name, waiting.reason, waiting.until or waiting.message) not in before:
            events.extend(_waits(subject, waiting, at))
    verdict = new.verdict
    if verdict is not None and (previous is None or previous.verdict != verdict):
        kind = EventType.NORMAL if verdict.reason == "DeadlineExceeded" else EventType.WARNING
        events.append(subject.event(kind, verdict.reason, verdict.message.removeprefix(_REJECTED), at))
    return tuple(events)


def _waits(subject: Subject, waiting: Waiting, at: datetime) -> Iterator[Event]:
    container, reason = waiting.container_name, waiting.reason
    warning = EventType.WARNING
    if reason == "CrashLoopBackOff":
        pod = f"{subject.name}_{subject.namespace}({subject.uid})"
        text = f"Back-off restarting failed container {container} in pod {pod}"
        yield subject.event(warning, "BackOff", text, at, container=container)
    elif reason == "ImagePullBackOff" and waiting.until is not None:  # without: it is being pulled again
        text = f'Back-off pulling image "{subject.image_of(container)}"'
        yield subject.event(EventType.NORMAL, "BackOff", text, at, container=container)
        yield subject.event(warning, "Failed", f"Error: {reason}", at, container=container)
    elif reason in _IMAGE_REASONS:
        yield subject.event(warning, _IMAGE_REASONS[reason], waiting.message, at, container=container)
        yield subject.event(warning, "Failed", f"Error: {reason}", at, container=container)


def on_refusal(refusal: Refusal, at: datetime) -> tuple[Event, ...]:
    """FailedValidation for a document that is not used, when it names its pod."""
    if refusal.key is None:
        return ()
    subject = Subject(refusal.key.namespace, refusal.key.name, "")
    text = "; ".join(str(replace(error, document=0)) for error in refusal.errors)
    return (subject.event(EventType.WARNING, "FailedValidation", text, at),)


def _duration(seconds: float) -> str:
    """A duration as Go prints it, to the millisecond: ``350ms``, ``1.2s``, ``1m30s``."""
    milliseconds = int(seconds * 1000)
    if milliseconds < 1000:  # noqa: PLR2004 - one second
        return f"{milliseconds}ms" if milliseconds else "0s"
    minutes, rest = divmod(milliseconds, 60_000)
    hours, minutes = divmod(minutes, 60)
    text = f"{rest / 1000:.3f}".rstrip("0").rstrip(".") + "s"
    if hours:
        return f"{hours}h{minutes}m{text}"
    return f"{minutes}m{text}" if minutes else text
