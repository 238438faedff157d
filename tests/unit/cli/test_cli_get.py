"""``get``, ``describe`` and ``events``."""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path

import pytest
import yaml

from tests.unit.cli.conftest import Cli, World, rewrite


def test_pods_of_a_namespace_as_a_table(cli: Cli, world: World) -> None:
    """The table shows the pods of one namespace, data on stdout only."""
    result = cli("get", "pods", "--root", world.root)
    assert result.code == 0
    lines = [line.split() for line in result.out.splitlines()]
    assert lines[0] == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert [line[:4] for line in lines[1:]] == [["job", "0/1", "Completed", "0"], ["web", "2/2", "Running", "0"]]


@pytest.mark.parametrize("word", ["pods", "pod", "po", "PODS"])
def test_the_resource_may_be_written_in_several_ways(cli: Cli, world: World, word: str) -> None:
    """Kubectl's short and singular names are understood."""
    assert cli("get", word, "web", "--root", world.root, "--no-headers").out.startswith("web")
    assert cli("get", f"{word}/web", "--root", world.root, "-o", "name").out == "pod/web\n"


def test_all_namespaces(cli: Cli, world: World) -> None:
    """With -A every pod is shown, with its namespace."""
    result = cli("get", "pods", "-A", "--no-headers", "--root", world.root)
    assert [line.split()[:2] for line in result.out.splitlines()] == [
        ["default", "job"],
        ["default", "web"],
        ["other", "web"],
    ]


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("app=web", ["web"]),
        ("app==web,tier=front", ["web"]),
        ("app!=web", ["job"]),
        ("app in (web, job)", ["job", "web"]),
        ("app notin (web)", ["job"]),
        ("tier", ["web"]),
        ("!tier", ["job"]),
        ("app=none", []),
    ],
)
def test_pods_by_label(cli: Cli, world: World, selector: str, names: list[str]) -> None:
    """A selector picks pods as kubectl's does."""
    result = cli("get", "pods", "-l", selector, "-o", "json", "--root", world.root)
    assert [item["metadata"]["name"] for item in result.json["items"]] == names


def test_the_json_form_is_a_pod_list(cli: Cli, world: World) -> None:
    """Without a name -o json is a PodList, with one it is the Pod, whole and with its status."""
    everything = cli("get", "pods", "-A", "-o", "json", "--root", world.root).json
    assert (everything["kind"], everything["apiVersion"], len(everything["items"])) == ("PodList", "v1", 3)
    pod = cli("get", "pods", "web", "-o", "json", "--root", world.root).json
    assert pod["kind"] == "Pod"
    assert pod["spec"]["containers"][0]["image"] == "nginx"
    assert pod["status"]["phase"] == "Running"
    assert pod["status"]["containerStatuses"][0]["containerID"].startswith("fake://")
    assert pod in everything["items"]


def test_several_names(cli: Cli, world: World) -> None:
    """Several names give a list in their order."""
    result = cli("get", "pods", "web", "job", "-o", "json", "--root", world.root)
    assert [item["metadata"]["name"] for item in result.json["items"]] == ["web", "job"]


def test_the_yaml_form_says_the_same(cli: Cli, world: World) -> None:
    """The YAML form holds what the JSON form holds."""
    as_yaml = cli("get", "pod", "web", "-n", "other", "-o", "yaml", "--root", world.root)
    as_json = cli("get", "pod", "web", "-n", "other", "-o", "json", "--root", world.root)
    assert yaml.load(as_yaml.out, yaml.SafeLoader) == as_json.json


@pytest.mark.parametrize("form", [(), ("-o", "json"), ("-o", "name")])
def test_a_pod_that_is_not_there(cli: Cli, world: World, form: tuple[str, ...]) -> None:
    """A name that is not there is an error in kubectl's words, with nothing on stdout."""
    result = cli("get", "pods", "nope", *form, "--root", world.root)
    assert (result.code, result.out) == (1, "")
    assert 'pods "nope" not found' in result.err


