"""The entry: what may be given to it, and that it is pure."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest

from podsync.errors import ConfigError
from podsync.models import PodKey
from podsync.reconciler import NodeSettings, Reconciler
from podsync.runtimes.base import Observation
from tests.unit.reconciler.world import KEY, START, World, a_pod, running


def test_plain_pods_get_a_uid_and_a_source() -> None:
    """A list of pods is all that is wanted; planning it twice gives the same uid."""
    pod = replace(a_pod("a", uid=""), source="")
    reconciler = Reconciler()
    plan = reconciler.sync([pod], Observation(START))
    assert plan == reconciler.sync([pod], Observation(START))
    labels = next(action.spec.labels for action in plan if hasattr(action, "spec"))
    assert len(labels["io.kubernetes.pod.uid"]) == 32
    assert labels["podsync.io/source"] == "library"


def test_plain_pods_keep_their_uid_and_source() -> None:
    """What is there already stays."""
    plan = Reconciler().sync([a_pod("a")], Observation(START))
    labels = next(action.spec.labels for action in plan if hasattr(action, "spec"))
    assert (labels["io.kubernetes.pod.uid"], labels["podsync.io/source"]) == ("uid1", "test")


def test_two_plain_pods_of_one_name_are_an_error() -> None:
    """Which one is meant cannot be known."""
    with pytest.raises(ConfigError, match="two pods are called default/p"):
        Reconciler().sync([a_pod("a"), a_pod("b")], Observation(START))


def test_plain_observation_is_read_by_pod() -> None:
    """Two sandboxes of one pod in any order, another pod's beside: each pod sees its own, oldest first."""
    world = running(a_pod("a")).reboot()
    world.step()
    running_pod = world.pods[KEY]
    observation = Observation(world.now, tuple(reversed(world.sandboxes)))
    plan = Reconciler(NodeSettings(root="/root")).sync([running_pod], observation)
    assert str(plan) == ("default/p: - remove sandbox POD#0 and 1 containers (superseded by a newer instance)")


def test_plain_list_ends_what_it_does_not_name() -> None:
    """An empty list wants nothing."""
    world = running(a_pod("a"))
    plan = Reconciler().sync([], Observation(world.now, tuple(world.sandboxes)))
    assert str(plan) == "default/p: ~ signal container a#0 SIGTERM (pod deleted)"


def test_same_name_in_two_namespaces() -> None:
    """A pod is known by namespace and name."""
    pod = a_pod("a")
    other = replace(pod, metadata=replace(pod.metadata, namespace="other", uid="uid2"))
    plan = World(pod, other).plan()
    assert sorted(plan.pods) == [PodKey("default", "p"), PodKey("other", "p")]


def test_only_limits_the_plan() -> None:
    """Keys that are not asked for are not planned, wanted or not; unknown keys do no harm."""
    gone = a_pod("a", name="gone", uid="uid2")
    world = running(gone)
    world.pods = {KEY: a_pod("a"), PodKey("default", "q"): a_pod("a", name="q", uid="uid3")}
    sync, desired, actual = world.reconciler.sync, world.desired, world.actual
    assert set(sync(desired, actual).pods) == {KEY, PodKey("default", "q"), gone.key}
    assert set(sync(desired, actual, only={KEY, PodKey("x", "y")}).pods) == {KEY}
    assert set(sync(desired, actual, only=[gone.key]).pods) == {gone.key}


def test_inputs_are_left_as_they_are() -> None:
    """Planning changes nothing it is given."""
    world = running(a_pod("a", "b", init=["i"])).exit("i").settle().exit("a", 1)
    world.fails("b", "CreateContainerError")
    desired, actual = world.desired, world.actual
    before = copy.deepcopy((desired, actual))
    world.reconciler.sync(desired, actual)
    assert (desired, actual) == before


def test_a_tentative_pod_does_not_replace_another() -> None:
    """A source that has not spoken may overrule it; alone under its name it runs at once."""
    old, new = a_pod("a"), a_pod("a", uid="uid2")
    world = running(old)
    world.pods = {KEY: new}
    unsure = replace(world.desired, complete=False, tentative=frozenset({KEY}))
    assert world.reconciler.sync(unsure, world.actual).pods == {}
    assert "SIGTERM (pod replaced" in str(world.reconciler.sync(replace(unsure, tentative=frozenset()), world.actual))
    assert "create sandbox" in str(World(new).reconciler.sync(unsure, World(new).actual))
