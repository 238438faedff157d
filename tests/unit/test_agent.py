"""The agent: run and stop, its root, how it is built. On the fake engine and the machine's clock."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from podsync import Agent, agent, cli, host, labels, sources
from podsync.app import Config
from podsync.clock import Clock, SystemClock
from podsync.errors import ConfigError, RuntimeUnavailable
from podsync.models import PodKey
from podsync.runtimes.fake import FakeRuntime, exits, exits_on_term
from podsync.sources.base import Source
from podsync.sources.memory import MemorySource
from podsync.store import AGENT, EVENTS, STATUS, agent_pid
from podsync.testing.builders import container, pod
from tests.unit.running import LONG, Watch, phase, running, states, threads

# --- run and stop -----------------------------------------------------------------------------------------


def test_pods_run_and_run_on_after_stop() -> None:
    """The agent brings pods up and replaces what dies; after stop they are left, and its threads are gone."""
    runtime, watch, source = FakeRuntime(), Watch(), MemorySource([pod("web")])
    one = Agent(sources=[source], runtime=runtime, watch=watch)
    assert dict(one.statuses) == {}
    with running(one):
        watch.until(lambda: phase(one) == "Running")
        runtime.kill(runtime.list_sandboxes()[0].containers[0].id)
        watch.until(lambda: [c.restart_count for s in one.statuses.values() for c in s.container_statuses] == [1])
        source.set([pod("web"), pod("two", container("second"))])
        watch.until(lambda: len(one.statuses) == 2 and phase(one, PodKey("default", "two")) == "Running")

    assert states(runtime) == {"main": "running", "second": "running"}
    assert threads() == set()


def test_a_stop_token_ends_the_agent() -> None:
    """A program's own event does what stop does."""
    runtime, stop, watch = FakeRuntime(), threading.Event(), Watch()
    one = Agent(sources=[MemorySource([pod("web")])], runtime=runtime, watch=watch)
    with running(one, stop) as thread:
        watch.until(lambda: phase(one) == "Running")
        stop.set()
        thread.join(LONG)
        assert not thread.is_alive()
    assert states(runtime) == {"main": "running"}


def test_stopped_before_it_runs_it_returns_at_once() -> None:
    """A stop that comes first is not forgotten."""
    runtime = FakeRuntime()
    one = Agent(sources=[MemorySource([pod("web")])], runtime=runtime)
    one.stop()
    one.run()
    assert not runtime.list_sandboxes()


def test_until_and_deadline() -> None:
    """The agent ends when ``until`` says so, and at the deadline in any case."""
    runtime, clock = FakeRuntime(), SystemClock()
    begun = clock.monotonic()
    Agent(sources=[MemorySource([pod("web")])], runtime=runtime).run(until=lambda one: one.at_rest, deadline=LONG)
    assert states(runtime) == {"main": "running"}
    Agent(sources=[MemorySource()], runtime=runtime).run(until=lambda _: False, deadline=0.05)
    assert clock.monotonic() - begun < LONG


def test_shut_down_ends_every_pod_with_its_grace() -> None:
    """All pods get their time to end, and the agent returns when nothing is left."""
    runtime, watch = FakeRuntime(programs={"slow": exits_on_term(0, after=0.2)}), Watch()
    one = Agent(sources=[MemorySource([pod("web"), pod("slow", container("slow"))])], runtime=runtime, watch=watch)
    with running(one) as thread:
        watch.until(lambda: one.at_rest)
        one.shut_down()
        thread.join(LONG)
        assert not thread.is_alive()
    assert not runtime.list_sandboxes()
    ends = [(c.name.split("_")[1], c.why) for c in runtime.engine.changes() if c.what == "ended"]
    assert {end for end in ends if end[0] != "POD"} == {("main", "SIGTERM"), ("slow", "SIGTERM")}


def test_close_may_be_called_twice() -> None:
    """Closing frees what the agent holds, once."""
    one = Agent(sources=[MemorySource()], runtime=FakeRuntime())
    one.close()
    one.close()


def test_at_rest_means_that_nothing_is_left_to_wait_for() -> None:
    """Running, over, or waiting for a reason that is told: that is rest; an init container on its way is not."""
    programs = {"crash": exits(1), "once": exits(0), "init": exits(0, after=0.3)}
    runtime = FakeRuntime(programs=programs, images=["busybox:1.36"], registry={})
    pods = [
        pod("runs", init_containers=(container("init"),)),
        pod("over", container("once"), restart_policy="Never"),
        pod("failed", container("crash"), restart_policy="Never"),
        pod("crashes", container("crash")),
        pod("refused", container("far", image="far:1")),
        pod("never", container("far", image="far:1", image_pull_policy="Never")),
    ]
    one = Agent(sources=[MemorySource(pods)], runtime=runtime)
    one.run(until=lambda running: running.at_rest, deadline=LONG)
    assert one.at_rest
    assert {key.name: status.phase for key, status in one.statuses.items()} == {
        "runs": "Running",
        "over": "Succeeded",
        "failed": "Failed",
        "crashes": "Running",
        "refused": "Pending",
        "never": "Pending",
    }


