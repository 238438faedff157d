"""What goes wrong on a real machine: killed agents, lost engines, full disks, bad manifests."""

from __future__ import annotations

import contextlib
import http.server
import json
import os
import random
import re
import signal
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.harness import Agent, counts, is_ready, pod_yaml, poll

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]

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
    for _ in range(6):
        for name in names:
            if chance.random() < 0.25 and (agent.manifests / f"{name}.yaml").exists():
                (agent.manifests / f"{name}.yaml").unlink()
            else:
                agent.write(f"{name}.yaml", pod_yaml(name, f"sleep {600 + chance.randrange(2)}"))
        pause.wait(chance.uniform(0.05, 1.2))
        agent.stop(signal.SIGKILL)
        agent.start()
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


def test_host_reboot(agent: Agent) -> None:
    """After everything ended at once and memory volumes are lost, pods run again, with counts, and jobs do not."""
    memory = {
        "volumes": [{"name": "m", "emptyDir": {"medium": "Memory"}}],
        "container": {"volumeMounts": [{"name": "m", "mountPath": "/m"}]},
    }
    agent.write("a.yaml", pod_yaml("service", "echo up > /m/up; sleep 600", **memory))
    agent.write("b.yaml", pod_yaml("job", "true", restartPolicy="Never"))
    agent.start()
    agent.wait_pod("default/service", is_ready)
    agent.wait_pod("default/job", lambda p: p["status"]["phase"] == "Succeeded")
    agent.stop(signal.SIGKILL)
    for ident in agent.engine.ids(agent.node).values():
        agent.engine("kill", "--signal", "KILL", ident)
    for line in Path("/proc/self/mounts").read_text(errors="replace").splitlines():
        if line.split()[1].startswith(str(agent.root)):
            subprocess.run(["umount", line.split()[1]], check=True)

    agent.start()

    poll(lambda: agent.said.count("podsync runs on") == 2, 20, "second start")
    pod = agent.wait_pod("default/service", lambda p: is_ready(p) and counts(p)["main"] == 1, 40)
    assert agent.cli("exec", "service", "--", "cat", "/m/up").stdout == "up\n"
    assert pod["status"]["podIP"]
    assert counts(agent.wait_pod("default/job", lambda p: p["status"]["phase"] == "Succeeded")) == {"main": 0}


@pytest.mark.parametrize(
    ("container", "reason", "words"),
    [
        ({"command": ["/no/such/program"]}, "RunContainerError|CrashLoopBackOff|ContainerCannotRun", "no such file"),
        ({"command": ["nope-not-here"]}, "RunContainerError|CrashLoopBackOff|ContainerCannotRun", "not found"),
        ({"workingDir": "/etc/passwd"}, "Error|CrashLoopBackOff|ContainerCannotRun", "director|cwd|mkdir"),
        (
            {"volumeMounts": [{"name": "v", "mountPath": "/proc/sys"}]},
            "Error|CrashLoopBackOff|ContainerCannotRun",
            "proc",
        ),
    ],
    ids=["program", "command", "working directory", "mount"],
)
def test_container_that_cannot_start(agent: Agent, container: dict[str, object], reason: str, words: str) -> None:
    """The kubelet's reason and the engine's words are in the status; it is tried again with back-off; others run."""
    volumes = [{"name": "v", "emptyDir": {}}]
    agent.write("a.yaml", pod_yaml("fails", volumes=volumes, container=container))
    agent.write("b.yaml", pod_yaml("other"))
    agent.start()

    def told(pod: dict[str, Any]) -> bool:
        status = pod["status"]["containerStatuses"][0]
        texts = [{**s} for kind in ("state", "lastState") for s in (status.get(kind) or {}).values()]
        return any(re.search(reason, str(t.get("reason"))) for t in texts) and any(
            re.search(words, str(t.get("message")), re.I) for t in texts
        )

    agent.wait_pod("default/fails", told, 30)
    agent.wait_pod("default/other", is_ready)
    tries = len([name for name in agent.engine.containers(agent.node) if "_main_fails_" in name])
    assert tries <= 3


class _Refusing(http.server.BaseHTTPRequestHandler):
    """A registry that lets nobody in."""

    def do_GET(self) -> None:
        self.send_response(401)
        self.send_header("WWW-Authenticate", 'Basic realm="test"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_HEAD = do_GET  # noqa: N815 - the base class calls it so

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class' name
        """Say nothing."""


@pytest.mark.parametrize("registry", ["refuses", "away"])
def test_image_that_cannot_be_pulled(agent: Agent, registry: str) -> None:
    """ErrImagePull and then ImagePullBackOff with the engine's words; the pod's other container and other pods run."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Refusing)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = server.server_port if registry == "refuses" else 9
    try:
        extra = {"name": "far", "image": f"127.0.0.1:{port}/some/image:1", "command": ["true"]}
        main = json.loads(pod_yaml("half"))
        main["spec"]["containers"].append(extra)
        agent.write("a.yaml", json.dumps(main))
        agent.write("b.yaml", pod_yaml("other"))
        agent.start()

        def far(pod: dict[str, Any]) -> dict[str, Any]:
            found: dict[str, Any] = next(c for c in pod["status"]["containerStatuses"] if c["name"] == "far")
            return found["state"].get("waiting") or {}

        agent.wait_pod("default/half", lambda p: far(p).get("reason") == "ErrImagePull", 30)
        pod = agent.wait_pod("default/half", lambda p: far(p).get("reason") == "ImagePullBackOff", 40)
        assert re.search(r"127\.0\.0\.1:\d+", far(pod)["message"])
        assert pod["status"]["phase"] == "Pending"
        assert next(c for c in pod["status"]["containerStatuses"] if c["name"] == "main")["state"].get("running")
        agent.wait_pod("default/other", is_ready)
    finally:
        server.shutdown()
        server.server_close()


def test_another_root_with_the_same_node_name_is_refused(make_agent: Callable[[], Agent]) -> None:
    """A second root under the same node name would end the first one's pods: it is refused, and they run on."""
    first, second = make_agent(), make_agent()
    second.node = first.node
    first.write("a.yaml", pod_yaml("keeps"))
    first.start()
    first.wait_pod("default/keeps", is_ready)
    before = first.engine.ids(first.node)

    options = ["--source", f"dir:{second.manifests}", "--runtime", second.engine.name, "--node-name", second.node]
    done = second.cli("run", *options, "--once")

    assert done.returncode == 1
    assert str(first.root) in done.stderr
    assert "--node-name" in done.stderr
    assert first.engine.ids(first.node) == before
