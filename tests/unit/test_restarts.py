"""Decisions on instances of containers."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from podsync import labels, restarts
from podsync.models import Container, ObjectMeta, Pod, PodSpec
from podsync.runtimes.base import ContainerId, ContainerRecord, ContainerState, SandboxId, SandboxRecord
from podsync.state import Failure, PodMemory

AT = datetime(2030, 1, 1, tzinfo=UTC)
NOTHING = PodMemory()


def record(name: str = "a", attempt: int = 0, state: str = "exited", **fields: Any) -> ContainerRecord:
    """One instance."""
    return ContainerRecord(
        id=ContainerId(f"{name}{attempt}"),
        name=f"k8s_{name}_p_default_u_{attempt}",
        container_name=name,
        attempt=attempt,
        state=ContainerState(state),
        **fields,
    )


def sandbox(*records: ContainerRecord, attempt: int = 0, uid: str = "u", **fields: Any) -> SandboxRecord:
    """One sandbox with its containers."""
    return SandboxRecord(
        id=SandboxId(f"s{attempt}"),
        name=f"k8s_POD_p_default_{uid}_{attempt}",
        pod_name="p",
        namespace="default",
        uid=uid,
        attempt=attempt,
        ready=fields.pop("ready", True),
        containers=records,
        **fields,
    )


def pod(policy: str = "Always", init: int = 0) -> Pod:
    """A pod of container ``a`` and some init containers ``i0`` …."""
    return Pod(
        metadata=ObjectMeta(name="p", namespace="default", uid="u"),
        spec=PodSpec(
            restart_policy=policy,
            containers=(Container(name="a"),),
            init_containers=tuple(Container(name=f"i{n}") for n in range(init)),
        ),
    )


def test_sandboxes_of_one_uid_newest_last() -> None:
    """Other uids are left out, and the order is by attempt."""
    found = restarts.sandboxes_of([sandbox(attempt=2), sandbox(attempt=9, uid="other"), sandbox(attempt=1)], "u")
    assert [s.attempt for s in found] == [1, 2]


def test_instances_across_sandboxes_newest_last() -> None:
    """By name, ordered by number, each with the sandbox it was made for."""
    found = restarts.instances_of(
        [sandbox(record("a", 2), record("b", 0), attempt=1), sandbox(record("a", 1), record("a", 0), attempt=0)],
        NOTHING,
    )
    assert {name: [(i.record.attempt, i.sandbox_attempt) for i in known] for name, known in found.items()} == {
        "a": [(0, 0), (1, 0), (2, 1)],
        "b": [(0, 1)],
    }


class TestSettled:
    """States that engines leave open."""

    def memory(self, reason: str = "RunContainerError") -> PodMemory:
        """The start of ``a`` failed at AT."""
        return PodMemory(failures={"a": Failure(reason, "no such command", AT)})

    def test_failed_start_has_ended_the_instance(self) -> None:
        """An instance that the engine still calls created counts as ended, with the engine's words."""
        found = restarts.settled(record(state="created", created_at=AT), self.memory())
        assert (found.state, found.exit_code, found.finished_at) == (ContainerState.EXITED, 128, AT)
        assert found.message == "no such command"

    def test_what_the_engine_says_of_it_is_kept(self) -> None:
        """Its own exit code and message are better."""
        found = restarts.settled(record(state="created", exit_code=127, message="own words"), self.memory())
        assert (found.exit_code, found.message) == (127, "own words")

    @pytest.mark.parametrize(
        ("made", "memory"),
        [
            (record(state="created"), PodMemory()),
            (record(state="created"), PodMemory(failures={"a": Failure("Conflict", "", AT)})),
            (record("b", state="created"), PodMemory(failures={"a": Failure("RunContainerError", "", AT)})),
            (
                record(state="created", created_at=AT + timedelta(seconds=1)),
                PodMemory(failures={"a": Failure("RunContainerError", "", AT)}),
            ),
            (record(state="running"), PodMemory(failures={"a": Failure("RunContainerError", "", AT)})),
            (record(state="unknown"), PodMemory()),
            (record(state="exited", exit_code=1), PodMemory(kill_sent={ContainerId("a0"): AT})),
        ],
    )
    def test_everything_else_stays(self, made: ContainerRecord, memory: PodMemory) -> None:
        """No failure, another's, an older one's or of another kind: the record is as the engine says."""
        assert restarts.settled(made, memory) is made

    def test_unknown_after_kill_is_dead(self) -> None:
        """What was sent KILL and stays unknown counts as killed."""
        found = restarts.settled(record(state="unknown"), PodMemory(kill_sent={ContainerId("a0"): AT}))
        assert (found.state, found.exit_code, found.finished_at) == (ContainerState.EXITED, 137, AT)


