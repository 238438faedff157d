"""Finding an engine."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from podsync.errors import ConfigError, PluginError, RuntimeUnavailable
from podsync.runtimes import get, lookup
from podsync.runtimes.lookup import Found

Serve = Callable[[Callable[[socket.socket, bytes], None]], str]

DOCKER = "unix:///var/run/docker.sock"
PODMAN = "unix:///run/podman/podman.sock"
OWN_DOCKER = "unix:///run/user/7/docker.sock"
OWN_PODMAN = "unix:///run/user/7/podman/podman.sock"
XDG = {"XDG_RUNTIME_DIR": "/run/user/7"}
ABSENT = FileNotFoundError(2, "No such file or directory")
DENIED = PermissionError(13, "Permission denied")
REFUSED = ConnectionRefusedError(111, "Connection refused")


class Host:
    """Engines by socket; what is not listed is absent."""

    def __init__(self, engines: Mapping[str, str | OSError], *, podman: bool = False) -> None:
        self.engines = {endpoint.removeprefix("unix://"): engine for endpoint, engine in engines.items()}
        self.podman = podman
        self.asked: list[str] = []

    def ask(self, path: str) -> str:
        """Who answers there."""
        self.asked.append(f"unix://{path}")
        answer = self.engines.get(path, ABSENT)
        if isinstance(answer, OSError):
            raise answer
        return answer

    def find(self, name: str, environ: Mapping[str, str] | None = None, *, uid: int = 0, endpoint: str = "") -> Found:
        """What is found on this host."""
        which = lambda program: f"/usr/bin/{program}" if self.podman else None  # noqa: E731
        return lookup.find(
            name, endpoint=endpoint, state="/s", environ=environ or {}, uid=uid, ask=self.ask, which=which
        )


@pytest.mark.parametrize(
    ("name", "environ", "uid", "order"),
    [
        ("auto", {}, 0, [DOCKER, PODMAN]),
        ("auto", XDG, 0, [DOCKER, PODMAN, OWN_PODMAN]),
        ("auto", XDG, 7, [DOCKER, OWN_DOCKER, OWN_PODMAN, PODMAN]),
        ("docker", XDG, 7, [DOCKER, OWN_DOCKER]),
        ("podman", XDG, 7, [OWN_PODMAN, PODMAN]),
        ("podman", {}, 7, [PODMAN]),
        ("auto", {"CONTAINER_HOST": "unix:///c"}, 0, [DOCKER, "unix:///c"]),
        ("auto", {"DOCKER_HOST": "unix:///d", "CONTAINER_HOST": "unix:///c"}, 0, ["unix:///d"]),
    ],
)
def test_where_is_looked_in_which_order(name: str, environ: dict[str, str], uid: int, order: list[str]) -> None:
    """Docker before Podman; one's own engine before the system's, but for root; a wish ends the search."""
    host = Host({})
    with pytest.raises(RuntimeUnavailable):
        host.find(name, environ, uid=uid)
    assert host.asked == order


@pytest.mark.parametrize(
    ("engines", "name", "expected"),
    [
        ({DOCKER: "docker", PODMAN: "podman"}, "auto", ("docker", DOCKER)),
        ({PODMAN: "podman"}, "auto", ("podman", PODMAN)),
        ({DOCKER: DENIED, PODMAN: "podman"}, "auto", ("podman", PODMAN)),
        ({DOCKER: REFUSED, PODMAN: "podman"}, "auto", ("podman", PODMAN)),
        ({DOCKER: "podman"}, "auto", ("podman", DOCKER)),
        ({DOCKER: "docker", PODMAN: "podman"}, "podman", ("podman", PODMAN)),
        ({DOCKER: "docker"}, "docker", ("docker", DOCKER)),
    ],
)
def test_the_first_that_answers_is_taken(
    engines: dict[str, str | OSError], name: str, expected: tuple[str, str]
) -> None:
    """For what it is: Docker's socket may be Podman's."""
    found = Host(engines).find(name)
    assert (found.engine, found.endpoint) == expected


def test_podman_at_dockers_socket_is_not_docker() -> None:
    """Who asks for Docker by name does not get another engine."""
    with pytest.raises(RuntimeUnavailable, match="is Podman's"):
        Host({DOCKER: "podman"}).find("docker")


@pytest.mark.parametrize(
    ("variable", "engine"), [("DOCKER_HOST", "docker"), ("DOCKER_HOST", "podman"), ("CONTAINER_HOST", "podman")]
)
def test_the_environment_names_an_engine(variable: str, engine: str) -> None:
    """Which is taken for what it is, also when others are there."""
    found = Host({"unix:///x": engine, PODMAN: "podman"}).find("auto", {variable: "unix:///x"})
    assert (found.engine, found.endpoint) == (engine, "unix:///x")


@pytest.mark.parametrize("variable", ["DOCKER_HOST", "CONTAINER_HOST"])
@pytest.mark.parametrize("error", [ABSENT, DENIED, REFUSED, TimeoutError()])
def test_an_engine_that_was_wished_for_and_is_down_is_not_replaced(variable: str, error: OSError) -> None:
    """The pods would move to another engine, and come back."""
    host = Host({"unix:///x": error, PODMAN: "podman"}, podman=True)
    with pytest.raises(RuntimeUnavailable, match=f"{variable}: .*unix:///x"):
        host.find("auto", {variable: "unix:///x"})


@pytest.mark.parametrize(
    ("name", "environ"),
    [("docker", {"DOCKER_HOST": "unix:///x"}), ("podman", {"CONTAINER_HOST": "unix:///x"})],
)
def test_an_engine_chosen_by_name_and_address_need_not_be_up(name: str, environ: dict[str, str]) -> None:
    """It is waited for by whoever uses it."""
    host = Host({})
    assert host.find(name, environ) == Found(name, "unix:///x")
    assert host.find(name, endpoint="unix:///y") == Found(name, "unix:///y")
    assert host.asked == []


def test_an_address_alone_tells_the_engine() -> None:
    """By who answers there."""
    found = Host({"unix:///x": "podman"}).find("auto", {"DOCKER_HOST": "unix:///z"}, endpoint="unix:///x")
    assert (found.engine, found.endpoint) == ("podman", "unix:///x")


def test_a_hung_engine_is_not_replaced() -> None:
    """It is there, and its pods with it."""
    with pytest.raises(RuntimeUnavailable, match=r"did not answer within 5 s"):
        Host({DOCKER: TimeoutError(), PODMAN: "podman"}).find("auto")


@pytest.mark.parametrize("name", ["auto", "podman"])
def test_a_service_of_our_own_is_the_last_resort(name: str) -> None:
    """Where podman is installed and nobody serves it; what was tried is kept."""
    found = Host({}, podman=True).find(name)
    assert (found.engine, found.endpoint) == ("podman", "service:///s/podman.sock")
    assert any("no such socket" in sentence for sentence in found.tried)


def test_podman_is_not_started_for_docker() -> None:
    """Who asks for Docker wants Docker."""
    with pytest.raises(RuntimeUnavailable):
        Host({}, podman=True).find("docker")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ABSENT, ["no such socket", "systemctl start"]),
        (DENIED, ["permission denied", "run as root"]),
        (REFUSED, ["refuses connections", "systemctl start"]),
        (TimeoutError(), ["did not answer within 5 s", "restart"]),
    ],
)
def test_why_an_engine_is_of_no_use(error: OSError, words: list[str]) -> None:
    """Each case with what to do about it, and how to install one."""
    with pytest.raises(RuntimeUnavailable) as caught:
        Host({DOCKER: error}).find("docker")
    for word in [*words, DOCKER, "Install Docker"]:
        assert word in str(caught.value)
    assert "Install Podman" not in str(caught.value)


def test_everything_that_was_tried_is_told() -> None:
    """One message, a line each."""
    with pytest.raises(RuntimeUnavailable) as caught:
        Host({DOCKER: DENIED}).find("auto")
    lines = str(caught.value).splitlines()
    assert lines[0] == "no container engine can be used. Tried:"
    assert [line[:4] for line in lines[1:4]] == ["  - "] * 3
    assert "podman is not installed" in lines[3]
    assert [line.split(":")[0] for line in lines[4:]] == ["Install Docker", "Install Podman"]


@pytest.mark.parametrize("address", ["tcp://1.2.3.4:2375", "ssh://me@there", "relative.sock"])
def test_engines_of_other_hosts_are_refused(address: str) -> None:
    """Pods mount this host's files."""
    with pytest.raises(ConfigError, match="unix:///path"):
        Host({}).find("auto", {"DOCKER_HOST": address})


