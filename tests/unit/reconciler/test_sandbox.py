"""When a pod gets a new sandbox, and what happens to what was in the old one."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from podsync import labels
from podsync.plan import CreateContainer, CreateSandbox, MountVolumes
from podsync.runtimes.base import ContainerId, ContainerState, SandboxId
from tests.unit.reconciler.world import START, World, a_pod, running

NEW_SANDBOX = [
    ["+ mount volumes of uid1 (sandbox died)"],
    ["+ create sandbox POD#1 (sandbox died)"],
    [
        "+ create container a#1 (sandbox died)",
        "+ create container b#1 (sandbox died)",
        "+ start sandbox POD#1 (sandbox died)",
    ],
    ["+ start container a#1 (sandbox died)", "+ start container b#1 (sandbox died)"],
]


def test_containers_of_a_dead_sandbox_are_ended_first() -> None:
    """They have lost their network: TERM, and the new sandbox only when they are gone."""
    world = running(a_pod("a", "b")).sandbox_dies()
    assert world.stages() == [
        ["~ signal container a#0 SIGTERM (sandbox died)", "~ signal container b#0 SIGTERM (sandbox died)"]
    ]
    world.step()
    assert world.stages() == NEW_SANDBOX


def test_grace_period_holds_for_a_dead_sandbox() -> None:
    """A container that outlives TERM gets its grace period, then KILL."""
    world = running(a_pod("a", grace=7)).sandbox_dies()
    world.stubborn = True
    world.step()
    assert (world.stages(), world.wakes_in()) == ([], 7.0)
    assert world.pass_time(7).stages() == [["~ signal container a#0 SIGKILL (grace period expired)"]]


def test_reboot_brings_an_always_pod_back() -> None:
    """After a reboot everything is down: a new sandbox and all containers, counts carried over."""
    world = running(a_pod("a", "b")).exit("a", 1).settle().pass_time(601).reboot()
    assert world.stages()[2] == [
        "+ create container a#2 (sandbox died)",
        "+ create container b#1 (sandbox died)",
        "+ start sandbox POD#1 (sandbox died)",
    ]


def test_old_sandbox_goes_when_its_successors_run() -> None:
    """Restart counts are read from the old sandbox, so it stays until all it holds has started anew."""
    world = running(a_pod("a", "b")).reboot()
    world.step()
    assert [s.attempt for s in world.sandboxes] == [0, 1]
    assert world.stages() == [["- remove sandbox POD#0 and 2 containers (superseded by a newer instance)"]]
    assert [s.attempt for s in world.settle().sandboxes] == [1]
    assert not world.plan().pods


def test_old_sandbox_stays_while_a_successor_has_not_started() -> None:
    """A successor that was only made tells nothing yet."""
    world = running(a_pod("a", "b")).reboot()
    world.step()
    world.set_container("a", state=ContainerState.CREATED, started_at=None).fails("a", "Conflict", "busy")
    assert (world.stages(), world.waits()) == ([], {"a": ("Conflict", "busy")})


def test_old_sandbox_stays_for_a_container_that_will_not_run_again() -> None:
    """Under OnFailure what ended well is not run again, and its record in the old sandbox is its status."""
    world = running(a_pod("a", "b", policy="OnFailure")).exit("a", 0).reboot()
    assert world.stages()[2] == ["+ create container b#1 (sandbox died)", "+ start sandbox POD#1 (sandbox died)"]
    world.settle()
    assert [s.attempt for s in world.sandboxes] == [0, 1]
    assert [(r.container_name, r.attempt) for r in world.records()] == [("a", 0), ("b", 0), ("b", 1)]
    assert not world.pass_time(3600).plan().pods


def test_running_container_ended_for_its_sandbox_runs_again_under_on_failure() -> None:
    """A container that ends well because it was told to still gets its successor."""
    world = running(a_pod("a", "b", policy="OnFailure")).sandbox_dies()
    world.step()
    world.set_container("a", exit_code=0).set_container("b", exit_code=0)
    assert world.stages() == NEW_SANDBOX


@pytest.mark.parametrize("code", [0, 137])
def test_never_pod_does_not_come_back(code: int) -> None:
    """What has run once is not run twice: the pod is over when its sandbox is."""
    world = running(a_pod("a", "b", policy="Never")).exit("a", 0).reboot().set_container("b", exit_code=code)
    assert not world.plan().pods


def test_never_pod_with_a_missing_container_does_not_come_back() -> None:
    """Nor is a container that had not been made yet, once another one has run."""
    world = running(a_pod("a", "b", policy="Never")).drop_container("b").reboot()
    assert not world.plan().pods


def test_never_pod_whose_containers_never_started_does() -> None:
    """When nothing has run yet, nothing would run twice."""
    world = World(a_pod("a", "b", policy="Never"))
    for action in list(world.plan())[:5]:
        world.perform(action)
    world.reboot()
    assert world.stages() == NEW_SANDBOX


def test_never_pod_first_loses_its_containers() -> None:
    """Containers of a Never pod that live on in a dead sandbox are ended, and that is that."""
    world = running(a_pod("a", policy="Never")).sandbox_dies()
    assert world.stages() == [["~ signal container a#0 SIGTERM (sandbox died)"]]
    assert world.settle().stages() == []
    assert len(world.sandboxes) == 1


def test_on_failure_pod_that_is_done_does_not_come_back() -> None:
    """All have ended well before the reboot: no new sandbox."""
    world = running(a_pod("a", "b", policy="OnFailure")).exit("a").exit("b").reboot()
    assert not world.plan().pods


def test_crash_loop_goes_on_in_the_new_sandbox() -> None:
    """The back-off of a crashing container is not forgotten with its sandbox."""
    world = running(a_pod("a", "b")).exit("a", 1).settle().pass_time(1).reboot()
    assert world.stages()[2] == ["+ create container b#1 (sandbox died)", "+ start sandbox POD#1 (sandbox died)"]
    assert world.waits()["a"][0] == "CrashLoopBackOff"


def test_containers_created_for_a_dead_sandbox_are_made_anew() -> None:
    """A created container belongs to its sandbox; its back-off counts as waited for."""
    world = running(a_pod("a", "b")).exit("a", 1)
    for action in list(world.plan())[:1]:
        world.perform(action)
    world.reboot()
    plan = world.plan()
    assert "+ create container a#2 (sandbox died)" in str(plan)
    spec = next(a.spec for a in plan if getattr(a, "container_name", "") == "a" and hasattr(a, "spec"))
    assert spec.labels[labels.BACKOFF] == "0"


def test_two_running_sandboxes_are_one_too_many() -> None:
    """All containers end, both sandboxes stop, and a third one takes over."""
    world = running(a_pod("a"))
    second = replace(world.sandboxes[0], id=SandboxId("two"), name="k8s_POD_p_default_uid1_1", attempt=1, containers=())
    world.sandboxes.append(second)
    assert world.stages() == [["~ signal container a#0 SIGTERM (sandbox died)"]]
    world.step()
    assert world.stages() == [["~ stop sandbox POD#0 (sandbox died)", "~ stop sandbox POD#1 (sandbox died)"]]
    world.step()
    assert world.stages()[1] == ["+ create sandbox POD#2 (sandbox died)"]


def test_live_container_of_an_older_sandbox_is_ended() -> None:
    """Whatever lives beside the current sandbox ends before anything else is done."""
    world = running(a_pod("a")).reboot().settle()
    old = replace(world.sandboxes[0], id=SandboxId("old"), name="k8s_POD_p_default_uid1_0", attempt=0, ready=False)
    stray = replace(world.newest("a"), id=ContainerId("stray"), name="k8s_a_p_default_uid1_0", attempt=0)
    world.sandboxes.insert(0, replace(old, containers=(stray,)))
    assert world.stages() == [["~ signal container a#0 SIGTERM (sandbox died)"]]


def test_lost_sandbox_is_replaced() -> None:
    """A container whose sandbox was removed behind our back is enough to go on from."""
    world = running(a_pod("a")).set_sandbox(id=SandboxId(""), ready=False, labels={}, created_at=None, ips=())
    world.step()
    assert world.stages()[1] == ["+ create sandbox POD#1 (sandbox died)"]


def test_sandbox_without_an_address_is_kept() -> None:
    """An engine that gives no address (rootless networks) is not asked for another sandbox."""
    world = running(a_pod("a")).set_sandbox(ips=())
    assert not world.plan().pods


def test_sandbox_that_keeps_dying_is_made_ever_more_slowly() -> None:
    """The first successor comes at once, then 2 s doubling to 60 s after the making of the last."""
    world, waits = running(a_pod("a")), []
    for _ in range(8):
        world.reboot()
        waits.append(world.wakes_in() or 0.0)
        world.pass_time(waits[-1]).step()
    # what waits is the pod: it holds back the containers' own crash loop meanwhile
    assert waits == [0, 2, 4, 8, 16, 32, 60, 60]


def test_sandbox_that_lived_long_is_replaced_at_once() -> None:
    """Ten minutes of life start the sequence over."""
    world = running(a_pod("a")).reboot().settle().pass_time(601).reboot()
    assert world.stages()[1] == ["+ create sandbox POD#2 (sandbox died)"]
    spec = next(action.spec for action in world.plan() if isinstance(action, CreateSandbox))
    assert spec.labels[labels.BACKOFF] == "0"


def test_start_time_is_carried_over() -> None:
    """The pod's start time is that of its first sandbox."""
    world = running(a_pod("a")).pass_time(3600).reboot().settle()
    assert world.sandboxes[-1].labels[labels.START_TIME] == START.isoformat()
    assert world.sandboxes[-1].created_at == START + timedelta(hours=1)


