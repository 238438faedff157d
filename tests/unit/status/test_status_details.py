"""Details of statuses that whole examples would hide."""

from __future__ import annotations

from typing import Any

import pytest

from podsync.status.containers import MESSAGE_BUDGET
from tests.unit.status.cases import START, UID, moment, status_of

ONE = {"containers": [{"name": "main", "image": "busybox"}]}
RUNS = {"name": "main", "state": "running", "started": 1}


def main_of(case: dict[str, Any]) -> Any:
    """The status of the container main."""
    status = status_of({"spec": ONE, **case})
    return next(c for c in status.container_statuses if c.name == "main")


@pytest.mark.parametrize(
    ("record", "reason", "exit_code", "message"),
    [
        ({"started": 1, "exitCode": 0}, "Completed", 0, ""),
        ({"started": 1, "exitCode": 0, "terminationMessage": "bye"}, "Completed", 0, "bye"),
        ({"started": 1, "exitCode": 7}, "Error", 7, ""),
        ({"started": 1, "exitCode": 137}, "Error", 137, ""),
        ({"started": 1, "exitCode": 143}, "Error", 143, ""),
        ({"started": 1, "exitCode": 137, "oom": True}, "OOMKilled", 137, ""),
        ({"started": 1, "exitCode": 1, "oom": True}, "Error", 1, ""),
        ({"started": 1, "exitCode": 127}, "Error", 127, ""),
        ({"exitCode": 127, "message": "not found"}, "ContainerCannotRun", 127, "not found"),
        ({"exitCode": 126, "message": "denied"}, "ContainerCannotRun", 126, "denied"),
        ({"exitCode": 128, "message": "bad mount"}, "ContainerCannotRun", 128, "bad mount"),
        ({"started": 1, "exitCode": 2, "message": "engine", "terminationMessage": "own"}, "Error", 2, "engine: own"),
        (
            {"started": 1},
            "ContainerStatusUnknown",
            137,
            "The container could not be located when the pod was terminated",
        ),
    ],
)
def test_how_a_container_ended(record: dict[str, Any], reason: str, exit_code: int, message: str) -> None:
    """Reason, exit code and message of an ended container follow from its record."""
    ended = {"name": "main", "state": "exited", "finished": 9, **record}
    state = main_of({"sandboxes": [{"containers": [ended]}]}).state.terminated
    assert (state.reason, state.exit_code, state.message) == (reason, exit_code, message)
    assert state.container_id == "docker://main-0"


@pytest.mark.parametrize(("character", "size"), [("x", 1), ("é", 2), ("€", 3)])
def test_long_termination_messages_share_a_budget(character: str, size: int) -> None:
    """Each message is cut to its share of the pod's budget in bytes, never inside a character."""
    spec = {"containers": [{"name": n, "image": "busybox"} for n in ("main", "b", "c", "d", "e")]}
    ended = {"name": "main", "state": "exited", "started": 1, "exitCode": 1, "terminationMessage": character * 9000}
    message = main_of({"spec": spec, "sandboxes": [{"containers": [ended]}]}).state.terminated.message
    share = MESSAGE_BUDGET // 5
    assert share - size < len(message.encode()) <= share
    assert set(message) == {character}


@pytest.mark.parametrize("reason", ["ContainerCreating", "PodInitializing", ""])
def test_a_default_reason_does_not_hide_an_ending(reason: str) -> None:
    """An ended container is shown as ended until there is a real reason why it does not run again."""
    ended = {"name": "main", "state": "exited", "started": 1, "finished": 2, "exitCode": 1}
    plan = {"waiting": [{"container": "main", "reason": reason}]}
    status = main_of({"sandboxes": [{"containers": [ended]}], "plan": plan})
    assert status.state.terminated is not None
    assert status.last_state.terminated is None


def test_a_reason_does_not_hide_a_running_container() -> None:
    """A running container is shown as running whatever the plan says of it."""
    plan = {"waiting": [{"container": "main", "reason": "ImagePullBackOff"}]}
    assert main_of({"sandboxes": [{"containers": [RUNS]}], "plan": plan}).state.running is not None


@pytest.mark.parametrize("state", ["created", "unknown"])
@pytest.mark.parametrize("ready", [True, False])
@pytest.mark.parametrize(("init", "reason"), [((), "ContainerCreating"), (("first",), "PodInitializing")])
def test_a_container_never_waits_without_a_reason(state: str, ready: bool, init: tuple[str, ...], reason: str) -> None:
    """What the plan says nothing of waits for the usual, whatever its sandbox does."""
    spec = {**ONE, "initContainers": [{"name": name, "image": "busybox"} for name in init]}
    sandboxes = [{"ready": ready, "containers": [{"name": "main", "state": state}]}]
    assert main_of({"spec": spec, "sandboxes": sandboxes}).state.waiting.reason == reason


def test_a_created_container_waits_for_what_the_plan_says() -> None:
    """A container that is made but not started waits with the plan's reason when there is one."""
    made = {"name": "main", "state": "created"}
    plan = {"waiting": [{"container": "main", "reason": "RunContainerError", "message": "no"}]}
    waiting = main_of({"sandboxes": [{"containers": [made]}], "plan": plan}).state.waiting
    assert (waiting.reason, waiting.message) == ("RunContainerError", "no")


@pytest.mark.parametrize(("ending", "count"), [(False, 3), (True, 2)])
def test_restarts_of_a_vanished_container(ending: bool, count: int) -> None:
    """A running container that vanished counts as restarted, unless its pod is being ended."""
    before = {"sandboxes": [{"containers": [{**RUNS, "attempt": 2}]}]}
    status = main_of({"before": before, "sandboxes": [{}], "plan": {"terminating": ending}})
    assert status.restart_count == count


