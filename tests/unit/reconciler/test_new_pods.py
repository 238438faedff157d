"""How a pod comes up."""

from __future__ import annotations

from podsync.plan import StartSandbox
from podsync.runtimes.base import ContainerState
from tests.unit.reconciler.world import World, a_pod, running


def test_new_pod_is_one_batch() -> None:
    """With everything there a pod of two containers is one batch of four stages."""
    assert World(a_pod("a", "b")).stages() == [
        ["+ mount volumes of uid1 (new pod)"],
        ["+ create sandbox POD#0 (new pod)"],
        ["+ create container a#0 (new pod)", "+ create container b#0 (new pod)", "+ start sandbox POD#0 (new pod)"],
        ["+ start container a#0 (new pod)", "+ start container b#0 (new pod)"],
    ]


def test_init_containers_come_first() -> None:
    """Only the first init container is made at first; a regular one not before the last has ended well."""
    world = World(a_pod("a", init=["i", "j"]))
    assert world.stages()[2:] == [
        ["+ create container i#0 (new pod)", "+ start sandbox POD#0 (new pod)"],
        ["+ start container i#0 (new pod)"],
    ]
    world.settle().exit("i")
    assert world.stages() == [
        ["+ create container j#0 (previous init container done)"],
        ["+ start container j#0 (previous init container done)"],
    ]
    world.settle().exit("j")
    assert world.stages() == [
        ["+ create container a#0 (previous init container done)"],
        ["+ start container a#0 (previous init container done)"],
    ]


def test_running_pod_needs_nothing() -> None:
    """A pod that runs is not in the plan at all."""
    world = running(a_pod("a", "b"))
    assert not world.plan().pods
    assert str(world.plan()) == ""


def test_agent_died_before_the_sandbox_started() -> None:
    """A sandbox that was only created is started, beside what is still missing in it."""
    world = World(a_pod("a", "b"))
    for action in list(world.plan())[:2]:
        world.perform(action)
    assert world.stages() == [
        [
            "+ create container a#0 (new pod)",
            "+ create container b#0 (new pod)",
            "+ start sandbox POD#0 (created but not started)",
        ],
        ["+ start container a#0 (new pod)", "+ start container b#0 (new pod)"],
    ]


def test_agent_died_before_the_containers_started() -> None:
    """Containers that were only created are started as they are."""
    world = World(a_pod("a", "b"))
    for action in list(world.plan())[:5]:
        world.perform(action)
    assert {record.state for record in world.records()} == {ContainerState.CREATED}
    assert world.stages() == [
        ["+ start container a#0 (created but not started)", "+ start container b#0 (created but not started)"]
    ]


def test_missing_folder_is_made_before_a_container() -> None:
    """A container is never made in a pod whose folder is gone."""
    world = running(a_pod("a", "b")).exit("a", 1)
    world.folders.clear()
    assert world.stages() == [
        ["+ mount volumes of uid1 (created but not started)"],
        ["+ create container a#1 (container exited)"],
        ["+ start container a#1 (container exited)"],
    ]


def test_volumes_that_fail_hold_the_pod_back() -> None:
    """A failed mount makes the containers wait as on a kubelet, with the mount's words, and is tried again later."""
    message = 'MountVolume.SetUp failed for volume "v" : no'
    world = World(a_pod("a", init=["i"])).fails("/volumes", "FailedMount", message, count=3)
    assert world.stages() == []
    assert world.waits() == {"i": ("PodInitializing", message), "a": ("PodInitializing", message)}
    assert world.wakes_in() == 2.0
    assert len(world.pass_time(2).stages()) == 4


def test_volumes_that_fail_hold_back_a_pod_that_lost_its_folder() -> None:
    """The same holds while the sandbox runs and its folder has gone."""
    world = running(a_pod("a")).exit("a", 1)
    world.folders.clear()
    world.fails("/volumes", "FailedMount")
    assert (world.stages(), world.wakes_in()) == ([], 0.5)


def test_sandbox_that_cannot_be_made_is_tried_again_later() -> None:
    """A failed sandbox makes the containers wait, longer each time."""
    world = World(a_pod("a", "b")).fails("/sandbox", "CreatePodSandboxError", "port is taken", count=2)
    assert world.waits() == dict.fromkeys("ab", ("ContainerCreating", "port is taken"))
    assert (world.stages(), world.wakes_in()) == ([], 4.0)
    assert len(world.pass_time(4).stages()) == 4


def test_sandbox_that_cannot_be_started_is_tried_again_later() -> None:
    """A created sandbox whose start failed waits for the same back-off as one that could not be made."""
    world = World(a_pod("a"))
    for action in list(world.plan())[:2]:
        world.perform(action)
    world.fails("/sandbox", "CreatePodSandboxError")
    assert (world.stages(), world.wakes_in()) == ([], 2.0)
    assert any(isinstance(action, StartSandbox) for action in world.pass_time(2).plan())


def test_host_name_that_cannot_be_is_told() -> None:
    """A setHostnameAsFQDN with a name over 64 characters makes no sandbox and says why."""
    pod = a_pod("a", hostname="h" * 40, subdomain="s" * 30, set_hostname_as_fqdn=True)
    world = World(pod)
    reason, message = world.waits()["a"]
    assert world.stages() == []
    assert reason == "ContainerCreating"
    assert message.startswith("failed to construct FQDN")
    assert "64 characters is the max, 83" in message
