"""``logs`` and ``exec``: commands that find a container in the report and talk to its engine."""

from __future__ import annotations

import os
import sys
from typing import Any

import pytest

from podsync import app
from podsync.errors import RuntimeUnavailable
from tests.unit.cli.conftest import Cli, Result, World, rewrite, status


def logs(cli: Cli, world: World, *words: str) -> Result:
    """The result of ``podsync logs`` with these words."""
    return cli("logs", *words, "--root", world.root)


def test_a_containers_log(cli: Cli, world: World) -> None:
    """What the container wrote comes out on stdout, byte for byte."""
    result = logs(cli, world, "web", "-c", "main")
    assert (result.code, result.out, result.err.count("Defaulted")) == (0, "one\ntwo\nthree\n", 0)
    assert logs(cli, world, "pod/web", "-c", "main").out == result.out
    assert logs(cli, world, "web", "-n", "other").out == result.out


@pytest.mark.parametrize(
    ("words", "out"),
    [
        (("--tail", "2"), "two\nthree\n"),
        (("--tail", "0"), ""),
        (("--tail", "-1"), "one\ntwo\nthree\n"),
        (("--since", "1h"), "one\ntwo\nthree\n"),
        (("--since-time", "2999-01-01T00:00:00Z"), ""),
    ],
)
def test_part_of_a_log(cli: Cli, world: World, words: tuple[str, ...], out: str) -> None:
    """Lines can be limited from the end and by age."""
    assert logs(cli, world, "web", "-c", "main", *words).out == out


def test_a_log_with_times(cli: Cli, world: World) -> None:
    """With --timestamps each line begins with its time, to the nanosecond, in UTC."""
    line = logs(cli, world, "web", "-c", "main", "--timestamps", "--tail", "1").out
    time, _, text = line.partition(" ")
    assert text == "three\n"
    assert len(time) == len("2030-01-01T00:00:00.000000000Z")
    assert time.endswith("Z")


def test_the_log_of_an_ended_container(cli: Cli, world: World) -> None:
    """Init containers and ended ones have logs as well; following one ends at once."""
    assert logs(cli, world, "job", "-c", "prepare").out == "prepared\n"
    assert logs(cli, world, "job", "-c", "work", "-f").out == "worked\n"


def test_the_default_container(cli: Cli, world: World) -> None:
    """Of several containers the first is taken, and that is said on stderr; an annotation chooses silently."""
    result = logs(cli, world, "job")
    assert (result.code, result.out) == (0, "worked\n")
    assert 'Defaulted container "work" out of: work, prepare (init)' in result.err

    def annotate(items: list[dict[str, Any]]) -> None:
        items[0]["metadata"]["annotations"] = {"kubectl.kubernetes.io/default-container": "prepare"}

    rewrite(world.root, annotate)
    result = logs(cli, world, "job")
    assert result.out == "prepared\n"
    assert "Defaulted" not in result.err


WAITING = 'container "main" in pod "web" is waiting to start'


@pytest.mark.parametrize(
    ("state", "text"),
    [
        ({"waiting": {"reason": "ContainerCreating"}}, f"{WAITING}: ContainerCreating"),
        ({"waiting": {"reason": "ErrImagePull"}}, f"{WAITING}: image can't be pulled"),
        ({"waiting": {"reason": "ImagePullBackOff"}}, f"{WAITING}: trying and failing to pull image"),
        ({"waiting": {}}, f"{WAITING} - no logs yet"),
        ({}, f"{WAITING} - no logs yet"),
    ],
)
def test_a_container_that_has_not_run(cli: Cli, world: World, state: dict[str, Any], text: str) -> None:
    """A container without any instance has no log, and the error says what it waits for."""
    status(world.root, "web", "main", state=state, lastState={}, containerID="")
    result = logs(cli, world, "web", "-c", "main")
    assert (result.code, result.out) == (1, "")
    assert f"error: {text}\n" in result.err


def test_a_crash_looping_container_shows_its_last_instance(cli: Cli, world: World) -> None:
    """While it waits to run again, and with --previous, the last ended instance's log is shown."""
    ended = {"exitCode": 0, "containerID": f"fake://{_id(world, 'work')}"}
    waiting = {"waiting": {"reason": "CrashLoopBackOff"}}
    status(world.root, "web", "main", state=waiting, lastState={"terminated": ended}, containerID="fake://nothing")
    assert logs(cli, world, "web", "-c", "main").out == "worked\n"
    assert logs(cli, world, "web", "-c", "main", "-p").out == "worked\n"


def _id(world: World, container: str) -> str:
    records = [c for s in world.runtime.list_sandboxes() for c in s.containers]
    return next(c.id for c in records if c.container_name == container)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("nope",), 'pods "nope" not found'),
        (("web", "-c", "nope"), 'container "nope" not found in pod "web"'),
        (("web", "-c", "main", "-p"), 'previous terminated container "main" in pod "web" not found'),
    ],
)
def test_a_log_there_is_not(cli: Cli, world: World, words: tuple[str, ...], text: str) -> None:
    """Unknown pods and containers and missing previous instances are told apart, in the kubelet's words."""
    result = logs(cli, world, *words)
    assert (result.code, result.out) == (1, "")
    assert text in result.err


