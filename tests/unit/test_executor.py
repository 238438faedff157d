"""Actions become calls: their order, their failures, and what is added to a container on the way."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

import pytest

from podsync import labels, plan
from podsync.clock import ManualClock
from podsync.errors import ImageAbsent, ImageFault, NotFound, RuntimeFault, RuntimeUnavailable, StartFault, VolumeFault
from podsync.executor import Executor, execute
from podsync.models import ObjectMeta, PodKey
from podsync.plan import Action, Cause, CreateContainer, Plan, PodPlan
from podsync.reconciler import Reconciler
from podsync.runtimes.base import ContainerId, ContainerSpec, ContainerState, ImageRecord, SandboxRecord, SecuritySpec
from podsync.runtimes.fake import FakeEngine, FakeRuntime, Pullable, exits, fails_to_start
from podsync.runtimes.fake.images import ImageStore
from podsync.testing.builders import PodNames, container, pod
from podsync.testing.faults import FaultyRuntime, FaultyVolumes
from podsync.volumes import MemoryVolumes
from podsync.workers import ThreadInbox, ThreadWorkers

NODE = "node-1"
WEB = pod("web").evolve(metadata=ObjectMeta(name="web", namespace="default", uid="u1"))
NAMES = PodNames(NODE, name="web", uid="u1")
NEW = Cause.NEW_POD
T = TypeVar("T")


class Desk:
    """An executor over a fake engine, with every call written down."""

    def __init__(self, *, images: Iterable[str] | None = None, user: str = "") -> None:
        self.clock = ManualClock()
        self.store = ImageStore(images)
        self.engine = FakeEngine(self.clock, self.store)
        self.calls: list[str] = []
        self.broken: dict[str, Exception] = {}
        self.volumes = MemoryVolumes()
        self.prepared: list[str] = []
        self.user = user
        self.vanishing = ""
        """An image that is removed as soon as it has been looked up."""
        self.runtime = FaultyRuntime(FakeRuntime(node=NODE, engine=self.engine), self._call)
        self.executor = Executor(self.runtime, FaultyVolumes(self.volumes, self._call), self.clock, _one_by_one)

    def _call(self, verb: str, call: Callable[[], T]) -> T:
        self.calls.append(verb)
        if verb in self.broken:
            raise self.broken[verb]
        found = call()
        if verb == "image" and self.vanishing:
            self.store.remove(self.vanishing)
            self.vanishing = ""
        if isinstance(found, ImageRecord):
            found = ImageRecord(found.id, found.digests, self.user, found.size)  # type: ignore[assignment]
        return found

    def run(self, *stages: Sequence[Action]) -> list[Exception | None]:
        """The stages' outcomes: the error of each action."""
        return [outcome.error for outcome in self.executor.run(stages)]

    def sandbox(self) -> SandboxRecord:
        """The only sandbox."""
        (found,) = self.runtime.list_sandboxes()
        return found


def _one_by_one(jobs: Sequence[Callable[[], None]]) -> None:
    for job in jobs:
        job()


def create(spec: ContainerSpec, name: str = "main") -> CreateContainer:
    """The creation of one container of the pod."""
    return CreateContainer(NAMES.ref("POD"), spec, WEB, name, NEW)


MAKE_SANDBOX = plan.CreateSandbox(NAMES.sandbox(), NEW)
START_SANDBOX = plan.StartSandbox(NAMES.ref("POD"), WEB, NEW)
START = plan.StartContainer(NAMES.ref("main"), "main", NEW)


def test_every_action_is_its_verb() -> None:
    """Each kind of action makes the one call it stands for, and only creation looks up an image first."""
    desk = Desk()
    assert desk.run([plan.MountVolumes(WEB, NEW)], [MAKE_SANDBOX], [START_SANDBOX]) == [None] * 3
    assert desk.run([create(NAMES.container("busybox:1"))], [START], [plan.PullImage("busybox:2", NEW)]) == [None] * 3
    record = desk.sandbox().containers[0]
    assert record.state is ContainerState.RUNNING
    steps: list[Action] = [
        plan.SignalContainer(record.id, record.name, "main", "SIGTERM", NEW),
        plan.RemoveContainer(record.id, record.name, NEW),
        plan.StopSandbox(desk.sandbox().id, NAMES.ref("POD"), NEW),
        plan.RemoveSandbox(desk.sandbox().id, NAMES.ref("POD"), (), NEW),
        plan.UnmountVolumes("u1", NEW),
    ]
    assert desk.run(*([step] for step in steps)) == [None] * 5

    assert [verb for verb in desk.calls if verb != "list_sandboxes"] == [
        *("prepare_volumes", "create_sandbox", "start_sandbox", "image", "create_container", "start_container"),
        *("pull_image", "signal_container", "remove_container", "signal_container", "remove_sandbox"),
        "remove_volumes",
    ]
    assert not desk.runtime.list_sandboxes()
    assert desk.volumes.folders() == {}


