"""Docker's JSON into records: answers of 20.10 (API 1.41) and 29 (API 1.56), shortened."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from podsync.runtimes.base import ContainerState, ImageRecord, RuntimeHint
from podsync.runtimes.common.execs import ExecState
from podsync.runtimes.docker import records

ZERO = "0001-01-01T00:00:00Z"
ONE, TWO = "2030-01-01T00:00:01.5Z", "2030-01-01T00:00:02.123456789Z"
AT_ONE, AT_TWO = datetime(2030, 1, 1, 0, 0, 1, 500000, UTC), datetime(2030, 1, 1, 0, 0, 2, 123456, UTC)


def inspected(status: str, **state: Any) -> dict[str, Any]:
    """An inspection with that state."""
    return {
        "Id": "i",
        "Created": ONE,
        "Image": "sha256:1",
        "State": {"Status": status, "StartedAt": ZERO, "FinishedAt": ZERO, "ExitCode": 0, "Pid": 0, **state},
        "Config": {"StopSignal": "SIGQUIT", "Tty": True},
        "NetworkSettings": {"Networks": {}},
    }


def test_a_row() -> None:
    """Its own name is the one without a second slash; the moment is in seconds."""
    row = records.row(
        {
            "Id": "i",
            "Names": ["/other/alias", "/k8s_c"],
            "State": "running",
            "Labels": {"a": "b"},
            "Created": 1893456000,
            "ImageID": "sha256:1",
            "NetworkSettings": {"Networks": {"bridge": {"IPAddress": "172.17.0.2", "GlobalIPv6Address": "fd00::2"}}},
        }
    )
    assert (row.id, row.name, row.labels, row.image_id) == ("i", "k8s_c", {"a": "b"}, "sha256:1")
    assert row.created_at == datetime(2030, 1, 1, tzinfo=UTC)
    assert row.ips == ("172.17.0.2", "fd00::2")


@pytest.mark.parametrize(
    ("word", "state"),
    [
        ("created", ContainerState.CREATED),
        ("running", ContainerState.RUNNING),
        ("paused", ContainerState.RUNNING),
        ("restarting", ContainerState.RUNNING),
        ("exited", ContainerState.EXITED),
        ("removing", ContainerState.EXITED),
        ("dead", ContainerState.EXITED),
        ("", ContainerState.UNKNOWN),
        ("something new", ContainerState.UNKNOWN),
    ],
)
def test_states(word: str, state: ContainerState) -> None:
    """A paused process is there; what Docker cannot remove has ended all the same."""
    assert records.row({"Id": "i", "State": word}).state is state
    assert records.detail(inspected(word)).state is state


def test_a_running_container() -> None:
    """It has a process and a start, and no exit code although Docker writes 0."""
    found = records.detail(inspected("running", StartedAt=ONE, Pid=7))
    assert (found.started_at, found.finished_at, found.exit_code, found.pid) == (AT_ONE, None, None, 7)
    assert (found.stop_signal, found.tty, found.image_id) == ("SIGQUIT", True, "sha256:1")


def test_an_ended_container() -> None:
    """With both moments, its code and Docker's words."""
    found = records.detail(inspected("exited", StartedAt=ONE, FinishedAt=TWO, ExitCode=3, Error="a  b"))
    assert (found.started_at, found.finished_at, found.exit_code, found.message) == (AT_ONE, AT_TWO, 3, "a b")


def test_an_end_before_the_start_is_none() -> None:
    """Docker writes such moments for very short runs."""
    found = records.detail(inspected("exited", StartedAt=TWO, FinishedAt=ONE))
    assert (found.started_at, found.finished_at) == (AT_TWO, AT_TWO)


@pytest.mark.parametrize("code", [126, 127, 128])
def test_a_failed_start_has_ended_the_instance(code: int) -> None:
    """Docker goes on calling it created."""
    found = records.detail(inspected("created", ExitCode=code, Error="no such file"))
    assert (found.state, found.exit_code, found.message) == (ContainerState.EXITED, code, "no such file")
    assert (found.started_at, found.finished_at) == (None, AT_ONE)


