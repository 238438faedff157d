"""``file:PATH``: the pods of one manifest file, of any name; ``-`` or ``file:-`` is standard input.

The same rules as for a file of a directory hold (when it is believed, last good pods), but
for one: the file was named on purpose, so when it is missing or cannot be read that is a
failed read and its pods stay. To want no pod, write an empty ``kind: List`` into it.
``interval=SECONDS`` sets the time between looks.

Standard input is read once, to its end; its pods stand until the agent stops.
"""

from __future__ import annotations

import logging
import os
import select
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from podsync.errors import ConfigError, SourceError
from podsync.sources.base import Snapshot
from podsync.sources.files import ManifestFile, absolute, shown
from podsync.sources.lastgood import LastGood
from podsync.sources.manifests import MAX_BYTES, merge, read_manifest
from podsync.sources.options import Options
from podsync.sources.polled import Polled
from podsync.sources.watch import Watch, identity

if TYPE_CHECKING:
    from podsync.clock import Clock
    from podsync.runtimes.base import StopToken
    from podsync.sources.base import Sink, Source

__all__ = ["FileSource", "StdinSource", "open_source"]

_LOG = logging.getLogger(__name__)
_HINTED, _BLIND = 10.0, 1.0  # seconds between looks with and without inotify
_HOLD = 0.02  # seconds for which an editor's save may take the file away unnoticed
_GLANCE = 0.1  # seconds between two glances at the stop token


class FileSource:
    """The Source behind ``file:PATH``. ``read`` may be called alone, from one thread at a time."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        clock: Clock,
        *,
        store: LastGood | None = None,
        interval: float | None = None,
    ) -> None:
        """``store`` keeps last good versions; ``interval`` (seconds) replaces both intervals between looks."""
        self._path = Path(absolute(path))
        self.name = f"file:{self._path}"
        self._clock = clock
        self._interval = interval
        self._store = store or LastGood(None, self.name)
        self._file: ManifestFile | None = None
        self._last: Snapshot | None = None
        self._missing_since: float | None = None
        self._again: float | None = None
        self._unsaved = False
        self._watch: Watch | None = None
        self._polled = Polled(
            self.name, self.read, self.interval, clock, stored=self.stored, spoken=self.save, pause=self._pause
        )

    def run(self, sink: Sink, stop: StopToken) -> None:
        """Blocks until stopped."""
        self._watch = watch = Watch(str(self._path.parent), lambda changed: changed == self._path.name)
        try:
            self._polled.run(sink, stop)
        finally:
            self._watch = None
            watch.close()

    def read(self) -> Snapshot | None:
        """One look. None while the first one meets the file being written.

        Raises SourceError when it is missing or cannot be read.
        """
        self._again = None
        file, whole = self._load(), self._path.name in self._aim()
        visit = file.visit(str(self._path), None, self._clock, whole=whole)
        if visit.missing:
            return self._missing()
        self._missing_since = None
        if file.trouble:
            raise SourceError(self.name, f"{file.trouble} (its pods stay as they are)")
        if visit.wait > 0:
            self._again = visit.wait
        self._unsaved |= visit.changed
        if visit.changed or (self._last is None and file.known):
            self._last = merge([(file.origin, file.reading, True)])
        return self._last

    def interval(self) -> float:
        """Seconds until the next look, asked after each."""
        if self._again is not None:
            return self._again
        if self._interval is not None:
            return self._interval
        hinted = self._watch is not None and self._watch.active and not self._path.is_symlink()
        return _HINTED if hinted else _BLIND

    def stored(self) -> Snapshot | None:
        """The last good pods from before this process; None when there are none."""
        file = self._load()
        return merge([(file.origin, file.reading, True)]) if file.reading.pods else None

    def save(self) -> None:
        """Store what is good now."""
        if self._unsaved:
            self._store.save("file", self._load().reading.pods)
            self._unsaved = False

    def _pause(self, seconds: float, stop: StopToken) -> None:
        if self._watch is None:
            stop.wait(seconds)
        else:
            self._watch.wait(seconds, stop)

    def _load(self) -> ManifestFile:
        if self._file is None:
            self._file = ManifestFile(shown(str(self._path)), self._store.load().get("file", ()))
        return self._file

    def _aim(self) -> frozenset[str]:
        """Keep the watch on the file's directory; the names that just arrived there by rename."""
        if self._watch is None:
            return frozenset()
        folder = str(self._path.parent)
        try:
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            self._watch.drop(identity(folder))
            return frozenset()
        try:
            at = identity(descriptor)
            if at is not None:
                self._watch.aim(descriptor, at)
            return self._watch.take_renamed()
        finally:
            os.close(descriptor)

    def _missing(self) -> Snapshot | None:
        now = self._clock.monotonic()
        if self._missing_since is None:
            self._missing_since = now
        left = self._missing_since + _HOLD - now
        if self._last is None or left <= 0:
            raise SourceError(self.name, "the file does not exist (its pods stay as they are)")
        self._again = left
        return self._last


class StdinSource:
    """The Source behind ``-``: reads a descriptor to its end, speaks once and waits."""

    name = "file:-"

    def __init__(self, descriptor: int | None = None) -> None:
        """Read ``descriptor``, or the process's standard input."""
        self._descriptor = descriptor

    def run(self, sink: Sink, stop: StopToken) -> None:
        """Blocks until stopped, also while nobody writes."""
        try:
            content = self._read_all(stop)
        except (OSError, ValueError) as error:  # ValueError: standard input is closed
            sink.failed(SourceError(self.name, f"standard input cannot be read: {error}"))
            content = None
        if content is not None:
            if len(content) > MAX_BYTES:
                sink.failed(SourceError(self.name, f"standard input is larger than {MAX_BYTES >> 20} MiB"))
            else:
                snapshot = merge([("<stdin>", read_manifest(content, "<stdin>", ()), True)])
                if snapshot.refusals and (not snapshot.pods or any(r.key is None for r in snapshot.refusals)):
                    # who pipes into us and fails half-way does not want every pod ended
                    said = "; ".join(str(error) for refusal in snapshot.refusals[:3] for error in refusal.errors[:3])
                    sink.failed(SourceError(self.name, f"{said} (its pods stay as they are)"))
                else:
                    sink.replace(1, snapshot.pods, snapshot.refusals)
        stop.wait()

    def _read_all(self, stop: StopToken) -> bytes | None:
        """Everything up to the end, or one byte over the limit; None when stopped before."""
        descriptor = sys.stdin.fileno() if self._descriptor is None else self._descriptor
        poller = select.poll()
        poller.register(descriptor, select.POLLIN)
        parts: list[bytes] = []
        left = MAX_BYTES + 1
        while left > 0:
            if stop.is_set():
                return None
            if not poller.poll(_GLANCE * 1000):
                continue
            part = os.read(descriptor, min(left, 1 << 20))
            if not part:
                break
            parts.append(part)
            left -= len(part)
        return b"".join(parts)


def open_source(options: Mapping[str, str], clock: Clock) -> Source:
    """The ``file`` kind. Options: ``spec`` (the path or ``-``), ``root``, ``interval``. Raises ConfigError."""
    given = Options("file", options, ("interval",))
    if not given.spec:
        raise ConfigError("file: needs a path, as in file:/etc/podsync/pod.yaml, or - for standard input")
    if given.spec == "-":
        return StdinSource()
    path = absolute(given.spec)
    return FileSource(path, clock, store=given.store(f"file:{path}"), interval=given.seconds("interval"))
