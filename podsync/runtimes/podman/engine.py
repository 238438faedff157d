"""What one Podman is asked for: each method one call, its refusals told apart."""

from __future__ import annotations

import json
import threading
from typing import Any, Final

from podsync.errors import Conflict
from podsync.runtimes.base import Ref
from podsync.runtimes.common import faults
from podsync.runtimes.common.faults import Refusal
from podsync.runtimes.common.limits import Limits
from podsync.runtimes.common.records import Detail, Row, label_filter
from podsync.runtimes.common.shared import Shared
from podsync.runtimes.podman import facts, records
from podsync.runtimes.podman.client import LOOK_TIMEOUT, Client, segment
from podsync.runtimes.podman.facts import Facts
from podsync.runtimes.podman.spec import fitted

__all__ = ["Engine"]

_REMOVAL_TRIES: Final = 12
_FIRST_WAIT: Final = 0.01
_LONGEST_WAIT: Final = 0.5
_RUNS: Final = ("as it is running", "as it is paused", "running or paused containers cannot be removed")
# What a removal says while the cleanup of an ended process, or another removal, still holds the container.
_BUSY: Final = ("device or resource busy", "state improper", "directory not empty", "in progress", "is running")


class Engine:
    """Calls to one engine, and what was found out about it."""

    def __init__(self, client: Client, node: str, closing: threading.Event) -> None:
        """``closing`` is set when the runtime is being closed: nothing waits any longer then."""
        self._client = client
        self._node = node
        self._closing = closing
        limits = Limits()
        self._facts = Shared(lambda: facts.find(client, limits))
        self._failures: dict[str, str] = {}

    def facts(self) -> Facts:
        """What is known of it; asked for when nothing is. Raises RuntimeUnavailable."""
        return self._facts.get()

    def forget(self) -> None:
        """Another engine may answer from now on."""
        self._facts.forget()

    def close(self) -> None:
        """Let go of those who wait for the facts."""
        self._facts.close()

    def rows(self, uid: str | None) -> list[Row]:
        """One list call. ``sync`` makes it know of deaths that are not cleaned up yet."""
        params = {"all": "true", "sync": "true", "filters": json.dumps({"label": label_filter(self._node, uid)})}
        try:
            answer = self._client.call("GET", "/containers/json", params=params, timeout=LOOK_TIMEOUT)
        except Refusal as refusal:
            raise faults.verb_fault(refusal) from refusal
        return [records.row(entry) for entry in answer.json() or ()]

    def inspect(self, container: Ref) -> Detail | None:
        """One inspection; None when it is gone, NotFound when a removal has left a remainder that is listed."""
        try:
            answer = self._client.call("GET", f"/containers/{segment(container)}/json", timeout=LOOK_TIMEOUT)
        except Refusal as refusal:
            if faults.is_absent(refusal) and not faults.is_half_removed(refusal):
                return None
            raise faults.verb_fault(refusal) from refusal
        inspection: dict[str, Any] = answer.json()
        return records.detail(inspection, self.facts().numbers, self._failures.get(inspection["Id"], ""))

    def create(self, body: dict[str, Any]) -> str:
        """Id of the container created. Raises Refusal."""
        known = self.facts()
        fitting = fitted(body, rlimits=known.rlimits, limited=known.keeps_resource_limits)
        return str(self._client.call("POST", "/containers/create", body=fitting).json()["Id"])

    def start(self, container: Ref) -> None:
        """Start it; running already is fine. Raises Refusal."""
        self._client.call("POST", f"/containers/{segment(container)}/start")

    def failed(self, container: str, text: str) -> None:
        """Keep what a start that failed said: before 5.0 the engine does not."""
        self._failures[container] = text

    def kill(self, container: Ref, signal: str) -> None:
        """Send a signal. Ended or absent: succeeds."""
        try:
            self._client.call("POST", f"/containers/{segment(container)}/kill", params={"signal": signal})
        except Refusal as refusal:
            if not faults.is_absent(refusal) and not faults.is_not_running(refusal):
                raise faults.verb_fault(refusal) from refusal

    def remove(self, container: Ref, *, force: bool, dependants: bool = False) -> set[str]:
        """Remove one with its anonymous volumes, and with ``dependants`` all that join it; ids of what went.

        Absent: succeeds. Running: raises Conflict unless ``force``, which ends it without grace.
        What a removal has left of one goes only by force and with all that join it.
        """
        params: dict[str, str | int] = {"volumes": "true", "ignore": "true", "timeout": 0}
        params |= {"force": "true"} if force else {}
        params |= {"depend": "true"} if dependants else {}
        wait = _FIRST_WAIT
        for tries_left in reversed(range(_REMOVAL_TRIES)):
            try:
                answer = self._client.call("DELETE", f"/containers/{segment(container)}", params=params)
            except Refusal as refusal:
                half_removed = faults.is_half_removed(refusal)
                if faults.is_absent(refusal) and not half_removed:
                    return set()
                if not force and refusal.says(_RUNS):
                    raise Conflict(faults.clean(refusal.text)) from refusal
                if half_removed:
                    params |= {"force": "true", "depend": "true"}
                if not (half_removed or refusal.says(_BUSY)) or not tries_left or self._closing.wait(wait):
                    raise faults.verb_fault(refusal) from refusal
                wait = min(_LONGEST_WAIT, wait * 2)
                continue
            gone = {str(item["Id"]) for item in answer.json() or () if item.get("Id")}
            for item in gone:
                self._failures.pop(item, None)
            return gone
        raise AssertionError("the last try returns or raises")
