"""The phase: one base pod, and what each change to it makes of the phase."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from tests.unit.status.cases import status_of

RUNS = {"state": "running", "started": 1}
WELL = {"state": "exited", "started": 1, "finished": 2, "exitCode": 0}
BADLY = {"state": "exited", "started": 1, "finished": 2, "exitCode": 1}
GONE = {"state": "exited", "started": 1, "finished": 2, "exitCode": None}
MADE = {"state": "created"}


def phase(
    policy: str, a: dict[str, Any] | None, b: dict[str, Any] | None, init: dict[str, Any] | None = None, **case: Any
) -> str:
    """The phase of a pod of two containers, and of one init container when given."""
    spec: dict[str, Any] = {
        "restartPolicy": policy,
        "containers": [{"name": "a", "image": "busybox"}, {"name": "b", "image": "busybox"}],
    }
    if init is not None:
        spec["initContainers"] = [{"name": "init", "image": "busybox"}]
    found = [{"name": name, **state} for name, state in (("init", init), ("a", a), ("b", b)) if state]
    return status_of({"spec": spec, "sandboxes": [{"containers": found}], **case}).phase


@pytest.mark.parametrize(
    ("policy", "a", "b", "expected"),
    [
        ("Always", RUNS, RUNS, "Running"),
        ("Always", RUNS, None, "Pending"),
        ("Always", RUNS, MADE, "Pending"),
        ("Always", RUNS, BADLY, "Running"),
        ("Never", RUNS, BADLY, "Running"),
        ("Always", BADLY, BADLY, "Running"),
        ("Always", WELL, WELL, "Running"),
        ("OnFailure", WELL, WELL, "Succeeded"),
        ("OnFailure", WELL, BADLY, "Running"),
        ("OnFailure", WELL, GONE, "Running"),
        ("Never", WELL, WELL, "Succeeded"),
        ("Never", WELL, BADLY, "Failed"),
        ("Never", WELL, GONE, "Failed"),
    ],
)
def test_the_containers_tell_the_phase(
    policy: str, a: dict[str, Any] | None, b: dict[str, Any] | None, expected: str
) -> None:
    """Waiting for a first run is Pending, running or about to run again is Running, else the exit codes decide."""
    assert phase(policy, a, b) == expected


@pytest.mark.parametrize(
    ("policy", "init", "expected"),
    [
        ("Always", MADE, "Pending"),
        ("Always", RUNS, "Pending"),
        ("Always", BADLY, "Pending"),
        ("OnFailure", BADLY, "Pending"),
        ("Never", BADLY, "Failed"),
        ("Never", WELL, "Pending"),
    ],
)
def test_an_init_container_holds_the_phase_back(policy: str, init: dict[str, Any], expected: str) -> None:
    """A pod is Pending while it initialises, and Failed when initialisation cannot be repeated."""
    assert phase(policy, None, None, init) == expected


@pytest.mark.parametrize(("policy", "expected"), [("Always", "Running"), ("OnFailure", "Running"), ("Never", "Failed")])
def test_being_ended_does_not_decide_the_phase(policy: str, expected: str) -> None:
    """A pod that is ended because its manifest is gone is judged by its containers and policy alone."""
    assert phase(policy, BADLY, BADLY, plan={"terminating": True}) == expected


@pytest.mark.parametrize("policy", ["Always", "OnFailure"])
def test_a_crash_loop_is_running(policy: str) -> None:
    """A container that waits to run again counts as stopped, not as waiting."""
    plan = {"waiting": [{"container": "a", "reason": "CrashLoopBackOff"}]}
    assert phase(policy, BADLY, RUNS, plan=plan) == "Running"
    assert phase(policy, BADLY, BADLY, plan=plan) == "Running"


def test_a_vanished_container_will_run_again() -> None:
    """A container removed behind the agent's back is made anew, so its pod has not ended."""
    before = {"sandboxes": [{"containers": [{"name": n, **RUNS} for n in "ab"]}]}
    assert phase("Never", RUNS, None, before=before) == "Running"
    assert phase("Never", None, None, before=before) == "Running"


def test_a_verdict_overrides_the_containers() -> None:
    """What was decided about the pod as a whole goes before what its containers do."""
    verdict = {"phase": "Failed", "reason": "NodePorts", "message": "Pod was rejected: no ports"}
    assert phase("Always", RUNS, RUNS, plan={"verdict": verdict}) == "Failed"


class TestTerminalPhase:
    """A terminal phase, once reached."""

    BEFORE: ClassVar[dict[str, Any]] = {
        "sandboxes": [{"containers": [{"name": n, **RUNS} for n in "ab"]}],
        "plan": {"verdict": {"phase": "Failed", "reason": "DeadlineExceeded", "message": "too long"}},
    }

    def test_stays_when_its_containers_are_gone(self) -> None:
        """Removing what is left of an ended pod does not make it Pending again; reason and message stay as well."""
        spec = {"containers": [{"name": n, "image": "busybox"} for n in "ab"]}
        status = status_of({"spec": spec, "before": self.BEFORE, "sandboxes": []})
        assert (status.phase, status.reason, status.message) == ("Failed", "DeadlineExceeded", "too long")

    def test_is_left_by_a_pod_that_runs(self) -> None:
        """A pod that was refused and is admitted later is Running when it runs."""
        assert phase("Always", RUNS, RUNS, before=self.BEFORE) == "Running"
