"""The source that says what it is told."""

from __future__ import annotations

from collections.abc import Callable

from podsync.manifest.load import parse
from podsync.sources.base import Source
from podsync.sources.memory import MemorySource
from tests.unit.sources.listening import Running, manifest

Run = Callable[[Source], Running]
A, B = parse(manifest("a")).pods, parse(manifest("b")).pods


def test_speaks_at_the_start_and_when_told(run: Run) -> None:
    """In order, an empty set included."""
    source = MemorySource(A)
    running = run(source)
    assert running.heard.shows({"a": "busybox:latest"})
    source.set(B)
    source.set(())
    assert running.heard.shows({})
    assert [(revision, set(pods)) for revision, pods, _ in running.heard.sets] == [(1, {"a"}), (2, {"b"}), (3, set())]


def test_only_the_newest_set_from_before_the_start_is_spoken(run: Run) -> None:
    """What was wanted before nobody listened is past, a failure after it is not."""
    source = MemorySource()
    source.set(A)
    source.set(B)
    source.fail("away")
    running = run(source)
    assert running.heard.wait(lambda heard: bool(heard.errors))
    assert [pods.keys() for _, pods, _ in running.heard.sets] == [{"b"}]


def test_a_failure_leaves_the_set_standing(run: Run) -> None:
    """It reaches the sink as a failure only."""
    source = MemorySource(A, name="embedded")
    running = run(source)
    assert running.heard.shows({"a": "busybox:latest"})
    source.fail("away")
    assert running.heard.wait(lambda heard: bool(heard.errors))
    assert (str(running.heard.errors[0]), len(running.heard.sets)) == ("embedded: away", 1)


def test_run_again_speaks_again_with_newer_revisions(run: Run) -> None:
    """For an agent that is stopped and started in one process."""
    source = MemorySource(A)
    first = run(source)
    assert first.heard.shows({"a": "busybox:latest"})
    assert first.end()
    second = run(source)
    assert second.heard.shows({"a": "busybox:latest"})
    assert second.heard.sets[0][0] > first.heard.sets[0][0]


def test_stops_promptly(run: Run) -> None:
    """Within half a second."""
    assert run(MemorySource()).end(0.5)
