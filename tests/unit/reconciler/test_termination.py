"""How pods end: deleted, replaced by an edit, put back, over their deadline."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from podsync import labels
from podsync.models import PodKey
from podsync.plan import SignalContainer
from podsync.runtimes.base import ContainerState
from tests.unit.reconciler.world import KEY, World, a_pod, running

TERM = [["~ signal container a#0 SIGTERM (pod deleted)", "~ signal container b#0 SIGTERM (pod deleted)"]]
REMOVE = [
    ["- remove sandbox POD#0 and 2 containers (pod deleted)"],
    ["- unmount volumes of uid1 (pod deleted)"],
]


def deleted(grace: int = 30, *, stubborn: bool = False) -> World:
    """A pod that ran and that no source names any more."""
    world = running(a_pod("a", "b", grace=grace))
    world.pods.clear()
    world.stubborn = stubborn
    return world


class TestDeleted:
    """No source names the pod."""

    def test_all_containers_are_told_at_once(self) -> None:
        """TERM to each, init or not, and the grace period as the next time to plan."""
        world = deleted(grace=12)
        assert (world.stages(), world.wakes_in()) == (TERM, 12.0)
        assert world.pod_plan().terminating

    def test_removal_follows_their_end(self) -> None:
        """Sandbox with all containers, then the volumes; then nothing is left."""
        world = deleted()
        world.step()
        assert world.stages() == REMOVE
        world.settle()
        assert (world.sandboxes, world.folders) == ([], {})

    def test_nothing_is_removed_while_one_lives(self) -> None:
        """One container's end does not hurry the other."""
        world = deleted(stubborn=True)
        world.step()
        world.exit("a", 0)
        assert (world.stages(), world.wakes_in()) == ([], 30.0)
        assert world.pod_plan().terminating

    @pytest.mark.parametrize(("grace", "seconds"), [(0, 2), (1, 2), (2, 2), (3, 3), (30, 30)])
    def test_kill_after_the_grace_period(self, grace: int, seconds: int) -> None:
        """KILL to what is left after the pod's grace period, at least two seconds."""
        world = deleted(grace, stubborn=True)
        world.step()
        world.exit("a", 0)
        assert world.pass_time(seconds - 0.5).stages() == []
        assert world.pass_time(0.5).stages() == [["~ signal container b#0 SIGKILL (grace period expired)"]]
        world.step()
        assert world.stages() == REMOVE

    def test_process_that_outlives_kill_is_not_hammered(self) -> None:
        """KILL is repeated only every few seconds."""
        world = deleted(2, stubborn=True)
        world.step()
        world.pass_time(2)
        sent = {record.id: world.now for record in world.records()}
        world.remember(kill_sent=sent)
        assert (world.stages(), world.wakes_in()) == ([], 5.0)
        assert len(world.pass_time(5).stages()[0]) == 2

    def test_agent_that_forgot_sends_term_again(self) -> None:
        """Without memory the grace period starts over: never shorter."""
        world = deleted(stubborn=True)
        world.step()
        world.pass_time(29).memory.clear()
        assert (world.stages(), world.wakes_in()) == (TERM, 30.0)

    def test_lost_label_means_the_default_grace(self) -> None:
        """A container that does not tell its grace period has 30 s."""
        world = deleted(5)
        world.set_container("a", labels={}).exit("b")
        assert world.wakes_in() == 30.0

    def test_unknown_state_is_killed_and_then_removed(self) -> None:
        """What the engine knows nothing of does not hold the removal up for ever."""
        world = deleted()
        world.exit("a").set_container("b", state=ContainerState.UNKNOWN)
        assert world.stages() == [["~ signal container b#0 SIGKILL (pod deleted)"]]
        world.step()
        assert world.stages() == REMOVE

    def test_never_started_pod_goes_at_once(self) -> None:
        """Without a process there is nothing to wait for."""
        world = World(a_pod("a", "b"))
        for action in list(world.plan())[:5]:
            world.perform(action)
        world.pods.clear()
        assert world.stages() == REMOVE

    def test_lost_sandbox_goes_by_its_name(self) -> None:
        """Containers whose sandbox was removed behind our back are removed with it."""
        world = deleted().exit("a").exit("b").set_sandbox(id="", ready=False)
        (action, _) = tuple(world.plan())
        assert getattr(action, "sandbox", "") == "k8s_POD_p_default_uid1_0"

    def test_finished_pod_goes_at_once(self) -> None:
        """A pod that is over has nothing to be told."""
        world = running(a_pod("a", "b", policy="Never")).exit("a").exit("b").settle()
        world.pods.clear()
        assert world.stages() == REMOVE

    def test_folder_alone_is_removed(self) -> None:
        """A folder whose pod is gone from the engine goes as well."""
        world = World()
        world.folders[PodKey("", "lost")] = {"lost"}
        assert world.stages(PodKey("", "lost")) == [["- unmount volumes of lost (pod deleted)"]]

    def test_failed_unmount_is_seen_as_a_folder(self) -> None:
        """What could not be unmounted is tried again although the engine has nothing left."""
        world = deleted()
        world.step()
        world.perform(next(iter(world.plan())))
        assert world.stages() == [["- unmount volumes of uid1 (pod deleted)"]]

    def test_not_before_every_source_has_spoken(self) -> None:
        """Until then what no source names is left alone."""
        world = deleted()
        world.complete = False
        assert not world.plan().pods

    def test_not_while_it_is_undecided(self) -> None:
        """A key whose manifest cannot be used is left as it is."""
        world = deleted()
        world.undecided = frozenset({KEY})
        assert not world.plan().pods

    def test_nothing_there_needs_nothing(self) -> None:
        """A key of which nothing is left is not in the plan."""
        world = World()
        world.remember()
        assert not world.plan().pods