def test_a_failed_stage_is_the_last() -> None:
    """Stages behind one that failed are not begun; what else was in the failed one is carried out."""
    desk = Desk()
    desk.run([MAKE_SANDBOX])
    desk.broken["start_sandbox"] = StartFault("no address")
    errors = desk.run([START_SANDBOX, create(NAMES.container("busybox:1"))], [START])

    assert [str(error) if error else None for error in errors] == ["no address", None]
    assert "start_container" not in desk.calls
    assert [c.state for c in desk.sandbox().containers] == [ContainerState.CREATED]


def test_a_stages_actions_run_side_by_side() -> None:
    """Actions of one stage overlap: two calls that wait for each other both end well."""
    workers = ThreadWorkers(ThreadInbox(), size=2)
    barrier = threading.Barrier(2, timeout=5)

    def together(verb: str, call: Callable[[], T]) -> T:
        if verb == "prepare_volumes":
            barrier.wait()
        return call()

    volumes = FaultyVolumes(MemoryVolumes(), together)
    executor = Executor(FakeRuntime(node=NODE), volumes, ManualClock(), workers.together)
    mounts = [plan.MountVolumes(WEB, NEW), plan.MountVolumes(pod("other"), NEW)]
    outcomes = executor.run([mounts])
    workers.stop(5)

    assert [outcome.action for outcome in outcomes] == mounts
    assert [outcome.error for outcome in outcomes] == [None, None]


def test_an_outcome_tells_when_and_how_long() -> None:
    """Each outcome has the moment of its action's end and the seconds it took."""
    desk = Desk()
    begun = desk.clock.now()

    def slow(verb: str, call: Callable[[], T]) -> T:
        desk.clock.advance(1.5)
        return call()

    executor = Executor(FaultyRuntime(desk.runtime, slow), desk.volumes, desk.clock, _one_by_one)
    (outcome,) = executor.run([[MAKE_SANDBOX]])
    assert outcome.seconds == 1.5
    assert (outcome.at - begun).total_seconds() == 1.5


@pytest.mark.parametrize("error", [StartFault("no"), RuntimeUnavailable("away"), VolumeFault("disk"), KeyError("bug")])
def test_whatever_an_action_raises_is_its_outcome(error: Exception) -> None:
    """No exception of one action reaches the others; it is told as it was raised."""
    desk = Desk()
    desk.broken["create_sandbox"] = error
    assert desk.run([MAKE_SANDBOX, plan.MountVolumes(WEB, NEW)]) == [error, None]


# --- creating containers ------------------------------------------------------------------------------


def test_a_container_is_created_by_id_and_labelled_with_its_image() -> None:
    """The engine gets the image's id; labels keep the manifest's name and what a status shows as imageID."""
    desk = Desk()
    desk.run([MAKE_SANDBOX], [create(NAMES.container("busybox:1"))])
    image = desk.runtime.image("busybox:1")
    assert image is not None

    record = desk.sandbox().containers[0]
    assert record.image_id == image.id
    assert record.labels[labels.IMAGE] == "busybox:1"
    assert record.labels[labels.IMAGE_ID] == image.reference == image.digests[0]


def test_an_image_is_looked_up_by_name_each_time() -> None:
    """A tag may move: every container is made from what the name stands for now."""
    desk = Desk(user="root")
    careful = NAMES.container("busybox:1", run_as_non_root=True)
    desk.run([MAKE_SANDBOX])
    (error,) = desk.run([create(careful)])
    assert isinstance(error, StartFault)
    desk.user = "1000"  # somebody has built it anew
    assert desk.run([create(careful)]) == [None]


@pytest.mark.parametrize("when", ["from the start", "before", "between look-up and creation"])
def test_an_absent_image_is_told_and_asked_for_again(when: str) -> None:
    """An image that is not there, or vanishes, is told by its name as absent; the next try finds it when it is back."""
    desk = Desk(images=[] if when == "from the start" else ["busybox:1"])
    desk.run([MAKE_SANDBOX])
    if when == "before":
        desk.run([create(NAMES.container("busybox:1"))])
        desk.store.remove("busybox:1")
    elif when != "from the start":
        desk.vanishing = "busybox:1"
    (error,) = desk.run([create(NAMES.container("busybox:1", attempt=1))])
    assert isinstance(error, ImageAbsent)
    assert error.image == "busybox:1"
    desk.store.add("busybox:1")
    assert desk.run([create(NAMES.container("busybox:1", attempt=1))]) == [None]


