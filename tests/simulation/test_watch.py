"""The invariants notice what is forbidden: each rule is broken once, by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from podsync import identity
from podsync.clock import ManualClock
from podsync.models import Pod
from podsync.runtimes.fake import FakeEngine, FakeRuntime
from podsync.testing.builders import PodNames
from podsync.testing.invariants import Watch
from tests.simulation.scenes import PROGRAMS, make


class Scene:
    """A pod on an engine, and a watch over it."""

    def __init__(self, kind: str) -> None:
        self.clock = ManualClock()
        self.engine = FakeEngine(self.clock)
        self.runtime = FakeRuntime(node="n", engine=self.engine, programs=PROGRAMS)
        self.pod: Pod = identity.adopt(make("p0", kind, 0), "n", "s")
        self.unwanted = False
        pods = {self.pod.metadata.uid: self.pod}
        self.watch = Watch(self.engine, pod_of=pods.get, unwanted=lambda _: self.unwanted, calm=lambda: True)
        self.names = PodNames("n", name="p0", uid=self.pod.metadata.uid)
        self.seen = 0

    def sandbox(self, attempt: int = 0) -> str:
        """A running sandbox."""
        ref = self.runtime.create_sandbox(self.names.sandbox(attempt))
        self.runtime.start_sandbox(ref)
        return self.names.ref("POD", attempt)

    def run(self, name: str, attempt: int = 0, place: int = 0, names: PodNames | None = None) -> str:
        """A started container of the pod."""
        spec = next(c for c in (*self.pod.spec.init_containers, *self.pod.spec.containers) if c.name == name)
        init = spec in self.pod.spec.init_containers
        own = (names or self.names).container(spec.image, name, attempt, sandbox_attempt=place)
        labels = {**own.labels, "podsync.io/kind": "init" if init else "container", "podsync.io/grace": "5"}
        made = type(own)(name=own.name, labels=labels, image=own.image)
        self.runtime.create_container((names or self.names).ref("POD", place), made)
        self.runtime.start_container(own.name)
        return own.name

    def later(self, seconds: float) -> None:
        """Time goes by, and the watch sees what happened."""
        self.clock.advance(seconds)
        for change in self.engine.changes(self.seen):
            self.seen = change.number
            self.watch.saw(change)


def two_instances(scene: Scene) -> None:
    """Two instances of one container run."""
    scene.sandbox()
    scene.run("a", 0)
    scene.run("a", 1)


def beside_a_former_pod(scene: Scene) -> None:
    """A pod starts while the former one of its name runs."""
    scene.sandbox()
    former = identity.adopt(make("p0", "two", 1), "n", "s")
    scene.watch._pod_of = {former.metadata.uid: former, scene.pod.metadata.uid: scene.pod}.get
    names = PodNames("n", name="p0", uid=former.metadata.uid)
    scene.runtime.start_sandbox(scene.runtime.create_sandbox(names.sandbox()))
    scene.run("a", names=names)
    scene.run("a")


def two_sandboxes(scene: Scene) -> None:
    """Two sandboxes of one pod run."""
    scene.sandbox(0)
    scene.sandbox(1)


def ended_for_no_reason(scene: Scene) -> None:
    """A wanted container is told to end."""
    scene.sandbox()
    ref = scene.run("a")
    scene.later(1)
    scene.runtime.signal_container(ref, "SIGTERM")


def sandbox_ended_under_containers(scene: Scene) -> None:
    """A sandbox is ended while its containers run."""
    sandbox = scene.sandbox()
    scene.run("a")
    scene.later(1)
    scene.runtime.signal_container(sandbox, "SIGTERM")


def killed_without_grace(scene: Scene) -> None:
    """SIGKILL comes first."""
    scene.sandbox()
    ref = scene.run("a")
    scene.unwanted = True
    scene.runtime.signal_container(ref, "SIGKILL")


def removed_alive(scene: Scene) -> None:
    """A running container is removed."""
    sandbox = scene.sandbox()
    ref = scene.run("a")
    scene.later(1)
    scene.unwanted = True
    scene.runtime.remove_sandbox(sandbox, [ref])


def touches_a_stranger(scene: Scene) -> None:
    """Something is made under another name."""
    stranger = PodNames("other")
    scene.runtime.create_sandbox(stranger.sandbox())


def restarted_too_soon(scene: Scene) -> None:
    """The second restart does not wait."""
    scene.sandbox()
    for attempt in range(3):
        scene.run("a", attempt)
        scene.later(4)


def count_lost(scene: Scene) -> None:
    """A restart begins at 0 again."""
    scene.sandbox()
    ref = scene.run("a")
    scene.later(4)
    scene.runtime.remove_container(ref)
    scene.run("a")


def init_after_main(scene: Scene) -> None:
    """An init container runs again."""
    scene.sandbox()
    for name in "ij":
        scene.run(name)
        scene.later(6)
    scene.run("a")
    scene.later(1)
    scene.run("i", 1)


def main_before_init(scene: Scene) -> None:
    """A main container does not wait for the last init container."""
    scene.sandbox()
    scene.run("i")
    scene.later(6)
    scene.run("a")


def job_again(scene: Scene) -> None:
    """A container runs twice under Never."""
    scene.sandbox()
    scene.run("a")
    scene.later(6)
    scene.run("a", 1)


@pytest.mark.parametrize(
    ("kind", "deed", "words"),
    [
        ("two", two_instances, "run at once"),
        ("two", beside_a_former_pod, "of the former pod runs"),
        ("two", two_sandboxes, "run at once"),
        ("two", ended_for_no_reason, "for no reason"),
        ("two", sandbox_ended_under_containers, "under running containers"),
        ("deaf", killed_without_grace, "within its grace period"),
        ("two", removed_alive, "removed while it runs"),
        ("two", touches_a_stranger, "not ours"),
        ("crashing", restarted_too_soon, "after the last"),
        ("crashing", count_lost, "restart count is lost"),
        ("init", init_after_main, "after the pod's main containers"),
        ("init", main_before_init, "before j has ended well"),
        ("job", job_again, "under Never"),
    ],
)
def test_what_is_forbidden_is_noticed(kind: str, deed: Callable[[Scene], None], words: str) -> None:
    """The watch says so in words."""
    scene = Scene(kind)
    deed(scene)
    scene.later(0)
    assert any(words in violation for violation in scene.watch.violations), scene.watch.violations


def test_what_is_allowed_is_not() -> None:
    """A pod that runs, restarts in time and is ended as it should be."""
    scene = Scene("crashing")
    sandbox = scene.sandbox()
    refs = [scene.run("a", 0), scene.run("b", 0)]
    scene.later(4)
    refs.append(scene.run("a", 1))
    scene.later(14)
    refs.append(scene.run("a", 2))
    scene.later(1)
    scene.unwanted = True
    for ref in refs:
        scene.runtime.signal_container(ref, "SIGTERM")
    scene.runtime.remove_sandbox(sandbox, refs)
    scene.later(0)
    assert scene.watch.violations == []