# --- the root ----------------------------------------------------------------------------------------------


def test_a_virtual_runtime_needs_no_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the fake engine without a root nothing is written anywhere."""
    monkeypatch.setenv("PODSYNC_ROOT", str(tmp_path / "default"))
    manifest = tmp_path / "pod.yaml"
    manifest.write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: a, image: a:1}]}\n"
    )
    roots, original = [], sources.open

    def note(spec: str, clock: Clock, root: Path | None) -> Source:
        roots.append(root)
        return original(spec, clock, root)

    monkeypatch.setattr(agent.sources, "open", note)
    one = Agent(sources=[MemorySource([pod("two")]), f"file:{manifest}"], runtime=FakeRuntime())
    one.run(until=lambda running: running.at_rest, deadline=LONG)
    assert sorted(str(key) for key in one.statuses) == ["default/two", "default/web"]
    assert [path.name for path in tmp_path.iterdir()] == ["pod.yaml"]
    assert roots == [None]  # nor does a source keep anything


def test_the_files_under_a_root(tmp_path: Path) -> None:
    """With a root there are a PodList, an EventList and the agent's own report; the lock is held, then free."""
    watch, root = Watch(), tmp_path / "root"
    one = Agent(sources=[MemorySource([pod("web")], name="mine")], runtime=FakeRuntime(), root=root, watch=watch)
    with running(one):
        watch.until(lambda: phase(one) == "Running")
        assert agent_pid(str(root)) is not None
        with pytest.raises(ConfigError, match="another podsync agent"):
            Agent(sources=[], runtime=FakeRuntime(), root=root)
    assert agent_pid(str(root)) is None

    documents = {name: json.loads((root / name).read_text()) for name in (STATUS, EVENTS, AGENT)}
    assert (documents[STATUS]["kind"], documents[EVENTS]["kind"]) == ("PodList", "EventList")
    (item,) = documents[STATUS]["items"]
    assert (item["metadata"]["name"], item["status"]["phase"]) == ("web", "Running")
    assert {e["reason"] for e in documents[EVENTS]["items"]} == {"Pulled", "Created", "Started"}
    about = documents[AGENT]
    assert (about["node"], about["runtime"]["name"], about["problems"]) == (labels.DEFAULT_NODE, "fake", [])
    assert [(s["name"], s["spoken"], s["pods"]) for s in about["sources"]] == [("mine", True, 1)]


