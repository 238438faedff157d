"""Which events the steps of the agent give rise to."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from podsync import events, labels, plan
from podsync.errors import (
    Conflict,
    FieldError,
    ImageAbsent,
    ImageFault,
    RuntimeFault,
    RuntimeUnavailable,
    StartFault,
    VolumeFault,
)
from podsync.events import Event, Subject
from podsync.models import Container, ObjectMeta, Pod, PodKey, PodSpec
from podsync.plan import Cause, PodPlan, Verdict, Waiting
from podsync.runtimes.base import ContainerId, ContainerSpec, SandboxSpec
from podsync.sources.base import Refusal

AT = datetime(2030, 1, 1, tzinfo=UTC)
KEY = PodKey("default", "web")
POD = Pod(
    metadata=ObjectMeta(name="web", namespace="default", uid="u"),
    spec=PodSpec(
        init_containers=(Container(name="prepare", image="busybox"),),
        containers=(Container(name="main", image="nginx"),),
    ),
)
SUBJECT = Subject.of(POD)
SANDBOX = SandboxSpec("k8s_POD_web_default_u_0", {})


def ref(container: str, uid: str = "u") -> str:
    """The engine's name of a container's first instance."""
    return f"k8s_{container}_web_default_{uid}_0"


def create(container: str = "main", kind: str = "container", image: str = "nginx") -> plan.CreateContainer:
    """The creation of a container."""
    spec = ContainerSpec(ref(container), {labels.KIND: kind}, image)
    return plan.CreateContainer(SANDBOX.name, spec, POD, container, Cause.NEW_POD)


def signal(cause: Cause, name: str = "SIGTERM", uid: str = "u") -> plan.SignalContainer:
    """A signal to the main container."""
    return plan.SignalContainer(ContainerId("1"), ref("main", uid), "main", name, cause)


START_MAIN = plan.StartContainer(ref("main"), "main", Cause.NEW_POD)
PULL = plan.PullImage("nginx", Cause.IMAGE_ABSENT)


def told(found: tuple[Event, ...]) -> list[tuple[str, str, str, str]]:
    """The events shortly: type's first letter, reason, container path, message."""
    return [(e.type[0], e.reason, e.field_path, e.message) for e in found]


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        (PULL, [("N", "Pulling", "spec.containers{main}", 'Pulling image "nginx"')]),
        (
            plan.PullImage("busybox", Cause.IMAGE_ABSENT),
            [("N", "Pulling", "spec.initContainers{prepare}", 'Pulling image "busybox"')],
        ),
        (signal(Cause.POD_DELETED), [("N", "Killing", "spec.containers{main}", "Stopping container main")]),
        (
            signal(Cause.CONTAINER_CHANGED),
            [("N", "Killing", "spec.containers{main}", "Container main definition changed, will be restarted")],
        ),
        (signal(Cause.GRACE_EXPIRED, "SIGKILL"), []),
        (
            plan.CreateSandbox(SANDBOX, Cause.SANDBOX_DIED),
            [("N", "SandboxChanged", "", "Pod sandbox changed, it will be killed and re-created.")],
        ),
        (plan.CreateSandbox(SANDBOX, Cause.NEW_POD), []),
        (START_MAIN, []),
        (create(), []),
    ],
)
def test_what_the_beginning_of_an_action_tells(action: plan.Action, expected: list[tuple[str, ...]]) -> None:
    """Pulls, first signals and replaced sandboxes are told when they begin."""
    assert told(events.on_start(SUBJECT, action, AT)) == expected


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        (
            PULL,
            [
                (
                    "N",
                    "Pulled",
                    "spec.containers{main}",
                    'Successfully pulled image "nginx" in 1.234s (1.234s including waiting). Image size: 99 bytes.',
                )
            ],
        ),
        (
            create(),
            [
                ("N", "Pulled", "spec.containers{main}", 'Container image "nginx" already present on machine'),
                ("N", "Created", "spec.containers{main}", "Container created"),
            ],
        ),
        (
            create("prepare", "init", "fetched"),
            [("N", "Created", "spec.initContainers{prepare}", "Container created")],
        ),
        (START_MAIN, [("N", "Started", "spec.containers{main}", "Container started")]),
        (plan.CreateSandbox(SANDBOX, Cause.NEW_POD), []),
        (plan.StartSandbox(SANDBOX.name, POD, Cause.NEW_POD), []),
        (plan.MountVolumes(POD, Cause.NEW_POD), []),
        (signal(Cause.POD_DELETED), []),
    ],
)
def test_what_a_success_tells(action: plan.Action, expected: list[tuple[str, ...]]) -> None:
    """Pulled, created and started containers are told, with a kubelet's words."""
    subject = Subject.of(POD, pulled=frozenset({"fetched"}))
    assert told(events.on_done(subject, action, None, 1.2345, AT, size=99)) == expected


