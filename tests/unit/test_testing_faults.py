"""Faults at the n-th call."""

from __future__ import annotations

import pytest

from podsync.errors import Conflict, RuntimeFault, RuntimeUnavailable
from podsync.models import PodKey
from podsync.runtimes.fake import FakeRuntime
from podsync.testing.builders import PodNames, pod
from podsync.testing.faults import Faults, FaultyRuntime, FaultyVolumes
from podsync.volumes import MemoryVolumes

NAMES = PodNames("n", uid="0" * 32)


def test_a_call_fails_before_its_effect() -> None:
    """The engine is never asked."""
    inner, faults = FakeRuntime(node="n"), Faults()
    runtime = FaultyRuntime(inner, faults.around)
    faults.raise_at(2, Conflict("told so"))
    runtime.info()
    with pytest.raises(Conflict, match="told so"):
        runtime.create_sandbox(NAMES.sandbox())
    assert inner.list_sandboxes() == ()
    runtime.create_sandbox(NAMES.sandbox())
    assert len(inner.list_sandboxes()) == 1


def test_a_call_fails_after_its_effect() -> None:
    """As when the answer is lost."""
    inner, faults = FakeRuntime(node="n"), Faults()
    faults.raise_at(1, RuntimeUnavailable("lost"), after=True)
    with pytest.raises(RuntimeUnavailable):
        FaultyRuntime(inner, faults.around).create_sandbox(NAMES.sandbox())
    assert len(inner.list_sandboxes()) == 1


def test_faults_may_wait_for_a_verb() -> None:
    """Other calls do not count."""
    runtime, faults = FakeRuntime(node="n"), Faults()
    faulty = FaultyRuntime(runtime, faults.around)
    faults.raise_at(2, RuntimeFault("told so"), verb="observe")
    for call in (faulty.info, faulty.observe, faulty.info, faulty.list_sandboxes):
        call()
    with pytest.raises(RuntimeFault):
        faulty.observe()
    assert [verb for verb, _ in faults.raised] == ["observe"]


def test_faults_can_be_forgotten() -> None:
    """Nothing fails any more."""
    faults = Faults()
    faults.raise_at(1, RuntimeFault("told so"))
    faults.clear()
    FaultyRuntime(FakeRuntime(), faults.around).info()
    assert faults.raised == []


def test_every_verb_goes_through() -> None:
    """Each is counted under its own name, and its answer comes back."""
    faults = Faults()
    runtime = FaultyRuntime(FakeRuntime(node="n"), faults.around)
    sandbox = runtime.create_sandbox(NAMES.sandbox())
    assert runtime.start_sandbox(sandbox)
    spec = NAMES.container("busybox")
    container = runtime.create_container(sandbox, spec)
    runtime.start_container(container)
    assert runtime.exec(container, ["true"], 1).exit_code == 0
    assert runtime.open_exec(container, ["true"], stdin=False, tty=False).exit_code() == 0
    runtime.signal_container(container, "SIGKILL")
    runtime.remove_container(container)
    runtime.remove_sandbox(sandbox)
    assert runtime.pull_image("busybox") == runtime.image("busybox")
    assert set(faults.by_verb) == {
        "create_sandbox", "start_sandbox", "create_container", "start_container", "exec", "open_exec",
        "signal_container", "remove_container", "remove_sandbox", "pull_image", "image",
    }  # fmt: skip


def test_volumes_fail_alike() -> None:
    """Their making and their removal count as calls."""
    inner, faults = MemoryVolumes(), Faults()
    volumes = FaultyVolumes(inner, faults.around)
    faults.raise_at(2, RuntimeFault("told so"), verb="remove_volumes")
    wanted = pod("web")
    volumes.prepare(wanted)
    assert volumes.folders() == {"": PodKey("default", "web")}
    volumes.remove("other")
    with pytest.raises(RuntimeFault):
        volumes.remove("")
    assert volumes.folders() == inner.folders() != {}