@pytest.mark.parametrize(
    ("policy", "code", "expected"),
    [
        ("Always", 0, True),
        ("Always", 1, True),
        ("", 0, True),
        ("OnFailure", 0, False),
        ("OnFailure", 1, True),
        ("OnFailure", None, True),
        ("Never", 0, False),
        ("Never", 1, False),
        ("Never", None, False),
    ],
)
def test_will_restart(policy: str, code: int | None, expected: bool) -> None:
    """restartPolicy, with an unknown exit code as a failure."""
    made = pod(policy)
    assert restarts.will_restart(made, made.spec.containers[0], code) is expected


def test_told_to_end_runs_again() -> None:
    """A container ended on purpose while its pod goes on gets a successor under any policy."""
    made, ended = pod("Never"), record(exit_code=0)
    assert not restarts.runs_again(made, made.spec.containers[0], ended, NOTHING)
    assert restarts.runs_again(made, made.spec.containers[0], ended, PodMemory(term_sent={ended.id: AT}))


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ([], 0),
        ([record("i0", state="running")], 0),
        ([record("i0", exit_code=1)], 0),
        ([record("i0", exit_code=0)], 1),
        ([record("i0", exit_code=0, oom_killed=True)], 0),
        ([record("i0", exit_code=0), record("i1", state="created")], 1),
        ([record("i1", exit_code=0)], 2),
        ([record("i0", exit_code=1), record("a", state="created")], 2),
        ([record("a", exit_code=1)], 2),
    ],
)
def test_init_position(records: list[ContainerRecord], expected: int) -> None:
    """The last init container with an instance tells; a regular one's instance says that all are done."""
    instances = restarts.instances_of([sandbox(*records, attempt=3)], NOTHING)
    assert restarts.init_position(pod(init=2), instances, 3) == expected


def test_init_position_counts_only_the_newest_sandbox() -> None:
    """What ran in an older one does not count."""
    instances = restarts.instances_of([sandbox(record("i0", exit_code=0), record("a", state="exited"))], NOTHING)
    assert restarts.init_position(pod(init=1), instances, 1) == 0
    assert restarts.init_position(pod(init=1), {}, None) == 0


@pytest.mark.parametrize(
    ("label", "ran", "expected"),
    [
        (None, 1, 0),
        ("0", 1, 10),
        ("10", 1, 20),
        ("20", 1, 40),
        ("160", 1, 300),
        ("300", 1, 300),
        ("300", 601, 0),
        ("300", 600, 300),
        ("300", None, 300),
        ("nonsense", 1, 0),
    ],
)
def test_delay_after(label: str | None, ran: float | None, expected: float) -> None:
    """The crash-loop sequence from the label of the last instance and how long it ran."""
    started = None if ran is None else AT
    finished = AT if ran is None else AT + timedelta(seconds=ran)
    made = record(labels={} if label is None else {labels.BACKOFF: label}, started_at=started, finished_at=finished)
    assert restarts.delay_after(made) == expected


