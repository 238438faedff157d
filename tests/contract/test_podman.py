"""Podman passes the runtimes' suite."""

from __future__ import annotations

import pytest

from podsync.runtimes.base import Runtime
from podsync.runtimes.podman import connect
from podsync.testing.conformance import RuntimeConformance


@pytest.mark.podman
class TestPodman(RuntimeConformance):
    """Against the engine the environment names."""

    orphans = False  # Podman refuses to remove what others depend on, so the adapter takes them along

    @pytest.fixture(autouse=True)
    def _find(self, endpoint: str) -> None:
        self.endpoint = endpoint

    def make_runtime(self, node: str) -> Runtime:
        """Connect to it."""
        return connect({"node": node, "endpoint": self.endpoint})
