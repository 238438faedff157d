"""When to look at the engine, and whether it can be asked at all. Part of the owner.

Looks are numbered in the order they are sent out, batches by the same counter, so that
"began after" is a comparison of numbers and not of clocks.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from podsync.backoff import Backoff
from podsync.errors import PodsyncError
from podsync.messages import Looked

if TYPE_CHECKING:
    from podsync.clock import Clock
    from podsync.ledger import Entry
    from podsync.messages import Message
    from podsync.observer import Observer
    from podsync.volumes import Volumes
    from podsync.workers import Workers

__all__ = ["RELOOK_BLIND", "RELOOK_CONNECTED", "Looks"]

log = logging.getLogger(__name__)

RELOOK_CONNECTED = 10.0
"""Seconds between full looks while the engine's hints flow: the net below lost hints."""
RELOOK_BLIND = 1.0
"""The same while they do not."""
ENGINE_RETRY = Backoff(initial=0.25, maximum=5)


class Looks:
    """Sends looks out and keeps track of them."""

    def __init__(self, clock: Clock, workers: Workers, observer: Observer, volumes: Volumes) -> None:
        """The first full look is due at once."""
        self._clock, self._workers = clock, workers
        self._observer, self._volumes = observer, volumes
        self._sequence = 0
        self._full = 0
        self._due = 0.0
        self._again = False
        self._failures = 0
        self.hints_flow = False
        """Whether the engine's stream of hints is connected."""
        self.looked_once = False
        """Whether a full look has succeeded yet."""
        self.engine_error = ""
        """Why the engine cannot be asked now; empty while it can."""

    @property
    def usable(self) -> bool:
        """Whether what is known of the engine may be planned on."""
        return self.looked_once and not self.engine_error

    @property
    def full_under_way(self) -> bool:
        """Whether a look at everything has been sent out and is not back."""
        return bool(self._full)

    def next(self) -> int:
        """The next number of the common order."""
        self._sequence += 1
        return self._sequence

    def want_full(self) -> None:
        """Look at everything now; once more if such a look is under way."""
        self._due = 0.0
        self._again = bool(self._full)

    def hinted(self, *, connected: bool) -> None:
        """Note the state of the hint stream."""
        self.hints_flow = connected

    def wait(self) -> float:
        """Seconds until the next full look is due; a long time while one is under way."""
        return 3600.0 if self._full else self._due - self._clock.monotonic()

    def send_full_if_due(self, missing: frozenset[str]) -> None:
        """Send a full look out if it is time and none is under way.

        ``missing`` are images to look for again: somebody may have loaded them by hand.
        """
        if not self._full and self._clock.monotonic() >= self._due:
            self._full = self.next()
            self._workers.submit("look:", self._full_job(self._full, missing))

    def send(self, entry: Entry) -> None:
        """Look at one pod. With no uid, or two (an edit under way), only a full look tells."""
        uids = {s.uid for s in entry.actual.sandboxes} | ({entry.pod.metadata.uid} if entry.pod else set())
        if len(uids) != 1:
            self._due = 0.0  # one under way that began too early is followed by another: the pod stays stale
            return
        entry.looking = self.next()
        self._workers.submit(f"look:{entry.key}", self._job(entry.looking, uids.pop()))

    def full_returned(self, look: Looked) -> bool:
        """A full look is back; whether it tells anything."""
        self._full = 0
        if look.error is not None:
            self.failed(look.error)
            return False
        self._due = self._clock.monotonic() + (RELOOK_CONNECTED if self.hints_flow else RELOOK_BLIND)
        if self._again:
            self._again, self._due = False, 0.0
        if self.engine_error:
            log.info("the engine answers again")
        self.engine_error, self._failures, self.looked_once = "", 0, True
        return True

    def failed(self, error: Exception) -> None:
        """A look failed: freeze, say so once, and ask again soon."""
        foreseen = isinstance(error, PodsyncError)
        text = str(error) if foreseen else f"unexpected {type(error).__name__}: {error}"
        if text != self.engine_error:
            level, traceback = (logging.WARNING, None) if foreseen else (logging.ERROR, error)
            log.log(level, "the engine cannot be asked, pods are left as they are: %s", text, exc_info=traceback)
        self.engine_error = text
        self._failures += 1
        self._due = self._clock.monotonic() + ENGINE_RETRY.after(self._failures)

    def _full_job(self, sequence: int, missing: frozenset[str]) -> Callable[[], Message]:
        def job() -> Message:
            try:
                folders = self._volumes.folders()
                sandboxes = self._observer.look()
                return Looked(sequence, None, sandboxes, folders, self._observer.present(missing))
            except Exception as error:  # noqa: BLE001 - the owner tells a fault from a mistake
                return Looked(sequence, None, error=error)

        return job

    def _job(self, sequence: int, uid: str) -> Callable[[], Message]:
        def job() -> Message:
            try:
                return Looked(sequence, uid, self._observer.look(uid))
            except Exception as error:  # noqa: BLE001 - the owner tells a fault from a mistake
                return Looked(sequence, uid, error=error)

        return job
