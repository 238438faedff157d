"""The owner: messages in, actions out. The only code that changes what is known of the pods.

``Owner.step`` absorbs messages, looks where a look is due, plans, starts batches and
publishes; it never blocks. Rules it keeps:

* one batch at a time in a pod's lane, one pull at a time for an image;
* a pod is planned only on a look that began after its last action ended;
* nothing no source names is ended before every source has spoken;
* a look that failed freezes planning: "cannot ask" is never "gone".
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING

from podsync import batches, ledger
from podsync.intake import Intake
from podsync.ledger import Entry, Ledger
from podsync.looks import Looks
from podsync.messages import (
    BatchDone,
    Hinted,
    Looked,
    Message,
    PullDone,
    PullProgressed,
    SourceFailed,
    SourceSpoke,
    Woken,
)
from podsync.models import PodKey
from podsync.pulls import Pulls
from podsync.state import Actual, Desired

if TYPE_CHECKING:
    from podsync.clock import Clock
    from podsync.desired import DesiredStore
    from podsync.executor import Executor
    from podsync.models import PodStatus
    from podsync.observer import Observer
    from podsync.plan import PodPlan
    from podsync.publisher import Publisher
    from podsync.reconciler import Reconciler
    from podsync.runtimes.base import PullProgress
    from podsync.volumes import Volumes
    from podsync.workers import Inbox, Workers

__all__ = ["Owner", "Parts"]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Parts:
    """What an owner is put together from."""

    clock: Clock
    inbox: Inbox
    workers: Workers
    desired: DesiredStore
    observer: Observer
    executor: Executor
    volumes: Volumes
    reconciler: Reconciler
    publisher: Publisher


class Owner:
    """Keeps an engine at what the sources want. Not thread-safe but for ``statuses`` and ``post``."""

    def __init__(self, parts: Parts) -> None:
        """Start with nothing known; the first step looks at everything."""
        self._parts = parts
        self._ledger = Ledger()
        self._desired = Desired(complete=False)
        self._sources_spoke = False
        self._pulls = Pulls(parts.clock, parts.workers, parts.inbox, parts.executor)
        self._looks = Looks(parts.clock, parts.workers, parts.observer, parts.volumes)
        self._intake = Intake(parts.clock, parts.publisher, self._ledger, self._looks, self._pulls)
        self._ending = False
        self._statuses: Mapping[PodKey, PodStatus] = MappingProxyType({})

    @property
    def statuses(self) -> Mapping[PodKey, PodStatus]:
        """Every pod's last status; an immutable map, swapped whole, readable from any thread."""
        return self._statuses

    @property
    def engine_error(self) -> str:
        """Why the engine cannot be asked at the moment; empty while it can."""
        return self._looks.engine_error

    @property
    def pulls(self) -> Mapping[str, PullProgress]:
        """How far the pulls under way are, by image."""
        return self._pulls.progress

    @property
    def settled(self) -> bool:
        """Every source has been heard, the engine answers, and nothing is under way or due now."""
        return (
            (self._ending or self._parts.desired.heard)
            and self._looks.usable
            and not self._ledger.attention
            and not self._pulls
            and not any(e.busy or e.stale or e.dirty or e.hold_until > 0 for e in self._ledger.entries.values())
        )

    @property
    def ending(self) -> bool:
        """A pod, or a former one of its name, is being ended."""
        return any(
            e.deleted_at is not None or (e.plan is not None and e.plan.terminating)
            for e in self._ledger.entries.values()
        )

    @property
    def empty(self) -> bool:
        """Nothing is wanted and nothing is left."""
        return self._looks.usable and not self._ledger.entries

    def waits(self, key: PodKey) -> bool:
        """Whether something of the pod is held back for a reason its status names."""
        entry = self._ledger.entries.get(key)
        if entry is None or entry.plan is None:
            return False
        return any(w.until is not None or w.message for w in entry.plan.waiting)

    def end_everything(self) -> None:
        """From now on no pod is wanted, whatever the sources say."""
        if not self._ending:
            self._ending = self._sources_spoke = True

    def step(self, messages: Sequence[Message]) -> None:
        """Absorb, look if due, plan, start, publish. Never blocks."""
        for message in messages:
            self._absorb(message)
        if self._sources_spoke:
            self._sources_spoke = False
            self._take_desired()
        self._look_when_due()
        self._plan_and_start()
        self._publish()

    def seconds_to_wait(self) -> float:
        """How long the owner may wait for a message before it must step again."""
        clock = self._parts.clock
        now, wall = clock.monotonic(), clock.now()
        due = [self._parts.publisher.due(now), self._looks.wait()]
        for entry in self._ledger.entries.values() if self._looks.usable else ():
            if entry.busy or entry.stale:
                continue  # a message is bound to come, and nothing is planned before
            if entry.hold_until:
                due.append(entry.hold_until - now)
            elif entry.plan is not None and entry.plan.wake_at is not None:
                due.append((entry.plan.wake_at - wall).total_seconds())
        return max(0.0, min(due))

    # --- absorbing -------------------------------------------------------------------------

    def _absorb(self, message: Message) -> None:
        match message:
            case SourceSpoke():
                self._parts.desired.replace(message.source, message.revision, message.pods, message.refusals)
                self._sources_spoke = True
            case SourceFailed():
                self._parts.desired.failed(message.source, message.error)
                self._sources_spoke = True
            case Hinted(hint=hint):
                self._intake.hint(hint.uid, hint.container, connected=hint.connected)
            case Looked(uid=None):
                self._intake.full_look(message)
            case Looked():
                self._intake.look(message)
            case BatchDone():
                self._intake.batch(message)
            case PullDone():
                self._intake.pull(message)
            case PullProgressed():
                self._pulls.progressed(message)
            case Woken():
                pass

    # --- what should be ----------------------------------------------------------------------

    def _take_desired(self) -> None:
        before = self._desired
        self._desired = Desired() if self._ending else self._parts.desired.desired()
        told = [(d.complete, d.undecided, d.tentative) for d in (before, self._desired)]
        if told[0] != told[1]:
            self._ledger.touch(self._ledger.entries)
        for key in {*before.pods, *self._desired.pods}:
            pod = self._desired.pods.get(key)
            if pod is before.pods.get(key):
                continue
            entry = self._ledger.entry(key)
            entry.last_pod = pod or entry.pod or entry.last_pod
            if pod is not None and pod.metadata.uid != entry.actual.memory.uid:
                entry.remember(ledger.fresh_memory(entry.actual.memory, pod.metadata.uid))
            entry.pod = pod
            self._ledger.index(entry)
            self._ledger.touch((key,))
        for entry in self._ledger.entries.values():
            self._note_deletion(entry)
        self._touch_rejected()
        self._parts.publisher.sources_changed(self._parts.desired)

    def _touch_rejected(self) -> None:
        """A pod refused because of another one may be let in when others change."""
        self._ledger.touch(
            e.key for e in self._ledger.entries.values() if e.plan is not None and e.plan.verdict is not None
        )

    def _note_deletion(self, entry: Entry) -> None:
        """When it was first seen that the pod is to be ended; a pod that is undecided is not."""
        unwanted = entry.pod is None and self._desired.complete and entry.key not in self._desired.undecided
        if unwanted is not (entry.deleted_at is not None):
            entry.deleted_at = self._parts.clock.now() if unwanted else None
            entry.changed = True

    # --- looking -------------------------------------------------------------------------------

    def _look_when_due(self) -> None:
        self._looks.send_full_if_due(self._pulls.absent)
        if not self._looks.usable:
            return
        for key in self._ledger.attention:
            entry = self._ledger.entries.get(key)
            if entry is not None and entry.stale and not entry.busy and not entry.looking:
                self._looks.send(entry)

    # --- planning and doing ----------------------------------------------------------------------

    def _plan_and_start(self) -> None:
        if not self._looks.usable:
            return
        clock = self._parts.clock
        now, wall = clock.monotonic(), clock.now()
        self._wake(now, wall)
        ready = [
            entry
            for key in self._ledger.attention
            if (entry := self._ledger.entries.get(key)) is not None
            and entry.dirty
            and not (entry.busy or entry.stale or entry.hold_until)
        ]
        for key in self._ledger.attention:
            if key in self._ledger.entries:
                self._ledger.actual[key] = self._ledger.entries[key].actual
        if not ready:
            return
        plans = self._plans(ready, now, wall)
        for entry in sorted(ready, key=lambda e: e.key):
            if not entry.hold_until:
                self._start(entry, plans.get(entry.key), wall)

    def _plans(self, ready: Sequence[Entry], now: float, wall: datetime) -> Mapping[PodKey, PodPlan]:
        """Plan those pods; one that cannot be planned is held and takes no other with it."""
        actual = Actual(wall, self._ledger.actual, self._pulls.absent)
        sync = self._parts.reconciler.sync
        try:
            return sync(self._desired, actual, only={entry.key for entry in ready}).pods
        except Exception as error:  # noqa: BLE001 - planned one by one, told and counted below
            if len(ready) == 1:
                self._hold(ready[0], now, error)
                return {}
        plans: dict[PodKey, PodPlan] = {}
        for entry in ready:
            try:
                plans |= sync(self._desired, actual, only={entry.key}).pods
            except Exception as error:  # noqa: BLE001 - told and counted, and the pod held
                self._hold(entry, now, error)
        return plans

    def _hold(self, entry: Entry, now: float, error: Exception) -> None:
        """Keep a pod as it is after a mistake of our own, and try again later."""
        log.error("%s: planning failed, it is left as it is", entry.key, exc_info=error, extra={"pod": str(entry.key)})
        self._parts.publisher.count_unexpected()
        entry.setbacks += 1
        entry.hold_until = now + batches.RETRY.after(entry.setbacks)

    def _wake(self, now: float, wall: datetime) -> None:
        for entry in self._ledger.entries.values():
            if entry.busy:
                continue
            if entry.hold_until and entry.hold_until <= now:
                entry.hold_until = 0.0
                entry.dirty = True
                self._ledger.attend(entry)
            elif entry.plan is not None and entry.plan.wake_at is not None and entry.plan.wake_at <= wall:
                entry.dirty = True
                self._ledger.attend(entry)

    def _start(self, entry: Entry, plan: PodPlan | None, wall: datetime) -> None:
        self._parts.publisher.planned(entry.key, entry.known_pod, entry.plan, plan, wall)
        entry.changed |= plan != entry.plan
        entry.plan, entry.dirty = plan, False
        if plan is None:
            return
        for pull in plan.pulls:
            self._pulls.start(entry, pull.image)
        self._ledger.actual[entry.key] = entry.actual
        if not plan.stages:
            return
        entry.busy = True
        entry.mark = self._looks.next()
        entry.hinted.clear()
        self._parts.publisher.starting(entry.key, entry.known_pod, plan, wall)
        job = batches.job(self._parts.executor, self._parts.observer, plan)
        self._parts.workers.submit(f"pod:{entry.key}", job)

    # --- telling -----------------------------------------------------------------------------------

    def _publish(self) -> None:
        publisher, clock = self._parts.publisher, self._parts.clock
        if self._looks.looked_once:
            attention, self._ledger.attention = self._ledger.attention, set()
            statuses = dict(self._statuses)
            told = [self._tell(self._ledger.entries[key], statuses) for key in attention if key in self._ledger.entries]
            if any(told):
                self._statuses = MappingProxyType(statuses)
        publisher.flush(clock.monotonic(), self._looks.engine_error)

    def _tell(self, entry: Entry, statuses: dict[PodKey, PodStatus]) -> bool:
        """Bring ``statuses`` up to date for one pod; whether that changed anything."""
        publisher, key = self._parts.publisher, entry.key
        if entry.gone and not entry.dirty:
            self._ledger.drop(entry)
            publisher.dropped(key)
            self._touch_rejected()
            return statuses.pop(key, None) is not None
        self._note_deletion(entry)
        if entry.stale or (entry.dirty and not (entry.busy or entry.hold_until)):
            self._ledger.attend(entry)
        if not entry.changed:
            return False
        entry.changed = False
        try:
            reported = publisher.report(entry, self._parts.clock.now())
        except Exception:
            # the status last told stands; the pod itself is kept all the same
            log.exception("%s: its status cannot be told", key, extra={"pod": str(key)})
            publisher.count_unexpected()
            return False
        if not reported:
            return statuses.pop(key, None) is not None
        if entry.status is not None:
            statuses[key] = entry.status
        return True
