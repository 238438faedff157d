"""``sqlite:PATH``: pods from the table ``manifests (name TEXT PRIMARY KEY, manifest TEXT)``.

Option ``interval``: seconds from one look to the next, 5 unless given.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from podsync.clock import Clock
from podsync.errors import ConfigError, SourceError
from podsync.models import Pod
from podsync.sources.base import Snapshot, Source
from podsync.sources.manifests import merge, read_manifest
from podsync.sources.polled import Polled

__all__ = ["open_source"]


class Table:
    """Reads the table. Each row is an origin of its own: a bad one keeps its last good pods."""

    def __init__(self, path: Path) -> None:
        self.name = f"sqlite:{path}"
        self._path = path
        self._rows: list[tuple[str, str]] | None = None
        self._good: dict[str, tuple[Pod, ...]] = {}
        self._last = Snapshot()

    def read(self) -> Snapshot:
        """The whole set; the same object as before when no row has changed. Raises SourceError."""
        rows = self._select()
        if rows == self._rows:
            return self._last
        readings = [
            (f"{self.name}#{name}", read_manifest(text.encode(), f"{self.name}#{name}", self._good.get(name, ())))
            for name, text in rows
        ]
        self._good = {name: reading.pods for (name, _), (_, reading) in zip(rows, readings, strict=True)}
        self._rows, self._last = rows, merge((origin, reading, True) for origin, reading in readings)
        return self._last

    def _select(self) -> list[tuple[str, str]]:
        # read-only: connecting must not create the file, or a missing table would look like an empty one
        try:
            with closing(sqlite3.connect(f"{self._path.as_uri()}?mode=ro", uri=True)) as database:
                return database.execute("SELECT name, manifest FROM manifests ORDER BY name").fetchall()
        except sqlite3.Error as error:
            raise SourceError(self.name, f"the table cannot be read: {error}") from error


def open_source(options: Mapping[str, str], clock: Clock) -> Source:
    """Called by podsync: ``options["spec"]`` is what follows ``sqlite:``. Raises ConfigError."""
    if not options["spec"]:
        raise ConfigError("sqlite: needs the path of a database, as in sqlite:/var/lib/pods.db")
    try:
        interval = float(options.get("interval", "5"))
    except ValueError as error:
        raise ConfigError(f"interval: {options['interval']!r} is no number of seconds") from error
    table = Table(Path(options["spec"]).absolute())
    return Polled(table.name, table.read, interval, clock)
