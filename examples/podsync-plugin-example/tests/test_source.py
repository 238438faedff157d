"""The plug-in's whole test: podsync's suite for sources."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import podsync
from podsync.sources.base import Source
from podsync.testing.sources import SourceConformance

MANIFEST = """\
apiVersion: v1
kind: Pod
metadata: {{name: {name}}}
spec:
  containers: [{{name: main, image: "busybox:1.36"}}]
"""


class TestSqlite(SourceConformance):
    """Broken by taking the database away."""

    @pytest.fixture(autouse=True)
    def _database(self, tmp_path: Path) -> None:
        self.path, self.away = tmp_path / "pods.db", tmp_path / "away.db"
        with closing(sqlite3.connect(self.path)) as database, database:
            database.execute("CREATE TABLE manifests (name TEXT PRIMARY KEY, manifest TEXT NOT NULL)")

    def make_source(self) -> Source:
        """By the name under which the entry point offers it."""
        return podsync.sources.open(f"sqlite:{self.path}", interval="0.05")

    def want(self, *names: str) -> None:
        """One row a pod."""
        with closing(sqlite3.connect(self.path)) as database, database:
            database.execute("DELETE FROM manifests")
            rows = [(name, MANIFEST.format(name=name)) for name in names]
            database.executemany("INSERT INTO manifests VALUES (?, ?)", rows)

    def break_it(self) -> None:
        """The file is gone."""
        self.path.rename(self.away)

    def mend(self) -> None:
        """It is back."""
        if self.away.exists():
            self.away.rename(self.path)

    def test_a_bad_row_keeps_its_last_good_pod(self) -> None:
        """And says what is wrong with it."""
        self.want("a")
        with self.running() as sink:
            self.until(lambda: bool(sink.sets), "the first set")
            with closing(sqlite3.connect(self.path)) as database, database:
                database.execute("UPDATE manifests SET manifest = 'kind: [oops'")
            self.until(lambda: len(sink.sets) > 1, "the next set")
        assert sink.sets[-1] == ("a",)
        assert sink.refusals[-1][0].origin.endswith("#a")
