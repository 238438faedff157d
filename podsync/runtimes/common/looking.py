"""A look that costs little: one list call, and one inspection for each change in a container.

An ended container never changes and a running one keeps its start, so both are
inspected once. A list may lag behind a death the engine has already reported, so a
container with such a report (a *doubtful* one) is inspected at the next look whatever
the list says of it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import count

from podsync.clock import Clock
from podsync.errors import NotFound, RuntimeFault, RuntimeUnavailable
from podsync.runtimes.base import ContainerState, Observation, SandboxRecord
from podsync.runtimes.common import faults, records
from podsync.runtimes.common.crew import Crew
from podsync.runtimes.common.records import Detail, Row

__all__ = ["LOST_MESSAGE", "Looker"]

_log = logging.getLogger(__name__)

LOST_MESSAGE = "The container ended while the engine was away, so its exit code is not known"
"""Message of a record whose exit code would be the engine's guess."""
_AGE = {
    ContainerState.UNKNOWN: 0,
    ContainerState.CREATED: 0,
    ContainerState.RUNNING: 1,
    ContainerState.EXITED: 2,
}
"""How far in its life a container is."""
_WIDTH = 8
_GAPS = 16
"""How many gaps of the reports are remembered; an end is looked at soon after the gap it fell into."""


@dataclass(frozen=True, slots=True)
class _Known:
    """A detail, and what the list said when it was asked for."""

    listed: ContainerState
    detail: Detail
    answered: int
    """When it was told, on the looker's own count of moments."""

    def fits(self, row: Row) -> bool:
        """Whether it still holds for what the list says now.

        One that the list calls running and an inspection ended is asked for again: the
        list lags, or someone has started it.
        """
        ended_while_listed = row.state is ContainerState.RUNNING and self.detail.state is not ContainerState.RUNNING
        return row.state is self.listed and not ended_while_listed