def test_failed_replacement_waits_without_touching_the_old() -> None:
    """A replacement that cannot be made is tried again later; what ended stays to be seen."""
    world = running(a_pod("a")).reboot().fails("/sandbox", "CreatePodSandboxError", "no")
    assert (world.stages(), world.waits(), world.wakes_in()) == ([], {}, 2.0)
    assert world.newest("a").state is ContainerState.EXITED


def never_started(world: World, *, containers: bool = True) -> World:
    """The pod's next sandbox is made, with its containers or without, and its start fails."""
    makes = (MountVolumes, CreateSandbox, CreateContainer) if containers else (MountVolumes, CreateSandbox)
    for action in list(world.plan()):
        if isinstance(action, makes):
            world.perform(action)
    return world.pass_time(1).fails("/sandbox", "CreatePodSandboxError", "task 1: already exists")


def test_sandbox_whose_start_failed_is_replaced() -> None:
    """An engine may refuse the same one for ever: after the back-off it goes, and the next one takes its place."""
    world = never_started(World(a_pod("a", "b")))
    assert (world.stages(), world.wakes_in()) == ([], 2.0)
    assert world.pass_time(2).stages() == [
        [
            "+ mount volumes of uid1 (created but not started)",
            "- remove sandbox POD#0 and 2 containers (created but not started)",
        ],
        ["+ create sandbox POD#1 (created but not started)"],
        [
            "+ create container a#0 (sandbox died)",
            "+ create container b#0 (sandbox died)",
            "+ start sandbox POD#1 (created but not started)",
        ],
        ["+ start container a#0 (sandbox died)", "+ start container b#0 (sandbox died)"],
    ]
    world.settle()
    assert [(s.attempt, s.ready) for s in world.sandboxes] == [(1, True)]
    assert world.sandboxes[-1].labels[labels.START_TIME] == START.isoformat()