@pytest.mark.parametrize("words", [("get", "pods"), ("describe", "pod", "web")])
def test_an_engine_that_is_away_is_told_with_the_pods(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """While the engine does not answer the last report stands, and every command that shows it warns."""
    runtime, watch = FakeRuntime(), Watch()
    one = Agent(sources=[MemorySource([pod("web")])], runtime=runtime, root=tmp_path, watch=watch)
    with running(one):
        watch.until(lambda: phase(one) == "Running")
        runtime.unavailable()
        watch.until(lambda: "the fake engine is down" in (tmp_path / AGENT).read_text())
        with pytest.raises(SystemExit) as ended:
            cli.main([*words, "--root", str(tmp_path)])
        shown = capsys.readouterr()
        assert ended.value.code == 0
        assert "web" in shown.out
        assert "Running" in shown.out
        assert "warning: the engine cannot be asked: the fake engine is down" in shown.err

        runtime.unavailable(away=False)
        watch.until(lambda: json.loads((tmp_path / AGENT).read_text())["problems"] == [])
        with pytest.raises(SystemExit):
            cli.main([*words, "--root", str(tmp_path)])
        assert capsys.readouterr().err == ""


def test_events_survive_the_agent(tmp_path: Path) -> None:
    """A new agent goes on with the events of the last one; what it cannot read it leaves behind, saying so."""
    runtime = FakeRuntime()
    source = MemorySource([pod("web")])
    Agent(sources=[source], runtime=runtime, root=tmp_path).run(until=lambda one: one.at_rest, deadline=LONG)
    source.set([pod("web"), pod("two")])
    Agent(sources=[source], runtime=runtime, root=tmp_path).run(until=lambda one: one.at_rest, deadline=LONG)
    events = json.loads((tmp_path / EVENTS).read_text())["items"]
    assert [e["involvedObject"]["name"] for e in events if e["reason"] == "Started"] == ["web", "two"]


@pytest.mark.parametrize(
    ("text", "said"),
    [("{", "earlier events are lost"), ('{"items": [{"a": 1}]}', "1 earlier events could not be read"), ("[]", "")],
)
def test_an_unreadable_events_file_stops_nothing(
    text: str, said: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever is in the events file, the agent starts, and says what is lost."""
    (tmp_path / EVENTS).write_text(text)
    one = Agent(sources=[MemorySource([pod("web")])], runtime=FakeRuntime(), root=tmp_path)
    one.run(until=lambda running: running.at_rest, deadline=LONG)
    assert any(said in r.message for r in caplog.records if r.levelname == "WARNING") is bool(said)
    assert len(json.loads((tmp_path / EVENTS).read_text())["items"]) == 3


def test_a_restarted_agent_touches_nothing(tmp_path: Path) -> None:
    """A second agent on the same engine and pods does nothing but look, and reports the same."""
    runtime, source = FakeRuntime(), MemorySource([pod("web")])
    Agent(sources=[source], runtime=runtime, root=tmp_path).run(until=lambda one: one.at_rest, deadline=LONG)
    before, report = runtime.engine.changes(), _without_times(tmp_path)
    Agent(sources=[source], runtime=runtime, root=tmp_path).run(until=lambda one: one.at_rest, deadline=LONG)
    assert runtime.engine.changes() == before
    assert _without_times(tmp_path) == report


def _without_times(root: Path) -> Any:
    """The status file, but for the moments at which this agent first saw a condition."""
    items = json.loads((root / STATUS).read_text())["items"]
    for item in items:
        for condition in item["status"]["conditions"]:
            del condition["lastTransitionTime"]
    return items


# --- building one --------------------------------------------------------------------------------------------


def test_two_sources_of_one_name_are_refused() -> None:
    """A name enters the pods' uid, so it must be one source's alone."""
    with pytest.raises(ConfigError, match="memory is given twice"):
        Agent(sources=[MemorySource(), MemorySource()], runtime=FakeRuntime())


def test_a_runtime_of_another_node_is_refused() -> None:
    """An agent whose runtime sees another node's pods would never see its own."""
    with pytest.raises(ConfigError, match="made for the node b, not for a"):
        Agent(sources=[], runtime=FakeRuntime(node="b"), node_name="a")
    assert Agent(sources=[], runtime=FakeRuntime(node="b")).node_name == "b"


@pytest.mark.parametrize("what", ["engine away", "bad source", "no such runtime"])
def test_a_root_is_free_again_after_a_failed_start(what: str, tmp_path: Path) -> None:
    """An agent that could not be built leaves no lock behind: the next try works."""
    runtime = FakeRuntime()
    given: dict[str, Any] = {"sources": [MemorySource()], "runtime": runtime}
    if what == "engine away":
        runtime.unavailable()
    elif what == "bad source":
        given["sources"] = ["nonsense"]
    else:
        given["runtime"] = "fakke"
    for _ in range(2):
        with pytest.raises((ConfigError, RuntimeUnavailable, agent.PodsyncError)) as raised:
            Agent(root=tmp_path, **given)
        assert "another podsync agent" not in str(raised.value)
    runtime.unavailable(away=False)
    Agent(sources=[MemorySource()], runtime=runtime, root=tmp_path).close()
    assert threads() == set()


def test_a_runtime_by_name_is_the_agents_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A runtime given by name is connected for the agent's node, and closed with it."""
    closed: list[str] = []
    monkeypatch.setattr(FakeRuntime, "close", lambda self: closed.append(self.node))
    one = Agent(sources=[MemorySource()], runtime="fake", root=tmp_path, node_name="n7")
    one.close()
    Agent(sources=[MemorySource()], runtime=FakeRuntime(node="theirs")).close()
    assert closed == ["n7"]


def test_default_node_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """The host's name made a DNS subdomain; without one, the common default."""
    for name, fit in {
        "Host.Example": "host.example",
        "My_Host": "my-host",
        "-a-..b c.": "a.b-c",
        "a" * 252 + "-b": "a" * 252,
        "ü": labels.DEFAULT_NODE,
        "": labels.DEFAULT_NODE,
    }.items():
        monkeypatch.setattr(host.platform, "node", lambda name=name: name)
        assert host.default_node_name() == fit


@pytest.mark.parametrize("name", ["Host", "a_b", "-a", "a b", "a\x1b[31m", "a" * 254, "a..b"])
def test_node_names_that_are_none(tmp_path: Path, name: str) -> None:
    """What is no DNS subdomain is refused before anything is touched, wherever it is given."""
    with pytest.raises(ConfigError, match="--node-name"):
        Agent(sources=[MemorySource()], runtime="fake", root=tmp_path / "root", node_name=name)
    with pytest.raises(ConfigError, match="--node-name"):
        Config(node_name=name)
    assert not (tmp_path / "root").exists()
