"""A plan as a JSON document, and that document as text: people see nothing that machines do not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from podsync.plan import Action, Plan, PodPlan, PullImage, describe
from podsync.render.printable import printable

__all__ = ["plan_document", "plan_text"]

Doc = Mapping[str, Any]


def _moment(when: datetime | None) -> str | None:
    return None if when is None else when.isoformat()


def _action(action: Action, stage: int | None) -> dict[str, Any]:
    cause = str(action.cause)
    document: dict[str, Any] = {
        "action": type(action).__name__,
        "text": describe(action).removesuffix(f" ({cause})"),
        "cause": cause,
    }
    if stage is not None:
        document["stage"] = stage
    if isinstance(action, PullImage):
        document["image"] = action.image
    return document


def _pod(plan: PodPlan) -> dict[str, Any]:
    actions = [_action(pull, None) for pull in plan.pulls]
    actions += [_action(action, number) for number, stage in enumerate(plan.stages, 1) for action in stage]
    document: dict[str, Any] = {
        "namespace": plan.key.namespace,
        "name": plan.key.name,
        "terminating": plan.terminating,
        "actions": actions,
        "waiting": [
            {
                key: value
                for key, value in (
                    ("container", waiting.container_name),
                    ("reason", waiting.reason),
                    ("message", waiting.message),
                    ("until", _moment(waiting.until)),
                )
                if value
            }
            for waiting in plan.waiting
        ],
    }
    if plan.verdict is not None:
        document["verdict"] = {
            "phase": plan.verdict.phase,
            "reason": plan.verdict.reason,
            "message": plan.verdict.message,
        }
    if plan.wake_at is not None:
        document["wakeAt"] = _moment(plan.wake_at)
    return document


def plan_document(plan: Plan) -> dict[str, Any]:
    """The plan as plain JSON values.

    ``changes`` counts actions. Each pod has ``actions`` (with ``stage``, from 1; an image's
    pull belongs to none), ``waiting`` and, when something other than its containers
    decides its phase, ``verdict``. Pods with none of these are left out.
    """
    pods = [plan.pods[key] for key in sorted(plan.pods)]
    told = [_pod(pod) for pod in pods if pod.stages or pod.pulls or pod.waiting or pod.verdict]
    return {"changes": sum(len(pod["actions"]) for pod in told), "pods": told}


def _pod_lines(pod: Doc) -> Iterator[str]:
    yield f"{pod['namespace']}/{pod['name']}" + (" (ending)" if pod["terminating"] else "")
    if "verdict" in pod:
        verdict = pod["verdict"]
        yield f"  ! {verdict['phase']}: {verdict['reason']}: {verdict['message']}"
    for action in pod["actions"]:
        yield f"  {action['text']} ({action['cause']})"
    for waiting in pod["waiting"]:
        message = f": {waiting['message']}" if "message" in waiting else ""
        until = f" until {waiting['until']}" if "until" in waiting else ""
        yield f"  . {waiting['container']} waits{until}: {waiting['reason']}{message}"


def plan_text(document: Doc) -> str:
    """The document of ``plan_document`` for people: pod by pod, then a line that counts.

    Lines begin with ``+`` (make), ``-`` (remove), ``~`` (change), ``.`` (waits) or ``!`` (verdict).
    """
    lines = [printable(line) for pod in document["pods"] for line in _pod_lines(pod)]
    acting = sum(1 for pod in document["pods"] if pod["actions"])
    if not document["changes"]:
        lines.append("Nothing to do.")
    else:
        actions, pods = document["changes"], acting
        lines.append(f"{actions} action{'s' * (actions != 1)} for {pods} pod{'s' * (pods != 1)}.")
    return "\n".join(lines)
