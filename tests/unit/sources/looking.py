"""A directory source read by hand: no thread, no inotify, time as a test moves it."""

from __future__ import annotations

from pathlib import Path

from podsync.clock import ManualClock, SystemClock
from podsync.sources.base import Snapshot
from podsync.sources.directory import HOLD, DirectorySource
from podsync.sources.lastgood import LastGood
from tests.unit.sources.listening import images

BAD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a\n"
"""A manifest that stops in the middle."""


class Looking:
    """A directory source read by hand. ``clock`` starts in 2030: every file is old, none unsettled."""

    def __init__(self, folder: Path, clock: ManualClock | None = None, store: LastGood | None = None) -> None:
        self.clock = clock or ManualClock()
        self.folder = folder
        self.source = DirectorySource(folder, self.clock, store=store)

    def look(self) -> Snapshot:
        """Look once; there must be something to say."""
        snapshot = self.source.read()
        assert snapshot is not None
        return snapshot

    def pods(self) -> dict[str, str]:
        """Look once; name to image."""
        return images(self.look().pods)

    def after(self, seconds: float) -> dict[str, str]:
        """Look once more, that much later."""
        self.clock.advance(seconds)
        return self.pods()

    def gone(self) -> dict[str, str]:
        """Look twice, so that what is missing is really gone."""
        self.pods()
        return self.after(HOLD)


def fresh() -> ManualClock:
    """A clock that starts now, so that a file just written is young."""
    return ManualClock(SystemClock().now())
