"""One event, and a bounded log of them. Core v1 ``Event`` on the wire."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

__all__ = ["Event", "EventLog", "EventType"]

SIMILAR = 10
"""From so many events that differ in their message only, they are told as one."""
WINDOW = timedelta(minutes=10)
"""How far apart events may lie to count as similar."""
COMBINED = "(combined from similar events): "


class EventType(StrEnum):
    """Kubernetes' two kinds of event."""

    NORMAL = "Normal"
    WARNING = "Warning"


def _seconds(moment: datetime) -> str:
    return moment.astimezone(UTC).replace(microsecond=0).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a pod, and how often.

    ``field_path`` names the container (``spec.containers{web}``), empty for the pod
    itself. ``first`` and ``last`` are when it happened first and last.
    """

    type: EventType
    reason: str
    message: str
    namespace: str
    name: str
    uid: str
    first: datetime
    last: datetime
    field_path: str = ""
    count: int = 1

    @property
    def identity(self) -> tuple[str, ...]:
        """Events equal in this are one event that happened again."""
        return (*self.kind, self.message)

    @property
    def kind(self) -> tuple[str, ...]:
        """Events equal in this are similar: only their message differs."""
        return (self.namespace, self.name, self.uid, self.field_path, self.type, self.reason)

    def to_dict(self, node: str = "") -> dict[str, Any]:
        """The core v1 ``Event``; ``node`` becomes ``source.host``."""
        digest = hashlib.blake2b("\0".join(self.identity).encode("utf-8", "replace"), digest_size=8).hexdigest()
        subject = {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": self.namespace,
            "name": self.name,
            "uid": self.uid,
        }
        if self.field_path:
            subject["fieldPath"] = self.field_path
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{self.name}.{digest}", "namespace": self.namespace},
            "involvedObject": subject,
            "reason": self.reason,
            "message": self.message,
            "source": {"component": "podsync", **({"host": node} if node else {})},
            "firstTimestamp": _seconds(self.first),
            "lastTimestamp": _seconds(self.last),
            "count": self.count,
            "type": str(self.type),
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Event:
        """Read what ``to_dict`` wrote. Raises KeyError, TypeError or ValueError for anything else."""
        subject = document["involvedObject"]
        return cls(
            type=EventType(document["type"]),
            reason=document["reason"],
            message=document["message"],
            namespace=subject["namespace"],
            name=subject["name"],
            uid=subject["uid"],
            field_path=subject.get("fieldPath", ""),
            first=datetime.fromisoformat(document["firstTimestamp"]),
            last=datetime.fromisoformat(document["lastTimestamp"]),
            count=int(document["count"]),
        )


class EventLog:
    """The newest events, equal ones counted together. Not safe to share between threads.

    At most ``per_pod`` events are kept for one pod name and ``total`` for all; the ones
    not seen for longest go first.
    """

    def __init__(self, node: str = "", *, per_pod: int = 50, total: int = 1000) -> None:
        """``node`` is what the events name as their source's host."""
        self._node = node
        self._per_pod = per_pod
        self._total = total
        # in the order they were last seen
        self._events: dict[tuple[str, ...], Event] = {}
        self._seen: dict[tuple[str, ...], int] = {}
        self.revision = 0
        """Grows with every event taken in."""
        self.loaded = 0
        """The revision after the last ``load``: what is newer has happened in this process."""

    def __len__(self) -> int:
        return len(self._events)

    @property
    def events(self) -> tuple[Event, ...]:
        """All of them, the one seen last at the end."""
        return tuple(self._events.values())

    def of(self, namespace: str, name: str, uid: str | None = None) -> tuple[Event, ...]:
        """Those of one pod, of one uid only if given, the one seen last at the end."""
        return tuple(
            e for e in self._events.values() if (e.namespace, e.name) == (namespace, name) and uid in (None, e.uid)
        )

    def since(self, revision: int) -> tuple[Event, ...]:
        """Those taken in after the log had that ``revision``, as they are now."""
        newest: list[Event] = []
        for key in reversed(self._events):
            if self._seen[key] <= revision:
                break
            newest.append(self._events[key])
        return tuple(reversed(newest))

    def add(self, events: Iterable[Event]) -> None:
        """Take in new events, in the order they happened."""
        for event in events:
            self._add(event)

    def _add(self, event: Event) -> None:
        known = self._drop(event.identity)
        if known is None:
            event, known = self._combined(event)
        if known is not None:
            event = replace(event, first=known.first, count=known.count + event.count)
        self.revision += 1
        self._events[event.identity] = event
        self._seen[event.identity] = self.revision
        self._trim(event)

    def _combined(self, event: Event) -> tuple[Event, Event | None]:
        """The event as it is to be kept, and the one it replaces."""
        similar = [e for e in self._events.values() if e.kind == event.kind and event.last - e.last <= WINDOW]
        for other in similar:
            if other.message.startswith(COMBINED):
                self._drop(other.identity)
                return replace(event, message=COMBINED + event.message), other
        if len(similar) < SIMILAR:
            return event, None
        return replace(event, message=COMBINED + event.message), None

    def _trim(self, event: Event) -> None:
        own = [key for key in self._events if key[:2] == (event.namespace, event.name)]
        for key in own[: max(len(own) - self._per_pod, 0)]:
            self._drop(key)
        while len(self._events) > self._total:
            self._drop(next(iter(self._events)))

    def _drop(self, key: tuple[str, ...]) -> Event | None:
        self._seen.pop(key, None)
        return self._events.pop(key, None)

    def to_dict(self) -> dict[str, Any]:
        """All events as a v1 ``EventList``."""
        items = [event.to_dict(self._node) for event in self._events.values()]
        return {"apiVersion": "v1", "kind": "EventList", "metadata": {}, "items": items}

    def load(self, document: object) -> int:
        """Take in a list that ``to_dict`` wrote; returns how many entries could not be read."""
        items = document.get("items") if isinstance(document, dict) else None
        bad = 0
        for item in items if isinstance(items, list) else ():
            try:
                self._add(Event.from_dict(item))
            except (KeyError, TypeError, ValueError, AttributeError):
                bad += 1
        self.loaded = self.revision
        return bad
