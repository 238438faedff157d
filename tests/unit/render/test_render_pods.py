"""Pods in kubectl's tables."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from podsync.render import pod_summary, pods_table
from podsync.render.pods import restarts

NOW = datetime(2030, 1, 1, 0, 1, tzinfo=UTC)
RUNS = {"state": {"running": {"startedAt": "2030-01-01T00:00:00Z"}}, "ready": True, "restartCount": 0}
DONE = {"state": {"terminated": {"exitCode": 0, "reason": "Completed"}}, "ready": True, "restartCount": 0}
FAILED = {"state": {"terminated": {"exitCode": 1, "reason": "Error"}}, "ready": False, "restartCount": 0}


def waits(reason: str, restart_count: int = 0) -> dict[str, Any]:
    """A container that waits for that reason."""
    return {"state": {"waiting": {"reason": reason}}, "ready": False, "restartCount": restart_count}


def pod(
    *containers: dict[str, Any], init: tuple[dict[str, Any], ...] = (), phase: str = "Running", **status: Any
) -> dict[str, Any]:
    """A pod document with these container statuses."""
    return {
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "containers": [{"name": f"c{i}"} for i in range(len(containers))],
            "initContainers": [{"name": f"i{i}"} for i in range(len(init))],
        },
        "status": {
            "phase": phase,
            "containerStatuses": [{"name": f"c{i}", **c} for i, c in enumerate(containers)],
            "initContainerStatuses": [{"name": f"i{i}", **c} for i, c in enumerate(init)],
            **status,
        },
    }


INITIALIZED = {"conditions": [{"type": "Initialized", "status": "True"}]}
READY = {"conditions": [{"type": "Initialized", "status": "True"}, {"type": "Ready", "status": "True"}]}


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (pod(RUNS, RUNS), "Running"),
        (pod(RUNS, waits("CrashLoopBackOff")), "CrashLoopBackOff"),
        (pod(waits("ContainerCreating"), phase="Pending"), "ContainerCreating"),
        (pod(waits("ImagePullBackOff"), RUNS, phase="Pending"), "ImagePullBackOff"),
        (pod(DONE, phase="Succeeded"), "Completed"),
        (pod(FAILED, phase="Failed"), "Error"),
        (pod({"state": {"terminated": {"exitCode": 3}}}, phase="Failed"), "ExitCode:3"),
        (pod({"state": {"terminated": {"exitCode": 1, "signal": 9}}}, phase="Failed"), "Signal:9"),
        (pod({"state": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}), "OOMKilled"),
        (pod(DONE, RUNS, **READY), "Running"),
        (pod(DONE, RUNS, **INITIALIZED), "NotReady"),
        (pod(waits(""), phase="Pending"), "Pending"),
        (pod(waits("PodInitializing"), init=(RUNS, waits("PodInitializing")), phase="Pending"), "Init:0/2"),
        (pod(waits("PodInitializing"), init=(DONE, RUNS), phase="Pending"), "Init:1/2"),
        (pod(waits("PodInitializing"), init=(waits("ImagePullBackOff"),), phase="Pending"), "Init:ImagePullBackOff"),
        (pod(waits("PodInitializing"), init=(FAILED,), phase="Failed"), "Init:Error"),
        (pod(waits("PodInitializing"), init=({"state": {"terminated": {"exitCode": 2}}},)), "Init:ExitCode:2"),
        (pod(RUNS, init=(DONE,), **READY), "Running"),
        (pod(RUNS, phase="Failed", reason="DeadlineExceeded"), "DeadlineExceeded"),
        (pod(waits(""), phase="Failed", reason="NodePorts"), "NodePorts"),
        ({"metadata": {}, "spec": {}, "status": {}}, "Unknown"),
        ({}, "Unknown"),
    ],
)
def test_the_status_word_is_kubectls(document: dict[str, Any], words: str) -> None:
    """STATUS tells the most telling thing about a pod in one word."""
    assert pod_summary(document) == words


@pytest.mark.parametrize(("phase", "words"), [("Running", "Terminating"), ("Succeeded", "Completed")])
def test_a_pod_being_ended_is_terminating(phase: str, words: str) -> None:
    """A deletion time makes a pod Terminating unless it has ended already."""
    document = pod(DONE if phase == "Succeeded" else RUNS, phase=phase)
    document["metadata"]["deletionTimestamp"] = "2030-01-01T00:00:30Z"
    assert pod_summary(document) == words


def ended(count: int, when: str) -> dict[str, Any]:
    """A running container with restarts, the last instance before it having ended then."""
    return {**RUNS, "restartCount": count, "lastState": {"terminated": {"exitCode": 1, "finishedAt": when}}}


@pytest.mark.parametrize(
    ("document", "text"),
    [
        (pod(RUNS), "0"),
        (pod(waits("CrashLoopBackOff", 3)), "3"),
        (pod(ended(3, "2030-01-01T00:00:50Z")), "3 (10s ago)"),
        (pod(ended(3, "2030-01-01T00:00:10Z"), ended(2, "2030-01-01T00:00:40Z")), "5 (20s ago)"),
        (pod(waits("PodInitializing"), init=(ended(4, "2030-01-01T00:00:59Z"),)), "4 (1s ago)"),
        (pod(ended(1, "2030-01-01T00:00:50Z"), init=({**DONE, "restartCount": 7},), **INITIALIZED), "1 (10s ago)"),
    ],
)
def test_restarts_are_summed_with_the_last_ones_age(document: dict[str, Any], text: str) -> None:
    """RESTARTS counts the containers the pod is busy with, and says how long ago the last one was."""
    assert restarts(document, NOW) == text


def test_the_table() -> None:
    """The columns are kubectl's; more come with -A and -o wide."""
    web = pod(RUNS, waits("CrashLoopBackOff", 2), startTime="2030-01-01T00:00:00Z", podIP="10.88.0.2")
    web["spec"]["nodeName"] = "node-1"
    job = pod(DONE, phase="Succeeded", startTime="2029-12-31T00:00:00Z")
    job["metadata"] = {"name": "a-longer-name", "namespace": "jobs", "creationTimestamp": "2029-12-31T00:01:00Z"}
    assert pods_table([web, job], NOW).splitlines() == [
        "NAME            READY   STATUS             RESTARTS   AGE",
        "web             1/2     CrashLoopBackOff   2          60s",
        "a-longer-name   0/1     Completed          0          24h",
    ]
    assert pods_table([web, job], NOW, namespace=True, wide=True, headers=False).splitlines() == [
        "default   web             1/2   CrashLoopBackOff   2   60s   10.88.0.2   node-1",
        "jobs      a-longer-name   0/1   Completed          0   24h   <none>      <none>",
    ]
