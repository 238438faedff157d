"""Engines that are missing, forbidden, hung, killed: the agent waits, says so, and goes on."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.harness import PODSYNC, Agent, Engine, counts, is_ready, pod_yaml, poll
from tests.engines import unavailable

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]

ENGINES = Path(__file__).parents[2] / "tools" / "engines.sh"


@pytest.mark.parametrize("kind", ["missing", "refused", "no permission", "hung"])
def test_engine_that_cannot_be_asked_at_the_start(tmp_path: Path, kind: str) -> None:
    """Socket missing, refused, forbidden or hung: each is told apart, with what to do, and exit code 1."""
    path = tmp_path / "engine.sock"
    server = socket.socket(socket.AF_UNIX)
    if kind in ("refused", "hung", "no permission"):
        server.bind(str(path))
    if kind in ("hung", "no permission"):
        server.listen()
    argv = [
        *PODSYNC,
        "run",
        "--once",
        "--source",
        f"dir:{tmp_path}",
        "--runtime",
        "docker",
        "--root",
        str(tmp_path / "root"),
    ]
    if kind == "no permission":
        if os.geteuid() != 0:
            pytest.skip("needs root to give the socket away")
        # root without the right to pass over modes is like anybody else
        path.chmod(0o600)
        os.chown(path, 65534, 65534)
        drop = "-dac_override,-dac_read_search"
        argv = ["setpriv", f"--bounding-set={drop}", f"--inh-caps={drop}", *argv]
    env = {**os.environ, "DOCKER_HOST": f"unix://{path}"}
    try:
        done = subprocess.run(argv, capture_output=True, text=True, env=env, timeout=120, check=False)
    finally:
        server.close()

    words = {"missing": "there is no", "refused": "refuses", "no permission": "ermission", "hung": "answer"}
    assert done.returncode == 1, done.stderr
    assert str(path) in done.stderr
    assert words[kind] in done.stderr.replace("does not exist", "there is no")
    assert "Traceback" not in done.stderr


@pytest.fixture
def private_docker(tmp_path: Path) -> Iterator[tuple[Engine, Callable[[str], None]]]:
    """A dockerd of its own that a test may kill and start again."""
    if os.geteuid() != 0:
        pytest.skip("starting an engine needs root")
    state = Path("/run") / f"podsync-test-{os.getpid()}"
    env = {
        **os.environ,
        "ENGINES": "docker",
        "ENGINES_STATE": str(state),
        "ENGINES_DOCKER_SOCK": str(state / "docker.sock"),
        "ENGINES_DOCKER_NET": "172.31.252.1/24",
        "ENGINES_IMAGES": "busybox",
    }

    def engines(command: str, arguments: str = "") -> None:
        done = subprocess.run(
            [ENGINES, command],
            env={**env, "ENGINES_DOCKERD_ARGS": arguments},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if done.returncode:
            unavailable(f"no dockerd of its own can be started here: {done.stderr[-300:]}")

    def kill(arguments: str) -> None:
        pid = int((state / "dockerd.pid").read_text().split()[0])
        os.kill(pid, signal.SIGKILL)
        poll(lambda: not Path(f"/proc/{pid}/exe").exists(), 20, "dockerd dead")
        engines("up", arguments)

    engines("up", "--live-restore")
    try:
        yield Engine("docker", f"unix://{state / 'docker.sock'}"), kill
    finally:
        engines("down")
        subprocess.run(["rm", "-rf", "--one-file-system", state], check=False)


@pytest.mark.docker
@pytest.mark.parametrize("live_restore", [True, False], ids=["live-restore", "without"])
def test_engine_killed_and_started_again(
    private_docker: tuple[Engine, Callable[[str], None]], tmp_path: Path, live_restore: bool
) -> None:
    """Engine gone: the agent waits and says so; back: it goes on, without touching what lived through it."""
    engine, kill = private_docker
    agent = Agent(engine, tmp_path, "restart")
    try:
        agent.write("a.yaml", pod_yaml("keeps"))
        agent.start()
        agent.wait_pod("default/keeps", is_ready)
        before = engine.ids(agent.node)

        kill("--live-restore" if live_restore else "")

        if live_restore:
            poll(lambda: "the engine answers again" in agent.said, 60, "the loss and the return are said")
            assert "the engine cannot be asked" in agent.said
            pod = agent.wait_pod("default/keeps", is_ready, 60)
            assert engine.ids(agent.node) == before
            assert counts(pod) == {"main": 0}
        else:
            poll(
                lambda: (
                    set(engine.ids(agent.node).values()).isdisjoint(before.values())
                    and len(engine.ids(agent.node)) == 2
                ),
                90,
                "made anew",
            )
            pod = agent.wait_pod("default/keeps", is_ready, 60)
            assert counts(pod) == {"main": 1}
        assert "Traceback" not in agent.said
    finally:
        agent.close()


@pytest.mark.docker
def test_hung_engine(private_docker: tuple[Engine, Callable[[str], None]], tmp_path: Path) -> None:
    """An engine that hangs is said to hang; nothing is touched meanwhile, and it goes on when it answers again."""
    engine, _ = private_docker
    pid = int((Path(engine.env["DOCKER_HOST"].removeprefix("unix://")).parent / "dockerd.pid").read_text().split()[0])
    agent = Agent(engine, tmp_path, "hung")
    try:
        agent.write("a.yaml", pod_yaml("keeps"))
        agent.start()
        agent.wait_pod("default/keeps", is_ready)
        before = engine.ids(agent.node)
        os.kill(pid, signal.SIGSTOP)
        try:
            agent.write("b.yaml", pod_yaml("later"))
            poll(lambda: "the engine cannot be asked" in agent.said, 90, "the hang is said")
            warned = agent.cli("get", "pods")
            assert "cannot be asked" in warned.stderr
        finally:
            os.kill(pid, signal.SIGCONT)
        agent.wait_pod("default/later", is_ready, 60)
        assert before.items() <= engine.ids(agent.node).items()
    finally:
        agent.close()