@pytest.mark.parametrize(
    ("action", "error", "expected"),
    [
        (
            PULL,
            ImageFault("no route"),
            [
                ("W", "Failed", "spec.containers{main}", 'Failed to pull image "nginx": no route'),
                ("W", "Failed", "spec.containers{main}", "Error: ErrImagePull"),
            ],
        ),
        (PULL, ImageFault("bad name", reason="InvalidImageName"), []),
        (create(), StartFault("no mount"), [("W", "Failed", "spec.containers{main}", "Error: no mount")]),
        (START_MAIN, StartFault("no file"), [("W", "Failed", "spec.containers{main}", "Error: no file")]),
        (
            plan.CreateSandbox(SANDBOX, Cause.NEW_POD),
            StartFault("no address"),
            [("W", "FailedCreatePodSandBox", "", "Failed to create pod sandbox: no address")],
        ),
        (
            plan.StartSandbox(SANDBOX.name, POD, Cause.NEW_POD),
            StartFault("port in use"),
            [("W", "FailedCreatePodSandBox", "", "Failed to create pod sandbox: port in use")],
        ),
        (
            plan.MountVolumes(POD, Cause.NEW_POD),
            VolumeFault('MountVolume.SetUp failed for volume "v" : not a directory'),
            [("W", "FailedMount", "", 'MountVolume.SetUp failed for volume "v" : not a directory')],
        ),
        (
            signal(Cause.POD_DELETED),
            RuntimeFault("stuck"),
            [("W", "FailedKillPod", "", "error killing pod: stuck")],
        ),
        (
            plan.RemoveSandbox("1", SANDBOX.name, (), Cause.POD_DELETED),
            RuntimeFault("stuck"),
            [("W", "FailedKillPod", "", "error killing pod: stuck")],
        ),
        (plan.RemoveContainer(ContainerId("1"), ref("main"), Cause.OUTDATED), RuntimeFault("stuck"), []),
    ],
)
def test_what_a_failure_tells(action: plan.Action, error: Exception, expected: list[tuple[str, ...]]) -> None:
    """Failures are warnings, with a kubelet's reason and the engine's words."""
    assert told(events.on_done(SUBJECT, action, error, 0.1, AT)) == expected


@pytest.mark.parametrize("error", [RuntimeUnavailable("no socket"), Conflict("name taken"), ImageAbsent("nginx")])
@pytest.mark.parametrize("action", [PULL, create(), START_MAIN, plan.CreateSandbox(SANDBOX, Cause.NEW_POD)])
def test_what_the_agent_deals_with_is_no_event(action: plan.Action, error: Exception) -> None:
    """An engine that is away, a taken name and a missing image are handled, not told of the pod."""
    assert events.on_done(SUBJECT, action, error, 0.1, AT) == ()


def test_a_former_pod_of_the_name_gets_its_own_events() -> None:
    """The end of a replaced pod is told under the uid it had."""
    (event,) = events.on_start(SUBJECT, signal(Cause.POD_REPLACED, uid="old"), AT)
    assert (event.namespace, event.name, event.uid) == ("default", "web", "old")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (0.0004, "0s"),
        (0.35, "350ms"),
        (1, "1s"),
        (1.5, "1.5s"),
        (61, "1m1s"),
        (90.25, "1m30.25s"),
        (3600, "1h0m0s"),
        (3725.001, "1h2m5.001s"),
    ],
)
def test_durations_are_written_as_go_does(seconds: float, text: str) -> None:
    """How long a pull took is given to the millisecond in Go's notation."""
    (event,) = events.on_done(SUBJECT, PULL, None, seconds, AT)
    assert f" in {text} ({text} including waiting)" in event.message