@pytest.mark.parametrize("words", [("--since", "soon"), ("--since-time", "x"), ("--since", "1s", "--since-time", "x")])
def test_wrong_times(cli: Cli, world: World, words: tuple[str, ...]) -> None:
    """A time that cannot be read is a usage error."""
    assert logs(cli, world, "web", *words).code == 64


def test_a_container_removed_meanwhile(cli: Cli, world: World) -> None:
    """An instance the engine no longer has is one line of error, not a traceback."""
    status(world.root, "web", "main", containerID="fake://gone")
    result = logs(cli, world, "web", "-c", "main")
    assert (result.code, result.out) == (1, "")
    assert "Traceback" not in result.err


def test_an_engine_that_is_away(cli: Cli, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that cannot be asked is one line with its own words, exit code 1."""

    def away(_: app.Config) -> None:
        raise RuntimeUnavailable("no socket at /var/run/docker.sock")

    monkeypatch.setattr(app, "open_runtime", away)
    for words in (("logs", "web", "-c", "main"), ("exec", "web", "-c", "main", "--", "x"), ("version", "-v")):
        result = cli("--root", world.root, *words)
        assert (result.code, result.out) == (1, "")
        assert "error: no socket at /var/run/docker.sock" in result.err


def test_the_agents_own_engine_is_asked(cli: Cli, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without --runtime the engine and the node name are those the agent wrote down."""
    asked: list[app.Config] = []

    def note(config: app.Config) -> Any:
        asked.append(config)
        return world.runtime

    monkeypatch.setattr(app, "open_runtime", note)
    logs(cli, world, "web", "-c", "main")
    logs(cli, world, "web", "-c", "main", "--runtime", "podman")
    assert [(c.runtime, c.node_name, c.root) for c in asked] == [
        ("fake", "node-1", str(world.root)),
        ("podman", "node-1", str(world.root)),
    ]


def test_a_commands_output_and_exit_code(cli: Cli, world: World) -> None:
    """A command's streams stay apart and its exit code is podsync's own."""
    result = cli("exec", "web", "-c", "main", "--root", world.root, "--", "echo", "hi")
    assert (result.code, result.out) == (3, "hi\n")
    assert result.err.endswith("oh\n")


def test_a_commands_options_are_its_own(cli: Cli, world: World) -> None:
    """What follows -- is the command's, options included."""
    world.runtime.execs["sh", "-c", "--help"] = world.runtime.execs["echo", "hi"]
    assert cli("exec", "web", "-c", "main", "--root", world.root, "--", "sh", "-c", "--help").code == 3


def test_standard_input_is_passed_on(cli: Cli, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """With -i the command reads what podsync reads, to its end."""
    read, write = os.pipe()
    os.write(write, b"through\n")
    os.close(write)
    with os.fdopen(read) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        result = cli("exec", "-i", "web", "-c", "main", "--root", world.root, "--", "cat")
    assert (result.code, result.out) == (0, "through\n")


def test_closed_standard_input(cli: Cli, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """With -i but no standard input the command reads its end at once."""
    monkeypatch.setattr(sys, "stdin", None)
    result = cli("exec", "-i", "web", "-c", "main", "--root", world.root, "--", "cat")
    assert (result.code, result.out, "Traceback" in result.err) == (0, "", False)


def test_a_terminal_where_there_is_none(cli: Cli, world: World) -> None:
    """With -t but no terminal the command runs without one, and that is said."""
    result = cli("exec", "-t", "web", "-c", "main", "--root", world.root, "--", "echo", "hi")
    assert (result.code, result.out) == (3, "hi\n")
    assert "Unable to use a TTY" in result.err


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("nope", "--", "x"), 1, 'pods "nope" not found'),
        (("job", "--", "x"), 1, "cannot exec into a container in a completed pod; current phase is Succeeded"),
        (("web", "-c", "nope", "--", "x"), 1, 'container "nope" not found in pod "web"'),
        (("web", "-c", "main"), 64, "Missing argument"),
    ],
)
def test_a_command_that_cannot_run(cli: Cli, world: World, words: tuple[str, ...], code: int, text: str) -> None:
    """What there is not, and what has ended, cannot be entered."""
    result = cli("exec", "--root", world.root, *words)
    assert (result.code, result.out) == (code, "")
    assert text in result.err


def test_a_container_that_does_not_run_cannot_be_entered(cli: Cli, world: World) -> None:
    """A waiting container in a running pod cannot be entered."""
    status(world.root, "web", "main", state={"waiting": {"reason": "CrashLoopBackOff"}})
    result = cli("exec", "web", "-c", "main", "--root", world.root, "--", "x")
    assert result.code == 1
    assert 'container "main" in pod "web" is not running' in result.err


def test_the_version(cli: Cli, world: World) -> None:
    """The version is one line; with -v the engine is asked as well."""
    from podsync import __version__

    assert cli("version").out == f"podsync {__version__}\n"
    assert cli("--version").out == f"podsync {__version__}\n"
    verbose = cli("version", "-v", "-o", "json", "--root", world.root).json
    assert verbose["runtime"]["name"] == "fake"
    assert f"podsync {__version__}\n" in cli("version", "-v", "--root", world.root).out