def test_an_empty_namespace(cli: Cli, world: World) -> None:
    """No pods at all is no error: said on stderr for people, an empty list for machines."""
    result = cli("get", "pods", "-n", "empty", "--root", world.root)
    assert (result.code, result.out) == (0, "")
    assert "No resources found in empty namespace." in result.err
    assert cli("get", "pods", "-n", "empty", "-o", "json", "--root", world.root).json["items"] == []


@pytest.mark.parametrize("command", [("get", "pods"), ("describe", "pods"), ("events",), ("logs", "web")])
def test_a_root_nobody_has_used(cli: Cli, tmp_path: Path, command: tuple[str, ...]) -> None:
    """Without any report the command fails and says how there would be one."""
    result = cli(*command, "--root", tmp_path)
    assert (result.code, result.out) == (1, "")
    assert str(tmp_path) in result.err
    assert "podsync run" in result.err


def test_a_damaged_report(cli: Cli, tmp_path: Path) -> None:
    """A report that cannot be read is one line of error."""
    (tmp_path / "status.json").write_text("{")
    result = cli("get", "pods", "--root", tmp_path)
    assert result.code == 1
    assert len(result.err.splitlines()) == 1


def test_a_stale_report_is_said_to_be_one(cli: Cli, world: World) -> None:
    """Without a running agent there is a warning on stderr; with one there is none."""
    assert "warning: no podsync agent runs" in cli("get", "pods", "--root", world.root).err
    lock = os.open(world.root / "agent.lock", os.O_RDWR)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert cli("get", "pods", "--root", world.root).err == ""
    finally:
        os.close(lock)


def test_what_is_wrong_with_the_agent_is_said(cli: Cli, world: World) -> None:
    """Problems the agent wrote down about itself, and manifests it refuses, are told on stderr."""
    agent = json.loads((world.root / "agent.json").read_text())
    agent["problems"] = ["status.json cannot be written: No space left on device"]
    agent["refusals"] = [{"origin": "a.yaml", "pod": "default/x", "kept": True, "errors": ["a.yaml:3: bad", "worse"]}]
    (world.root / "agent.json").write_text(json.dumps(agent))
    err = cli("get", "pods", "--root", world.root).err
    assert "warning: status.json cannot be written: No space left on device" in err
    assert "warning: a.yaml:3: bad" in err
    assert "last good version" in err


def test_a_pod_that_is_being_ended(cli: Cli, world: World) -> None:
    """A pod with a deletion time is Terminating."""

    def end(items: list[dict[str, dict[str, str]]]) -> None:
        items[1]["metadata"]["deletionTimestamp"] = "2030-01-01T00:00:00Z"

    rewrite(world.root, end)
    assert "Terminating" in cli("get", "pod", "web", "--root", world.root).out


@pytest.mark.parametrize(
    "words",
    [
        ("get",),
        ("get", "services"),
        ("get", "pods", "web", "-A"),
        ("get", "pods", "web", "-l", "a=b"),
        ("get", "pods", "-l", "a=b c"),
        ("get", "pods", "-o", "table"),
        ("get", "pod/"),
        ("get", "pod/web", "job"),
        ("describe", "node/x"),
        ("events", "--for", "node/x"),
    ],
)
def test_wrong_usage(cli: Cli, world: World, words: tuple[str, ...]) -> None:
    """What makes no sense ends with 64, since 2 is an answer of plan's."""
    result = cli(*words, "--root", world.root)
    assert (result.code, result.out) == (64, "")
    assert "Error:" in result.err


def test_describe(cli: Cli, world: World) -> None:
    """A description holds the containers and only the pod's own events."""
    result = cli("describe", "pod", "web", "--root", world.root)
    assert result.code == 0
    assert "Image:          nginx" in result.out
    assert "Container started" in result.out
    assert result.out.count("Name:  ") == 1
    both = cli("describe", "pods", "--root", world.root).out
    assert both.count("Name:  ") == 2
    assert cli("describe", "pod", "nope", "--root", world.root).code == 1