def test_ended_at_takes_the_best_there_is() -> None:
    """The end, else the start, else the making."""
    made = record(created_at=AT, started_at=AT + timedelta(1), finished_at=AT + timedelta(2))
    assert restarts.ended_at(made) == AT + timedelta(2)
    assert restarts.ended_at(replace(made, finished_at=None)) == AT + timedelta(1)
    assert restarts.ended_at(replace(made, finished_at=None, started_at=None)) == AT
    assert restarts.ended_at(record()) is None


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (10, "10s"), (60, "1m0s"), (80, "1m20s"), (300, "5m0s"), (3600, "1h0m0s"), (3725.9, "1h2m5s")],
)
def test_go_duration(seconds: float, text: str) -> None:
    """As Go prints it."""
    assert restarts.go_duration(seconds) == text


def test_back_off_text() -> None:
    """The kubelet's message."""
    assert restarts.back_off_text(pod(), "a", 80) == ("back-off 1m20s restarting failed container=a pod=p_default(u)")


def test_start_time_is_the_earliest_known() -> None:
    """From sandboxes and containers; unreadable labels are passed over."""
    later, earlier = AT + timedelta(hours=1), AT
    found = restarts.start_time(
        [
            sandbox(labels={labels.START_TIME: later.isoformat()}),
            sandbox(record(labels={labels.START_TIME: earlier.isoformat()}), labels={labels.START_TIME: "?"}),
        ]
    )
    assert found == earlier
    assert restarts.start_time([sandbox(record())]) is None


def test_last_end() -> None:
    """The latest end among the newest instances."""
    instances = restarts.instances_of(
        [sandbox(record("a", finished_at=AT), record("b", finished_at=AT + timedelta(1)), record("c"))], NOTHING
    )
    assert restarts.last_end(instances) == AT + timedelta(1)
    assert restarts.last_end({}) is None


DEAD = {"ready": False}
RAN: dict[str, Any] = {"started_at": AT}


@pytest.mark.parametrize(
    ("policy", "init", "records", "fields", "expected"),
    [
        ("Always", 0, [record(exit_code=0)], {}, False),
        ("OnFailure", 0, [record(exit_code=0)], {}, True),
        ("OnFailure", 0, [record(exit_code=1)], {}, False),
        ("OnFailure", 0, [record(exit_code=1)], DEAD, False),
        ("OnFailure", 1, [record("i0", exit_code=1)], {}, False),
        ("Never", 0, [record(exit_code=1)], {}, True),
        ("Never", 0, [record(state="running")], {}, False),
        ("Never", 0, [record(state="unknown")], {}, False),
        ("Never", 0, [record(state="created")], {}, False),
        ("Never", 0, [], {}, False),
        ("Never", 0, [record("b", **RAN)], {}, False),
        ("Never", 0, [record("b", **RAN)], DEAD, True),
        ("Never", 0, [record("b")], DEAD, False),
        ("Never", 0, [record("b", **RAN)], {"ready": False, "started": False}, False),
        ("Never", 1, [record("i0", exit_code=1)], {}, True),
        ("Never", 1, [record("i0", exit_code=0)], {}, False),
        ("Never", 1, [record("i0", state="created")], {}, False),
        ("Never", 1, [record("i0", state="running")], {}, False),
        ("Never", 2, [record("i0", exit_code=0)], {}, False),
    ],
)
def test_is_finished(
    policy: str, init: int, records: list[ContainerRecord], fields: dict[str, Any], expected: bool
) -> None:
    """When nothing of a pod runs or will run again."""
    sandboxes = (sandbox(*records, **fields),)
    instances = restarts.instances_of(sandboxes, NOTHING)
    assert restarts.is_finished(pod(policy, init), sandboxes, instances, NOTHING) is expected


def test_pod_without_a_sandbox_is_not_finished() -> None:
    """It has not begun."""
    assert not restarts.is_finished(pod("Never"), (), {}, NOTHING)
