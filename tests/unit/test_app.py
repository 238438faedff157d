"""The composition root: run once, end everything, plan."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from podsync import app
from podsync.agent import Agent
from podsync.app import Config
from podsync.clock import SystemClock
from podsync.errors import ConfigError, PodsyncError, RuntimeUnavailable
from podsync.runtimes.fake import FakeRuntime, Pullable, exits, exits_on_term, fails_to_start
from podsync.store import AGENT, STATUS, agent_pid

NODE = "node-1"
LONG = 5.0


def manifest(
    name: str, container: str = "main", image: str = "busybox:1", *, fields: dict[str, Any] | None = None, **spec: Any
) -> str:
    """A pod's manifest as JSON; ``fields`` are its container's."""
    containers = [{"name": container, "image": image, **(fields or {})}]
    return json.dumps(
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": containers, **spec}}
    )


class Desk:
    """A folder of manifests, a root, and an engine that the configuration finds."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.root = tmp_path / "manifests", tmp_path / "root"
        self.folder.mkdir()
        self.closed = 0
        self._monkeypatch = monkeypatch
        self.engine()

    def engine(self, **settings: Any) -> FakeRuntime:
        """Use an engine of those settings."""
        runtime = self.runtime = FakeRuntime(node=NODE, **settings)
        monkeypatch = self._monkeypatch

        def close() -> None:
            self.closed += 1

        def get(name: str, *, node: str, state: str) -> FakeRuntime:
            assert (name, node, state) == ("fake", NODE, str(self.root))
            return runtime

        monkeypatch.setattr(runtime, "close", close)
        monkeypatch.setattr(app.runtimes, "get", get)
        return runtime

    def write(self, *manifests: str) -> None:
        """Each in a file of its own, named by its number, in place of what was there."""
        for old in self.folder.iterdir():
            old.unlink()
        for number, text in enumerate(manifests):
            (self.folder / f"{number}.yaml").write_text(text)

    def config(self, *sources: str, **more: Any) -> Config:
        """The configuration; of the folder unless other sources are given."""
        return Config(
            sources=sources or (f"dir:{self.folder}",), runtime="fake", root=str(self.root), node_name=NODE, **more
        )

    def running(self) -> list[str]:
        """Pods that have a running container."""
        found = self.runtime.list_sandboxes()
        return sorted(s.pod_name for s in found if any(c.state == "running" for c in s.containers))


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """An empty folder and an empty engine."""
    return Desk(tmp_path, monkeypatch)


