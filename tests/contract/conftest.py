"""Which engines the contract tests run on."""

from __future__ import annotations

import os

import pytest

ENGINES = {"docker": ("PODSYNC_TEST_DOCKER", "DOCKER_HOST"), "podman": ("PODSYNC_TEST_PODMAN", "CONTAINER_HOST")}


@pytest.fixture
def endpoint(request: pytest.FixtureRequest) -> str:
    """Where the engine of the test's mark listens; without one the test is skipped, or fails if engines are a must."""
    engine = next(name for name in ENGINES if request.node.get_closest_marker(name))
    found = next((os.environ[name] for name in ENGINES[engine] if os.environ.get(name)), "")
    if not found:
        said = f"no {engine}: set {' or '.join(ENGINES[engine])} to its unix:// address"
        if os.environ.get("PODSYNC_REQUIRE_ENGINES") == "1":
            pytest.fail(said)
        pytest.skip(said)
    return found