class TestReplaced:
    """An edited manifest has another uid."""

    def world(self) -> World:
        """The old pod runs, the new one is wanted."""
        world = running(a_pod("a", grace=10))
        world.pods[KEY] = a_pod("a", uid="uid2")
        return world

    def test_old_ends_before_new_begins(self) -> None:
        """They never run side by side: the grace period is the old pod's."""
        world = self.world()
        world.stubborn = True
        assert world.stages() == [["~ signal container a#0 SIGTERM (pod replaced by an edited manifest)"]]
        assert world.wakes_in() == 10.0
        world.step()
        assert (world.stages(), world.pod_plan().terminating) == ([], True)

    def test_old_is_removed_then_new_starts(self) -> None:
        """Removal is one batch, the new pod the next."""
        world = self.world()
        world.step()
        assert world.stages() == [
            ["- remove sandbox POD#0 and 1 containers (pod replaced by an edited manifest)"],
            ["- unmount volumes of uid1 (pod replaced by an edited manifest)"],
        ]
        world.step()
        assert world.stages()[1] == ["+ create sandbox POD#0 (new pod)"]
        assert {s.uid for s in world.settle().sandboxes} == {"uid2"}

    def test_also_before_every_source_has_spoken(self) -> None:
        """A source names the pod: that is enough."""
        world = self.world()
        world.complete = False
        assert world.stages() == [["~ signal container a#0 SIGTERM (pod replaced by an edited manifest)"]]

    def test_folder_of_a_former_uid_goes_last(self) -> None:
        """A left-over folder does not delay the new pod."""
        world = World(a_pod("a"))
        world.folders[KEY] = {"uid0"}
        assert world.stages()[-1] == ["- unmount volumes of uid0 (pod replaced by an edited manifest)"]
        assert len(world.stages()) == 5

    def test_edit_back_while_the_old_pod_ends(self) -> None:
        """The uid that was being ended is wanted again: it ends, and then starts afresh."""
        world = self.world()
        world.stubborn = True
        world.step()
        world.pods[KEY] = a_pod("a", grace=10)
        assert (world.stages(), world.wakes_in()) == ([], 10.0)
        world.exit("a", 0)
        assert world.stages()[0] == ["- remove sandbox POD#0 and 1 containers (pod deleted)"]
        world.step()
        assert world.stages()[1] == ["+ create sandbox POD#0 (new pod)"]


class TestPutBack:
    """The same pod is taken away and put back while it ends."""

    @pytest.mark.parametrize("policy", ["Always", "OnFailure", "Never"])
    def test_removal_goes_on_and_the_pod_starts_afresh(self, policy: str) -> None:
        """As on a kubelet: also a Never pod runs again then."""
        world = running(a_pod("a", "b", policy=policy))
        pods = dict(world.pods)
        world.pods.clear()
        world.step()
        world.pods = pods
        assert world.stages() == REMOVE
        world.settle()
        assert [(r.name, r.state) for r in world.records()] == [
            ("k8s_a_p_default_uid1_0", ContainerState.RUNNING),
            ("k8s_b_p_default_uid1_0", ContainerState.RUNNING),
        ]

    def test_forgotten_by_the_agent(self) -> None:
        """An agent that has forgotten keeps what still runs."""
        world = running(a_pod("a"))
        world.stubborn = True
        pods = dict(world.pods)
        world.pods.clear()
        world.step()
        world.pods = pods
        world.memory.clear()
        assert not world.plan().pods

    def test_signals_of_former_instances_mean_nothing(self) -> None:
        """A signal that an older instance had is no removal."""
        world = running(a_pod("a")).exit("a", 1).settle()
        world.remember(term_sent={world.records("a")[0].id: world.now})
        assert not world.plan().pods

    def test_signals_to_strangers_mean_nothing(self) -> None:
        """Nor is one that a container got which is not in the manifest any more."""
        world = running(a_pod("a", "b"))
        world.pods[KEY] = a_pod("b")
        world.stubborn = True
        world.step()
        assert (world.stages(), world.pod_plan().terminating) == ([], False)