def test_a_created_container_has_no_code() -> None:
    """It has not run."""
    found = records.detail(inspected("created"))
    assert (found.state, found.exit_code, found.finished_at) == (ContainerState.CREATED, None, None)


@pytest.mark.parametrize(("flag", "code", "killed"), [(True, 137, True), (True, 3, False), (False, 137, False)])
def test_out_of_memory(flag: bool, code: int, *, killed: bool) -> None:
    """Docker sets the flag too when only a child was ended for it."""
    found = records.detail(inspected("exited", OOMKilled=flag, ExitCode=code, StartedAt=ONE, FinishedAt=TWO))
    assert found.oom_killed is killed


@pytest.mark.parametrize(
    ("settings", "ips"),
    [
        ({}, ()),
        ({"NetworkSettings": None}, ()),
        ({"NetworkSettings": {"Networks": None}}, ()),
        ({"NetworkSettings": {"Networks": {"host": {"IPAddress": "", "GlobalIPv6Address": ""}}}}, ()),
        ({"NetworkSettings": {"IPAddress": "10.0.0.9", "Networks": {"b": {"IPAddress": "10.0.0.2"}}}}, ("10.0.0.2",)),
    ],
)
def test_addresses(settings: dict[str, Any], ips: tuple[str, ...]) -> None:
    """From the networks alone: the old field above them is gone from API 1.52 on."""
    assert records.addresses(settings) == ips


@pytest.mark.parametrize(
    ("entry", "record"),
    [
        ({"Id": "sha256:1"}, ImageRecord("sha256:1")),
        ({"Id": "sha256:1", "Config": {}, "RepoDigests": []}, ImageRecord("sha256:1")),
        (
            {"Id": "sha256:1", "Config": {"User": "7:8"}, "RepoDigests": ["r/a@sha256:2"], "Size": 9},
            ImageRecord("sha256:1", ("r/a@sha256:2",), "7:8", 9),
        ),
    ],
)
def test_images(entry: dict[str, Any], record: ImageRecord) -> None:
    """Keys that are not set are left out by newer engines."""
    assert records.image(entry) == record


@pytest.mark.parametrize(
    ("entry", "state"),
    [
        ({"Running": True, "ExitCode": None, "Pid": 9}, ExecState(running=True, pid=9)),
        ({"Running": False, "ExitCode": 126, "Pid": 0}, ExecState(running=False, exit_code=126)),
        ({"Running": False, "ExitCode": None}, ExecState(running=False)),
    ],
)
def test_commands(entry: dict[str, Any], state: ExecState) -> None:
    """A code that is not known yet is none."""
    assert records.exec_state(entry) == state


def event(action: str, kind: str = "container", node: str = "n") -> dict[str, Any]:
    """As the stream has it."""
    attributes = {"podsync.io/node": node, "io.kubernetes.pod.uid": "u", "name": "k8s_c"}
    return {"Type": kind, "Action": action, "Actor": {"ID": "i", "Attributes": attributes}}


@pytest.mark.parametrize("action", ["die", "destroy"])
def test_news_is_a_hint(action: str) -> None:
    """With the pod and the container it is about."""
    assert records.hint(event(action), "n") == RuntimeHint(uid="u", container="i")
    assert records.event_name(event(action)) == "k8s_c"


@pytest.mark.parametrize(
    "item", [event("die", node="other"), event("create"), event("start"), event("delete", "image"), {}]
)
def test_other_events_are_no_hints(item: dict[str, Any]) -> None:
    """Of other nodes, of what we do ourselves, of images."""
    assert records.hint(item, "n") is None


@pytest.mark.parametrize(
    ("api", "words"),
    [
        ((1, 41), set()),
        ((1, 44), {"recursive-read-only"}),
        ((1, 47), {"recursive-read-only", "volume-subpath"}),
        ((1, 56), {"recursive-read-only", "volume-subpath", "image-volumes"}),
    ],
)
def test_capabilities_hang_on_the_api_version(api: tuple[int, int], words: set[str]) -> None:
    """Never on the engine's own version; the rest it tells itself."""
    info = {"SecurityOptions": ["name=seccomp,profile=default", "name=rootless"], "CgroupVersion": "2"}
    assert records.capabilities(api, info) == words | {"seccomp", "rootless", "cgroup-v2"}
