"""Podman and the fake answer the same random calls alike."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

from podsync.runtimes.base import Runtime
from podsync.runtimes.podman import connect
from podsync.testing.agreement import RuntimeAgreement
from tests import engines


class PodmanAgreement(RuntimeAgreement):
    """Against the engine the environment names."""

    def make_runtime(self, node: str) -> Runtime:
        """Connect to it."""
        return connect({"node": node, "endpoint": engines.endpoint("podman")})


TestPodmanAgreement = pytest.mark.podman(PodmanAgreement.TestCase)
TestPodmanAgreement.settings = settings(
    max_examples=4, stateful_step_count=10, deadline=None, suppress_health_check=list(HealthCheck)
)