class TestDeadline:
    """activeDeadlineSeconds."""

    def world(self, policy: str = "Always") -> World:
        """A pod that runs and may do so for a minute."""
        return running(a_pod("a", "b", policy=policy, grace=7, active_deadline_seconds=60))

    def test_wakes_for_it(self) -> None:
        """The pod asks to be planned when its time is over, and nothing else."""
        world = self.world().pass_time(20)
        assert (world.stages(), world.pod_plan().verdict, world.wakes_in()) == ([], None, 40.0)

    def test_over(self) -> None:
        """Failed with the kubelet's words, containers ended with full grace."""
        world = self.world().pass_time(60)
        assert world.stages() == [
            [
                "~ signal container a#0 SIGTERM (active deadline exceeded)",
                "~ signal container b#0 SIGTERM (active deadline exceeded)",
            ]
        ]
        verdict = world.pod_plan().verdict
        assert verdict is not None
        assert (verdict.phase, verdict.reason, verdict.message) == (
            "Failed",
            "DeadlineExceeded",
            "Pod was active on the node longer than the specified deadline",
        )
        assert (world.wakes_in(), world.pod_plan().terminating) == (7.0, True)

    @pytest.mark.parametrize("policy", ["Always", "OnFailure", "Never"])
    def test_stays_failed(self, policy: str) -> None:
        """Its records stay, its sandbox stops, nothing runs again, also after the agent has forgotten all."""
        world = self.world(policy).pass_time(60)
        world.step()
        world.set_container("a", exit_code=0)
        assert world.stages() == [["~ stop sandbox POD#0 (active deadline exceeded)"]]
        world.settle().pass_time(1000).memory.clear()
        plan = world.pod_plan()
        assert (plan.stages, plan.wake_at, plan.terminating) == ((), None, False)
        assert plan.verdict is not None
        assert len(world.records()) == 2

    def test_pod_that_finished_in_time_keeps_its_result(self) -> None:
        """A pod that was over before its deadline is not failed by it."""
        world = self.world("Never").pass_time(59).exit("a").exit("b").settle().pass_time(1000)
        assert not world.plan().pods

    def test_counts_from_the_first_sandbox(self) -> None:
        """A new sandbox does not give more time."""
        world = self.world().pass_time(30).reboot().settle()
        assert world.wakes_in() == 30.0

    def test_start_time_survives_a_lost_sandbox(self) -> None:
        """The containers carry it as well."""
        world = self.world().pass_time(30).set_sandbox(id="", labels={}, ready=False)
        assert world.wakes_in() is not None
        assert world.pass_time(30).pod_plan().verdict is not None

    def test_crash_loop_does_not_outlast_it(self) -> None:
        """A pod waiting for a restart is failed as well, and planned again for it."""
        world = self.world().exit("b", 1).settle().pass_time(55).exit("b", 1)
        assert world.wakes_in() == 5.0
        assert world.pass_time(5).pod_plan().verdict is not None

    def test_not_before_it_has_started(self) -> None:
        """A pod without a sandbox has no start time yet."""
        world = World(a_pod("a", active_deadline_seconds=1)).pass_time(100)
        assert world.pod_plan().verdict is None
        assert len(world.stages()) == 4


def test_signals_name_the_container() -> None:
    """A signal says which container it is for, by id and by name."""
    world = deleted()
    (first, _) = tuple(world.plan())
    assert isinstance(first, SignalContainer)
    assert (first.container, first.container_name) == (world.newest("a").id, "a")


def test_grace_is_the_running_containers_own() -> None:
    """An edit of the grace period does not change that of what runs already."""
    world = running(a_pod("a", grace=20))
    world.pods[KEY] = a_pod("a", uid="uid2", grace=1)
    assert world.wakes_in() == 20.0
    record = world.newest("a")
    world.sandboxes = [replace(world.sandboxes[0], containers=(replace(record, labels={labels.GRACE: "3"}),))]
    assert world.pod_plan().wake_at == world.now + timedelta(seconds=3)
