"""Short ways for programs: converge, and what the package's own example says."""

from __future__ import annotations

import inspect
import textwrap
from pathlib import Path

import pytest

import podsync
from podsync import FakeRuntime, Reconciler, converge, labels, runtimes
from podsync.errors import PodsyncError
from podsync.library import NotConverged
from podsync.models import EnvVar, Pod, PodKey
from podsync.reconciler import NodeSettings
from podsync.runtimes.fake import exits, fails_to_start
from podsync.state import Desired
from podsync.testing.builders import container, pod

MANIFEST = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: main, image: nginx}]}\n"
WEB = PodKey("default", "web")


def running(runtime: FakeRuntime) -> list[str]:
    """Pod and container of everything that runs."""
    return sorted(
        f"{s.pod_name}/{c.container_name}"
        for s in runtime.list_sandboxes()
        for c in s.containers
        if c.state == "running"
    )


def edited(text: str) -> Pod:
    """The pod web in some edition."""
    return pod("web", container(env=(EnvVar(name="E", value=text),)))


def test_converge_brings_pods_up_and_returns_their_statuses() -> None:
    """All that is wanted runs or is over when it returns, and what is not wanted is gone."""
    runtime = FakeRuntime(programs={"once": exits(0)})
    job = pod("job", container("once"), restart_policy="Never")
    statuses = converge([pod("web"), job], runtime, timeout=5)
    assert {key.name: status.phase for key, status in statuses.items()} == {"web": "Running", "job": "Succeeded"}
    assert running(runtime) == ["web/main"]

    assert list(converge([pod("other")], runtime, timeout=5)) == [PodKey("default", "other")]
    assert running(runtime) == ["other/main"]
    assert dict(converge([], runtime, timeout=5)) == {}
    assert not runtime.list_sandboxes()


def test_converge_again_does_nothing() -> None:
    """What is as it should be is left alone; what died is replaced, what was edited too."""
    runtime = FakeRuntime()
    converge([edited("a")], runtime, timeout=5)
    before = runtime.engine.changes()
    converge([edited("a")], runtime, timeout=5)
    assert runtime.engine.changes() == before
    runtime.kill(runtime.list_sandboxes()[0].containers[0].id)
    converge([edited("a")], runtime, timeout=5)
    (status,) = converge([edited("a")], runtime, timeout=5).values()
    assert status.container_statuses[0].restart_count == 1
    (status,) = converge([edited("b")], runtime, timeout=5).values()
    assert status.container_statuses[0].restart_count == 0
    assert running(runtime) == ["web/main"]


def test_converge_takes_what_sync_takes() -> None:
    """A Desired is as good as a list of pods."""
    runtime = FakeRuntime()
    converge(Desired({WEB: pod("web")}), runtime, timeout=5)
    assert running(runtime) == ["web/main"]


def test_converge_returns_when_only_a_retry_is_left() -> None:
    """A container that cannot be started is told in its status; that is rest."""
    runtime = FakeRuntime(programs={"main": fails_to_start("no such file")})
    (status,) = converge([pod("web")], runtime, timeout=5).values()
    waiting = status.container_statuses[0].state.waiting  # type: ignore[union-attr]
    assert waiting is not None
    assert (waiting.reason, waiting.message) == ("RunContainerError", "no such file")


def test_converge_gives_up_in_time() -> None:
    """Work that is not done at the time-out is an error that has the statuses so far."""
    runtime = FakeRuntime(programs={"init": exits(0, after=60)})
    with pytest.raises(NotConverged, match=r"within 0\.2 s: work is still under way") as raised:
        converge([pod("web", init_containers=(container("init"),))], runtime, timeout=0.2)
    assert raised.value.statuses[WEB].phase == "Pending"
    assert isinstance(raised.value, PodsyncError)


def test_converge_says_that_the_engine_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that stops answering is the reason given."""
    runtime = FakeRuntime()
    answered = runtime.list_sandboxes

    def away(uid: str | None = None) -> object:
        runtime.unavailable()
        return answered(uid)

    monkeypatch.setattr(runtime, "list_sandboxes", away)
    with pytest.raises(NotConverged, match="the fake engine is down"):
        converge([pod("web")], runtime, timeout=0.2)


def test_converge_uses_the_runtimes_node() -> None:
    """Pods get the node name their runtime sees, so that they are found again."""
    runtime = FakeRuntime(node="n7")
    converge([pod("web")], runtime, timeout=5)
    assert {s.labels[labels.NODE] for s in runtime.list_sandboxes()} == {"n7"}


def test_converge_with_a_root_leaves_a_report(tmp_path: Path) -> None:
    """With a root it is an agent like any other while it lasts."""
    converge([pod("web")], FakeRuntime(), timeout=5, root=tmp_path)
    assert "web" in (tmp_path / "status.json").read_text()


def test_default_node_names_agree() -> None:
    """Planner, fake engine and runtimes by name use one node when none is named: the short way just works."""
    assert NodeSettings().node_name == FakeRuntime().node == runtimes.get("fake").node == labels.DEFAULT_NODE
    assert inspect.signature(runtimes.get).parameters["node"].default == labels.DEFAULT_NODE


def test_the_short_way_reaches_rest() -> None:
    """Planning from what a runtime shows and executing leads to an empty plan, without agent or files."""
    runtime = FakeRuntime()
    pods = podsync.load(MANIFEST)
    plans = []
    while plan := Reconciler().sync(pods, runtime.observe()):
        plans.append(str(plan))
        plan.execute(runtime)
    assert running(runtime) == ["web/main"]
    assert "default/web: + create container main#0 (new pod)" in plans[0]
    while plan := Reconciler().sync([], runtime.observe()):
        plan.execute(runtime)
    assert not runtime.list_sandboxes()


def test_the_example_in_the_packages_docstring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first lines anybody tries work as they stand, here with the fake engine in Docker's place."""
    monkeypatch.chdir(tmp_path)
    Path("pod.yaml").write_text(MANIFEST)
    lines = (podsync.__doc__ or "").split("::\n", 1)[1].splitlines()
    example = textwrap.dedent("\n".join(line for line in lines if line.startswith("    ") or not line))
    assert 'get("docker")' in example
    names: dict[str, object] = {}
    exec(compile(example.replace('"docker"', '"fake"'), "example", "exec"), names)
    runtime = names["runtime"]
    assert isinstance(runtime, FakeRuntime)
    assert running(runtime) == ["web/main"]
    assert "create sandbox POD#0" in str(names["plan"])
