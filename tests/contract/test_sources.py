"""The shipped source suite on every source of our own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from podsync.clock import SystemClock
from podsync.manifest.load import parse
from podsync.sources import open as open_source
from podsync.sources.base import Snapshot, Source
from podsync.sources.memory import MemorySource
from podsync.sources.polled import Polled
from podsync.testing.sources import SourceConformance
from tests.unit.sources.listening import manifest
from tests.unit.sources.misbehaving import Server, serving, status, text

NOTHING = "apiVersion: v1\nkind: List\nitems: []\n"


def manifests(names: tuple[str, ...]) -> str:
    """One text with these pods."""
    return "---\n".join(manifest(name) for name in names) or NOTHING


class TestDirectory(SourceConformance):
    """``dir:``, one file a pod; broken by taking the directory away."""

    @pytest.fixture(autouse=True)
    def _place(self, tmp_path: Path) -> None:
        self.folder = tmp_path / "manifests"
        self.away = tmp_path / "away"
        self.folder.mkdir()

    def make_source(self) -> Source:
        """See the suite."""
        return open_source(f"dir:{self.folder}")

    def want(self, *names: str) -> None:
        """See the suite."""
        for path in self.folder.glob("*.yaml"):
            if path.stem not in names:
                path.unlink()
        for name in names:
            (self.folder / f"{name}.yaml").write_text(manifest(name))

    def break_it(self) -> None:
        """See the suite."""
        self.folder.rename(self.away)

    def mend(self) -> None:
        """See the suite."""
        if self.away.exists():
            self.away.rename(self.folder)


class TestFile(SourceConformance):
    """``file:``; broken by taking the file away."""

    @pytest.fixture(autouse=True)
    def _place(self, tmp_path: Path) -> None:
        self.path = tmp_path / "pods.yaml"
        self.away = tmp_path / "away"

    def make_source(self) -> Source:
        """See the suite."""
        return open_source(f"file:{self.path}")

    def want(self, *names: str) -> None:
        """See the suite."""
        self.path.write_text(manifests(names))

    def break_it(self) -> None:
        """See the suite."""
        self.path.rename(self.away)

    def mend(self) -> None:
        """See the suite."""
        if self.away.exists():
            shutil.move(self.away, self.path)


class TestHttp(SourceConformance):
    """``http:``; broken by a server error."""

    server: Server

    @pytest.fixture(autouse=True)
    def _place(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.delenv(name, raising=False)
        with serving() as self.server:
            yield

    def make_source(self) -> Source:
        """See the suite."""
        return open_source(self.server.url, interval="0.1")

    def want(self, *names: str) -> None:
        """See the suite."""
        self.wanted = text(manifests(names))
        self.server.answer = self.wanted

    def break_it(self) -> None:
        """See the suite."""
        self.server.answer = status(500)

    def mend(self) -> None:
        """See the suite."""
        self.server.answer = self.wanted


class TestMemory(SourceConformance):
    """The embedded one, which cannot fail to read."""

    fails = False

    @pytest.fixture(autouse=True)
    def _place(self) -> None:
        self.sources: list[MemorySource] = []
        self.wanted: tuple[str, ...] = ()

    def make_source(self) -> Source:
        """See the suite."""
        self.sources.append(MemorySource(parse(manifests(self.wanted)).pods))
        return self.sources[-1]

    def want(self, *names: str) -> None:
        """See the suite."""
        self.wanted = names
        for source in self.sources:
            source.set(parse(manifests(names)).pods)


class TestPolled(SourceConformance):
    """The loop alone, around a function, as a plug-in would use it."""

    @pytest.fixture(autouse=True)
    def _place(self) -> None:
        self.snapshot = Snapshot()
        self.error: Exception | None = None

    def make_source(self) -> Source:
        """See the suite."""
        return Polled("test:function", self.read, 0.05, SystemClock())

    def read(self) -> Snapshot:
        """Give what is wanted, or fail in a way nobody foresaw."""
        if self.error is not None:
            raise self.error
        return self.snapshot

    def want(self, *names: str) -> None:
        """See the suite."""
        self.snapshot = Snapshot(pods=parse(manifests(names)).pods)

    def break_it(self) -> None:
        """See the suite."""
        self.error = OSError("away")

    def mend(self) -> None:
        """See the suite."""
        self.error = None