@pytest.mark.parametrize(
    ("given", "image_user", "made"),
    [(":5", "", "0:5"), (":5", "1000", "1000:5"), (":5", "www:www", "www:5"), ("7:5", "1000", "7:5"), ("", "1000", "")],
)
def test_a_group_alone_belongs_to_the_images_user(given: str, image_user: str, made: str) -> None:
    """Without runAsUser a runAsGroup is joined to the image's own user; everything else goes as it is."""
    desk = Desk(user=image_user)
    seen: list[ContainerSpec] = []
    original = desk.runtime.create_container

    def note(sandbox: str, spec: ContainerSpec) -> ContainerId:
        seen.append(spec)
        return original(sandbox, spec)

    desk.runtime.create_container = note  # type: ignore[method-assign]
    desk.run([MAKE_SANDBOX], [create(NAMES.container("busybox:1", security=SecuritySpec(user=given)))])
    assert [spec.security.user for spec in seen] == [made]


def test_a_missing_sandbox_is_a_start_fault() -> None:
    """A container whose sandbox has vanished cannot be created, in the kubelet's word."""
    desk = Desk()
    (error,) = desk.run([create(NAMES.container("busybox:1"))])
    assert isinstance(error, StartFault)
    assert error.reason == "CreateContainerError"
    assert isinstance(error.__cause__, NotFound)


def test_the_termination_message_file_is_made_first() -> None:
    """The file a container's message will be in is there before the container is."""
    desk = Desk()
    made: list[tuple[str, int]] = []
    desk.volumes.prepare_message = lambda path: made.append((path, len(desk.calls)))  # type: ignore[method-assign]
    spec = NAMES.container("busybox:1")
    spec = ContainerSpec(spec.name, {**spec.labels, labels.TERMINATION_MESSAGE_FILE: "/m/0"}, spec.image)
    desk.run([MAKE_SANDBOX], [create(spec)])
    ((path, before),) = made
    assert path == "/m/0"
    assert desk.calls[before:] == ["create_container"]


# --- runAsNonRoot ---------------------------------------------------------------------------------------

WHERE = '(pod: "web_default(u1)", container: main)'
NON_NUMERIC = (
    f"container has runAsNonRoot and image has non-numeric user ({{}}), cannot verify user is non-root {WHERE}"
)


@pytest.mark.parametrize(
    ("user", "image_user", "message"),
    [
        ("0", "", f"container's runAsUser breaks non-root policy {WHERE}"),
        ("0:0", "1000", f"container's runAsUser breaks non-root policy {WHERE}"),
        ("", "", f"container has runAsNonRoot and image will run as root {WHERE}"),
        ("", "0", f"container has runAsNonRoot and image will run as root {WHERE}"),
        ("", "0:5", f"container has runAsNonRoot and image will run as root {WHERE}"),
        *(
            (
                "",
                name,
                NON_NUMERIC.format(name.partition(":")[0]),
            )
            for name in ("www", "root", "www:www", "-1", "1e3")
        ),
    ],
)
def test_run_as_non_root_refuses(user: str, image_user: str, message: str) -> None:
    """What would run as root, or cannot be told, is not created, in the kubelet's words."""
    desk = Desk(user=image_user)
    spec = NAMES.container("busybox:1", run_as_non_root=True, security=SecuritySpec(user=user))
    desk.run([MAKE_SANDBOX])
    (error,) = desk.run([create(spec)])
    assert isinstance(error, StartFault)
    assert (error.reason, str(error)) == ("CreateContainerConfigError", message)
    assert "create_container" not in desk.calls


def test_run_as_non_root_refuses_ids_that_are_none() -> None:
    """A number too large for a user id is refused, naming the range."""
    desk = Desk(user="2147483648")
    desk.run([MAKE_SANDBOX])
    (error,) = desk.run([create(NAMES.container("busybox:1", run_as_non_root=True))])
    assert isinstance(error, StartFault)
    assert error.reason == "CreateContainerConfigError"
    assert "image has an invalid user id (2147483648). (Must be 1-(2147483647))" in str(error)


@pytest.mark.parametrize(
    ("user", "image_user"),
    [("1000", ""), ("1000:0", "root"), ("1", "0"), ("", "1000"), ("", "1000:0"), ("", "2147483647")],
)
def test_run_as_non_root_accepts(user: str, image_user: str) -> None:
    """Another user than root, the manifest's or else the image's, is fine."""
    desk = Desk(user=image_user)
    spec = NAMES.container("busybox:1", run_as_non_root=True, security=SecuritySpec(user=user))
    assert desk.run([MAKE_SANDBOX], [create(spec)]) == [None, None]


