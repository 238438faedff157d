"""A ``podman system service`` of our own, for hosts where nobody runs one.

It serves libpod's API on a socket in the agent's folder and ends with the agent.
Containers do not depend on it: conmon holds them, and the next service finds them.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from contextlib import suppress
from pathlib import Path
from typing import Final

from podsync.clock import Clock
from podsync.errors import RuntimeUnavailable
from podsync.runtimes.common import wire
from podsync.runtimes.common.limits import engine_process

__all__ = ["PrivateService", "requested"]

_START_TIMEOUT: Final = 20.0
_STOP_TIMEOUT: Final = 10.0
_POLL: Final = 0.02
_LOG_TAIL: Final = 2000
_REMOTE: Final = frozenset({"CONTAINER_HOST", "CONTAINER_CONNECTION", "CONTAINER_SSHKEY"})
_OVERRIDE: Final = "CONTAINERS_CONF_OVERRIDE"
"""Read after all other containers.conf, from Podman 4.7 on."""
# Two processes of 3 MB stay behind each command run in a container, for five minutes by default.
_SETTINGS: Final = "[engine]\nexit_command_delay = 5\n"
_OWNER: Final = "PODSYNC_SERVICE_OWNER"


_SCHEME: Final = "service://"


def requested(endpoint: str) -> Path | None:
    """The socket at which an endpoint asks for a service of our own; None for any other endpoint."""
    path = endpoint.removeprefix(_SCHEME)
    return Path(path) if path != endpoint else None


class PrivateService:
    """One service at one socket. Closing ends it, by its process id, if it is ours."""

    def __init__(self, binary: str, socket: Path, clock: Clock) -> None:
        """``binary`` is podman's path; the service's working directory and log lie beside ``socket``."""
        self._binary = binary
        self._socket = socket
        self._clock = clock
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._adopted = 0
        self._closing = threading.Event()
        self._streams = wire.Streams(str(socket))

    @property
    def endpoint(self) -> str:
        """Where it listens."""
        return f"unix://{self._socket}"

    @property
    def log(self) -> Path:
        """What it writes."""
        return self._socket.with_suffix(".log")

    def ensure(self) -> None:
        """Have it run: started when nobody answers, taken over from an agent that was killed, else used as it is.

        Raises RuntimeUnavailable with the last of its own words when it does not come up, Closed after ``close``.
        """
        with self._lock:
            if self._closing.is_set():
                raise wire.Closed("this runtime has been closed")
            if self._process is not None and self._process.poll() is None:
                return
            if self._answers():
                process = engine_process(str(self._socket))
                self._adopted = process if _is_orphan(process) else 0
                return
            self._start()

    def close(self) -> None:
        """End it, also one that is being started; twice is fine."""
        self._closing.set()
        self._streams.close()
        with self._lock:
            self._end()

    def _start(self) -> None:
        """Start it and wait until it answers; the lock is held."""
        self._end()
        settings = self._socket.with_suffix(".conf")
        try:
            self._socket.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            settings.write_text(_SETTINGS, encoding="utf-8")
            with self.log.open("wb") as log:
                # A session of its own, so that Ctrl-C ends the agent first. conmon inherits the
                # working directory, which must not be one that someone wants to unmount.
                self._process = subprocess.Popen(  # noqa: S603 - the binary was looked up on PATH
                    [self._binary, "system", "service", "--time", "0", self.endpoint],
                    cwd=self._socket.parent,
                    env=_environment(settings),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
        except OSError as error:
            raise RuntimeUnavailable(f"cannot start {self._binary} system service: {error}") from error
        deadline = self._clock.monotonic() + _START_TIMEOUT
        while not self._answers():
            code = self._process.poll()
            if code is not None or self._clock.monotonic() > deadline:
                late = f"did not answer within {_START_TIMEOUT:g} s"
                state = late if code is None else f"ended with code {code}"
                self._end()
                raise RuntimeUnavailable(f"{self._binary} system service {state}: {self._last_words()}")
            self._closing.wait(_POLL)

    def _end(self) -> None:
        """End what is ours; the lock is held."""
        process, self._process = self._process, None
        adopted, self._adopted = self._adopted, 0
        if process is not None:
            process.terminate()
            try:
                process.wait(_STOP_TIMEOUT)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if adopted > 1 and _owner(adopted) is not None:
            with suppress(ProcessLookupError):
                os.kill(adopted, signal.SIGTERM)

    def _answers(self) -> bool:
        """Whether a service answers at the socket. Raises Closed after ``close``."""
        try:
            self._streams.open("GET", "/_ping", timeout=_START_TIMEOUT).close()
        except OSError:
            return False
        return True

    def _last_words(self) -> str:
        """The end of its log."""
        with suppress(OSError):
            text = self.log.read_text(encoding="utf-8", errors="replace")[-_LOG_TAIL:]
            return " ".join(text.split()) or "it said nothing"
        return "it said nothing"


def _environment(settings: Path) -> dict[str, str]:
    """The service's environment: ours, but for what would make a client of it."""
    own = {name: value for name, value in os.environ.items() if name not in _REMOTE}
    return {_OVERRIDE: str(settings), **own, _OWNER: _identity(os.getpid())}


def _identity(pid: int) -> str:
    """A process that no later one can be mistaken for: its id and the moment it began; empty when there is none."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return ""
    return f"{pid}:{fields[19]}"


def _owner(service: int) -> str | None:
    """Which process started a service, by the mark in its environment; None for one that is not podsync's."""
    try:
        environment = Path(f"/proc/{service}/environ").read_bytes().split(b"\0")
    except OSError:
        return None
    mark = f"{_OWNER}=".encode()
    return next((entry.removeprefix(mark).decode() for entry in environment if entry.startswith(mark)), None)


def _is_orphan(service: int) -> bool:
    """Whether a service was started by a podsync that is no more."""
    owner = _owner(service)
    return owner is not None and owner != _identity(int(owner.partition(":")[0] or 0))
