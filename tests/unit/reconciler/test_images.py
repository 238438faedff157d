"""Images: pull policies, back-off, and the kubelet's words."""

from __future__ import annotations

import pytest

from podsync.plan import PullImage
from podsync.state import PullState
from tests.unit.reconciler.world import KEY, World, a_pod, container, running


def pulls(world: World) -> list[str]:
    """What is pulled now, in words."""
    return [str(action.cause) for action in world.pod_plan().pulls]


def world_of(policy: str = "IfNotPresent", *, absent: bool = True) -> World:
    """A pod of one container whose image is absent and another one's that is not."""
    world = World(a_pod(container("a", "far", image_pull_policy=policy), "b"))
    world.absent = {"far"} if absent else set()
    return world


@pytest.mark.parametrize(
    ("policy", "absent", "expected"),
    [
        ("IfNotPresent", False, []),
        ("IfNotPresent", True, ["image is not present"]),
        ("Always", False, ["image pull policy Always"]),
        ("Always", True, ["image is not present"]),
        ("Never", False, []),
        ("Never", True, []),
        ("", True, ["image is not present"]),
    ],
)
def test_pull_policy(policy: str, absent: bool, expected: list[str]) -> None:
    """What is pulled before the first start, and that a container without its image is not made."""
    world = world_of(policy, absent=absent)
    assert pulls(world) == expected
    made = "create container a#0" in str(world.plan())
    assert made is (not expected and not (policy == "Never" and absent))


def test_missing_image_holds_nothing_else() -> None:
    """The sandbox and the other containers do not wait for a pull."""
    world = world_of()
    assert world.stages()[2:] == [
        ["+ create container b#0 (new pod)", "+ start sandbox POD#0 (new pod)"],
        ["+ start container b#0 (new pod)"],
    ]
    assert world.waits() == {"a": ("ContainerCreating", "")}
    assert str(world.plan()).splitlines()[0] == "default/p: + pull image far (image is not present)"


def test_waiting_in_a_pod_with_init_containers() -> None:
    """The word for not yet is another one there."""
    world = World(a_pod("a", init=[container("i", "far")]))
    world.absent = {"far"}
    assert world.waits() == {"i": ("PodInitializing", "")}


def test_pull_under_way_is_not_started_again() -> None:
    """While a pull runs the container just waits."""
    world = world_of().settle().remember(pulls={"far": PullState(pulling=True)})
    world.absent = {"far"}
    world.drop_container("a")
    assert pulls(world) == []
    assert world.waits() == {"a": ("ContainerCreating", "")}


def test_one_pull_for_two_containers() -> None:
    """Containers of one image share its pull."""
    world = World(a_pod(container("a", "far"), container("b", "far")))
    world.absent = {"far"}
    assert len(world.pod_plan().pulls) == 1


def test_always_pulls_once_a_start() -> None:
    """Always pulls before each start; a pull that succeeded serves the next creation."""
    world = World(a_pod(container("a", "img", image_pull_policy="Always"))).settle()
    assert len(world.records()) == 1
    world.remember(pulls={"img": PullState()}).exit("a", 1)
    assert pulls(world) == ["image pull policy Always"]
    assert (world.stages(), world.waits()) == ([], {})  # the ended instance goes on being told
    world.step()
    assert world.stages()[0] == ["+ create container a#1 (container exited)"]


def test_never_says_so_and_looks_again() -> None:
    """ErrImageNeverPull with the kubelet's message; the pod asks to be planned again."""
    world = world_of("Never").settle()
    assert world.waits() == {
        "a": ("ErrImageNeverPull", 'Container image "far" is not present with pull policy of Never')
    }
    assert world.wakes_in() == 10.0


class TestFailedPull:
    """A pull failed."""

    def test_told_first_as_the_failure(self) -> None:
        """ErrImagePull with the engine's words, nothing tried yet."""
        world = world_of().pull_fails("far")
        assert world.waits()["a"] == ("ErrImagePull", "no route")
        assert pulls(world) == []
        assert world.wakes_in() == 2.0

    def test_then_as_back_off(self) -> None:
        """ImagePullBackOff with the kubelet's message, until the back-off is over."""
        world = world_of().pull_fails("far").pass_time(2)
        assert world.waits()["a"] == ("ImagePullBackOff", 'Back-off pulling image "far": ErrImagePull: no route')
        assert world.wakes_in() == 8.0

    def test_then_tried_again(self) -> None:
        """The next pull begins; until it has an answer the last one stands."""
        world = world_of().pull_fails("far").pass_time(10)
        assert pulls(world) == ["image is not present"]
        assert world.waits()["a"][0] == "ImagePullBackOff"
        failure = world.memory_of().pulls["far"].failure
        world.remember(pulls={"far": PullState(pulling=True, failure=failure)})
        assert pulls(world) == []
        assert world.waits()["a"][0] == "ImagePullBackOff"

    @pytest.mark.parametrize(("count", "seconds"), [(1, 10), (2, 20), (3, 40), (6, 300), (60, 300)])
    def test_back_off_doubles(self, count: int, seconds: int) -> None:
        """10 s doubling to 5 min."""
        world = world_of().pull_fails("far", count=count).pass_time(5)
        assert world.wakes_in() == seconds - 5

    def test_invalid_name_keeps_its_word(self) -> None:
        """What waiting cannot change is not called back-off."""
        world = world_of().pull_fails("far", "InvalidImageName").pass_time(5)
        assert world.waits()["a"] == ("InvalidImageName", "no route")
        assert world.wakes_in() == 5.0

    def test_failed_pull_under_always_holds_although_the_image_is_there(self) -> None:
        """Always means always: an old image is not run when the registry is away."""
        world = world_of("Always", absent=False).pull_fails("far")
        assert "create container a" not in str(world.plan())

    def test_success_ends_it(self) -> None:
        """Once the image is there the container is made."""
        world = world_of().pull_fails("far").pass_time(10)
        world.perform(next(action for action in world.plan() if isinstance(action, PullImage)))
        assert "create container a#0" in str(world.plan())


def test_crash_loop_is_waited_for_before_the_image() -> None:
    """A container in back-off pulls nothing yet."""
    world = running(a_pod("a", "b")).exit("a", 1).settle().exit("a", 1)
    world.absent = {"img"}
    assert world.waits(KEY)["a"][0] == "CrashLoopBackOff"
    assert pulls(world) == []
