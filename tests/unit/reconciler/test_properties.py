"""What holds for every plan, whatever is there: random worlds, planned and carried out step by step."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from podsync import identity
from podsync.models import Pod, PodKey
from podsync.plan import (
    Action,
    CreateContainer,
    CreateSandbox,
    PullImage,
    RemoveContainer,
    SignalContainer,
    StartContainer,
    StartSandbox,
)
from podsync.reconciler.admission import Admission
from podsync.reconciler.draft import view_of
from podsync.reconciler.pod import pod_plan
from podsync.reconciler.steady import is_steady
from podsync.runtimes.base import ContainerState
from podsync.state import ActualPod
from tests.unit.reconciler.world import World, a_pod, container, with_port

KEYS = [PodKey("default", "p"), PodKey("default", "q")]
MAKES = CreateSandbox | StartSandbox | CreateContainer | StartContainer

pods = st.builds(
    lambda name, uid, policy, init, image, port, deadline: a_pod(
        with_port("a", 80) if port else container("a", image),
        "b",
        init=["i", "j"][:init],
        name=name,
        uid=f"{name}{uid}",
        policy=policy,
        grace=5,
        active_deadline_seconds=deadline,
    ),
    st.sampled_from(["p", "q"]),
    st.integers(1, 2),
    st.sampled_from(["Always", "OnFailure", "Never"]),
    st.integers(0, 2),
    st.sampled_from(["img", "other", "far"]),
    st.booleans(),
    st.sampled_from([None, None, 60]),
)


class Planning(RuleBasedStateMachine):
    """Edits, exits, deaths and forgetting between the steps of a plan that is carried out in part or whole."""

    world: World

    @initialize()
    def begin(self) -> None:
        """Nothing is there."""
        self.world = World()
        self.world.absent = {"far"}

    @rule(pod=pods)
    def wanted(self, pod: Pod) -> None:
        """A source names a pod, new or edited."""
        self.world.pods[pod.key] = pod

    @rule(key=st.sampled_from(KEYS))
    def unwanted(self, key: PodKey) -> None:
        """No source names it any more."""
        self.world.pods.pop(key, None)

    @rule()
    def carry_out(self) -> None:
        """The whole plan succeeds."""
        self.world.step()

    @rule(data=st.data())
    def carry_out_in_part(self, data: st.DataObject) -> None:
        """The agent dies behind some action; what it alone knew is gone."""
        actions = list(self.world.plan())
        for action in actions[: data.draw(st.integers(0, len(actions)))]:
            self.world.perform(action)
        self.world.memory.clear()

    @rule(data=st.data(), code=st.sampled_from([0, 1, 137]))
    def container_ends(self, data: st.DataObject, code: int) -> None:
        """A running container ends by itself."""
        alive = [r for r in self.world.records() if r.state is ContainerState.RUNNING]
        if alive:
            self.world.exit_named(data.draw(st.sampled_from(alive)).name, code)

    @rule(data=st.data())
    def somebody_removes_a_record(self, data: st.DataObject) -> None:
        """A container that does not run is pruned behind our back."""
        ended = [r for r in self.world.records() if r.state is not ContainerState.RUNNING]
        if ended:
            self.world.replace_container(data.draw(st.sampled_from(ended)).name, None)

    @rule(data=st.data())
    def sandbox_dies(self, data: st.DataObject) -> None:
        """A pause process ends."""
        if self.world.sandboxes:
            self.world.set_sandbox(data.draw(st.integers(0, len(self.world.sandboxes) - 1)), ready=False, ips=())

    @rule()
    def reboot(self) -> None:
        """Everything stops."""
        self.world.reboot()

    @rule(seconds=st.sampled_from([1, 5, 30, 400]))
    def time_passes(self, seconds: int) -> None:
        """Nothing happens for a while."""
        self.world.pass_time(seconds)

    @rule(stubborn=st.booleans())
    def stubborn(self, stubborn: bool) -> None:
        """Whether containers heed TERM."""
        self.world.stubborn = stubborn

    @rule(complete=st.booleans())
    def sources(self, complete: bool) -> None:
        """Whether every source has spoken."""
        self.world.complete = complete

    @rule(key=st.sampled_from(KEYS), subject=st.sampled_from(["a", "b", "i", "/sandbox", "/volumes"]))
    def a_try_fails(self, key: PodKey, subject: str) -> None:
        """The engine refused something."""
        reason = "CreatePodSandboxError" if subject.startswith("/") else "RunContainerError"
        self.world.fails(subject, reason, key=key)

    @invariant()
    def planning_is_a_function(self) -> None:
        """Twice the same input gives twice the same plan."""
        assert self.world.plan() == self.world.plan()

    @invariant()
    def no_second_life(self) -> None:
        """No container is started whose name has one that runs, and none twice."""
        for key, plan in self.world.plan().pods.items():
            alive = {
                (s.uid, c.container_name)
                for s in self.world.sandboxes
                if (s.namespace, s.pod_name) == key
                for c in s.containers
                if c.state is ContainerState.RUNNING
            }
            started = [_target(action) for action in plan.actions() if isinstance(action, StartContainer)]
            assert len(started) == len(set(started))
            assert not alive.intersection(started)

    @invariant()
    def old_and_new_never_overlap(self) -> None:
        """Nothing is made for one uid while containers of another one of the same pod run."""
        for key, plan in self.world.plan().pods.items():
            made = {_target(action)[0] for action in plan.actions() if isinstance(action, MAKES)}
            alive = {
                s.uid
                for s in self.world.sandboxes
                if (s.namespace, s.pod_name) == key
                if s.ready or any(c.state is ContainerState.RUNNING for c in s.containers)
            }
            assert not made or not alive - made

    @invariant()
    def only_what_is_there_is_acted_on(self) -> None:
        """Signals go to containers that run, removals to records that do not."""
        states = {record.id: record.state for record in self.world.records()}
        for action in self.world.plan():
            if isinstance(action, SignalContainer):
                assert states[action.container] is ContainerState.RUNNING
            if isinstance(action, RemoveContainer):
                assert states[action.container] is not ContainerState.RUNNING

    @invariant()
    def plans_say_something(self) -> None:
        """A pod is in the plan only for something to do, to say or to wait for, and never wakes in the past."""
        for plan in self.world.plan().pods.values():
            assert plan.stages or plan.pulls or plan.waiting or plan.verdict or plan.wake_at or plan.terminating
            assert plan.wake_at is None or plan.wake_at > self.world.now

    @invariant()
    def the_quick_look_is_right(self) -> None:
        """What it calls steady the full planning finds nothing to do for."""
        actual = self.world.actual
        for key, pod in self.world.pods.items():
            known = actual.pods.get(key, ActualPod())
            if is_steady(pod, known):
                verdict = Admission(self.world.pods, actual.pods).verdict(key, pod)
                assert pod_plan(view_of(self.world.reconciler.settings, pod, known, actual), verdict) is None

    @invariant()
    def nothing_unwanted_before_all_have_spoken(self) -> None:
        """What no source names is left alone until then."""
        if not self.world.complete:
            assert set(self.world.plan().pods) <= set(self.world.pods)

    def teardown(self) -> None:
        """Left to itself, everything comes to what is wanted."""
        world = self.world
        world.complete = True
        for _ in range(60):
            plan = world.plan()
            if plan:
                world.step()
            elif plan.wake_at is not None and plan.wake_at < world.now + timedelta(days=1):
                world.now = plan.wake_at
            else:
                break
        plan = world.plan()
        assert not plan, f"not at rest: {plan}"
        assert {PodKey(s.namespace, s.pod_name) for s in world.sandboxes} <= set(world.pods)
        assert all(s.uid == world.pods[PodKey(s.namespace, s.pod_name)].metadata.uid for s in world.sandboxes)
        for key, pod in world.pods.items():
            assert pod.spec.restart_policy != "Always" or _has_what_it_wants(world, key, pod)


def _target(action: Action) -> tuple[str, str]:
    """Uid and container name of what an action makes or starts."""
    match action:
        case CreateSandbox(spec=spec) | CreateContainer(spec=spec):
            name = spec.name
        case StartSandbox(sandbox=name) | StartContainer(container=name):
            pass
        case _:
            raise AssertionError(action)
    parts = identity.split(name)
    assert parts is not None
    return parts[3], parts[0]


def _has_what_it_wants(world: World, key: PodKey, pod: Pod) -> bool:
    plan = world.plan().pods.get(key)
    if plan is not None and plan.verdict is not None:
        return True
    first = pod.spec.init_containers[:1]
    names = {c.name for c in first} or {c.name for c in pod.spec.containers}
    alive = {
        c.container_name
        for s in world.sandboxes
        if s.uid == pod.metadata.uid
        for c in s.containers
        if c.state is ContainerState.RUNNING
    }
    # an init container runs until the test ends it: then, or before, something of the pod runs
    return bool(alive) if first else names <= alive


TestPlanning = Planning.TestCase
TestPlanning.settings = settings(max_examples=40, stateful_step_count=20, deadline=None, derandomize=True)


def test_pulls_come_in_key_order() -> None:
    """A plan iterates pod by pod in the order of the keys, pulls before the rest."""
    world = World(a_pod(container("a", "far"), name="q", uid="q"), a_pod(container("a", "far")))
    world.absent = {"far"}
    actions = list(world.plan())
    assert [index for index, action in enumerate(actions) if isinstance(action, PullImage)] == [0, 4]
