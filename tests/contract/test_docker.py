"""Docker passes the runtimes' suite."""

from __future__ import annotations

import pytest

from podsync.runtimes.base import Runtime
from podsync.runtimes.docker import connect
from podsync.testing.conformance import RuntimeConformance


@pytest.mark.docker
class TestDocker(RuntimeConformance):
    """Against the engine the environment names."""

    @pytest.fixture(autouse=True)
    def _find(self, endpoint: str) -> None:
        self.endpoint = endpoint

    def make_runtime(self, node: str) -> Runtime:
        """Connect to it."""
        return connect({"node": node, "endpoint": self.endpoint})
