"""One agent under test, started as an operator starts it, and the engine's own command line beside it."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from podsync.clock import SystemClock

POLL = 0.1
SLACK = 3
"""How many times longer than on a quiet machine something may take before it counts as missing."""
PODSYNC = (sys.executable, "-m", "podsync")


class Missing(AssertionError):
    """What was waited for did not come."""


def poll(check: Callable[[], Any], within: float, what: str) -> Any:
    """Ask ``check`` until it gives something true, at most ``within`` seconds of a quiet machine; return that."""
    clock, pause = SystemClock(), threading.Event()
    end = clock.monotonic() + within * SLACK
    last: Any = None
    while True:
        last = check()
        if last:
            return last
        if clock.monotonic() > end:
            raise Missing(f"{what}: not within {within:g} s (last: {last!r})")
        pause.wait(POLL)


class Engine:
    """Docker or Podman, through its own command line."""

    def __init__(self, name: str, endpoint: str) -> None:
        self.name = name
        self.env = dict(os.environ)
        self.env["DOCKER_HOST" if name == "docker" else "CONTAINER_HOST"] = endpoint

    def __call__(self, *args: str, check: bool = True) -> str:
        """Run a command of the engine; its output."""
        done = subprocess.run(
            [self.name, *args], capture_output=True, text=True, env=self.env, timeout=180, check=False
        )
        if check and done.returncode:
            raise AssertionError(f"{self.name} {' '.join(args)}: {done.stderr}")
        return done.stdout

    def containers(self, node: str, *, everything: bool = True) -> dict[str, str]:
        """Names of this node's containers with their state."""
        flags = ["-a"] if everything else []
        out = self("ps", *flags, "--filter", f"label=podsync.io/node={node}", "--format", "{{.Names}}\t{{.State}}")
        return dict(line.split("\t", 1) for line in out.splitlines() if line)

    def ids(self, node: str) -> dict[str, str]:
        """Names of this node's running containers with their ids."""
        out = self("ps", "--no-trunc", "--filter", f"label=podsync.io/node={node}", "--format", "{{.Names}}\t{{.ID}}")
        return dict(line.split("\t", 1) for line in out.splitlines() if line)

    def clean(self, node: str) -> None:
        """Remove what is left of this node."""
        out = self("ps", "-aq", "--filter", f"label=podsync.io/node={node}", check=False)
        if out.split():
            # Podman removes a sandbox only together with what joins it.
            more = ["--depend", "--time", "0"] if self.name == "podman" else []
            self("rm", "-f", *more, *out.split(), check=False)


class Agent:
    """``podsync run`` on a folder of its own."""

    def __init__(self, engine: Engine, base: Path, node: str) -> None:
        self.engine, self.base, self.node = engine, base, re.sub(r"[^a-z0-9-]+", "-", node.lower())[:50].strip("-")
        self.root, self.manifests = base / "root", base / "manifests"
        self.manifests.mkdir(exist_ok=True)
        self.log = base / "agent.log"
        self.env = {**engine.env, "PODSYNC_ROOT": str(self.root), "NO_COLOR": "1"}
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, *extra: str) -> None:
        """Start the agent in the background."""
        argv = [*PODSYNC, "run", "--source", f"dir:{self.manifests}", "--runtime", self.engine.name]
        argv += ["--root", str(self.root), "--node-name", self.node, *extra]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(argv, stdout=log, stderr=log, env=self.env, start_new_session=True)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and wait for the end; the exit code."""
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(60)

    @property
    def said(self) -> str:
        """The agent's log so far."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def write(self, name: str, text: str) -> None:
        """Put a manifest in place in one step."""
        hidden = self.manifests / f".{name}.tmp"
        hidden.write_text(text)
        hidden.rename(self.manifests / name)

    def cli(self, *args: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run another podsync command on the same root."""
        argv = [*PODSYNC, *args]
        return subprocess.run(
            argv, capture_output=True, text=True, env=self.env, timeout=180, check=False, input=stdin, errors="replace"
        )

    def pods(self) -> dict[str, dict[str, Any]]:
        """Every pod ``get`` reports, by ``namespace/name``."""
        done = self.cli("get", "pods", "-A", "-o", "json")
        if done.returncode:
            return {}
        items = json.loads(done.stdout)["items"]
        return {f"{p['metadata']['namespace']}/{p['metadata']['name']}": p for p in items}

    def wait_pod(self, key: str, check: Callable[[dict[str, Any]], Any], within: float = 20) -> dict[str, Any]:
        """Wait until ``get`` reports a pod for which ``check`` holds; the pod."""

        def found() -> Any:
            assert self.process is None or self.process.poll() is None, f"the agent ended:\n{self.said[-3000:]}"
            pod = self.pods().get(key)
            return pod if pod is not None and check(pod) else None

        try:
            pod: dict[str, Any] = poll(found, within, f"pod {key}")
        except Missing as missing:
            raise Missing(f"{missing}\n{json.dumps(self.pods().get(key), indent=1)}\n{self.said[-3000:]}") from None
        return pod

    def wait_gone(self, within: float = 20) -> None:
        """Wait until nothing of this node is left on the engine, nor any pod folder."""
        poll(lambda: not self.engine.containers(self.node), within, f"containers of {self.node} gone")
        poll(lambda: not list((self.root / "pods").glob("*")), within, "pod folders gone")

    def close(self) -> None:
        """End the agent and remove what it made."""
        if self.process is not None and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.engine.clean(self.node)
        mounts = [line.split()[1] for line in Path("/proc/self/mounts").read_text(errors="replace").splitlines()]
        for mount in sorted((m for m in mounts if m.startswith(str(self.base))), reverse=True):
            subprocess.run(["umount", "-l", mount], check=False)
        shutil.rmtree(self.base, ignore_errors=True)


def is_ready(pod: dict[str, Any]) -> bool:
    """Whether the Ready condition is True."""
    return any(c["type"] == "Ready" and c["status"] == "True" for c in pod["status"].get("conditions", ()))


def counts(pod: dict[str, Any]) -> dict[str, int]:
    """Restart counts by container."""
    statuses = [*pod["status"].get("containerStatuses", ()), *pod["status"].get("initContainerStatuses", ())]
    return {c["name"]: c.get("restartCount", 0) for c in statuses}


def pod_yaml(name: str, command: str = "sleep 600", **spec: Any) -> str:
    """A busybox pod of one container ``main`` as a manifest (JSON is YAML)."""
    container = {
        "name": "main",
        "image": "docker.io/library/busybox:latest",
        "imagePullPolicy": "IfNotPresent",
        "command": ["sh", "-c", command],
        **spec.pop("container", {}),
    }
    document = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"terminationGracePeriodSeconds": 1, "containers": [container], **spec},
    }
    return json.dumps(document, indent=1)