def test_init_container_keeps_its_number_when_the_sandbox_never_started() -> None:
    """What never ran is not counted, for init containers likewise."""
    world = never_started(World(a_pod("a", init=["i"]))).pass_time(2).settle()
    assert [(r.container_name, r.attempt) for r in world.records()] == [("i", 0)]


def test_counts_go_on_behind_a_replacement_that_never_started() -> None:
    """Restart counts follow from what ran: a sandbox more or less does not change them."""
    world = never_started(running(a_pod("a")).reboot())
    assert [r.attempt for r in world.records("a")] == [0, 1]
    world.pass_time(2).settle()
    assert [(s.attempt, s.ready) for s in world.sandboxes] == [(2, True)]
    assert world.newest("a").attempt == 1


def test_back_off_grows_with_every_replacement_that_does_not_start() -> None:
    """The new sandbox waits for as long as the old one would have."""
    world = never_started(World(a_pod("a")), containers=False)
    waits = []
    for count in range(1, 8):
        world.fails("/sandbox", "CreatePodSandboxError", count=count)
        waits.append(world.wakes_in() or 0.0)
        world.pass_time(waits[-1])
        for action in list(world.plan())[:3]:
            world.perform(action)
        assert [s.attempt for s in world.sandboxes] == [count]
    assert waits == [2, 4, 8, 16, 32, 60, 60]


def test_failure_from_before_the_sandbox_was_made_is_not_its_own() -> None:
    """A sandbox that could at last be made is started, not replaced."""
    world = World(a_pod("a")).fails("/sandbox", "CreatePodSandboxError").pass_time(2)
    for action in list(world.plan())[:2]:
        world.perform(action)
    assert "+ start sandbox POD#0 (created but not started)" in str(world.plan())
    assert len(world.sandboxes) == 1


def test_sandbox_that_could_not_be_made_is_tried_with_the_same_number() -> None:
    """Nothing was made, so nothing is counted."""
    world = World(a_pod("a")).fails("/sandbox", "CreatePodSandboxError").pass_time(2)
    assert world.stages()[1] == ["+ create sandbox POD#0 (new pod)"]


@pytest.mark.parametrize("subject", ["/sandbox", "/volumes"])
def test_containers_that_were_made_wait_for_what_holds_the_pod(subject: str) -> None:
    """The failure is told of containers that never ran, made or not."""
    world = never_started(World(a_pod("a", "b"))).drop_container("b").remember(failures={})
    world.folders.clear()
    world.fails(subject, "Failed", "no way")
    assert world.waits() == dict.fromkeys("ab", ("ContainerCreating", "no way"))


@pytest.mark.parametrize("text", ["2020-01-01T00:00:00", "0001-01-01T00:00:00", "9999-12-31T23:59:59-23:00", "never"])
@pytest.mark.parametrize("number", ["-1", "nan", "9" * 30, "9" * 5000])
def test_labels_written_by_others_do_no_harm(text: str, number: str) -> None:
    """Whatever the labels say, a dead sandbox with a running container is planned to its end."""
    world = running(a_pod("a", active_deadline_seconds=2**31 - 1)).reboot().settle()
    strange = {labels.START_TIME: text, labels.BACKOFF: number, labels.GRACE: number}
    world.set_container("a", labels={**world.newest("a").labels, **strange})
    world.set_sandbox(labels={**world.sandboxes[-1].labels, **strange}).sandbox_dies()
    world.stubborn = True
    world.step()
    assert world.wakes_in() == 30.0
    assert world.pass_time(30).settle().newest("a").state is ContainerState.RUNNING