@pytest.fixture(autouse=True)
def _ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that would never end fails its test instead."""
    original = Agent.run

    def run(self: Agent, *, until: Callable[[Agent], bool] | None = None) -> None:
        begun = SystemClock().monotonic()
        original(self, until=until, deadline=LONG)
        assert SystemClock().monotonic() - begun < LONG, "it never came to rest"

    monkeypatch.setattr(Agent, "run", run)


# --- run once -------------------------------------------------------------------------------------------------


def test_all_well_is_0(desk: Desk) -> None:
    """Pods that run or have ended well are a success; the engine is closed and the root free."""
    desk.engine(programs={"once": exits(0)})
    desk.write(manifest("web"), manifest("job", "once", restartPolicy="Never"))
    assert app.run(desk.config(), once=True) == 0
    assert desk.running() == ["web"]
    assert desk.closed == 1
    assert agent_pid(str(desk.root)) is None
    assert len(json.loads((desk.root / STATUS).read_text())["items"]) == 2
    assert app.run(desk.config(), once=True) == 0


def test_nothing_wanted_is_0(desk: Desk) -> None:
    """An empty folder is a success too, and what ran before is ended."""
    desk.write(manifest("web"))
    app.run(desk.config(), once=True)
    desk.write()
    (desk.folder / "none.yaml").write_text("apiVersion: v1\nkind: List\nitems: []\n")
    assert app.run(desk.config(), once=True) == 0
    assert desk.running() == []


@pytest.mark.parametrize(
    ("text", "programs"),
    [
        (manifest("bad", "main", restartPolicy="Never"), {"main": exits(3)}),
        (manifest("bad"), {"main": exits(1)}),
        (manifest("bad"), {"main": fails_to_start("no such program")}),
        (manifest("bad", image="far:1"), {}),
        (manifest("bad", image="far:1", fields={"imagePullPolicy": "Never"}), {}),
        (manifest("bad", initContainers=[{"name": "init", "image": "busybox:1"}]), {"init": exits(1)}),
        (manifest("bad", fields={"ports": [{"containerPort": 80, "hostPort": 80}]}), {}),
    ],
    ids=["failed", "crash loop", "cannot start", "no image", "never pulled", "init fails", "no port"],
)
def test_a_pod_in_trouble_is_1(
    desk: Desk, text: str, programs: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    """A pod that failed, or waits for something that failed, is named and makes 1; the others run."""
    desk.engine(programs={**programs, "good": exits_on_term()}, images=["busybox:1"], registry={})
    port = {"ports": [{"containerPort": 80, "hostPort": 80}]} if "hostPort" in text else {}
    desk.write(manifest("a-good", "good", fields=port), text)
    assert app.run(desk.config(), once=True) == 1
    assert "a-good" in desk.running()
    assert [r.message for r in caplog.records if r.name == "podsync.app" and r.levelname == "ERROR"] == [
        "not running: default/bad"
    ]


@pytest.mark.parametrize("text", ["kind: Pod\nspec: {}\n", "{", manifest("web", fields={"env": 7})])
def test_a_refused_document_is_1(desk: Desk, text: str) -> None:
    """A document that cannot be used makes 1 although every other pod runs."""
    desk.write(manifest("web"), text)
    assert app.run(desk.config(), once=True) == 1
    assert desk.running() == ["web"]


def test_a_refused_pod_that_still_runs_is_left(desk: Desk) -> None:
    """With its last good version gone too, a pod whose manifest is refused now is neither ended nor waited for."""
    desk.write(manifest("web"))
    app.run(desk.config(), once=True)
    for path in sorted((desk.root / "sources").rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    desk.write(manifest("web", fields={"env": 7}))
    assert app.run(desk.config(), once=True) == 1
    assert desk.running() == ["web"]


def test_a_source_that_cannot_be_read_is_1(desk: Desk) -> None:
    """It is not waited for for ever: other sources' pods run, its own of earlier days are left, and the code is 1."""
    desk.write(manifest("web"))
    other = desk.folder.parent / "other"
    other.mkdir()
    (other / "old.yaml").write_text(manifest("old"))
    assert app.run(desk.config(f"dir:{other}"), once=True) == 0
    (other / "old.yaml").unlink()
    other.rmdir()
    for path in sorted((desk.root / "sources").rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()

    assert app.run(desk.config(f"dir:{desk.folder}", f"dir:{other}"), once=True) == 1
    assert desk.running() == ["old", "web"]
    (source,) = (s for s in json.loads((desk.root / AGENT).read_text())["sources"] if s["error"])
    assert "the directory does not exist" in source["error"]


def test_an_engine_that_is_away_is_told(desk: Desk) -> None:
    """Without an engine to begin with there is nothing to wait for."""
    desk.runtime.unavailable()
    with pytest.raises(RuntimeUnavailable):
        app.run(desk.config(), once=True)
    assert desk.closed == 1


@pytest.mark.parametrize("down", [False, True])
def test_once_and_down_ends_everything(desk: Desk, down: bool) -> None:
    """Once with down ends all pods of the node, those of other nodes stay; without it they run on."""
    other = FakeRuntime(node="other", engine=desk.runtime.engine)
    desk.write(manifest("web"), manifest("slow", "slow"))
    desk.runtime.programs = {"slow": exits_on_term(0, after=0.2)}
    app.run(desk.config(), once=True)
    before = len(other.list_sandboxes())
    assert app.run(desk.config(), once=True, down=down) == 0
    assert desk.running() == ([] if down else ["slow", "web"])
    assert bool(desk.runtime.list_sandboxes()) is not down
    assert len(other.list_sandboxes()) == before
    assert len(json.loads((desk.root / STATUS).read_text())["items"]) == (0 if down else 2)


def test_no_source_is_refused(desk: Desk) -> None:
    """A configuration without sources is a mistake: it would end every pod."""
    with pytest.raises(ConfigError, match="no source is given"):
        app.run(Config(runtime="fake", root=str(desk.root), node_name=NODE))


def test_the_configuration_reaches_everything(desk: Desk) -> None:
    """Suffix, pause image, interval and source options are handed to where they belong."""
    desk.write(manifest("web"))
    config = desk.config(name_suffix=True, pause_image="pause:1", interval=7.0, source_options=("1:interval=9",))
    seen: list[Any] = []
    assert app.run(config, once=True, watch=seen.append) == 0
    assert [s.pod_name for s in desk.runtime.list_sandboxes()] == ["web-node-1"]
    assert seen
    with pytest.raises(ConfigError):
        app.run(desk.config(source_options=("nope=1",)), once=True)


# --- signals ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("down", [False, True])
def test_a_signal_ends_the_agent(desk: Desk, number: signal.Signals, down: bool) -> None:
    """SIGTERM and SIGINT leave pods running, or end them with down; afterwards signals mean what they did before."""
    desk.write(manifest("web"))
    handlers = [signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT)]
    sent = threading.Event()

    def watch(agent: Agent) -> None:
        if agent.at_rest and agent.statuses and not sent.is_set():
            sent.set()
            os.kill(os.getpid(), number)

    assert app.run(desk.config(), down=down, watch=watch) == 0
    assert sent.is_set()
    assert desk.running() == ([] if down else ["web"])
    assert [signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT)] == handlers


