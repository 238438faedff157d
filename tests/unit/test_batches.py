"""A batch: what is looked at behind it, and what its end means for the pod."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeVar

import pytest

from podsync import batches, plan
from podsync.clock import ManualClock
from podsync.errors import ImageAbsent, RuntimeFault, RuntimeUnavailable, StartFault, VolumeFault
from podsync.executor import Executor
from podsync.ledger import Entry
from podsync.messages import BatchDone, Outcome
from podsync.models import ObjectMeta, PodKey
from podsync.observer import Observer
from podsync.plan import Action, Cause, PodPlan
from podsync.runtimes.base import SandboxId, SandboxRecord
from podsync.runtimes.fake import FakeRuntime
from podsync.state import ActualPod
from podsync.testing.builders import PodNames, pod
from podsync.testing.faults import FaultyRuntime
from podsync.volumes import MemoryVolumes

AT = datetime(2030, 1, 1, tzinfo=UTC)
NEW = Cause.NEW_POD
NAMES = PodNames("localhost", name="web", uid="u1")
POD = pod("web").evolve(metadata=ObjectMeta(name="web", namespace="default", uid="u1"))
KEY = PodKey("default", "web")
MOUNT = plan.MountVolumes(POD, NEW)
CREATE = plan.CreateSandbox(NAMES.sandbox(), NEW)
REMOVE = plan.RemoveSandbox("s1", NAMES.ref("POD"), (), NEW)
T = TypeVar("T")


def carried_out(*stages: tuple[Action, ...], error: Exception | None = None) -> tuple[BatchDone, list[str]]:
    """The news of a batch on a fake engine whose looks may fail, and the calls it made."""
    calls: list[str] = []

    def around(verb: str, call: Callable[[], T]) -> T:
        calls.append(verb)
        if verb == "list_sandboxes" and error is not None:
            raise error
        return call()

    runtime, volumes = FaultyRuntime(FakeRuntime(), around), MemoryVolumes()
    executor = Executor(runtime, volumes, ManualClock(), lambda jobs: [job() for job in jobs] and None)
    done = batches.job(executor, Observer(runtime, volumes), PodPlan(KEY, stages))()
    assert isinstance(done, BatchDone)
    return done, calls


def test_the_look_comes_last() -> None:
    """A batch ends with a look at the uids it touched, begun after its last action ended."""
    done, calls = carried_out((MOUNT,), (CREATE,))
    assert calls == ["create_sandbox", "list_sandboxes"]
    assert (done.key, done.uids, [s.uid for s in done.sandboxes]) == (KEY, ("u1",), ["u1"])
    assert [outcome.action for outcome in done.outcomes] == [MOUNT, CREATE]


def test_a_batch_that_touches_no_engine_looks_at_nothing() -> None:
    """Making and removing folders needs no look."""
    done, calls = carried_out((MOUNT,), (plan.UnmountVolumes("u0", NEW),))
    assert calls == []
    assert (done.uids, done.sandboxes) == ((), ())


@pytest.mark.parametrize("error", [RuntimeUnavailable("away"), KeyError("bug")])
def test_a_failed_look_is_told(error: Exception) -> None:
    """When the look behind a batch fails, what the actions did is told all the same."""
    done, _ = carried_out((CREATE,), error=error)
    assert (done.look_error, done.sandboxes) == (error, ())
    assert [outcome.error for outcome in done.outcomes] == [None]


def sandbox(uid: str = "u1") -> SandboxRecord:
    """A running sandbox."""
    return SandboxRecord(SandboxId(f"s-{uid}"), f"k8s_POD_web_default_{uid}_0", "web", "default", uid, 0, True)


def absorbed(*outcomes: Outcome, entry: Entry | None = None, look_error: Exception | None = None) -> Entry:
    """An entry after such a batch, at the monotonic moment 100."""
    entry = entry or Entry(KEY, busy=True, dirty=False, changed=False)
    entry.busy = True
    done = BatchDone(KEY, outcomes, ("u1",), () if look_error else (sandbox(),), look_error)
    batches.absorb(entry, done, 100.0)
    return entry


def test_a_good_batch_leaves_nothing_behind() -> None:
    """The entry shows what the look showed and may be planned at once."""
    entry = absorbed(Outcome(CREATE, AT, 0.1))
    assert (entry.busy, entry.dirty, entry.changed, entry.stale) == (False, True, True, False)
    assert (entry.setbacks, entry.hold_until) == (0, 0.0)
    assert entry.actual.sandboxes == (sandbox(),)


def test_a_failed_look_makes_stale() -> None:
    """Without its own look the pod has to be looked at before it is planned; what was known stays."""
    entry = Entry(KEY, actual=ActualPod((sandbox("u0"),)))
    absorbed(Outcome(CREATE, AT, 0.1), entry=entry, look_error=RuntimeUnavailable("away"))
    assert entry.stale
    assert entry.actual.sandboxes == (sandbox("u0"),)


@pytest.mark.parametrize("there", [(), (sandbox(),)])
def test_without_a_look_of_its_own_a_batch_makes_stale(there: tuple[SandboxRecord, ...]) -> None:
    """A batch of folders alone looks at nothing, so a pod of which something is there has to be looked at."""
    entry = Entry(KEY, busy=True, actual=ActualPod(there))
    batches.absorb(entry, BatchDone(KEY, (Outcome(MOUNT, AT, 0.1),), ()), 100.0)
    assert entry.stale is bool(there)
    assert entry.actual.sandboxes == there


def test_setbacks_hold_the_lane_ever_longer() -> None:
    """Failures the planner does not learn of hold the lane 0.5 s, doubling to 30 s, until a batch goes well."""
    entry = Entry(KEY)
    holds = []
    for _ in range(9):
        absorbed(Outcome(REMOVE, AT, 0.1, RuntimeFault("busy")), entry=entry)
        holds.append(entry.hold_until - 100)
    assert holds == [0.5, 1, 2, 4, 8, 16, 30, 30, 30]
    absorbed(Outcome(REMOVE, AT, 0.1), entry=entry)
    assert (entry.setbacks, entry.hold_until) == (0, 0.0)


@pytest.mark.parametrize(
    ("error", "held"),
    [
        (StartFault("no"), False),  # remembered: the planner keeps the distance
        (KeyError("bug"), False),
        (ImageAbsent("busybox:1"), False),  # a discovery
        (RuntimeUnavailable("away"), True),
    ],
)
def test_failures_the_planner_learns_of_do_not_hold_the_lane(error: Exception, held: bool) -> None:
    """Whatever is in the pod's memory afterwards is the planner's to wait for."""
    entry = absorbed(Outcome(CREATE, AT, 0.1, error))
    assert (entry.hold_until > 0) is held


def test_folders_follow_the_batch() -> None:
    """Which folders there are is known without looking at the disk, also after a failed try to make one."""
    entry = absorbed(Outcome(MOUNT, AT, 0.1, VolumeFault("no")))
    assert entry.actual.folders == {"u1"}
    assert entry.actual.memory.failures["/volumes"].reason == "FailedMount"
    absorbed(Outcome(plan.UnmountVolumes("u1", NEW), AT, 0.1), entry=entry)
    assert entry.actual.folders == frozenset()