DUE = AT + timedelta(seconds=10)
CRASH = Waiting("main", "CrashLoopBackOff", "back-off 10s …", DUE)
CRASH_TOLD = (
    "W",
    "BackOff",
    "spec.containers{main}",
    "Back-off restarting failed container main in pod web_default(u)",
)


@pytest.mark.parametrize(
    ("waiting", "expected"),
    [
        (CRASH, [CRASH_TOLD]),
        (
            Waiting("main", "ImagePullBackOff", "…", DUE),
            [
                ("N", "BackOff", "spec.containers{main}", 'Back-off pulling image "nginx"'),
                ("W", "Failed", "spec.containers{main}", "Error: ImagePullBackOff"),
            ],
        ),
        (Waiting("main", "ImagePullBackOff", "…"), []),
        (
            Waiting("main", "ErrImageNeverPull", "not present"),
            [
                ("W", "ErrImageNeverPull", "spec.containers{main}", "not present"),
                ("W", "Failed", "spec.containers{main}", "Error: ErrImageNeverPull"),
            ],
        ),
        (
            Waiting("prepare", "InvalidImageName", "bad name", DUE),
            [
                ("W", "InspectFailed", "spec.initContainers{prepare}", "bad name"),
                ("W", "Failed", "spec.initContainers{prepare}", "Error: InvalidImageName"),
            ],
        ),
        (Waiting("main", "ErrImagePull", "told when it happened", DUE), []),
        (Waiting("main", "ContainerCreating"), []),
    ],
)
def test_what_a_container_waits_for(waiting: Waiting, expected: list[tuple[str, ...]]) -> None:
    """Back-offs and images that cannot be had are told when the plan first says so, not again."""
    now = PodPlan(KEY, waiting=(waiting,))
    assert told(events.on_plan(SUBJECT, None, now, AT)) == expected
    assert told(events.on_plan(SUBJECT, PodPlan(KEY), now, AT)) == expected
    assert events.on_plan(SUBJECT, now, now, AT) == ()


def test_each_new_back_off_is_told() -> None:
    """A container that failed again waits for another moment, and that is told again."""
    later = replace(CRASH, until=DUE + timedelta(seconds=20))
    before, now = PodPlan(KEY, waiting=(CRASH,)), PodPlan(KEY, waiting=(later,))
    assert told(events.on_plan(SUBJECT, before, now, AT)) == [CRASH_TOLD]


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        (
            Verdict("Failed", "NodePorts", "Pod was rejected: Predicate NodePorts failed"),
            ("W", "NodePorts", "", "Predicate NodePorts failed"),
        ),
        (
            Verdict("Failed", "DeadlineExceeded", "Pod was active on the node longer than the specified deadline"),
            ("N", "DeadlineExceeded", "", "Pod was active on the node longer than the specified deadline"),
        ),
    ],
)
def test_verdicts_are_told_once(verdict: Verdict, expected: tuple[str, ...]) -> None:
    """What was decided about a pod as a whole is told when it is decided."""
    now = PodPlan(KEY, verdict=verdict)
    assert told(events.on_plan(SUBJECT, PodPlan(KEY), now, AT)) == [expected]
    assert events.on_plan(SUBJECT, now, now, AT) == ()


def test_refused_manifests_are_told_of_their_pod() -> None:
    """A manifest that is refused becomes FailedValidation of the pod it names, if it names one."""
    errors = (FieldError("spec.containers[0].name", "Required value", file="a.yaml", line=3, document=1),)
    (event,) = events.on_refusal(Refusal("a.yaml", errors, KEY), AT)
    assert told((event,)) == [("W", "FailedValidation", "", "a.yaml:3: spec.containers[0].name: Required value")]
    assert (event.namespace, event.name) == KEY
    assert events.on_refusal(Refusal("a.yaml", errors), AT) == ()
