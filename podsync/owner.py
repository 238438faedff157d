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
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING

from podsync import batches, ledger, pulls
from podsync.errors import ImageAbsent, PodsyncError
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
from podsync.state import Actual, ActualPod, Desired

if TYPE_CHECKING:
    from podsync.clock import Clock
    from podsync.desired import DesiredStore
    from podsync.executor import Executor
    from podsync.models import Pod, PodStatus
    from podsync.observer import Observer
    from podsync.plan import PodPlan
    from podsync.publisher import Publisher
    from podsync.reconciler import Reconciler
    from podsync.runtimes.base import PullProgress, SandboxRecord
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
        self._ending = True
        self._sources_spoke = True

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
                self._absorb_hint(hint.uid, hint.container, connected=hint.connected)
            case Looked(uid=None):
                self._absorb_full_look(message)
            case Looked():
                self._absorb_look(message)
            case BatchDone():
                self._absorb_batch(message)
            case PullDone():
                self._absorb_pull(message)
            case PullProgressed():
                self._pulls.progressed(message)
            case Woken():
                pass

    def _absorb_hint(self, uid: str, container: str, *, connected: bool) -> None:
        self._looks.hinted(connected=connected)
        entry = self._ledger.of_uid(uid)
        if entry is None:
            # a stranger, or the stream is back: only a look at everything tells
            self._looks.want_full()
            return
        if entry.busy or entry.looking:
            entry.hinted.add(container)
        elif not entry.explains(container, looked=False):
            entry.stale = True
            self._ledger.attend(entry)
            if self._looks.full_under_way:
                entry.hinted.add(container)  # that look may have begun before it happened

    def _absorb_full_look(self, look: Looked) -> None:
        self._count(look.error)
        if not self._looks.full_returned(look):
            return
        if look.images:
            self._pulls.absent -= look.images
            self._ledger.touch(e.key for e in self._ledger.entries.values() if e.uses(look.images))
        seen: dict[PodKey, list[SandboxRecord]] = {}
        for sandbox in look.sandboxes:
            seen.setdefault(PodKey(sandbox.namespace, sandbox.pod_name), []).append(sandbox)
        folders: dict[PodKey, set[str]] = {}
        for uid, key in (look.folders or {}).items():
            folders.setdefault(key, set()).add(uid)
        for key in {*seen, *folders, *self._ledger.entries}:
            entry = self._entry(key)
            if entry.busy or look.sequence <= entry.mark:
                continue
            before = entry.actual
            entry.see(seen.get(key, ()), None)
            found = frozenset(folders.get(key, ()))
            if found != entry.actual.folders:
                entry.actual = replace(entry.actual, folders=found)
            self._accepted(entry, look.sequence, before)
            if not entry.looking:
                self._follow_hints(entry)

    def _absorb_look(self, look: Looked) -> None:
        entry = self._ledger.of_uid(look.uid or "")
        if entry is None:
            return
        entry.looking = 0
        if look.error is not None:
            self._count(look.error)
            self._looks.failed(look.error)
            entry.stale = True
            self._ledger.attend(entry)
            return
        if entry.busy:
            return
        if look.sequence <= entry.mark:
            entry.stale = True
            self._ledger.attend(entry)
            return
        before = entry.actual
        entry.see(look.sandboxes, (look.uid or "",))
        self._accepted(entry, look.sequence, before)
        self._follow_hints(entry)

    def _accepted(self, entry: Entry, sequence: int, before: ActualPod) -> None:
        entry.mark = max(entry.mark, sequence)
        entry.stale = False
        self._ledger.index(entry)
        if entry.actual is not before:
            entry.dirty = True
        if entry.dirty or entry.changed:
            self._ledger.attend(entry)

    def _follow_hints(self, entry: Entry) -> None:
        """Look again if something happened meanwhile that the last look does not show."""
        hinted, entry.hinted = entry.hinted, set()
        if any(not entry.explains(container, looked=True) for container in hinted):
            entry.stale = True
            self._ledger.attend(entry)

    def _absorb_batch(self, done: BatchDone) -> None:
        entry = self._ledger.entries[done.key]
        for outcome in done.outcomes:
            self._parts.publisher.acted(done.key, self._pod_of(entry), outcome)
            if isinstance(outcome.error, ImageAbsent):
                self._pulls.missing(outcome.error)
            elif outcome.error is not None:
                self._report(done.key, outcome.error)
        if done.look_error is not None:
            self._count(done.look_error)
            self._looks.failed(done.look_error)
        batches.absorb(entry, done, self._parts.clock.monotonic())
        entry.mark = self._looks.next()
        self._ledger.attend(entry)
        if not entry.stale:
            self._ledger.index(entry)
            self._follow_hints(entry)

    def _report(self, key: PodKey, error: Exception) -> None:
        if isinstance(error, PodsyncError):
            log.warning("%s: %s", key, error, extra={"pod": str(key), "reason": error.reason})
        else:
            log.error("%s: unexpected error", key, exc_info=error, extra={"pod": str(key)})
        self._count(error)

    def _count(self, error: Exception | None) -> None:
        """Count what nobody foresaw."""
        if error is not None and not isinstance(error, PodsyncError):
            self._parts.publisher.count_unexpected()

    def _absorb_pull(self, done: PullDone) -> None:
        for key in self._pulls.returned(done):
            entry = self._ledger.entries.get(key)
            if entry is None:
                continue
            pulls.outcome(entry, done)
            if done.error is not None:
                self._report(key, done.error)
            self._parts.publisher.pulled(key, self._pod_of(entry), done)
            self._ledger.attention.add(key)

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
            entry = self._entry(key)
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

    def _entry(self, key: PodKey) -> Entry:
        entry = self._ledger.entry(key)
        self._note_deletion(entry)
        return entry

    def _note_deletion(self, entry: Entry) -> None:
        """When it was first seen that the pod is to be ended; a pod that is undecided is not."""
        unwanted = entry.pod is None and self._desired.complete and entry.key not in self._desired.undecided
        if unwanted is not (entry.deleted_at is not None):
            entry.deleted_at = self._parts.clock.now() if unwanted else None
            entry.changed = True

    def _pod_of(self, entry: Entry) -> Pod | None:
        return entry.pod or entry.last_pod

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
        plan = self._parts.reconciler.sync(
            self._desired,
            Actual(wall, self._ledger.actual, self._pulls.absent),
            only={entry.key for entry in ready},
        )
        for entry in sorted(ready, key=lambda e: e.key):
            self._start(entry, plan.pods.get(entry.key), wall)

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
        self._parts.publisher.planned(entry.key, self._pod_of(entry), entry.plan, plan, wall)
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
        self._parts.publisher.starting(entry.key, self._pod_of(entry), plan, wall)
        job = batches.job(self._parts.executor, self._parts.observer, plan)
        self._parts.workers.submit(f"pod:{entry.key}", job)

    # --- telling -----------------------------------------------------------------------------------

    def _publish(self) -> None:
        publisher, clock = self._parts.publisher, self._parts.clock
        attention, self._ledger.attention = self._ledger.attention, set()
        gone = False
        if self._looks.looked_once:
            statuses: dict[PodKey, PodStatus] | None = None
            for key in attention:
                entry = self._ledger.entries.get(key)
                if entry is None:
                    continue
                if entry.gone and not entry.dirty:
                    self._ledger.drop(entry)
                    publisher.dropped(key)
                    gone = True
                if entry.stale or (entry.dirty and not (entry.busy or entry.hold_until)):
                    self._ledger.attention.add(key)
                if entry.changed or key not in self._ledger.entries:
                    statuses = statuses if statuses is not None else dict(self._statuses)
                    entry.changed = False
                    if key not in self._ledger.entries or not publisher.report(entry, clock.now()):
                        statuses.pop(key, None)
                    elif entry.status is not None:
                        statuses[key] = entry.status
            if statuses is not None:
                self._statuses = MappingProxyType(statuses)
        else:
            self._ledger.attention = attention
        if gone:
            self._touch_rejected()
        publisher.flush(clock.monotonic(), self._looks.engine_error)
