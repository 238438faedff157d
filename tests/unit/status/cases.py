"""Observed pods written down shortly: what the status tests are given."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from podsync import labels
from podsync.manifest.decode import decode_pod
from podsync.models import Pod, PodKey, PodStatus
from podsync.plan import PodPlan, Verdict, Waiting
from podsync.runtimes.base import ContainerId, ContainerRecord, ContainerState, SandboxId, SandboxRecord
from podsync.state import ActualPod
from podsync.status import NodeStatusInfo, compute

START = datetime(2030, 1, 1, tzinfo=UTC)
NODE = NodeStatusInfo(runtime="docker", addresses=("192.168.1.5",))
UID = "0123456789abcdef0123456789abcdef"


def moment(seconds: float | None) -> datetime | None:
    """So many seconds after the start of the story."""
    return None if seconds is None else START + timedelta(seconds=seconds)


def pod_of(spec: Mapping[str, Any]) -> Pod:
    """A pod named web with this spec, decoded as from a manifest."""
    raw = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "namespace": "default", "uid": UID},
        "spec": spec,
    }
    pod, problems = decode_pod(raw)
    assert pod is not None, problems
    assert not problems
    return pod


def container_of(given: Mapping[str, Any]) -> ContainerRecord:
    """A container record; times in seconds after the start."""
    name, attempt = given["name"], given.get("attempt", 0)
    return ContainerRecord(
        id=ContainerId(f"{name}-{attempt}"),
        name=f"k8s_{name}_web_default_{UID}_{attempt}",
        container_name=name,
        attempt=attempt,
        state=ContainerState(given["state"]),
        labels={labels.IMAGE: given.get("image", "busybox"), labels.IMAGE_ID: "sha256:cafe"},
        created_at=moment(given.get("created", 0)),
        started_at=moment(given.get("started")),
        finished_at=moment(given.get("finished")),
        exit_code=given.get("exitCode"),
        oom_killed=given.get("oom", False),
        message=given.get("message", ""),
        termination_message=given.get("terminationMessage", ""),
    )


def sandbox_of(given: Mapping[str, Any]) -> SandboxRecord:
    """A sandbox record of the pod, or of another uid."""
    attempt = given.get("attempt", 0)
    started = moment(given.get("startTime", 0))
    assert started is not None
    return SandboxRecord(
        id=SandboxId(f"sandbox-{attempt}"),
        name=f"k8s_POD_web_default_{UID}_{attempt}",
        pod_name="web",
        namespace="default",
        uid=given.get("uid", UID),
        attempt=attempt,
        ready=given.get("ready", True),
        labels={labels.START_TIME: labels.format_time(started)},
        ips=tuple(given.get("ips", ("10.88.0.2",) if given.get("ready", True) else ())),
        containers=tuple(container_of(container) for container in given.get("containers", ())),
    )


def plan_of(given: Mapping[str, Any] | None) -> PodPlan | None:
    """A plan with waiting reasons and a verdict."""
    if given is None:
        return None
    waiting = tuple(Waiting(w["container"], w["reason"], w.get("message", "")) for w in given.get("waiting", ()))
    verdict = Verdict(**given["verdict"]) if "verdict" in given else None
    terminating = given.get("terminating", False)
    return PodPlan(PodKey("default", "web"), waiting=waiting, verdict=verdict, terminating=terminating)


def status_of(case: Mapping[str, Any], previous: PodStatus | None = None) -> PodStatus:
    """The status of one case; ``before`` in it is an earlier case of the same pod."""
    spec = case["spec"]
    if "before" in case:
        previous = status_of({"spec": spec, **case["before"]}, previous)
    at = moment(case.get("at", 60))
    assert at is not None
    sandboxes = tuple(sandbox_of(sandbox) for sandbox in case.get("sandboxes", ()))
    return compute(pod_of(spec), ActualPod(sandboxes), at, plan_of(case.get("plan")), NODE, previous)
