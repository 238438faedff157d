"""Histories worth keeping: what once went wrong, and what people rely on."""

from __future__ import annotations

from itertools import pairwise

import pytest

from podsync.errors import StartFault
from podsync.models import PodKey
from podsync.runtimes.base import ContainerState
from podsync.testing.simulation import Simulation
from tests.simulation.scenes import IMAGES, PROGRAMS, REGISTRY, make

KEY = PodKey("default", "p0")
SEEDS = range(5)


def simulation(seed: int, *, trouble: bool = False) -> Simulation:
    """A world; without trouble every hint arrives and nothing takes long."""
    sim = Simulation(seed, programs=PROGRAMS, images=IMAGES, registry=REGISTRY)
    if not trouble:
        sim.lost_hints = sim.slow = 0.0
    return sim


def started(sim: Simulation, container: str) -> list[float]:
    """When each instance of a container started."""
    return [float(line.split()[0]) for line in sim.log if f"  started k8s_{container}_" in line]


def ref(sim: Simulation, container: str, attempt: int = 0) -> str:
    """The engine's name of an instance."""
    return next(n for n in sim.names() if n.startswith(f"k8s_{container}_p0_") and n.endswith(f"_{attempt}"))


@pytest.mark.parametrize("seed", SEEDS)
def test_an_hour_of_crash_loop(seed: int) -> None:
    """A container that runs 3 s restarts after 0, 10, 20 … 300 s, also if the agent dies on the way."""
    sim = simulation(seed)
    sim.apply(make("p0", "crashing", 0))
    for _ in range(6):
        sim.run(600)
        sim.crash()
    moments = started(sim, "a")
    waits = [later - sooner - 3 for sooner, later in pairwise(moments)]
    wanted = [0, 10, 20, 40, 80, 160, *[300] * (len(waits) - 6)]
    assert len(waits) >= 15
    assert all(asked <= wait < asked + 5 for asked, wait in zip(wanted, waits, strict=True)), waits


@pytest.mark.parametrize("seed", SEEDS)
def test_back_off_starts_over_after_ten_minutes(seed: int) -> None:
    """A container that ran 650 s is restarted at once, every time."""
    sim = simulation(seed)
    sim.apply(make("p0", "long", 0))
    sim.run(3600)
    moments = started(sim, "a")
    waits = [later - sooner - 650 for sooner, later in pairwise(moments)]
    assert len(waits) >= 4
    assert all(0 <= wait < 5 for wait in waits), waits


@pytest.mark.parametrize("seed", range(30))
def test_a_death_during_a_batch_is_seen_at_once(seed: int) -> None:
    """Another container of the pod that dies while one is being replaced does not wait for the next full look."""
    sim = simulation(seed)
    sim.apply(make("p0", "two", 0))
    sim.run(15)
    sim.kill(ref(sim, "a"))
    sim.run(0.05 + seed * 0.1)
    sim.kill(ref(sim, "b"))
    sim.run(6)
    assert len(sim.names(ContainerState.RUNNING)) == 2, "\n".join(sim.log[-30:])


@pytest.mark.parametrize("seed", SEEDS)
def test_the_agent_rests_while_the_engine_is_away(seed: int) -> None:
    """A deadline that passes meanwhile does not make it step again and again."""
    sim = simulation(seed)
    sim.apply(make("p0", "deaf", 0))
    sim.run(15)
    sim.delete(KEY)
    sim.run(4)
    sim.engine_away(60)
    sim.run(50)
    sim.settle()


@pytest.mark.parametrize("seed", range(20))
def test_a_pod_in_two_sources_survives_a_restart_of_the_agent(seed: int) -> None:
    """The later source may speak first after it: what runs is not taken for the loser of a doubled name."""
    sim = simulation(seed, trouble=True)
    sim.apply(make("p0", "two", 0), "first")
    sim.apply(make("p0", "two", 1), "second")
    sim.run(60)
    before = sim.names(ContainerState.RUNNING)
    sim.crash()
    sim.run(60)
    assert sim.names(ContainerState.RUNNING) == before
    sim.settle()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_restart_of_the_agent_touches_nothing(seed: int) -> None:
    """The same containers run on, with their restart counts."""
    sim = simulation(seed)
    sim.apply(make("p0", "two", 0))
    sim.run(15)
    sim.kill(ref(sim, "a"))
    sim.run(15)
    before, calls = sim.names(), len(sim.log)
    for _ in range(3):
        sim.crash()
        sim.run(30)
    assert sim.names() == before
    assert {line.split()[1] for line in sim.log[calls:]} == {"boot", "list_sandboxes"}
    assert {c.name: c.restart_count for c in sim.statuses[KEY].container_statuses} == {"a": 1, "b": 0}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("source", ["first", "second"])
def test_a_source_that_cannot_be_read_ends_nothing(seed: int, source: str) -> None:
    """Neither while the agent runs nor from its start on."""
    sim = simulation(seed)
    sim.apply(make("p0", "two", 0), source)
    sim.run(15)
    before = sim.names()
    sim.break_source(source)
    sim.run(60)
    sim.crash()
    sim.run(120)
    assert sim.names() == before


@pytest.mark.parametrize("seed", SEEDS)
def test_a_job_whose_record_is_lost_is_over_all_the_same(seed: int) -> None:
    """What never runs again is not called Pending."""
    sim = simulation(seed)
    sim.apply(make("p0", "job", 0))
    sim.run(60)
    sim.remove_behind(ref(sim, "b"))
    sim.crash()
    sim.run(60)
    assert sim.statuses[KEY].phase == "Failed"


@pytest.mark.parametrize("seed", SEEDS)
def test_a_job_whose_sandbox_dies_is_over(seed: int) -> None:
    """What still ran in it is told to end and does not run again: the pod has failed, before and after a restart."""
    sim = simulation(seed)
    sim.apply(make("p0", "job", 0))
    sim.run(1.5)
    sim.kill(ref(sim, "POD"))
    for _ in range(2):
        sim.run(60)
        assert sim.statuses[KEY].phase == "Failed"
        sim.crash()
    assert len(started(sim, "a")) == len(started(sim, "b")) == 1


@pytest.mark.parametrize("seed", SEEDS)
def test_a_job_whose_container_never_started_is_over_after_a_restart(seed: int) -> None:
    """The engine still calls the container created, and nobody remembers that its start has failed."""
    sim = simulation(seed)
    sim.faults.raise_at(2, StartFault("no"), verb="start_container")
    sim.apply(make("p0", "job", 0))
    sim.run(60)
    assert sim.statuses[KEY].phase == "Failed"
    sim.crash()
    sim.run(60)
    assert sim.statuses[KEY].phase == "Failed"


@pytest.mark.parametrize("live_restore", [True, False])
@pytest.mark.parametrize("seed", SEEDS)
def test_an_engine_restart(seed: int, live_restore: bool) -> None:
    """With live-restore nothing is touched; without it the pod starts over in a new sandbox."""
    sim = simulation(seed)
    sim.apply(make("p0", "init", 0))
    sim.run(60)
    sim.restart_engine(live_restore=live_restore)
    sim.run(60)
    assert len(started(sim, "a")) == (1 if live_restore else 2)
    assert len(started(sim, "i")) == (1 if live_restore else 2)
    sim.settle()
