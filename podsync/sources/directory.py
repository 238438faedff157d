"""``dir:PATH``: the pods of all manifest files of one directory.

Which files: names that end in ``.yaml``, ``.yml`` or ``.json`` (in any case) and do not begin
with a dot. The kubelet reads every name without a leading dot; here an editor's backup, a
README or vim's ``4913`` is no manifest. Sub-directories are not entered. What is left aside
is named once in the log. Links are followed, also out of the directory.

The periodic look is the truth: every 10 s while inotify tells of changes, every second where
it cannot (no inotify, or a link whose target lies elsewhere). ``interval=SECONDS`` sets both.

What a look makes of what it finds:

* a missing or unreadable directory is a failed read: all pods stay. So is one that is
  suddenly another, on another device, without any manifest: that is a file system not
  mounted (or mounted over it). An empty directory otherwise says that no pod is wanted;
* a deleted file ends its pods once it stayed away for ``HOLD`` seconds and nothing else in
  the directory is being written, so that a rename or an editor's save never does. After the
  directory was replaced as a whole the wait is ``HOLD_REPLACED`` seconds;
* a pod in two files belongs to the file whose name sorts first by its bytes; the other
  file's is refused, naming both. The file's name is no part of a pod's identity;
* a file that cannot be used keeps its last good pods (see ``manifests``), across restarts too.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from podsync.errors import ConfigError, SourceError
from podsync.sources.aside import Aside
from podsync.sources.files import ManifestFile, absolute, shown
from podsync.sources.lastgood import LastGood
from podsync.sources.manifests import merge
from podsync.sources.options import Options
from podsync.sources.polled import Polled
from podsync.sources.watch import Identity, Watch, identity

if TYPE_CHECKING:
    from podsync.clock import Clock
    from podsync.models import Pod
    from podsync.runtimes.base import StopToken
    from podsync.sources.base import Sink, Snapshot, Source

__all__ = ["HOLD", "HOLD_REPLACED", "SUFFIXES", "DirectorySource", "is_manifest_name", "open_source"]

SUFFIXES = (".yaml", ".yml", ".json")
"""Endings of a manifest's name, compared in lower case."""
HOLD = 0.02
"""Seconds a file must stay away before its pods end."""
HOLD_REPLACED = 2.0
"""The same after the directory itself was replaced: whoever does that is probably not done."""
_HINTED, _BLIND = 10.0, 1.0  # seconds between looks with and without inotify


def is_manifest_name(name: str) -> bool:
    """Whether a directory's file of that name is read."""
    return not name.startswith(".") and name.lower().endswith(SUFFIXES)


