"""What ``podsync run`` tells while it runs: events and phases as log lines, the rest in the status line."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

from podsync.events import Event, EventType

if TYPE_CHECKING:
    from podsync.agent import Agent
    from podsync.cli.console import Console
    from podsync.models import PodKey, PodStatus
    from podsync.runtimes.base import PullProgress

__all__ = ["Progress", "status_line"]

log = logging.getLogger("podsync.pods")

_QUIET_REASONS = frozenset({"", "ContainerCreating", "PodInitializing"})
_LOGGED = frozenset({"Failed", "FailedCreatePodSandBox", "FailedKillPod", "FailedMount", "FailedValidation"})
"""Events of failures that the agent's own log lines tell already, in more detail."""
_SHOWN = 3
"""At most so many waiting containers are named in the status line."""


def _ready(status: PodStatus) -> tuple[int, int]:
    return sum(1 for c in status.container_statuses if c.ready), len(status.container_statuses)


def _pull(progress: PullProgress) -> str:
    if not progress.total:
        return f"pulling {progress.image}"
    return f"pulling {progress.image} {min(100, 100 * progress.current // progress.total)}%"


def _waits(key: PodKey, status: PodStatus) -> list[str]:
    containers = (*status.init_container_statuses, *status.container_statuses)
    reasons = {c.state.waiting.reason: None for c in containers if c.state.waiting is not None}
    return [f"{key} {reason}" for reason in reasons if reason not in _QUIET_REASONS]


def status_line(statuses: Mapping[PodKey, PodStatus], pulls: Mapping[str, PullProgress], problem: str = "") -> str:
    """How far things are: ``2/3 pods ready | pulling nginx 45% | default/web CrashLoopBackOff``."""
    live = {key: status for key, status in statuses.items() if status.phase != "Succeeded"}
    ready = sum(1 for status in live.values() if _ready(status)[0] == _ready(status)[1] and status.phase == "Running")
    parts = [f"{ready}/{len(live)} pods ready"]
    if problem:
        parts.append(problem)
    parts += [_pull(pulls[image]) for image in sorted(pulls)]
    waiting = [text for key in sorted(live) for text in _waits(key, live[key])]
    parts += waiting[:_SHOWN]
    if len(waiting) > _SHOWN:
        parts.append(f"{len(waiting) - _SHOWN} more wait")
    return " | ".join(parts)


class Progress:
    """Called by the agent after each of its steps, on its thread."""

    def __init__(self, console: Console) -> None:
        """``console`` shows the status line."""
        self._console = console
        self._revision = 0
        self._told: dict[PodKey, str] = {}

    def __call__(self, agent: Agent) -> None:
        """Tell what is new since the last step."""
        happened = agent.publisher.events
        if happened.revision != self._revision:
            for event in happened.since(max(self._revision, happened.loaded)):
                _log_event(event)
            self._revision = happened.revision
        statuses = agent.statuses
        for key, status in statuses.items():
            self._tell(key, status)
        for key in self._told.keys() - statuses.keys():
            del self._told[key]
            log.info("%s: gone", key, extra={"pod": str(key)})
        problem = "the engine cannot be asked" if agent.owner.engine_error else ""
        self._console.update(status_line(statuses, agent.owner.pulls, problem))

    def _tell(self, key: PodKey, status: PodStatus) -> None:
        ready, total = _ready(status)
        text = f"{status.phase}, {ready}/{total} ready"
        if status.reason:
            text += f": {status.reason}: {status.message}"
        if self._told.get(key) != text:
            self._told[key] = text
            log.info("%s: %s", key, text, extra={"pod": str(key), "phase": status.phase})


def _log_event(event: Event) -> None:
    if event.reason in _LOGGED:
        return
    level = logging.WARNING if event.type is EventType.WARNING else logging.INFO
    key = f"{event.namespace}/{event.name}"
    container = event.field_path.partition("{")[2].removesuffix("}")
    extra = {"pod": key, "container": container, "reason": event.reason}
    log.log(level, "%s: %s", key, event.message, extra=extra)
