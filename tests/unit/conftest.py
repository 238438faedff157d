"""What all unit tests share."""

from __future__ import annotations

import pytest

from podsync.sources import memory


@pytest.fixture(autouse=True)
def _prompt_memory_source(monkeypatch: pytest.MonkeyPatch) -> None:
    """A memory source notices at once that it should stop: many tests end an agent."""
    monkeypatch.setattr(memory, "_GLANCE", 0.005)