class DirectorySource:
    """The Source behind ``dir:``. ``read`` may be called alone, from one thread at a time."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        clock: Clock,
        *,
        store: LastGood | None = None,
        interval: float | None = None,
    ) -> None:
        """``store`` keeps last good versions; ``interval`` (seconds) replaces both intervals between looks."""
        self._path = absolute(path)
        self.name = f"dir:{self._path}"
        self._clock = clock
        self._interval = interval
        self._store = store or LastGood(None, self.name)
        self._files: dict[str, ManifestFile] | None = None
        self._gone: dict[str, float] = {}
        self._unsaved: set[str] = set()
        self._last: Snapshot | None = None
        self._identity: Identity | None = None
        self._doubtful = False
        self._replaced_at: float | None = None
        self._again: float | None = None
        self._links = False
        self._watch: Watch | None = None
        self._aside = Aside(self.name)
        self._polled = Polled(
            self.name, self.read, self.interval, clock, stored=self.stored, spoken=self.save, pause=self._pause
        )

    def run(self, sink: Sink, stop: StopToken) -> None:
        """Blocks until stopped."""
        self._watch = watch = Watch(self._path, is_manifest_name)
        try:
            self._polled.run(sink, stop)
        finally:
            self._watch = None
            watch.close()

    def read(self) -> Snapshot | None:
        """One look. None while the first one meets a file that is being written, or one that has just gone.

        Raises SourceError when the directory cannot be read.
        """
        self._again = None
        files = self._load()
        try:
            descriptor = os.open(self._path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise self._failed(error) from error
        try:
            at = identity(descriptor)
            if self._watch is not None and at is not None:
                self._watch.aim(descriptor, at)
            whole = self._watch.take_renamed() if self._watch is not None else frozenset[str]()
            names = self._list(descriptor)
            self._recognise(at, names)
            present, changed = self._visit_all(descriptor, names, whole)
        except OSError as error:
            raise self._failed(error) from error
        finally:
            os.close(descriptor)
        changed |= self._let_go(present)
        if self._last is None and (self._gone or not all(files[name].known for name in present)):
            return None  # the first word is the one that a plan or a single run goes by
        if changed or self._last is None:
            merged = self._merged()
            self._last = self._last if merged == self._last else merged
        return self._last

    def interval(self) -> float:
        """Seconds until the next look, asked after each."""
        if self._again is not None:
            return self._again
        if self._interval is not None:
            return self._interval
        return _HINTED if self._watch is not None and self._watch.active and not self._links else _BLIND

    def stored(self) -> Snapshot | None:
        """The last good pods from before this process; None when there are none."""
        return self._merged() if self._load() else None

    def save(self) -> None:
        """Store what is good now."""
        for name in self._unsaved:
            file = (self._files or {}).get(name)
            self._store.save(name, file.reading.pods if file else ())
        self._unsaved.clear()

    def _pause(self, seconds: float, stop: StopToken) -> None:
        if self._watch is None:
            stop.wait(seconds)
        else:
            self._watch.wait(seconds, stop)

    def _load(self) -> dict[str, ManifestFile]:
        if self._files is None:
            self._files = {name: ManifestFile(self._origin(name), pods) for name, pods in self._store.load().items()}
            noted = self._store.noted("directory")
            if isinstance(noted, list) and len(noted) == 2:  # noqa: PLR2004 - device and inode
                self._identity = noted[0], noted[1]
        return self._files

    def _list(self, descriptor: int) -> list[str]:
        """Manifest names, sorted by their bytes."""
        names: list[str] = []
        self._links = False
        with os.scandir(descriptor) as entries:
            for entry in entries:
                if is_manifest_name(entry.name):
                    names.append(entry.name)
                    self._links |= entry.is_symlink()
                else:
                    self._aside.see(entry.name, directory=entry.is_dir())
        self._aside.end()
        return sorted(names, key=os.fsencode)

    def _recognise(self, at: Identity | None, names: list[str]) -> None:
        """Notice that the directory is another one. Raises SourceError if it looks unmounted."""
        before = self._identity
        # a new directory often gets the inode of the one just deleted
        doubtful = self._doubtful or (self._watch is not None and self._watch.take_lost())
        if at is None or (at == before and not doubtful):
            return
        if before is not None:
            other_device = at[0] != before[0] and at[1] != before[1]
            if other_device and not names and any(file.reading.pods for file in self._load().values()):
                raise SourceError(
                    self.name,
                    "is another, empty file system than before: not mounted? Its pods go on; mount it again, "
                    "or put a manifest there (an empty `kind: List` says that no pod is wanted)",
                )
            self._replaced_at = self._clock.monotonic()
        self._identity, self._doubtful = at, False
        self._store.note("directory", list(at))

    def _visit_all(self, descriptor: int, names: list[str], whole: frozenset[str]) -> tuple[set[str], bool]:
        """The names that are really there, and whether any file says something else than before."""
        files, present, changed = self._load(), set[str](), False
        for name in names:
            file = files.get(name) or ManifestFile(self._origin(name), self._inherited(name, descriptor, names))
            visit = file.visit(name, descriptor, self._clock, whole=name in whole)
            if visit.missing:  # between the listing and now
                self._look_again(HOLD)
                continue
            files[name] = file
            present.add(name)
            changed |= self._gone.pop(name, None) is not None
            if visit.changed:
                changed = True
                self._unsaved.add(name)
            if visit.wait > 0:
                self._look_again(visit.wait)
        return present, changed

    def _inherited(self, name: str, descriptor: int, names: list[str]) -> tuple[Pod, ...]:
        """The last good pods of the file that had another name until now, for a bad one that was renamed."""
        renamed = self._load().keys() - set(names)
        if not renamed:
            return ()
        try:
            status = os.stat(name, dir_fd=descriptor)
        except OSError:
            return ()
        same = [old for old in renamed if self._load()[old].is_file(status)]
        return self._load()[same[0]].reading.pods if same else ()

    def _let_go(self, present: set[str]) -> bool:
        """Drop files that stayed away long enough; true if any was dropped or is newly missing."""
        files, now = self._load(), self._clock.monotonic()
        writing, changed = self._again is not None, False
        if self._replaced_at is not None and now - self._replaced_at >= HOLD_REPLACED:
            self._replaced_at = None
        hold = HOLD if self._replaced_at is None else HOLD_REPLACED
        for name in files.keys() - present:
            if name not in self._gone:
                self._gone[name] = now
                changed = True  # it yields doubled pods to files that are there
            left = self._gone[name] + hold - now
            if left > 0:
                self._look_again(left)
            elif not writing:
                del files[name], self._gone[name]
                self._unsaved.add(name)
                changed = True
        return changed

    def _look_again(self, seconds: float) -> None:
        self._again = seconds if self._again is None else min(self._again, seconds)

    def _merged(self) -> Snapshot:
        """The files that are there, in the order of their names; then those about to go."""
        files = self._load()
        order = sorted(files, key=lambda name: (name in self._gone, os.fsencode(name)))
        return merge((files[name].origin, files[name].reading, name not in self._gone) for name in order)

    def _origin(self, name: str) -> str:
        return shown(str(Path(self._path, name)))

    def _failed(self, error: OSError) -> SourceError:
        self._doubtful = True
        if self._watch is not None:
            self._watch.drop(identity(self._path))
        advice = {
            FileNotFoundError: "the directory does not exist; create it",
            NotADirectoryError: f"is no directory; for one file write file:{self._path}",
            PermissionError: "the directory may not be read; check its permissions",
        }.get(type(error), f"the directory cannot be read: {error.strerror}")
        return SourceError(self.name, f"{advice} (its pods stay as they are)")


def open_source(options: Mapping[str, str], clock: Clock) -> Source:
    """The ``dir`` kind. Options: ``spec`` (the path), ``root``, ``interval``. Raises ConfigError."""
    given = Options("dir", options, ("interval",))
    if not given.spec:
        raise ConfigError("dir: needs a path, as in dir:/etc/podsync/manifests")
    path = absolute(given.spec)
    return DirectorySource(path, clock, store=given.store(f"dir:{path}"), interval=given.seconds("interval"))