def test_without_run_as_non_root_any_user_is_fine() -> None:
    """Root is root when nobody minds."""
    desk = Desk(user="root")
    assert desk.run([MAKE_SANDBOX], [create(NAMES.container("busybox:1"))]) == [None, None]


# --- a whole plan -----------------------------------------------------------------------------------------


def test_a_plan_is_executed_pod_by_pod_until_nothing_is_left() -> None:
    """Planning and executing in turn brings pods up, and what fails in one pod stops no other."""
    runtime = FakeRuntime(programs={"broken": fails_to_start("no such program"), "once": exits(0)})
    pods = [pod("bad", container("broken")), pod("good", init_containers=(container("once"),))]
    Reconciler().sync(pods[1:], runtime.observe()).execute(runtime)
    with pytest.raises(ExceptionGroup) as raised:
        Reconciler().sync(pods, runtime.observe()).execute(runtime)

    assert [str(error) for error in raised.value.exceptions] == ["no such program"]
    while any(p.stages for p in Reconciler().sync(pods[1:], runtime.observe()).pods.values()):
        Reconciler().sync(pods[1:], runtime.observe()).execute(runtime)
    running = [c.container_name for s in runtime.observe().sandboxes for c in s.containers if c.state == "running"]
    assert running == ["main"]


@pytest.mark.parametrize(
    ("policy", "present", "pulls"),
    [("Always", True, 1), ("Always", False, 1), ("IfNotPresent", True, 0), ("IfNotPresent", False, 1)],
)
def test_a_plan_executed_by_itself_pulls_as_the_policy_says(policy: str, present: bool, pulls: int) -> None:
    """The short way needs no memory: what a container's policy asks for is pulled as it is created."""
    images = ["far:1"] if present else []
    engine = FakeEngine(images=ImageStore(images, {"far:1": Pullable()}))
    calls: list[str] = []

    def note(verb: str, call: Callable[[], T]) -> T:
        calls.append(verb)
        return call()

    runtime = FaultyRuntime(FakeRuntime(engine=engine), note)
    pods = [pod("web", container(image="far:1", image_pull_policy=policy), container("two", image="far:1"))]
    for _ in range(3):
        Reconciler().sync(pods, runtime.observe()).execute(runtime)

    assert not Reconciler().sync(pods, runtime.observe())
    assert calls.count("pull_image") == pulls
    assert [c.state for s in runtime.observe().sandboxes for c in s.containers] == ["running", "running"]


def test_a_virtual_engine_gets_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Executing on the fake leaves nothing on the disk; with a root the pod's folder is below it."""
    monkeypatch.setenv("PODSYNC_ROOT", str(tmp_path / "default"))
    runtime = FakeRuntime()
    Reconciler().sync([pod("web")], runtime.observe()).execute(runtime)
    assert list(tmp_path.iterdir()) == []
    made = Reconciler().sync([pod("web"), pod("two")], runtime.observe())
    made.execute(runtime, root=str(tmp_path / "given"))
    (folder,) = (tmp_path / "given" / "pods").iterdir()
    assert (folder / "owner").read_text() == "default/two\n"


def test_an_image_that_must_not_be_pulled_is_not() -> None:
    """With the policy Never an absent image is a fault, and nothing is asked of the registry."""
    engine = FakeEngine(images=ImageStore([], {"far:1": Pullable()}))
    runtime = FakeRuntime(engine=engine)
    pods = [pod("web", container(image="far:1", image_pull_policy="Never"))]
    with pytest.raises(ExceptionGroup) as raised:
        Reconciler().sync(pods, runtime.observe()).execute(runtime)
    assert [type(error) for error in raised.value.exceptions] == [ImageAbsent]
    assert runtime.image("far:1") is None


def test_faults_of_several_pods_are_one_group() -> None:
    """What failed in each pod is raised together, at the end."""
    runtime = FakeRuntime(images=[], registry={})
    steps = {
        PodKey("default", name): PodPlan(PodKey("default", name), pulls=(plan.PullImage(f"{name}:1", NEW),))
        for name in ("a", "b")
    }
    with pytest.raises(ExceptionGroup) as raised:
        execute(Plan(steps), runtime)
    assert [type(error) for error in raised.value.exceptions] == [ImageFault, ImageFault]
    assert isinstance(raised.value.exceptions[0], RuntimeFault)