@pytest.mark.parametrize(
    ("header", "engine"), [(b"Libpod-API-Version: 5.7.0\r\n", "podman"), (b"Api-Version: 1.41\r\n", "docker")]
)
def test_who_answers(serve: Serve, header: bytes, engine: str) -> None:
    """Podman says its own version beside the one it imitates."""
    reply = b"HTTP/1.1 200 OK\r\n" + header + b"Content-Length: 2\r\n\r\nOK"
    assert lookup.probe(serve(lambda connection, request: connection.sendall(reply))) == engine


def test_an_engine_that_hangs(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes the call and does not answer."""
    monkeypatch.setattr(lookup, "_PROBE_TIMEOUT", 0.1)
    free = threading.Event()
    path = serve(lambda connection, request: free.wait(10) and None)
    with pytest.raises(TimeoutError):
        lookup.probe(path)
    free.set()


def test_where_a_service_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the agent's folder, or elsewhere when its name is too long for a socket's; always the same place."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/7")
    assert lookup.service_socket("/var/lib/podsync") == Path("/var/lib/podsync/podman.sock")
    long = lookup.service_socket("/x" * 60)
    assert long.parent.parent == Path("/run/user/7")
    assert len(str(long)) < 100
    assert long == lookup.service_socket("/x" * 60) != lookup.service_socket("/y" * 60)


def test_get_a_runtime_by_name() -> None:
    """A known one, and one that nobody knows."""
    runtime = get("fake", node="me")
    assert runtime.info().name == "fake"
    runtime.close()
    with pytest.raises(PluginError, match="'fak'"):
        get("fak", node="me")


@pytest.mark.parametrize("engine", ["docker", "podman"])
def test_getting_an_engine_asks_it_nothing(engine: str) -> None:
    """One with an address need not be up yet; it may be had twice."""
    for _ in range(2):
        runtime = get(engine, node="me", endpoint="unix:///nonexistent/engine.sock")
        with pytest.raises(RuntimeUnavailable, match="no such socket"):
            runtime.list_sandboxes()
        runtime.close()


def test_a_service_that_does_not_start_is_told_with_all_else(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The last resort failed too."""
    monkeypatch.setattr(lookup, "places", lambda *_, **__: iter([lookup.Place("podman", "unix:///nonexistent.sock")]))
    monkeypatch.setattr(lookup.find, "__kwdefaults__", {**lookup.find.__kwdefaults__, "which": lambda _: "/bin/podman"})
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RuntimeUnavailable) as caught:
        get("auto", node="me", state=str(tmp_path / "s"))
    assert "unix:///nonexistent.sock" in str(caught.value)
    assert "cannot start" in str(caught.value)
