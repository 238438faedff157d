"""Pods as kubectl's tables show them, from Pod documents in JSON form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from podsync.render.columns import age, parse_time, table

__all__ = ["pod_summary", "pods_table", "restarts", "state_of"]

Doc = Mapping[str, Any]


def state_of(status: Doc, field: str = "state") -> tuple[str, Doc]:
    """(``waiting`` | ``running`` | ``terminated``, its fields) of a container status; ``("", {})`` when unset."""
    for kind, body in (status.get(field) or {}).items():
        if body is not None:
            return kind, body
    return "", {}


def _exit_words(body: Doc) -> str:
    return body.get("reason") or (f"Signal:{body['signal']}" if body.get("signal") else f"ExitCode:{body['exitCode']}")


def _condition(status: Doc, kind: str) -> bool:
    return any(c.get("type") == kind and c.get("status") == "True" for c in status.get("conditions") or ())


def _init_words(status: Doc, total: int) -> str:
    """``Init:…`` for the first init container that has not ended well; empty when all have."""
    for index, container in enumerate(status.get("initContainerStatuses") or ()):
        kind, body = state_of(container)
        if kind == "terminated":
            if body.get("exitCode") == 0:
                continue
            return f"Init:{_exit_words(body)}"
        if kind == "waiting" and body.get("reason") not in (None, "", "PodInitializing"):
            return f"Init:{body['reason']}"
        return f"Init:{index}/{total}"
    return ""


def _container_words(status: Doc, words: str) -> str:
    """The word of the first regular container that has one, else ``words``."""
    running = False
    for container in reversed(status.get("containerStatuses") or ()):
        kind, body = state_of(container)
        if kind == "waiting" and body.get("reason"):
            words = body["reason"]
        elif kind == "terminated":
            words = _exit_words(body)
        elif kind == "running" and container.get("ready"):
            running = True
    if words == "Completed" and running:
        return "Running" if _condition(status, "Ready") else "NotReady"
    return words


def pod_summary(pod: Doc) -> str:
    """The STATUS column of kubectl: ``Running``, ``Init:0/2``, ``CrashLoopBackOff`` or ``Terminating``, say."""
    status, spec = pod.get("status") or {}, pod.get("spec") or {}
    phase = status.get("phase") or "Unknown"
    words = status.get("reason") or phase
    init = _init_words(status, len(spec.get("initContainers") or ()))
    if init:
        words = init
    if not init or _condition(status, "Initialized"):
        words = _container_words(status, words)
    if pod.get("metadata", {}).get("deletionTimestamp") and phase not in ("Succeeded", "Failed"):
        return "Terminating"
    return words


def restarts(pod: Doc, now: datetime) -> str:
    """The RESTARTS column of kubectl: ``3 (10s ago)``.

    While the pod initialises these are the init containers' restarts, later the regular ones'.
    """
    status, spec = pod.get("status") or {}, pod.get("spec") or {}
    initializing = _init_words(status, len(spec.get("initContainers") or ()))
    regular = not initializing or _condition(status, "Initialized")
    counted = status.get("containerStatuses" if regular else "initContainerStatuses") or ()
    total = sum(c.get("restartCount", 0) for c in counted)
    ends = [parse_time(state_of(c, "lastState")[1].get("finishedAt")) for c in counted]
    last = max((end for end in ends if end is not None), default=None)
    if not total or last is None:
        return str(total)
    return f"{total} ({age(last.isoformat(), now)} ago)"


def _row(pod: Doc, now: datetime, *, namespace: bool, wide: bool) -> list[str]:
    meta, status, spec = pod.get("metadata") or {}, pod.get("status") or {}, pod.get("spec") or {}
    statuses = status.get("containerStatuses") or ()
    ready = sum(1 for c in statuses if c.get("ready") and state_of(c)[0] == "running")
    row = [
        meta.get("name", ""),
        f"{ready}/{len(spec.get('containers') or ())}",
        pod_summary(pod),
        restarts(pod, now),
        # a pod from a file has no creationTimestamp of its own
        age(meta.get("creationTimestamp") or status.get("startTime"), now),
    ]
    if namespace:
        row.insert(0, meta.get("namespace", "default"))
    if wide:
        row += [status.get("podIP") or "<none>", spec.get("nodeName") or "<none>"]
    return row


def pods_table(
    pods: Sequence[Doc], now: datetime, *, namespace: bool = False, wide: bool = False, headers: bool = True
) -> str:
    """``kubectl get pods``: NAME READY STATUS RESTARTS AGE; ``namespace`` and ``wide`` add columns."""
    header = ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    if namespace:
        header.insert(0, "NAMESPACE")
    if wide:
        header += ["IP", "NODE"]
    return table(header, [_row(pod, now, namespace=namespace, wide=wide) for pod in pods], headers=headers)
