"""Short ways for programs that embed podsync."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from podsync.agent import Agent
from podsync.errors import PodsyncError
from podsync.sources.memory import MemorySource
from podsync.state import Desired

if TYPE_CHECKING:
    from pathlib import Path

    from podsync.models import Pod, PodKey, PodStatus
    from podsync.runtimes.base import Runtime

__all__ = ["NotConverged", "converge"]


class NotConverged(PodsyncError):
    """The pods had not come to rest in time; ``statuses`` says how far they were."""

    reason = "NotConverged"

    def __init__(self, message: str, statuses: Mapping[PodKey, PodStatus]) -> None:
        """``statuses`` as last seen."""
        super().__init__(message)
        self.statuses = statuses


def converge(
    desired: Desired | Iterable[Pod],
    runtime: Runtime,
    timeout: float = 60.0,
    *,
    root: str | Path | None = None,
    node_name: str | None = None,
) -> Mapping[PodKey, PodStatus]:
    """Bring the engine to exactly these pods and return their statuses.

    At rest means: each pod runs, has ended, or waits for the retry of something that
    failed; and nothing of any other pod of this node is left. ``timeout`` in seconds.
    Raises NotConverged, ConfigError (``root`` is in use), RuntimeUnavailable.
    """
    pods = desired.pods.values() if isinstance(desired, Desired) else desired
    source = MemorySource(tuple(pods), name="library")
    agent = Agent(sources=[source], runtime=runtime, root=root, node_name=node_name)
    agent.run(until=lambda running: running.at_rest, deadline=timeout)
    if not agent.at_rest:
        problem = agent.owner.engine_error or "work is still under way"
        raise NotConverged(f"the pods have not come to rest within {timeout:g} s: {problem}", agent.statuses)
    return agent.statuses