class Looker:
    """Looks and remembers. ``rows`` lists (of one pod when a uid is given), ``inspect`` asks for one container.

    ``inspect`` takes an id or a name and returns None for a container that is gone. Both
    may raise ``RuntimeUnavailable``, which passes through: no look, not an empty one. Any
    other fault of one inspection fails no look: the container is shown as the list has it,
    and one that is NotFound though it is listed as ended.
    """

    def __init__(
        self,
        clock: Clock,
        rows: Callable[[str | None], Sequence[Row]],
        inspect: Callable[[str], Detail | None],
    ) -> None:
        self._clock = clock
        self._rows = rows
        self._inspect = inspect
        self._lock = threading.Lock()
        self._known: dict[str, _Known] = {}
        self._doubts: dict[str, int] = {}
        self._doubt_count = 0
        self._away_since: datetime | None = None
        self._gaps: list[tuple[datetime, datetime]] = []
        self._moments = count()
        self._told: set[str] = set()
        self._crew = Crew(_WIDTH, "podsync-look")

    def observe(self) -> Observation:
        """One look at everything of ours; its time is taken before the engine is asked."""
        moment = self._clock.now()
        return Observation(moment, self.look(None))

    def look(self, uid: str | None) -> tuple[SandboxRecord, ...]:
        """All of ours, or one pod's, grouped under sandboxes."""
        with self._lock:
            doubts = dict(self._doubts)  # before the list: a later report asks for a later look
            before = self._known.keys() | self._told
        every = self._rows(uid)
        rows = [row for row in every if row.names_its_pod]
        for row in every:
            if not row.names_its_pod:
                self._tell(row, "carries this node's label but names no pod, so it is left alone")
        details = self._details(rows, doubts)
        if uid is None:
            gone = (before | doubts.keys()) - {row.id for row in every}
            self._forget(gone)
        found = [(row, details[row.id]) for row in rows if row.id in details]
        return records.group(
            (records.sandbox(row, detail) for row, detail in found if row.is_sandbox),
            (records.container(row, detail) for row, detail in found if not row.is_sandbox),
        )

    def created(self, container: str) -> None:
        """A container of that id was made just now, so that no look need ask for it."""
        stub = Detail(container, ContainerState.CREATED)
        self._keep(next(self._moments), container, stub.state, stub)

    def doubt(self, container: str) -> None:
        """The engine has reported a change of that id: the next look asks for it."""
        with self._lock:
            self._doubt_count += 1
            self._doubts[container] = self._doubt_count

    def disconnected(self) -> None:
        """The engine's reports have stopped coming."""
        with self._lock:
            self._away_since = self._away_since or self._clock.now()

    def connected(self) -> None:
        """Reports come again: what ran may have died meanwhile."""
        with self._lock:
            if self._away_since is not None:
                self._gaps = [*self._gaps, (self._away_since, self._clock.now())][-_GAPS:]
                self._away_since = None
            running = [key for key, known in self._known.items() if known.detail.state is ContainerState.RUNNING]
        for key in running:
            self.doubt(key)

    def known(self, container: str) -> Detail | None:
        """What is remembered of that id, without asking; None for nothing."""
        with self._lock:
            known = self._known.get(container)
        return known.detail if known else None

    def inspected(self, container: str) -> Detail | None:
        """What an inspection told of that id or name: a remembered one, else one made now; None when it is gone.

        What is remembered of one that was created here and not inspected since is less
        than its image and its command tell, so that is not taken.
        """
        known = self.known(container)
        if known is not None and known.state is not ContainerState.CREATED:
            return known
        return self.ask(container)

    def ask(self, container: str) -> Detail | None:
        """Ask the engine for an id or name now; None when it is gone.

        Remembered as a look's inspection is: the next look asks again only for a change that
        was reported, or that its list shows.
        """
        began = next(self._moments)
        try:
            detail = self._inspect(container)
        except NotFound:
            return None
        return None if detail is None else self._keep(began, detail.id, detail.state, detail)

    def close(self) -> None:
        """End the threads."""
        self._crew.close()

    def _details(self, rows: Sequence[Row], doubts: Mapping[str, int]) -> dict[str, Detail]:
        """The detail of each row that still exists."""
        details: dict[str, Detail] = {}
        unknown: list[Row] = []
        with self._lock:
            for row in rows:
                known = self._known.get(row.id)
                if known is not None and known.fits(row) and row.id not in doubts:
                    details[row.id] = known.detail
                else:
                    unknown.append(row)
        answered: list[str] = []
        for row, (began, answer) in zip(unknown, self._crew.each(self._question, unknown), strict=True):
            if isinstance(answer, RuntimeFault):
                details[row.id] = self._listed(row, answer)
                continue
            answered.append(row.id)
            if answer is not None:
                details[row.id] = self._keep(began, row.id, row.state, answer)
        with self._lock:
            self._told.difference_update(answered)
            for key in answered:
                if key in doubts and self._doubts.get(key) == doubts[key]:
                    del self._doubts[key]  # settled, unless reported once more meanwhile
        return details

    def _question(self, row: Row) -> tuple[int, Detail | RuntimeFault | None]:
        """The moment an inspection began, and its answer or its fault. Raises RuntimeUnavailable."""
        began = next(self._moments)
        try:
            return began, self._inspect(row.id)
        except RuntimeUnavailable:
            raise
        except RuntimeFault as fault:
            return began, fault

    def _listed(self, row: Row, fault: RuntimeFault) -> Detail:
        """What stands for an inspection that was refused; it is not remembered, so the next look asks again."""
        self._tell(row, f"cannot be inspected, so it is taken for what the engine's list says of it: {fault}")
        return records.listed(
            row, self.known(row.id), remainder=isinstance(fault, NotFound), message=faults.clean(str(fault))
        )

    def _tell(self, row: Row, what: str) -> None:
        """Warn once of a container."""
        with self._lock:
            if row.id in self._told:
                return
            self._told.add(row.id)
        _log.warning("container %s (%s) %s", row.name or row.id, row.id, what)

    def _keep(self, began: int, key: str, listed: ContainerState, detail: Detail) -> Detail:
        """Remember a detail; an exit code that fell into a gap of the reports is taken off it.

        One that was asked for before the known one came may be the older of the two: then the
        one further in a container's life counts.
        """
        with self._lock:
            known = self._known.get(key)
            if known is not None and known.answered > began and _AGE[known.detail.state] > _AGE[detail.state]:
                return known.detail
            if detail.exit_code == records.LOST_EXIT_CODE and not detail.message and self._in_gap(detail.finished_at):
                detail = replace(detail, exit_code=None, message=LOST_MESSAGE)
            self._known[key] = _Known(listed, detail, next(self._moments))
        return detail

    def _in_gap(self, moment: datetime | None) -> bool:
        """Whether the engine's reports were not coming at that moment; the lock is held."""
        if moment is None:
            return False
        open_gap = self._away_since is not None and self._away_since <= moment
        return open_gap or any(start <= moment <= end for start, end in self._gaps)

    def _forget(self, gone: Iterable[str]) -> None:
        """Drop what is remembered of containers that are gone."""
        with self._lock:
            for key in gone:
                self._known.pop(key, None)
                self._doubts.pop(key, None)
                self._told.discard(key)
