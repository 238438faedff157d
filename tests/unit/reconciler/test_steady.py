"""The quick look at pods that just run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from podsync.reconciler.steady import is_steady
from podsync.runtimes.base import ContainerState
from tests.unit.reconciler.world import KEY, World, a_pod, container, running


def world() -> World:
    """A pod that runs, with an init container behind it and one ended instance."""
    return running(a_pod("a", "b", init=["i"])).exit("i").settle().exit("a", 1).settle()


MUTATIONS: dict[str, tuple[Callable[[World], object], bool]] = {
    "it just runs": (lambda _: None, True),
    "folder not looked for": (lambda w: w.folders.clear(), True),
    "another uid's folder": (lambda w: w.folders.update({KEY: {"uid1", "old"}}), False),
    "only another uid's folder": (lambda w: w.folders.update({KEY: {"old"}}), False),
    "no sandbox": (lambda w: w.sandboxes.clear(), False),
    "two sandboxes": (lambda w: w.sandboxes.append(w.sandboxes[0]), False),
    "sandbox stopped": (lambda w: w.sandbox_dies(), False),
    "another uid": (lambda w: w.pods.update({KEY: a_pod("a", "b", init=["i"], uid="uid2")}), False),
    "a failure is remembered": (lambda w: w.fails("a", "RunContainerError"), False),
    "a signal is remembered": (lambda w: w.remember(term_sent={w.newest("a").id: w.now}), False),
    "a deadline": (
        lambda w: w.pods.update({KEY: a_pod("a", "b", init=["i"], active_deadline_seconds=5)}),
        False,
    ),
    "a container exited": (lambda w: w.exit("b"), False),
    "a container is missing": (lambda w: w.drop_container("b"), False),
    "one too many runs": (lambda w: w.pods.update({KEY: a_pod("a", init=["i"])}), False),
    "another one runs": (lambda w: w.pods.update({KEY: a_pod("a", "c", init=["i"])}), False),
    "another image is wanted": (
        lambda w: w.pods.update({KEY: a_pod("a", container("b", "other"), init=["i"])}),
        False,
    ),
    "no hash is known": (lambda w: w.set_container("b", labels={}), True),
    "two ended instances": (lambda w: w.exit("a", 1).pass_time(10).step(), False),
    "an init container runs": (lambda w: w.set_container("i", state=ContainerState.RUNNING), False),
    "an init container is created": (lambda w: w.set_container("i", state=ContainerState.CREATED), False),
    "a stranger has ended": (
        lambda w: w.pods.update({KEY: a_pod("a", "b")}),
        False,
    ),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_is_steady(name: str) -> None:
    """True for a pod with nothing to do, and never for one that has."""
    mutate, expected = MUTATIONS[name]
    made = world()
    mutate(made)
    assert is_steady(made.pods[KEY], made.actual.pods[KEY]) is expected
    if expected:
        assert not made.plan().pods


def test_newer_instance_beside_a_running_one() -> None:
    """An ended instance that is newer than the running one is looked at closely."""
    made = running(a_pod("a")).exit("a", 1).settle()
    (sandbox,) = made.sandboxes
    old, new = sandbox.containers
    swapped = (
        replace(old, state=ContainerState.RUNNING, finished_at=None),
        replace(new, state=ContainerState.EXITED, exit_code=1, finished_at=made.now),
    )
    made.sandboxes = [replace(sandbox, containers=swapped)]
    assert not is_steady(made.pods[KEY], made.actual.pods[KEY])
