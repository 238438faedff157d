"""libpod's JSON into records."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from podsync import labels
from podsync.runtimes.base import ContainerState, RuntimeHint
from podsync.runtimes.common.execs import ExecState
from podsync.runtimes.podman import records

ZERO = "0001-01-01T00:00:00Z"
V4, V5 = (4, 3, 1), (5, 7, 0)


def inspection(status: str = "running", host: dict[str, Any] | None = None, **state: Any) -> dict[str, Any]:
    """An inspection as the engine gives it, with that state."""
    return {
        "Id": "a" * 64,
        "Created": "2026-12-01T12:00:00.5Z",
        "Image": "img",
        "Dependencies": ["box"],
        "State": {"Status": status, "Pid": 0, "ExitCode": 0, "StartedAt": ZERO, "FinishedAt": ZERO, **state},
        "HostConfig": {"Memory": 0, "LogConfig": {"Path": "/log"}, **(host or {})},
        "Config": {"StopSignal": 15, "Tty": False},
        "NetworkSettings": {},
    }


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("created", ContainerState.CREATED),
        ("configured", ContainerState.CREATED),
        ("initialized", ContainerState.CREATED),
        ("running", ContainerState.RUNNING),
        ("paused", ContainerState.RUNNING),
        ("stopping", ContainerState.RUNNING),
        ("stopped", ContainerState.EXITED),
        ("exited", ContainerState.EXITED),
        ("removing", ContainerState.EXITED),
        ("Running", ContainerState.RUNNING),
        ("", ContainerState.UNKNOWN),
        ("dreaming", ContainerState.UNKNOWN),
    ],
)
def test_states(word: str, expected: ContainerState) -> None:
    """Each of libpod's words has its state; a stop that was broken off has not ended anything yet."""
    assert records.state(word) is expected


def test_a_row() -> None:
    """What a list says of one container."""
    entry = {
        "Id": "1",
        "Names": ["k8s_a"],
        "State": "running",
        "Labels": {"x": "y"},
        "Created": "2026-12-01T12:41:54.939364955Z",
        "ImageID": "img",
    }
    row = records.row(entry)
    assert (row.id, row.name, row.state, row.labels, row.image_id) == (
        "1",
        "k8s_a",
        ContainerState.RUNNING,
        {"x": "y"},
        "img",
    )
    assert row.created_at == datetime(2026, 12, 1, 12, 41, 54, 939364, UTC)


def test_a_row_without_labels() -> None:
    """Empty ones come as null."""
    row = records.row({"Id": "1", "Names": None, "State": None, "Labels": None})
    assert (row.name, row.state, row.labels, row.created_at) == ("", ContainerState.UNKNOWN, {}, None)


def test_a_running_container() -> None:
    """It has a start, a process, and no end."""
    found = records.detail(inspection(Pid=7, StartedAt="2026-12-01T12:00:01.123456789Z"), V4)
    assert (found.id, found.state, found.pid) == ("a" * 64, ContainerState.RUNNING, 7)
    assert found.started_at == datetime(2026, 12, 1, 12, 0, 1, 123456, UTC)
    assert (found.finished_at, found.exit_code, found.oom_killed, found.message) == (None, None, False, "")
    assert (found.extra[records.LOG_PATH], found.extra[records.SANDBOX]) == ("/log", "box")


@pytest.mark.parametrize("status", ["stopped", "exited"])
def test_an_ended_container(status: str) -> None:
    """Its code and end are known before it is cleaned up; a process id left over means nothing."""
    raw = inspection(status, ExitCode=3, Pid=9, StartedAt="2026-12-01T12:00:01Z", FinishedAt="2026-12-01T12:00:02Z")
    found = records.detail(raw, V4)
    assert (found.state, found.exit_code, found.pid) == (ContainerState.EXITED, 3, 0)
    assert found.finished_at == datetime(2026, 12, 1, 12, 0, 2, tzinfo=UTC)


def test_an_end_is_not_before_its_start() -> None:
    """Podman may write it so for a very short run."""
    raw = inspection("exited", StartedAt="2026-12-01T12:00:02Z", FinishedAt="2026-12-01T12:00:01Z")
    found = records.detail(raw, V5)
    assert found.finished_at == found.started_at == datetime(2026, 12, 1, 12, 0, 2, tzinfo=UTC)


