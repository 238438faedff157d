"""What goes wrong on a real machine: killed agents, lost engines, full disks, bad manifests."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.harness import PODSYNC, Agent, Engine, counts, is_ready, pod_yaml, poll

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: mounts")
ENGINES = Path(__file__).parents[2] / "tools" / "engines.sh"


def test_second_agent_on_the_same_root(agent: Agent) -> None:
    """A second agent on a root is refused with the first one's pid, which goes on."""
    agent.start()
    poll((agent.root / "status.json").exists, 20, "first agent up")
    assert agent.process is not None

    done = agent.cli(
        "run", "--source", f"dir:{agent.manifests}", "--runtime", agent.engine.name, "--node-name", "other"
    )

    assert done.returncode == 1
    assert f"pid {agent.process.pid}" in done.stderr
    assert "Traceback" not in done.stderr
    assert agent.process.poll() is None


@pytest.mark.parametrize("path", ["/proc/podsync", "/dev/null/podsync"])
def test_unusable_root(agent: Agent, path: str) -> None:
    """A root that cannot be made is one clear line and exit code 1."""
    done = agent.cli("run", "--source", f"dir:{agent.manifests}", "--runtime", agent.engine.name, "--root", path)

    assert done.returncode == 1
    assert path in done.stderr
    assert "Traceback" not in done.stderr


def test_missing_directory_is_not_empty(agent: Agent) -> None:
    """A manifest directory that vanishes ends no pod; back again, its changes count."""
    agent.write("a.yaml", pod_yaml("keeps"))
    agent.start()
    agent.wait_pod("default/keeps", is_ready)
    before = agent.engine.ids(agent.node)

    away = agent.manifests.with_name("away")
    agent.manifests.rename(away)
    poll(lambda: "cannot be read" in agent.said, 20, "the loss is said")
    assert agent.engine.ids(agent.node) == before

    (away / "a.yaml").unlink()
    away.rename(agent.manifests)
    agent.wait_gone(30)


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: v1\nkind: Pod\nmetadata:\n\tname: x\n",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: keeps}\nspec: {containers: [{name: main, image: 5}]}\n",
        "apiVersion: v1\nkind: Widget\nmetadata: {name: keeps}\n",
        "\x00\x01\x02",
        "a: &a [x,x,x,x,x,x,x,x,x]\n"
        + "".join(
            f"{c}: &{c} [*{p},*{p},*{p},*{p},*{p},*{p},*{p},*{p}]\n"
            for p, c in zip("abcdefgh", "bcdefghi", strict=True)
        ),
        "[" * 5000,
        "",
    ],
    ids=["tab", "wrong type", "unknown kind", "binary", "alias bomb", "deep nesting", "empty"],
)
def test_bad_edit_keeps_the_last_good_version(agent: Agent, text: str) -> None:
    """A file that turns bad keeps its pod, across kill -9 of the agent too; others go on; mending it counts."""
    agent.write("a.yaml", pod_yaml("keeps"))
    agent.start()
    agent.wait_pod("default/keeps", is_ready)
    before = agent.engine.ids(agent.node)

    agent.write("a.yaml", text)
    agent.write("b.yaml", pod_yaml("other"))
    agent.wait_pod("default/other", is_ready)
    agent.stop(signal.SIGKILL)
    agent.start()
    agent.write("c.yaml", pod_yaml("third"))
    agent.wait_pod("default/third", is_ready)

    after = agent.engine.ids(agent.node)
    assert {name: after.get(name) for name in before} == before
    assert "a.yaml" in agent.said
    assert "Traceback" not in agent.said
    agent.write("a.yaml", pod_yaml("keeps", "sleep 601"))
    agent.wait_pod("default/keeps", lambda p: is_ready(p) and "601" in p["spec"]["containers"][0]["command"][2])


def test_killed_agent_at_any_moment(agent: Agent) -> None:
    """Killed in the middle of anything, again and again: it converges, nothing double, nothing left."""
    chance, pause = random.Random(7), threading.Event()
    names = [f"p{i}" for i in range(5)]
    agent.start()
    for round_ in range(6):
        for name in names:
            if chance.random() < 0.25 and (agent.manifests / f"{name}.yaml").exists():
                (agent.manifests / f"{name}.yaml").unlink()
            else:
                agent.write(f"{name}.yaml", pod_yaml(name, f"sleep {600 + chance.randrange(2)}"))
        pause.wait(chance.uniform(0.05, 1.2))
        agent.stop(signal.SIGKILL)
        agent.start()
        assert round_ < 6
    for name in names:
        agent.write(f"{name}.yaml", pod_yaml(name, "sleep 700"))

    for name in names:
        agent.wait_pod(
            f"default/{name}", lambda p: is_ready(p) and "700" in p["spec"]["containers"][0]["command"][2], 60
        )
    uids = {pod["metadata"]["uid"] for pod in agent.pods().values()}
    poll(lambda: len(agent.engine.containers(agent.node)) == 10, 30, "two containers a pod, none else")
    assert all(any(uid in name for uid in uids) for name in agent.engine.containers(agent.node))
    for name in names:
        (agent.manifests / f"{name}.yaml").unlink()
    agent.wait_gone(40)


def test_run_once_containers_are_not_run_twice(agent: Agent) -> None:
    """A Never pod that ends while the agent is dead stays as it ended."""
    agent.write("a.yaml", pod_yaml("once", "sleep 3; echo ran", restartPolicy="Never"))
    agent.start()
    agent.wait_pod("default/once", lambda p: p["status"]["phase"] == "Running")
    agent.stop(signal.SIGKILL)
    main = next(name for name in agent.engine.containers(agent.node) if "_main_" in name)
    poll(lambda: agent.engine.containers(agent.node)[main].startswith(("exited", "Exited")), 15, "its end")

    agent.start()

    pod = agent.wait_pod("default/once", lambda p: p["status"]["phase"] == "Succeeded")
    assert counts(pod) == {"main": 0}
    assert agent.cli("logs", "once").stdout == "ran\n"


@ROOT_ONLY
def test_full_disk_under_the_root(agent: Agent) -> None:
    """With the root's disk full pods are kept, the state is said, and files are whole again afterwards."""
    agent.root.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", agent.root], check=True)
    agent.write("a.yaml", pod_yaml("keeps"))
    agent.start()
    agent.wait_pod("default/keeps", is_ready)

    filler = agent.root / "filler"
    descriptor = os.open(filler, os.O_WRONLY | os.O_CREAT)
    with contextlib.suppress(OSError):
        while os.write(descriptor, b"x" * 4096):
            pass
    os.close(descriptor)
    name = next(name for name in agent.engine.ids(agent.node) if "_main_" in name)
    agent.engine("kill", "--signal", "KILL", name)

    poll(lambda: "cannot be written" in agent.said or "No space left" in agent.said, 30, "the full disk is said")
    assert agent.pods()["default/keeps"]
    filler.unlink()
    agent.wait_pod("default/keeps", lambda p: is_ready(p) and counts(p)["main"] >= 1, 60)
    assert "Traceback" not in agent.said


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
            pytest.skip(f"no dockerd of its own can be started here: {done.stderr[-300:]}")

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
            poll(lambda: "the engine answers again" in agent.said or "cannot be asked" not in agent.said, 30, "back")
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
