"""Events as kubectl's table shows them, from Event documents in JSON form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from podsync.render.columns import age, table

__all__ = ["event_age", "events_table"]

Doc = Mapping[str, Any]


def event_age(event: Doc, now: datetime) -> str:
    """How long ago the event was seen last, with its count: ``10s (x3 over 2m)``."""
    last = age(event.get("lastTimestamp") or event.get("firstTimestamp"), now)
    count = event.get("count") or 1
    if count < 2:  # noqa: PLR2004 - one is no repetition
        return last
    return f"{last} (x{count} over {age(event.get('firstTimestamp'), now)})"


def events_table(events: Sequence[Doc], now: datetime, *, namespace: bool = False, headers: bool = True) -> str:
    """``kubectl events``: LAST SEEN TYPE REASON OBJECT MESSAGE, in the order given."""
    header = ["LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    rows = []
    for event in events:
        subject = event.get("involvedObject") or {}
        row = [
            event_age(event, now),
            event.get("type", ""),
            event.get("reason", ""),
            f"{subject.get('kind', 'Pod').lower()}/{subject.get('name', '')}",
            " ".join(str(event.get("message", "")).split()),
        ]
        rows.append([subject.get("namespace", "default"), *row] if namespace else row)
    return table(["NAMESPACE", *header] if namespace else header, rows, headers=headers)
