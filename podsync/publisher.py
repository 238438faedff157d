"""What the agent tells the world: statuses, events, and how the agent itself is.

Statuses and events are computed purely (``status``, ``events``); this module decides when
files are written and keeps going when they cannot be.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from podsync import events, labels, status
from podsync.events import EventLog, Subject
from podsync.models import Container, ObjectMeta, Pod, PodKey, PodSpec
from podsync.models.base import format_time
from podsync.runtimes.base import RuntimeInfo
from podsync.store import AGENT, EVENTS, STATUS

if TYPE_CHECKING:
    from podsync.desired import DesiredStore
    from podsync.ledger import Entry
    from podsync.messages import Outcome, PullDone
    from podsync.plan import PodPlan

__all__ = ["Files", "Publisher"]

log = logging.getLogger(__name__)

STATUS_INTERVAL = 0.05
"""Least seconds between two writes of the status file."""
EVENTS_INTERVAL = 1.0
ENGINE = "engine"
RETRY_INTERVAL = 5.0
"""Seconds until a write that failed (a full disk) is tried again."""


class Files(Protocol):
    """Where files for other programs go; ``store.RootStore`` is one."""

    def write(self, name: str, text: str, mode: int = 0o644) -> bool:
        """Replace a file as a whole unless it has this text. Raises OSError."""

    def missing(self) -> frozenset[str]:
        """Files that were written and have been removed by somebody else."""


class Publisher:
    """Collects statuses, events and problems, and writes them when they changed. One thread owns it."""

    def __init__(
        self,
        *,
        info: RuntimeInfo,
        node: str,
        addresses: tuple[str, ...] = (),
        files: Files | None = None,
        remembered: Mapping[str, Pod] | None = None,
        about: Mapping[str, Any] | None = None,
        now: Callable[[], datetime],
    ) -> None:
        """``remembered``: pods by uid as last published, for those being ended without a manifest.

        ``about`` goes into ``agent.json`` as it is. Without ``files`` nothing is written.
        """
        self._node_info = status.NodeStatusInfo(runtime=info.name, addresses=addresses)
        self._files, self._now = files, now
        self._remembered = dict(remembered or {})
        self._node = node
        self._about = {"node": node, "runtime": {"name": info.name, "version": info.version}, **(about or {})}
        self.events = EventLog(node)
        self._documents: dict[PodKey, str] = {}
        self._pulled: dict[PodKey, frozenset[str]] = {}
        self._unexpected = 0
        self._sources: Mapping[str, Mapping[str, Any]] = {}
        self._refused: frozenset[Any] = frozenset()
        self._problems: dict[str, str] = {}
        # what an earlier agent published stands until this one has looked
        self._dirty = {STATUS: not self._remembered, EVENTS: True, AGENT: True}
        self._seen = False
        self._not_before = dict.fromkeys(self._dirty, 0.0)

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong with the agent itself, in sentences; empty when all is well."""
        return tuple(self._problems.values())

    @property
    def source_problems(self) -> bool:
        """Whether a source could not be read, or has documents that cannot be used."""
        return bool(self._refused) or any(health["error"] for health in self._sources.values())

    # --- what happened -----------------------------------------------------------------------

    def planned(self, key: PodKey, pod: Pod | None, before: PodPlan | None, plan: PodPlan | None, at: datetime) -> None:
        """A pod has been planned anew."""
        if plan is not None and plan != before:
            self._add(events.on_plan(self._subject(key, pod), before, plan, at))
            for pull in plan.pulls:
                self._add(events.on_start(self._subject(key, pod), pull, at))

    def starting(self, key: PodKey, pod: Pod | None, plan: PodPlan, at: datetime) -> None:
        """A pod's batch is about to begin."""
        subject = self._subject(key, pod)
        for stage in plan.stages:
            for action in stage:
                self._add(events.on_start(subject, action, at))

    def acted(self, key: PodKey, pod: Pod | None, outcome: Outcome) -> None:
        """An action has ended."""
        subject = self._subject(key, pod)
        self._add(events.on_done(subject, outcome.action, outcome.error, outcome.seconds, outcome.at))

    def pulled(self, key: PodKey, pod: Pod | None, done: PullDone) -> None:
        """A pull this pod waited for has ended."""
        from podsync.plan import Cause, PullImage

        action = PullImage(done.image, Cause.IMAGE_ABSENT)
        size = done.record.size if done.record else 0
        if done.error is None:
            self._pulled[key] = self._pulled.get(key, frozenset()) | {done.image}
        self._add(events.on_done(self._subject(key, pod), action, done.error, done.seconds, done.at, size=size))

    def sources_changed(self, desired: DesiredStore) -> None:
        """The sources said something: new refusals become events and log lines."""
        refusals = desired.refusals()
        current = frozenset(refusals)
        for refusal in refusals:
            if refusal in self._refused:
                continue
            for error in refusal.errors:
                log.error("%s", error, extra={"origin": refusal.origin, "kept": refusal.kept})
            self._add(events.on_refusal(refusal, self._now()))
        self._refused = current
        self._sources = desired.health()
        self._dirty[AGENT] = True

    def count_unexpected(self) -> None:
        """Something failed in a way nobody foresaw; it has been logged with its traceback."""
        self._unexpected += 1
        self._dirty[AGENT] = True

    # --- statuses ------------------------------------------------------------------------------

    def report(self, entry: Entry, at: datetime) -> bool:
        """Compute the entry's status; false when there is nothing to tell of it."""
        pod = entry.pod or self._ending_pod(entry)
        if pod is None:
            self.dropped(entry.key)
            return False
        previous = entry.status if entry.status_uid == pod.metadata.uid else None
        entry.last_pod = pod
        current = status.compute(pod, entry.actual, at, entry.plan, self._node_info, previous)
        document = pod.to_dict()
        metadata = document.setdefault("metadata", {})
        if entry.pod is None and entry.deleted_at is not None:
            metadata["deletionTimestamp"] = format_time(entry.deleted_at)
            metadata["deletionGracePeriodSeconds"] = pod.spec.termination_grace_period_seconds
        document.setdefault("spec", {})["nodeName"] = self._node
        document["status"] = current.to_dict()
        text = json.dumps({"apiVersion": "v1", "kind": "Pod", **document}, ensure_ascii=False)
        entry.status, entry.status_uid = current, pod.metadata.uid
        if self._documents.get(entry.key) != text:
            self._documents[entry.key] = text
            self._dirty[STATUS] = True
        return True

    def looked(self) -> None:
        """The engine has been seen: what an earlier agent published is replaced, even by nothing."""
        if not self._seen:
            self._seen = self._dirty[STATUS] = True
        if self._files is not None:
            for name in self._files.missing():
                self._dirty[name] = True

    def dropped(self, key: PodKey) -> None:
        """Nothing is left of that pod."""
        self._pulled.pop(key, None)
        if self._documents.pop(key, None) is not None:
            self._dirty[STATUS] = True

    def _ending_pod(self, entry: Entry) -> Pod | None:
        """The pod that is being ended although no source names it (any more)."""
        uids = [s.uid for s in entry.actual.sandboxes]
        if not uids:
            return None
        if entry.last_pod is not None and entry.last_pod.metadata.uid in uids:
            return entry.last_pod
        known = self._remembered.get(uids[-1])
        return known if known is not None else _pod_of_records(entry)

    # --- files ------------------------------------------------------------------------------------

    def due(self, monotonic: float) -> float:
        """Seconds until the next write is due; a large number when there is none."""
        waits = [self._not_before[name] - monotonic for name, dirty in self._dirty.items() if dirty]
        return max(0.0, min(waits, default=3600.0)) if self._files is not None else 3600.0

    def flush(self, monotonic: float, engine_error: str, *, force: bool = False) -> None:
        """Write what changed and is due."""
        if engine_error:
            self._problem(ENGINE, f"the engine cannot be asked: {engine_error}")
        else:
            self._solved(ENGINE)
        if self._files is None:
            return
        for name, interval, render in (
            (STATUS, STATUS_INTERVAL, self._status_text),
            (EVENTS, EVENTS_INTERVAL, self._events_text),
            (AGENT, STATUS_INTERVAL, self._agent_text),
        ):
            if not self._dirty[name] or (monotonic < self._not_before[name] and not force):
                continue
            try:
                self._files.write(name, render())
            except OSError as error:
                self._not_before[name] = monotonic + RETRY_INTERVAL
                self._problem(name, f"{name} cannot be written: {error.strerror}; what it says is out of date")
            else:
                self._not_before[name] = monotonic + interval
                self._dirty[name] = False
                self._solved(name)

    def _problem(self, subject: str, text: str) -> None:
        if self._problems.get(subject) != text:
            self._problems[subject] = text
            self._dirty[AGENT] = True
            if subject != ENGINE:
                log.error("%s", text)  # the engine's loss is logged where it is noticed

    def _solved(self, subject: str) -> None:
        if self._problems.pop(subject, None) is not None:
            self._dirty[AGENT] = True

    def _status_text(self) -> str:
        items = ",\n".join(self._documents[key] for key in sorted(self._documents))
        return '{"apiVersion":"v1","kind":"PodList","metadata":{},"items":[\n' + items + "\n]}\n"

    def _events_text(self) -> str:
        return json.dumps(self.events.to_dict(), ensure_ascii=False) + "\n"

    def _agent_text(self) -> str:
        refusals = [
            {
                "origin": refusal.origin,
                "pod": str(refusal.key) if refusal.key is not None else None,
                "kept": refusal.kept,
                "errors": [str(error) for error in refusal.errors],
            }
            for refusal in self._refused
        ]
        refusals.sort(key=lambda refusal: (str(refusal["origin"]), str(refusal["pod"])))
        document = {
            **self._about,
            "problems": list(self.problems),
            "unexpectedErrors": self._unexpected,
            "sources": [{"name": name, **health} for name, health in self._sources.items()],
            "refusals": refusals,
        }
        return json.dumps(document, ensure_ascii=False, indent=1) + "\n"

    def _subject(self, key: PodKey, pod: Pod | None) -> Subject:
        if pod is None:
            return Subject(key.namespace, key.name, "")
        return Subject.of(pod, self._pulled.get(key, frozenset()))

    def _add(self, new: tuple[events.Event, ...]) -> None:
        if new:
            self.events.add(new)
            self._dirty[EVENTS] = True


def _pod_of_records(entry: Entry) -> Pod:
    """As much of a pod as the engine's labels tell, for one whose manifest nobody has any more."""
    newest = entry.actual.sandboxes[-1]
    names = {c.container_name: c for s in entry.actual.sandboxes if s.uid == newest.uid for c in s.containers}
    containers = tuple(
        Container(name=name, image=record.labels.get(labels.IMAGE, "")) for name, record in sorted(names.items())
    )
    metadata = ObjectMeta(name=entry.key.name, namespace=entry.key.namespace, uid=newest.uid)
    return Pod(metadata=metadata, spec=PodSpec(containers=containers))