def test_a_second_signal_has_its_default_effect(desk: Desk) -> None:
    """After the first one signals end the process at once, for an engine that hangs."""
    desk.write(manifest("web"))
    seen: list[object] = []

    def watch(agent: Agent) -> None:
        if agent.at_rest and agent.statuses and not seen:
            os.kill(os.getpid(), signal.SIGTERM)
            seen.extend(signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT))

    app.run(desk.config(), watch=watch)
    assert seen == [signal.SIG_DFL, signal.SIG_DFL]


def test_a_single_run_that_is_interrupted_is_1(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    """Ended by a signal before rest, here with an engine that went away, a single run was no success."""
    desk.write(manifest("web"))

    def watch(agent: Agent) -> None:
        desk.runtime.unavailable()
        if agent.owner.engine_error:
            os.kill(os.getpid(), signal.SIGTERM)

    assert app.run(desk.config(), once=True, watch=watch) == 1
    assert "ended before every pod had come to rest" in caplog.messages


# --- plan --------------------------------------------------------------------------------------------------------


def test_a_plan_changes_nothing(desk: Desk) -> None:
    """What would be done now is told; engine, root and folder stay as they are, and no lock is needed."""
    desk.write(manifest("web"))
    planned = app.plan(desk.config())
    assert [line.partition(": ")[2] for line in str(planned.plan).splitlines()] == [
        f"+ mount volumes of {next(iter(planned.plan.pods.values())).stages[0][0].pod.metadata.uid[:8]} (new pod)",  # type: ignore[union-attr]
        "+ create sandbox POD#0 (new pod)",
        "+ start sandbox POD#0 (new pod)",
        "+ create container main#0 (new pod)",
        "+ start container main#0 (new pod)",
    ]
    assert (planned.refusals, planned.errors) == ((), ())
    assert desk.runtime.engine.changes() == ()
    assert not desk.root.exists()
    assert desk.closed == 1


def test_a_plan_of_what_is_there_already_is_empty(desk: Desk) -> None:
    """After a run there is nothing to do; with the manifest gone there is something to end."""
    desk.write(manifest("web"), manifest("two"))
    app.run(desk.config(), once=True)
    assert not app.plan(desk.config()).plan
    desk.write(manifest("web"))
    assert "~ signal container main#0 SIGTERM (pod deleted)" in str(app.plan(desk.config()).plan)
    assert "- unmount volumes" in str(app.plan(desk.config(), to_rest=True).plan)


def test_a_plan_says_which_images_it_would_pull(desk: Desk) -> None:
    """An image that is not there is pulled first."""
    desk.engine(images=[], registry={"far:1": Pullable()})
    desk.write(manifest("web", image="far:1"))
    assert "+ pull image far:1 (image is not present)" in str(app.plan(desk.config()).plan)


def test_a_plan_tells_what_it_could_not_read(desk: Desk) -> None:
    """Refused documents and sources that cannot be read stand beside the plan; their pods are not ended by it."""
    desk.write(manifest("web"))
    app.run(desk.config(), once=True)
    gone = app.plan(desk.config(f"dir:{desk.folder}/none"))
    assert not gone.plan
    assert "does not exist" in gone.errors[0]
    desk.write(manifest("web"), "{")
    refused = app.plan(desk.config())
    assert not refused.plan
    assert "1.yaml" in refused.refusals[0].origin


def test_a_source_that_says_nothing_is_told(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A source that does not answer in time is an error, and nothing of it is believed to be unwanted."""

    class Silent:
        name = "silent"

        def run(self, sink: object, stop: threading.Event) -> None:
            stop.wait()

    monkeypatch.setattr(app, "SOURCE_SECONDS", 0.05)
    monkeypatch.setattr(app, "open_sources", lambda config, read_only: [Silent()])
    assert app.plan(desk.config()).errors == ("silent: no answer within 0 s",)


def test_a_source_that_breaks_under_a_plan_is_told(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unforeseen exception in a source is its error, without waiting for the time-out."""

    class Broken:
        name = "broken"

        def run(self, sink: object, stop: threading.Event) -> None:
            raise ZeroDivisionError("a mistake")

    monkeypatch.setattr(app, "open_sources", lambda config, read_only: [Broken()])
    assert app.plan(desk.config()).errors == ("broken: unexpected ZeroDivisionError: a mistake",)


def test_plan_without_an_engine(desk: Desk) -> None:
    """A plan needs to see the engine."""
    desk.runtime.unavailable()
    desk.write(manifest("web"))
    with pytest.raises(PodsyncError, match="down"):
        app.plan(desk.config())
    assert desk.closed == 1