def test_a_created_container() -> None:
    """It has neither start nor end nor code."""
    found = records.detail(inspection("created"), V5)
    assert (found.state, found.started_at, found.finished_at, found.exit_code) == (
        ContainerState.CREATED,
        None,
        None,
        None,
    )


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('runc: exec: "nope": executable file not found in $PATH: OCI runtime attempted', 127),
        ('exec: "/etc": permission denied: OCI permission denied', 126),
        ("something else", 128),
    ],
)
@pytest.mark.parametrize("kept", [True, False])
def test_a_start_that_failed(text: str, code: int, kept: bool) -> None:
    """It counts as ended with a shell's code, whether the engine keeps the text or we do."""
    raw = inspection("created", Error=text if kept else "")
    found = records.detail(raw, V5 if kept else V4, "" if kept else text)
    assert (found.state, found.exit_code, found.started_at) == (ContainerState.EXITED, code, None)
    assert found.finished_at == datetime(2026, 12, 1, 12, 0, 0, 500000, UTC)
    assert found.message


@pytest.mark.parametrize(
    ("version", "flag", "memory", "code", "expected"),
    [
        (V5, True, 1, 137, True),
        (V5, True, 1, 1, False),
        (V5, False, 1, 137, False),
        (V4, False, 1, 137, True),
        (V4, False, 0, 137, False),
        (V4, False, 1, 0, False),
    ],
)
def test_out_of_memory(version: tuple[int, ...], flag: bool, memory: int, code: int, expected: bool) -> None:
    """From 5.0 on the flag says it; before, a killed container with a limit is taken for one."""
    raw = inspection("exited", {"Memory": memory}, OOMKilled=flag, ExitCode=code)
    assert records.detail(raw, version).oom_killed is expected


def test_out_of_memory_of_one_that_runs() -> None:
    """Only an end has a reason."""
    assert not records.detail(inspection(OOMKilled=True, ExitCode=137), V5).oom_killed


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (15, ""),
        (None, ""),
        ("", ""),
        ("SIGTERM", ""),
        (3, "SIGQUIT"),
        ("SIGUSR1", "SIGUSR1"),
        ("SIGRTMIN+3", "SIGRTMIN+3"),
        (37, "37"),
    ],
)
def test_stop_signals(value: int | str | None, expected: str) -> None:
    """By name; SIGTERM, which is also what is meant by none, needs no name."""
    raw = inspection()
    raw["Config"]["StopSignal"] = value
    assert records.detail(raw, V4).stop_signal == expected


def test_addresses() -> None:
    """The default network's and others', each once, IPv4 first."""
    network = {"IPAddress": "10.88.0.3", "GlobalIPv6Address": "fd00::3"}
    settings = {**network, "Networks": {"podman": network, "more": {"IPAddress": "10.89.0.4"}}}
    assert records.addresses({"NetworkSettings": settings}) == ("10.88.0.3", "fd00::3", "10.89.0.4")
    assert records.addresses({"NetworkSettings": {"IPAddress": "", "Networks": None}}) == ()


def test_an_image() -> None:
    """Digests nobody could pull by are left out."""
    raw = {"Id": "1", "RepoDigests": ["docker.io/library/a@sha256:1", "localhost/a@sha256:1"], "User": "7", "Size": 5}
    found = records.image(raw)
    assert (found.id, found.digests, found.user, found.size) == ("1", ("docker.io/library/a@sha256:1",), "7", 5)
    assert records.image({"Id": "1", "Config": {"User": "web"}}).user == "web"
    assert records.image({"Id": "1", "RepoDigests": None}).reference == "1"


def test_a_commands_state() -> None:
    """Podman's code is 0 while it runs, which says nothing."""
    assert records.exec_state({"Running": True, "ExitCode": 0, "Pid": 5}) == ExecState(True, None, 5)
    assert records.exec_state({"Running": False, "ExitCode": 3, "Pid": 0}) == ExecState(False, 3, 0)


def test_hints_are_of_our_own_containers() -> None:
    """Labels are among an event's attributes."""
    attributes = {labels.NODE: "me", labels.POD_UID: "u"}
    event = {"Actor": {"ID": "1", "Attributes": attributes}}
    assert records.hint(event, "me") == RuntimeHint(uid="u", container="1")
    assert records.hint(event, "other") is None
    assert records.hint({"Type": "image"}, "me") is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [("4.3.1", (4, 3, 1)), ("5.8.0-dev", (5, 8, 0)), ("6", (6,)), ("", ()), ("v4", ()), ("5.x.1", (5,))],
)
def test_versions(text: str, expected: tuple[int, ...]) -> None:
    """As far as they are numbers."""
    assert records.numbers(text) == expected
