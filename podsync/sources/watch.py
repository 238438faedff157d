"""inotify as a hint: it shortens the wait for the next look and is never believed.

Nothing is lost when it is missing (another system, too many instances, a network file
system): the periodic look finds everything. What it does tell reliably is that a file
arrived by rename and is therefore whole.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from podsync.runtimes.base import StopToken

__all__ = ["Identity", "Watch", "identity"]

_LOG = logging.getLogger(__name__)
_SLICE = 0.15  # seconds between two glances at the stop token and at what the path names

Identity = tuple[int, int]
"""Device and inode: which directory it really is."""


def identity(path: str | int) -> Identity | None:
    """Which directory a path (or descriptor) names now; None when it names nothing readable."""
    try:
        status = os.stat(path)  # noqa: PTH116 - a descriptor too
    except OSError:
        return None
    return status.st_dev, status.st_ino


class Watch:
    """Waits for changes in one directory, whatever that path names at the moment.

    Owned by one thread. ``relevant`` tells by name whether a change of a file matters.
    """

    def __init__(self, path: str, relevant: Callable[[str], bool]) -> None:
        self._path = path
        self._relevant = relevant
        self._aimed: Identity | None = None
        self._watch: int | None = None
        self._renamed: set[str] = set()
        self._lost = False
        self._inotify: Any = _open_inotify()
        self._flags: Any = None
        if self._inotify is not None:
            from inotify_simple import flags

            self._flags = flags

    @property
    def active(self) -> bool:
        """True while changes are noticed at once."""
        return self._watch is not None

    def aim(self, descriptor: int, at: Identity) -> None:
        """Watch the directory behind an open descriptor. Call before listing it, so that no change falls between."""
        if at == self._aimed and self._watch is not None:
            return
        self.drop(at)
        if self._inotify is None:
            return
        flags = self._flags
        mask = (
            flags.CREATE | flags.CLOSE_WRITE | flags.MOVED_TO | flags.MOVED_FROM | flags.DELETE
            | flags.ATTRIB | flags.DELETE_SELF | flags.MOVE_SELF | flags.ONLYDIR
        )  # fmt: skip
        try:
            # by descriptor: the path may have been pointed elsewhere since it was opened
            self._watch = self._inotify.add_watch(f"/proc/self/fd/{descriptor}", mask)
        except OSError as error:
            _LOG.debug("no inotify watch, looking more often", extra={"path": self._path, "error": str(error)})

    def drop(self, at: Identity | None = None) -> None:
        """Stop watching; ``at`` is what the path names without being readable, so that only a change of it wakes."""
        if self._watch is not None:
            with contextlib.suppress(OSError):  # gone with its directory
                self._inotify.rm_watch(self._watch)
        self._watch = None
        self._aimed = at

    def wait(self, seconds: float, stop: StopToken) -> None:
        """Return after ``seconds``, when stopped, on a relevant change, or when the path names another directory."""
        left = seconds
        while not stop.is_set():
            slice_ = min(left, _SLICE)
            if self._watch is None:
                stop.wait(slice_)
            elif self._changed(slice_):
                return
            left -= slice_
            if left <= 0 or identity(self._path) != self._aimed:
                return

    def take_renamed(self) -> frozenset[str]:
        """Names that arrived by rename since the last call; they are whole."""
        if self._watch is not None:
            self._changed(0)
        names, self._renamed = frozenset(self._renamed), set()
        return names

    def take_lost(self) -> bool:
        """Whether the watched directory was deleted, moved or unmounted since the last call."""
        lost, self._lost = self._lost, False
        return lost

    def close(self) -> None:
        """Give the descriptor back."""
        self._watch = None
        if self._inotify is not None:
            self._inotify.close()
            self._inotify = None

    def _changed(self, seconds: float) -> bool:
        """Read what happened within ``seconds``; true if a look is worth while."""
        flags, worth = self._flags, False
        for event in self._inotify.read(timeout=math.ceil(seconds * 1000)):
            if event.mask & flags.Q_OVERFLOW:
                worth = True
            elif event.wd != self._watch:
                continue  # of a directory watched before
            elif event.mask & (flags.IGNORED | flags.UNMOUNT | flags.DELETE_SELF | flags.MOVE_SELF):
                self.drop()
                self._lost = True
                return True
            elif event.mask & flags.MOVED_TO:
                self._renamed.add(event.name)
                worth = True  # whatever its name: files may be links through it
            else:
                worth = worth or self._relevant(event.name)
                if event.mask & (flags.CREATE | flags.CLOSE_WRITE):
                    self._renamed.discard(event.name)
        return worth


def _open_inotify() -> Any:
    """An inotify instance, or None where there is none to be had."""
    try:
        from inotify_simple import INotify

        return INotify()
    except (ImportError, OSError, AttributeError, TypeError) as error:
        _LOG.debug("no inotify, looking more often", extra={"error": str(error)})
        return None
