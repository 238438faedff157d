"""The agent's threads: sources and hints that break are run again, and told."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from podsync import Agent, agent
from podsync.errors import RuntimeUnavailable, SourceError
from podsync.models import EnvVar, Pod
from podsync.runtimes.base import RuntimeHint, StopToken
from podsync.runtimes.fake import FakeRuntime
from podsync.sources.base import Sink
from podsync.sources.memory import MemorySource
from podsync.store import AGENT
from podsync.testing.builders import container, pod
from tests.unit.running import LONG, Watch, phase, running, states


class Fragile:
    """A source that breaks at its first runs."""

    name = "fragile"

    def __init__(self, breaks: int) -> None:
        self.breaks, self.runs = breaks, 0

    def run(self, sink: Sink, stop: StopToken) -> None:
        """Speak, or break."""
        self.runs += 1
        if self.runs <= self.breaks:
            raise ZeroDivisionError("a mistake")
        sink.replace(self.runs, [pod("web")], [])
        if self.runs > 2:
            sink.failed(SourceError(self.name, "moved"))
        stop.wait()


def test_a_source_that_breaks_is_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """An unforeseen exception in a source is logged with its traceback, reported, and the source run again."""
    monkeypatch.setattr(agent, "RESTART_SECONDS", 0.0)
    source, watch, told = Fragile(2), Watch(), threading.Event()

    def look(one: Agent) -> None:
        about = tmp_path / AGENT
        if about.exists() and "unexpected ZeroDivisionError: a mistake" in about.read_text():
            told.set()
        watch(one)

    one = Agent(sources=[source], runtime=FakeRuntime(), root=tmp_path, watch=look)
    with running(one):
        watch.until(lambda: phase(one) == "Running")
        watch.until(lambda: one.publisher.source_problems)
    assert source.runs == 3
    assert [r.exc_info[0] for r in caplog.records if r.exc_info] == [ZeroDivisionError] * 2
    assert json.loads((tmp_path / AGENT).read_text())["sources"][0]["error"] == "fragile: moved"


def test_a_source_that_keeps_breaking_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """While a source only breaks, the report names it with the exception, and nothing is ended."""
    caplog.set_level(logging.CRITICAL)
    watch = Watch()
    one = Agent(sources=[Fragile(10)], runtime=FakeRuntime(), root=tmp_path, watch=watch)
    with running(one):
        watch.until(lambda: one.publisher.source_problems)
    (source,) = json.loads((tmp_path / AGENT).read_text())["sources"]
    assert (source["spoken"], source["error"]) == (False, "fragile: unexpected ZeroDivisionError: a mistake")


def test_a_source_that_is_done_is_not_run_again() -> None:
    """A source that returns has said all it has to say."""

    class Short:
        name, runs = "short", 0

        def run(self, sink: Sink, stop: StopToken) -> None:
            Short.runs += 1
            sink.replace(1, [pod("web")], [])

    one = Agent(sources=[Short()], runtime=FakeRuntime())
    one.run(until=lambda running: running.at_rest, deadline=LONG)
    assert Short.runs == 1
    assert phase(one) == "Running"


@pytest.mark.parametrize("error", [RuntimeUnavailable("no events here"), ZeroDivisionError("a mistake")])
def test_a_stream_of_hints_that_breaks_is_read_again(
    error: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever a runtime's hints raise is logged, and they are asked for again; meanwhile looks come each second."""
    monkeypatch.setattr(agent, "RESTART_SECONDS", 0.0)
    runtime, watch = FakeRuntime(), Watch()
    original, tries = runtime.hints, []

    def hints(stop: StopToken) -> Iterator[RuntimeHint]:
        tries.append(1)
        if len(tries) < 3:
            yield RuntimeHint()
            raise error
        yield from original(stop)

    monkeypatch.setattr(runtime, "hints", hints)
    one = Agent(sources=[MemorySource([pod("web")])], runtime=runtime, watch=watch)
    with running(one):
        watch.until(lambda: phase(one) == "Running" and len(tries) == 3)
        runtime.kill(runtime.list_sandboxes()[0].containers[0].id)
        watch.until(lambda: [c.restart_count for s in one.statuses.values() for c in s.container_statuses] == [1])
    assert sum(bool(r.exc_info) or "no events here" in r.message for r in caplog.records) == 2


def test_without_hints_the_engine_is_looked_at_each_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """A runtime whose hints broke is not believed to be listening."""
    runtime, watch = FakeRuntime(), Watch()

    def hints(stop: StopToken) -> Iterator[RuntimeHint]:
        yield RuntimeHint()
        raise RuntimeUnavailable("gone")

    monkeypatch.setattr(runtime, "hints", hints)
    monkeypatch.setattr(agent, "RESTART_SECONDS", LONG)
    one = Agent(sources=[MemorySource([pod("web")])], runtime=runtime, watch=watch)
    with running(one):
        watch.until(lambda: phase(one) == "Running" and 0 < one.owner.seconds_to_wait() <= 1)


def test_an_edit_while_the_agent_is_away_is_carried_out() -> None:
    """A manifest changed between two agents replaces the pod, its old containers ended first."""
    runtime = FakeRuntime()

    def edition(text: str) -> list[Pod]:
        return [pod("web", container(env=(EnvVar(name="E", value=text),)))]

    for text in "ab":
        Agent(sources=[MemorySource(edition(text))], runtime=runtime).run(until=lambda one: one.at_rest, deadline=LONG)
    assert states(runtime) == {"main": "running"}
    assert [c.why for c in runtime.engine.changes() if c.what == "signalled"] == ["SIGTERM"]