def test_events(cli: Cli, world: World) -> None:
    """Events can be limited to a namespace, a pod and a type, and are Kubernetes' own as JSON."""
    everything = cli("events", "-A", "-o", "json", "--root", world.root).json
    assert everything["kind"] == "EventList"
    namespaces = {item["involvedObject"]["namespace"] for item in everything["items"]}
    assert namespaces == {"default", "other"}
    here = cli("events", "-o", "json", "--root", world.root).json["items"]
    assert {item["involvedObject"]["namespace"] for item in here} == {"default"}
    of_job = cli("events", "--for", "pod/job", "-o", "json", "--root", world.root).json["items"]
    assert {item["involvedObject"]["name"] for item in of_job} == {"job"}
    assert "LAST SEEN" in cli("events", "--root", world.root).out
    nothing = cli("events", "--types", "Warning", "--root", world.root)
    assert (nothing.code, nothing.out) == (0, "")
    assert "No events found" in nothing.err


SHAPES = [
    "[]",
    "5",
    '{"items": 5}',
    '{"items": [1]}',
    '{"items": [{"metadata": []}]}',
    '{"items": [{"spec": {"containers": 1}}]}',
    '{"items": [{"status": {"containerStatuses": ["x"]}}]}',
    '{"items": [{"involvedObject": "x"}]}',
]


@pytest.mark.parametrize("content", SHAPES)
@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("status.json", ("get", "pods")),
        ("status.json", ("describe", "pod", "web")),
        ("status.json", ("logs", "web")),
        ("status.json", ("wait", "pod/web", "--for=delete")),
        ("events.json", ("events",)),
        ("events.json", ("describe", "pod", "web")),
    ],
)
def test_a_report_of_another_shape(cli: Cli, world: World, content: str, file: str, words: tuple[str, ...]) -> None:
    """A file that is JSON but no report is one line that names it and says what to do."""
    (world.root / file).write_text(content)
    result = cli(*words, "--root", world.root)
    assert (result.code, result.out) == (1, "")
    last = result.err.splitlines()[-1]
    assert last.startswith("error: ")
    assert f"{world.root}/{file}" in last
    assert "remove it" in last


@pytest.mark.parametrize("content", ["[]", '{"problems": 5}', '{"refusals": [1]}', '{"refusals": [{"errors": 1}]}'])
def test_an_agent_file_of_another_shape(cli: Cli, world: World, content: str) -> None:
    """So it is with what the agent says of itself."""
    (world.root / "agent.json").write_text(content)
    result = cli("get", "pods", "--root", world.root)
    assert (result.code, result.out) == (1, "")
    assert f"{world.root}/agent.json" in result.err


@pytest.mark.parametrize("words", [("get", "pods"), ("describe", "pod", "web")])
@pytest.mark.parametrize(("file", "code"), [("agent.json", 0), ("status.json", 1)])
def test_a_removed_file_of_an_agent(cli: Cli, world: World, words: tuple[str, ...], file: str, code: int) -> None:
    """When an agent holds the lock, what is missing is not taken for an agent that never was."""
    (world.root / file).unlink()
    lock = os.open(world.root / "agent.lock", os.O_RDWR)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        result = cli(*words, "--root", world.root)
    finally:
        os.close(lock)
    assert result.code == code
    assert f"runs on {world.root}, but its {file} is not there" in result.err


def test_hostile_text_is_exact_for_machines_only(cli: Cli, world: World) -> None:
    """JSON keeps every character; tables and messages escape those that steer a terminal."""

    def spoil(items: list[dict[str, dict[str, str]]]) -> None:
        items[1]["status"]["reason"] = "x\x1b[2J\u202e"
        items[1]["metadata"]["deletionTimestamp"] = ""

    rewrite(world.root, spoil)
    assert cli("get", "pod", "web", "-o", "json", "--root", world.root).json["status"]["reason"] == "x\x1b[2J\u202e"
    assert r"x\x1b[2J\u202e" in cli("describe", "pod", "web", "--root", world.root).out
    assert r'"\x1b[2J" not found' in cli("get", "pod", "\x1b[2J", "--root", world.root).err
