"""Engines and agents for the end-to-end tests."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.harness import Agent, Engine
from tests.engines import endpoint


@pytest.fixture(
    params=[pytest.param("docker", marks=pytest.mark.docker), pytest.param("podman", marks=pytest.mark.podman)]
)
def engine(request: pytest.FixtureRequest) -> Engine:
    """Each engine in turn; skips with its reason where there is none."""
    return Engine(request.param, endpoint(request.param))


@pytest.fixture
def make_agent(engine: Engine, request: pytest.FixtureRequest) -> Iterator[Callable[[], Agent]]:
    """Make agents on roots and nodes of their own, and clean up behind them."""
    made: list[Agent] = []

    def make() -> Agent:
        base = Path(tempfile.mkdtemp(prefix="podsync-e2e-"))
        node = f"e{len(made)}-{base.name[-8:].replace('_', 'x')}-{request.node.name}"
        made.append(Agent(engine, base, node))
        return made[-1]

    yield make
    for agent in made:
        agent.close()


@pytest.fixture
def agent(make_agent: Callable[[], Agent]) -> Agent:
    """One agent, not started yet."""
    return make_agent()
