"""Which engine a contract test runs on."""

from __future__ import annotations

import pytest

from tests import engines


@pytest.fixture
def endpoint(request: pytest.FixtureRequest) -> str:
    """Where the engine of the test's mark listens; skips without one, fails where engines are a must."""
    return engines.endpoint(next(name for name in engines.VARIABLES if request.node.get_closest_marker(name)))
