"""One engine with a real agent on it, and the engine's own word on what happened when."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from .bare import Engine
from .measure import now, pause
from .pods import Maker, manifest, owned

__all__ = ["Events", "Scene", "scene"]

_PATIENCE = 120.0


class Events:
    """Starts and removals by container name, at the engine's own time (seconds)."""

    def __init__(self, engine: Engine) -> None:
        self._gone = engine.gone
        self._changed = threading.Condition()
        self._at: dict[tuple[str, str], float] = {}
        self._response, self._socket = engine.events()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with suppress(OSError, ValueError, AttributeError):
            while line := self._response.readline():
                event = json.loads(line)
                name = event["Actor"]["Attributes"]["name"]
                with self._changed:
                    self._at[event["Action"], name] = event["timeNano"] / 1e9
                    self._changed.notify_all()

    def _last(self, action: str, names: Iterable[str]) -> float:
        wanted = [(action, name) for name in names]
        with self._changed:
            if not self._changed.wait_for(lambda: all(key in self._at for key in wanted), _PATIENCE):
                missing = [name for key, name in wanted if (key, name) not in self._at]
                raise TimeoutError(f"no {action} of {', '.join(missing)} within {_PATIENCE:.0f} s")
            return max(self._at[key] for key in wanted)

    def started(self, names: Iterable[str]) -> float:
        """When the last of them was started; waits for it. Raises TimeoutError."""
        return self._last("start", names)

    def removed(self, names: Iterable[str]) -> float:
        """When the last of them was removed; waits for it. Raises TimeoutError."""
        return self._last(self._gone, names)

    def close(self) -> None:
        """End the stream."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join(5)


class Scene:
    """An engine, an agent on a directory, and makers of bare pods. Names of nodes are of this run alone."""

    def __init__(self, engine: Engine, base: Path) -> None:
        self.engine = engine
        self.base = base
        self.node = f"bench-{os.getpid()}"
        self.bare_node = f"{self.node}-bare"
        self.manifests, self.root = base / "manifests", base / "root"
        self.manifests.mkdir()
        self.log = base / "agent.log"
        self.events = Events(engine)
        self.maker = Maker(engine, self.bare_node, str(base / "bare"))
        self.uids = Maker(engine, self.node, str(base / "uids"))
        self.pool = ThreadPoolExecutor(64)
        self._agent: subprocess.Popen[bytes] | None = None

    @property
    def agent(self) -> int:
        """The agent's process; started when first wanted."""
        if self._agent is None:
            argv = [sys.executable, "-m", "podsync", "run", "--source", f"dir:{self.manifests}"]
            argv += ["--runtime", self.engine.name, "--root", str(self.root), "--node-name", self.node]
            variable = "DOCKER_HOST" if self.engine.name == "docker" else "CONTAINER_HOST"
            environment = {**os.environ, variable: self.engine.endpoint}
            with self.log.open("ab") as log:
                self._agent = subprocess.Popen(argv, stdout=log, stderr=log, env=environment, start_new_session=True)
            self.await_(lambda: (self.root / "status.json").exists() or "podsync runs on" in self.log.read_text())
            pause(1.0)
        if self._agent.poll() is not None:
            raise ChildProcessError(f"the agent ended:\n{self.log.read_text()[-3000:]}")
        return self._agent.pid

    def names(self, pod: str) -> tuple[str, ...]:
        """What podsync will call the pod's containers, the sandbox last."""
        return self.uids.names(pod, source=f"dir:{self.manifests}")

    def write(self, pod: str) -> Path:
        """The pod's manifest under a name that is not read, ready to be renamed."""
        hidden = self.manifests / f".{pod}.tmp"
        hidden.write_text(manifest(pod))
        return hidden

    def drop(self, hidden: Path) -> float:
        """Rename a manifest into place; when that was."""
        moment = now()
        hidden.rename(self.manifests / (hidden.name.strip(".").removesuffix(".tmp") + ".json"))
        return moment

    def take(self, pod: str) -> float:
        """Delete a pod's manifest; when that was."""
        moment = now()
        (self.manifests / f"{pod}.json").unlink()
        return moment

    def running(self) -> int:
        """How many of the agent's containers the engine has."""
        return len(self.engine.ids(owned(self.node)))

    def await_(self, check: Callable[[], Any], within: float = _PATIENCE) -> None:
        """Wait until that is so, looking now and then. Raises TimeoutError."""
        end = now() + within
        while not check():
            if now() > end:
                raise TimeoutError(f"not within {within:.0f} s\n{self.log.read_text()[-2000:]}")
            pause(0.1)

    def close(self) -> None:
        """End the agent and remove everything of both nodes."""
        if self._agent is not None and self._agent.poll() is None:
            self._agent.send_signal(signal.SIGTERM)
            try:
                self._agent.wait(10)
            except subprocess.TimeoutExpired:
                self._agent.kill()
                self._agent.wait()
        with suppress(OSError):
            for label in (owned(self.node), owned(self.bare_node)):
                list(self.pool.map(self._remove, self.engine.ids(label)))
        self.pool.shutdown()
        self.events.close()
        for maker in (self.maker, self.uids):
            maker.close()

    def _remove(self, ref: str) -> None:
        with suppress(OSError):  # its sandbox may have taken it along
            self.engine.remove(ref)


@contextmanager
def scene(engine: Engine) -> Iterator[Scene]:
    """A scene that leaves nothing behind."""
    base = Path(tempfile.mkdtemp(prefix="podsync-bench-"))
    made = Scene(engine, base)
    try:
        yield made
    finally:
        made.close()
        shutil.rmtree(base, ignore_errors=True)
