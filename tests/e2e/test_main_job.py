"""The main job: a manifest in the folder runs, comes back, follows, goes."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.e2e.harness import Agent, counts, is_ready, poll

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

NGINX = (Path(__file__).parents[2] / "examples" / "nginx.yaml").read_text()


def _running(agent: Agent) -> dict[str, str]:
    """Short names of the running containers with their ids."""
    return {name.split("_")[1]: id_ for name, id_ in agent.engine.ids(agent.node).items()}


def _start(agent: Agent) -> dict[str, str]:
    agent.write("nginx.yaml", NGINX)
    agent.start()
    agent.wait_pod("default/nginx", is_ready)
    return _running(agent)


def test_three_containers_with_the_kubelets_names(agent: Agent) -> None:
    """The pause container holds the network that the other two share, all named as the kubelet names them."""
    ids = _start(agent)

    assert set(ids) == {"POD", "nginx", "log-truncator"}
    names = agent.engine.containers(agent.node)
    uid = agent.pods()["default/nginx"]["metadata"]["uid"]
    assert set(names) == {f"k8s_{c}_nginx_default_{uid}_0" for c in ("POD", "nginx", "log-truncator")}
    page = agent.cli("exec", "nginx", "-c", "log-truncator", "--", "wget", "-qO-", "http://127.0.0.1:80/")
    assert "Welcome to nginx" in page.stdout
    log = agent.cli("exec", "nginx", "-c", "log-truncator", "--", "ls", "/logdir")
    assert "access.log" in log.stdout


@pytest.mark.parametrize("victim", ["nginx", "log-truncator", "POD"])
def test_killed_container_comes_back(agent: Agent, victim: str) -> None:
    """Whichever of the three is killed, the pod is whole again: alone, or anew when the sandbox died."""
    before = _start(agent)

    agent.engine("kill", "--signal", "KILL", before[victim])

    def back() -> dict[str, str] | None:
        now = _running(agent)
        return now if set(now) == set(before) and now[victim] != before[victim] else None

    now = poll(back, 50, f"{victim} back")  # what runs in a dead sandbox is given its 30 s of grace
    same = {name for name in before if now[name] == before[name]}
    assert same == (set() if victim == "POD" else set(before) - {victim})
    pod = agent.wait_pod("default/nginx", is_ready)
    restarted = set(before) - {"POD"} if victim == "POD" else {victim}
    assert {name for name, count in counts(pod).items() if count == 1} == restarted


def test_edit_is_followed(agent: Agent) -> None:
    """An edited file replaces the pod: the old one is gone before the new one runs."""
    _start(agent)
    old = agent.pods()["default/nginx"]["metadata"]["uid"]

    agent.write(
        "nginx.yaml",
        NGINX.replace("sleep 10", "sleep 11")
        .replace("metadata:\n", "metadata:\n  labels: {v: two}\n", 1)
        .replace("  labels:\n    app: nginx\n", ""),
    )

    pod = agent.wait_pod("default/nginx", lambda p: p["metadata"]["uid"] != old and is_ready(p), 60)
    assert pod["metadata"]["labels"] == {"v": "two"}
    assert all(pod["metadata"]["uid"] in name for name in agent.engine.containers(agent.node))


def test_deleted_file_leaves_nothing(agent: Agent) -> None:
    """When the file goes, containers, volumes and folders go."""
    _start(agent)

    (agent.manifests / "nginx.yaml").unlink()

    agent.wait_gone(45)
    assert agent.pods() == {}


def test_kill_nine_of_the_agent_touches_nothing(agent: Agent) -> None:
    """After kill -9 and a new start the same containers run and restart counts are kept."""
    _start(agent)
    agent.engine("kill", "--signal", "KILL", _running(agent)["nginx"])
    agent.wait_pod("default/nginx", lambda p: is_ready(p) and counts(p)["nginx"] == 1)
    before = agent.engine.ids(agent.node)

    agent.stop(signal.SIGKILL)
    assert agent.engine.ids(agent.node) == before
    agent.start()

    agent.wait_pod("default/nginx", lambda p: is_ready(p) and counts(p)["nginx"] == 1)
    assert "podsync runs on" in agent.said
    assert agent.engine.ids(agent.node) == before


def test_sigterm_leaves_pods_running(agent: Agent) -> None:
    """SIGTERM ends the agent with 0 and the pods run on; with --down they are ended first."""
    _start(agent)

    assert agent.stop() == 0
    assert set(_running(agent)) == {"POD", "nginx", "log-truncator"}

    agent.start("--down")
    poll(lambda: agent.said.count("podsync runs on") == 2, 20, "second start")
    assert agent.process is not None
    agent.process.send_signal(signal.SIGTERM)
    assert agent.process.wait(90) == 0
    assert agent.engine.containers(agent.node) == {}
