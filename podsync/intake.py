"""What the engine tells, taken into the ledger: hints, looks, the ends of batches and pulls. Part of the owner."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from podsync import batches, pulls
from podsync.errors import ImageAbsent, PodsyncError
from podsync.state import ActualPod, grouped

if TYPE_CHECKING:
    from podsync.clock import Clock
    from podsync.ledger import Entry, Ledger
    from podsync.looks import Looks
    from podsync.messages import BatchDone, Looked, PullDone
    from podsync.models import PodKey
    from podsync.publisher import Publisher
    from podsync.pulls import Pulls

__all__ = ["Intake"]

log = logging.getLogger(__name__)


class Intake:
    """Brings the ledger up to date; a look counts for a pod only if it began after the pod's last action ended."""

    def __init__(self, clock: Clock, publisher: Publisher, ledger: Ledger, looks: Looks, pulls: Pulls) -> None:
        """Work on the owner's own ledger, looks and pulls."""
        self._clock, self._publisher = clock, publisher
        self._ledger, self._looks, self._pulls = ledger, looks, pulls

    def hint(self, uid: str, container: str, *, connected: bool) -> None:
        """Something happened to a container: look again, unless what is known explains it."""
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

    def full_look(self, look: Looked) -> None:
        """Take in a look at everything, pod by pod, as far as it is fresh."""
        self._count(look.error)
        if not self._looks.full_returned(look):
            return
        self._publisher.looked()
        if look.images:
            self._pulls.absent -= look.images
            self._ledger.touch(e.key for e in self._ledger.entries.values() if e.uses(look.images))
        seen = grouped(look.sandboxes, look.folders or {})
        strangers = seen.keys() - self._ledger.entries.keys()
        if look.sequence <= self._ledger.floor:
            strangers = set()  # it may show what has been removed since it began
        for key in (*self._ledger.entries, *strangers):
            entry = self._ledger.entry(key)
            if entry.busy or look.sequence <= entry.mark:
                continue
            before, found = entry.actual, seen.get(key, ActualPod())
            entry.see(found.sandboxes, None)
            if found.folders != entry.actual.folders:
                entry.actual = replace(entry.actual, folders=found.folders)
            self._accepted(entry, look.sequence, before)
            if not entry.looking:
                self._follow_hints(entry)

    def look(self, look: Looked) -> None:
        """Take in a look at one pod."""
        entry = self._ledger.of_uid(look.uid or "")
        if entry is None or look.sequence != entry.looking:
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

    def batch(self, done: BatchDone) -> None:
        """Take in a batch's outcomes and its own look."""
        entry = self._ledger.entries[done.key]
        for outcome in done.outcomes:
            self._publisher.acted(done.key, entry.known_pod, outcome)
            if isinstance(outcome.error, ImageAbsent):
                self._pulls.missing(outcome.error)
            elif outcome.error is not None:
                self._report(done.key, outcome.error)
        if done.look_error is not None:
            self._count(done.look_error)
            self._looks.failed(done.look_error)
        batches.absorb(entry, done, self._clock.monotonic())
        entry.mark = self._looks.next()
        self._ledger.attend(entry)
        if not entry.stale:
            self._ledger.index(entry)
            self._follow_hints(entry)

    def pull(self, done: PullDone) -> None:
        """Take in the end of a pull for all who waited for it."""
        for key in self._pulls.returned(done):
            entry = self._ledger.entries.get(key)
            if entry is None:
                continue
            pulls.outcome(entry, done)
            if done.error is not None:
                self._report(key, done.error)
            self._publisher.pulled(key, entry.known_pod, done)
            self._ledger.attend(entry)

    def _report(self, key: PodKey, error: Exception) -> None:
        if isinstance(error, PodsyncError):
            log.warning("%s: %s", key, error, extra={"pod": str(key), "reason": error.reason})
        else:
            log.error("%s: unexpected error", key, exc_info=error, extra={"pod": str(key)})
        self._count(error)

    def _count(self, error: Exception | None) -> None:
        """Count what nobody foresaw."""
        if error is not None and not isinstance(error, PodsyncError):
            self._publisher.count_unexpected()
