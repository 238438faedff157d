"""Fixtures of the sources' tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from podsync.sources.base import Source
from tests.unit.sources.listening import Running, manifest
from tests.unit.sources.looking import Looking
from tests.unit.sources.misbehaving import Server, serving, text


@pytest.fixture
def run() -> Iterator[Callable[[Source], Running]]:
    """Run sources until the end of the test."""
    started: list[Running] = []

    def begin(source: Source) -> Running:
        started.append(Running(source))
        return started[-1]

    yield begin
    assert all(each.end() for each in started)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty manifest directory."""
    path = tmp_path / "manifests"
    path.mkdir()
    return path


@pytest.fixture
def looking(folder: Path) -> Looking:
    """A source on the empty directory, read by hand."""
    return Looking(folder)


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever proxy the machine has, the servers of these tests are here."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def played() -> Iterator[Server]:
    """A server that answers with pod ``a`` until told otherwise."""
    with serving(text(manifest("a"))) as running:
        yield running
