"""``run`` and ``plan`` with the fake engine."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from podsync import app
from podsync.plan import Plan
from podsync.runtimes.fake import FakeRuntime, exits
from tests.unit.cli.conftest import PODS, Cli


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    """The commands' log set-up does not outlive the test."""
    log = logging.getLogger("podsync")
    before = (list(log.handlers), log.level, log.propagate)
    yield
    log.handlers[:], log.level, log.propagate = before


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Options of an agent on a fake engine of its own, with three pods to run."""
    runtime = FakeRuntime(node="node-1", programs={"work": exits(0)})
    monkeypatch.setattr(app, "open_runtime", lambda config: runtime)
    (tmp_path / "manifests").mkdir()
    manifest = PODS.replace("image: ", "imagePullPolicy: IfNotPresent, image: ")
    (tmp_path / "manifests" / "pods.yaml").write_text(manifest)
    source = f"dir:{tmp_path / 'manifests'}"
    return ["--source", source, "--root", str(tmp_path / "root"), "--node-name", "node-1", "--runtime", "fake"]


def test_a_plan_and_what_it_comes_to(cli: Cli, options: list[str]) -> None:
    """The plan says what run does; afterwards there is nothing to do, and the exit codes say so."""
    before = cli("plan", *options)
    assert before.code == 0
    assert "default/web\n" in before.out
    assert "+ create container main#0 (new pod)" in before.out
    assert cli("plan", *options, "--detailed-exitcode").code == 2
    assert cli("run", *options, "--once").code == 0
    after = cli("plan", *options, "--detailed-exitcode")
    assert (after.code, after.out) == (0, "Nothing to do.\n")


def test_a_plan_as_json(cli: Cli, options: list[str]) -> None:
    """The JSON form holds the same actions, and the problems."""
    document = cli("plan", *options, "-o", "json").json
    assert document["problems"] == []
    assert document["changes"] == sum(len(pod["actions"]) for pod in document["pods"])
    assert {(pod["namespace"], pod["name"]) for pod in document["pods"]} == {
        ("default", "job"),
        ("default", "web"),
        ("other", "web"),
    }


def test_a_plan_to_rest_goes_further(cli: Cli, options: list[str]) -> None:
    """With --all the plan also holds what follows the next steps."""
    assert "create container work#0" not in cli("plan", *options).out
    assert "create container work#0" in cli("plan", *options, "--all").out


def test_a_plan_with_a_refused_manifest(cli: Cli, options: list[str], tmp_path: Path) -> None:
    """A manifest that is refused makes a plan fail, with the reason; the rest of the plan is still shown."""
    (tmp_path / "manifests" / "bad.yaml").write_text("kind: Pod\napiVersion: v1\nmetadata: {name: x}\nspec: {}\n")
    result = cli("plan", *options, "--detailed-exitcode")
    assert result.code == 1
    assert "spec.containers: Required value" in result.err
    assert "create container main#0" in result.out
    assert any("spec.containers" in problem for problem in cli("plan", *options, "-o", "json").json["problems"])


def test_a_plan_of_a_source_that_cannot_be_read(cli: Cli, options: list[str], tmp_path: Path) -> None:
    """A source that is not there is an error, never an empty plan."""
    result = cli("plan", "--source", f"dir:{tmp_path}/nope", *options[2:], "--detailed-exitcode")
    assert result.code == 1
    assert f"{tmp_path}/nope" in result.err


def test_running_once(cli: Cli, options: list[str], tmp_path: Path) -> None:
    """Once everything is at rest run ends; what it did is logged on stderr and reported under the root."""
    result = cli("run", *options, "--once")
    assert (result.code, result.out) == (0, "")
    assert "default/web: Running, 2/2 ready" in result.err
    assert "Container started container=main reason=Started" in result.err
    pods = cli("get", "pods", "-A", "-o", "json", "--root", tmp_path / "root").json["items"]
    assert {p["status"]["phase"] for p in pods} == {"Running", "Succeeded"}


def test_running_once_with_json_logs(cli: Cli, options: list[str]) -> None:
    """Every log line is one JSON object that names its pod."""
    result = cli("run", *options, "--once", "--log-format", "json")
    records: list[dict[str, Any]] = [json.loads(line) for line in result.err.splitlines()]
    assert all({"time", "level", "logger", "message"} <= record.keys() for record in records)
    assert any(r.get("pod") == "default/web" and r.get("phase") == "Running" for r in records)


def test_the_log_level(cli: Cli, options: list[str]) -> None:
    """At the level error a good run is silent."""
    assert cli("run", *options, "--once", "--log-level", "error").err == ""


@pytest.mark.parametrize("command", ["run", "plan"])
def test_options_from_the_environment(
    cli: Cli, options: list[str], command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every option of an agent can be given as PODSYNC_…, and the command line goes first."""
    monkeypatch.setenv("PODSYNC_SOURCE", options[1])
    monkeypatch.setenv("PODSYNC_ROOT", options[3])
    monkeypatch.setenv("PODSYNC_NODE_NAME", "node-1")
    monkeypatch.setenv("PODSYNC_RUNTIME", "fake")
    seen: list[app.Config] = []

    def note(config: app.Config, **_: Any) -> Any:
        seen.append(config)
        return 0 if command == "run" else app.Planned(Plan({}))

    monkeypatch.setattr(app, command, note)
    assert cli(command).code == 0
    assert cli(command, "--root", "/x", "--interval", "1m30s", "--name-suffix", "--pause-image", "p:1").code == 0
    first, second = seen
    assert (first.sources, first.root, first.node_name, first.runtime) == ((options[1],), options[3], "node-1", "fake")
    assert (second.root, second.interval, second.name_suffix, second.pause_image) == ("/x", 90.0, True, "p:1")


@pytest.mark.parametrize(
    "words",
    [
        ("run",),
        ("plan",),
        ("run", "--source", "dir:/x", "--interval", "soon"),
        ("run", "--source", "dir:/x", "--log-level", "loud"),
        ("plan", "--source", "dir:/x", "-o", "yaml"),
    ],
)
def test_wrong_usage(cli: Cli, words: tuple[str, ...]) -> None:
    """What is missing or cannot be understood is a usage error."""
    assert cli(*words).code == 64


def test_a_source_of_no_kind(cli: Cli, options: list[str]) -> None:
    """A source that makes no sense is one line of error, and nothing is run."""
    result = cli("run", "--source", "/etc/manifests", *options[2:])
    assert result.code == 1
    assert result.err.startswith("error: ")
    assert len(result.err.splitlines()) == 1


def test_options_of_sources(cli: Cli, options: list[str]) -> None:
    """Options of a source are handed to it; one that makes no sense is one line of error."""
    assert cli("plan", *options, "--source-option", "interval=5").code == 0
    for pair in ("nope=1", "interval", "2:interval=5"):
        result = cli("plan", *options, "--source-option", pair)
        assert result.code == 1
        assert len(result.err.splitlines()) == 1


def test_a_root_that_cannot_be_used(cli: Cli, options: list[str], tmp_path: Path) -> None:
    """A root that cannot be made is one line of error that names it."""
    (tmp_path / "file").write_text("")
    result = cli("run", *options, "--root", tmp_path / "file" / "root")
    assert result.code == 1
    assert f"{tmp_path}/file/root" in result.err
