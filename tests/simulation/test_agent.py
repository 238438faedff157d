"""The whole agent against every trouble there is, on a virtual clock."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from podsync.errors import Conflict, NotFound, RuntimeFault, RuntimeUnavailable, StartFault
from podsync.models import PodKey
from podsync.runtimes.base import ContainerState
from podsync.testing.simulation import AgentKilled, Simulation
from tests.simulation.scenes import IMAGES, KINDS, PROGRAMS, REGISTRY, make

EXPLORE = "PODSYNC_SIMULATE" in os.environ
EXAMPLES = int(os.environ.get("PODSYNC_SIMULATE", "300"))
"""Histories to play: the same ones each time, unless ``make simulate`` asks for so many new ones."""

names = st.sampled_from(["p0", "p1", "p2"])
sources = st.sampled_from(["first", "first", "second"])
FAULTS = [RuntimeUnavailable, NotFound, Conflict, StartFault, RuntimeFault]


class AgentMachine(RuleBasedStateMachine):
    """What people, engines and machines do to an agent."""

    @initialize(seed=st.integers(0, 2**32))
    def boot(self, seed: int) -> None:
        """A new world; Hypothesis owns its seed."""
        self.sim = Simulation(seed, programs=PROGRAMS, images=IMAGES, registry=REGISTRY)

    @rule(name=names, kind=st.sampled_from(sorted(KINDS)), edition=st.integers(0, 2), source=sources)
    def apply(self, name: str, kind: str, edition: int, source: str) -> None:
        """A manifest is written or edited."""
        self.sim.apply(make(name, kind, edition), source)

    @rule(name=names, source=sources)
    def delete(self, name: str, source: str) -> None:
        """A manifest is taken away."""
        self.sim.delete(PodKey("default", name), source)

    @rule(seconds=st.one_of(st.floats(0.01, 3), st.floats(3, 40), st.floats(40, 400)))
    def run(self, seconds: float) -> None:
        """Time goes by."""
        self.sim.run(seconds)

    @rule()
    def kill_agent(self) -> None:
        """The agent is killed between two steps."""
        self.sim.crash()

    @rule(seconds=st.floats(0.001, 5))
    def kill_agent_soon(self, seconds: float) -> None:
        """The agent is killed in the middle of whatever goes on then."""
        self.sim.crash_in(seconds)

    @rule(n=st.integers(1, 12), after=st.booleans())
    def die_inside(self, n: int, after: bool) -> None:
        """The agent is killed around the n-th call, before or after its effect."""
        self.sim.faults.raise_at(n, AgentKilled(), after=after)

    @rule(n=st.integers(1, 12), after=st.booleans(), fault=st.sampled_from(FAULTS))
    def fail(self, n: int, after: bool, fault: type[RuntimeFault]) -> None:
        """The n-th call fails, with or without effect."""
        self.sim.faults.raise_at(n, fault("so it was told"), after=after)

    @precondition(lambda self: self.sim.names())
    @rule(data=st.data())
    def kill_something(self, data: st.DataObject) -> None:
        """A process ends behind podsync's back."""
        self.sim.kill(data.draw(st.sampled_from(self.sim.names())))

    @precondition(lambda self: self.sim.names())
    @rule(data=st.data())
    def remove_something(self, data: st.DataObject) -> None:
        """A record vanishes behind podsync's back."""
        self.sim.remove_behind(data.draw(st.sampled_from(self.sim.names())))

    @rule(seconds=st.floats(0.1, 30))
    def engine_away(self, seconds: float) -> None:
        """The engine does not answer for a while."""
        self.sim.engine_away(seconds)

    @rule(live=st.booleans())
    def restart_engine(self, live: bool) -> None:
        """The engine is restarted."""
        self.sim.restart_engine(live_restore=live)

    @rule(source=sources)
    def break_source(self, source: str) -> None:
        """A source cannot be read."""
        self.sim.break_source(source)

    @rule(source=sources)
    def mend_source(self, source: str) -> None:
        """It can be read again."""
        self.sim.mend_source(source)

    @rule(share=st.sampled_from([0.0, 0.1, 0.9, 1.0]))
    def lose_hints(self, share: float) -> None:
        """The engine's events get lost."""
        self.sim.lost_hints = share

    @rule(share=st.sampled_from([0.0, 0.05, 0.3]))
    def slow_down(self, share: float) -> None:
        """Calls and messages take long."""
        self.sim.slow = share

    def teardown(self) -> None:
        """Trouble ends, and everything becomes as the manifests say."""
        if hasattr(self, "sim"):
            self.sim.settle()


TestAgent = AgentMachine.TestCase
TestAgent.settings = settings(
    max_examples=EXAMPLES,
    stateful_step_count=25,
    deadline=None,
    derandomize=not EXPLORE,
    suppress_health_check=list(HealthCheck),
)


def test_same_seed_same_history() -> None:
    """Two simulations of one seed do the same calls at the same moments."""

    def history(seed: int) -> list[str]:
        sim = Simulation(seed, programs=PROGRAMS, images=IMAGES, registry=REGISTRY)
        for number, kind in enumerate(KINDS):
            sim.apply(make(f"p{number % 3}", kind, 0))
            sim.crash_in(7.0)
            sim.run(10)
        running = sim.names(ContainerState.RUNNING)
        sim.kill(running[0])
        sim.run(30)
        return sim.log

    assert history(1) == history(1)
    assert history(1) != history(2)