def test_the_last_state_of_a_container_gone_with_its_sandbox_is_kept() -> None:
    """A successor tells how the one before ended although its record is gone, and goes on telling it."""
    ended = {"name": "main", "state": "exited", "started": 1, "finished": 2, "exitCode": 5}
    first = {"sandboxes": [{"ready": False, "containers": [ended]}]}
    second = {"before": first, "sandboxes": [{"attempt": 1, "containers": [{**RUNS, "attempt": 1}]}]}
    third = {"before": second, "sandboxes": second["sandboxes"], "at": 90}
    assert main_of(second).last_state.terminated.exit_code == 5
    assert main_of(third).last_state.terminated.exit_code == 5


def test_init_containers_that_vanished_count_as_done() -> None:
    """Once the pod is initialised an init container whose record is gone ended well."""
    spec = {"initContainers": [{"name": "init", "image": "busybox"}], **ONE}
    status = status_of({"spec": spec, "sandboxes": [{"containers": [RUNS]}]})
    state = status.init_container_statuses[0].state.terminated
    assert state is not None
    assert (state.reason, state.exit_code) == ("Completed", 0)
    assert status.init_container_statuses[0].ready
    assert status.phase == "Running"


def test_an_init_container_seen_to_end_keeps_its_status() -> None:
    """What was known of an ended init container stays when its record goes away."""
    spec = {"initContainers": [{"name": "init", "image": "busybox"}], **ONE}
    done = {"name": "init", "state": "exited", "started": 1, "finished": 2, "exitCode": 0}
    before = {"sandboxes": [{"containers": [done, RUNS]}]}
    status = status_of({"spec": spec, "before": before, "sandboxes": [{"containers": [RUNS]}]})
    assert status.init_container_statuses == status_of({"spec": spec, **before}).init_container_statuses


def test_another_uid_is_another_pod() -> None:
    """What is left of a pod that this one replaces is not told as its own."""
    status = status_of({"spec": ONE, "sandboxes": [{"uid": "f" * 32, "containers": [RUNS]}]})
    assert UID != "f" * 32
    assert status.phase == "Pending"
    assert status.pod_ip == ""


def test_a_condition_keeps_its_time_until_its_status_changes() -> None:
    """The transition time moves only where True and False change places, not with reason or message."""
    made = {"at": 10, "sandboxes": [{}]}
    waits = {"before": made, "at": 20, "sandboxes": [{}], "plan": {"waiting": [{"container": "main", "reason": "X"}]}}
    runs = {"before": waits, "at": 30, "sandboxes": [{"containers": [RUNS]}]}

    def times(case: dict[str, Any]) -> dict[str, Any]:
        return {c.type: c.last_transition_time for c in status_of({"spec": ONE, **case}).conditions}

    assert times(waits) == times(made)
    changed = {kind for kind, at in times(runs).items() if at == moment(30)}
    assert changed == {"Ready", "ContainersReady"}


def test_times_are_whole_seconds() -> None:
    """Every published time is cut to a whole second, in UTC."""
    case = {"spec": ONE, "at": 5.999, "sandboxes": [{"startTime": 0.7, "containers": [{**RUNS, "started": 1.9}]}]}
    status = status_of(case)
    assert status.start_time == START
    running = status.container_statuses[0].state.running
    assert running is not None
    assert running.started_at == moment(1)
    assert {c.last_transition_time for c in status.conditions} == {moment(5)}


def test_the_start_time_is_when_the_pod_was_first_seen() -> None:
    """Before there is a sandbox the first look counts; then the sandbox's label, which outlives the agent."""
    seen = status_of({"spec": ONE, "at": 3})
    assert seen.start_time == moment(3)
    assert status_of({"spec": ONE, "before": {"at": 3}, "at": 8}).start_time == moment(3)
    assert status_of({"spec": ONE, "at": 50, "sandboxes": [{"startTime": 4}]}).start_time == moment(4)


def test_addresses_outlive_the_sandbox() -> None:
    """A stopped pod goes on telling its last addresses, all of them."""
    before = {"sandboxes": [{"ips": ["10.88.0.2", "fd00::2"], "containers": [RUNS]}]}
    status = status_of({"spec": ONE, "before": before, "sandboxes": [{"ready": False}]})
    assert [a.ip for a in status.pod_ips] == ["10.88.0.2", "fd00::2"]
    assert status.pod_ip == "10.88.0.2"


@pytest.mark.parametrize(
    ("sandbox", "host", "ready"),
    [
        ({}, False, "True"),
        ({"ready": False}, False, "False"),
        ({"ips": []}, False, "False"),
        ({"ips": []}, True, "True"),
    ],
)
def test_when_a_sandbox_can_hold_containers(sandbox: dict[str, Any], host: bool, ready: str) -> None:
    """A sandbox is usable when its process runs and it has an address, or is on the node's network."""
    status = status_of({"spec": {**ONE, "hostNetwork": host}, "sandboxes": [sandbox]})
    assert status.conditions[0].type == "PodReadyToStartContainers"
    assert status.conditions[0].status == ready


def test_computing_twice_gives_the_same() -> None:
    """A status computed again from the same look, with itself as the one before, does not change."""
    case = {"spec": ONE, "sandboxes": [{"containers": [RUNS]}]}
    once = status_of(case)
    assert status_of({**case, "at": 500}, previous=once) == once
