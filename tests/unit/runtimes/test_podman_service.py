"""A Podman service of our own, with a program that stands in for podman."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from queue import Queue

import pytest

from podsync.clock import ManualClock, SystemClock
from podsync.errors import RuntimeUnavailable
from podsync.runtimes.common.limits import engine_process
from podsync.runtimes.common.wire import Closed
from podsync.runtimes.podman.service import PrivateService, requested

PROGRAM = """\
#!{python}
import os, socket, sys
if "CONTAINER_HOST" in os.environ or "CONTAINER_CONNECTION" in os.environ:
    sys.exit("this is a client")
if sys.argv[1:5] != ["system", "service", "--time", "0"]:
    sys.exit("bad arguments")
{extra}
path = sys.argv[5].removeprefix("unix://")
try:
    os.unlink(path)
except FileNotFoundError:
    pass
with open(os.path.join(os.path.dirname(path), "cwd"), "w") as file:
    file.write(os.getcwd())
server = socket.socket(socket.AF_UNIX)
server.bind(path)
server.listen()
while True:
    connection, _ = server.accept()
    if connection.recv(65536):
        connection.sendall(b"HTTP/1.1 200 OK\\r\\nLibpod-API-Version: 5\\r\\nContent-Length: 0\\r\\n\\r\\n")
    connection.close()
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with a name short enough for a socket."""
    with tempfile.TemporaryDirectory(prefix="podsync-") as found:
        yield Path(found)


def podman(folder: Path, extra: str = "") -> str:
    """The stand-in's path."""
    path = folder / "podman"
    path.write_text(PROGRAM.format(python=sys.executable, extra=extra))
    path.chmod(0o755)
    return str(path)


def gone(pid: int) -> bool:
    """Whether a process ends soon; a zombie has."""
    handle = os.pidfd_open(pid)
    try:
        pause = threading.Event()
        for _ in range(500):
            if (Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]) == "Z":
                return True
            pause.wait(0.01)
    except FileNotFoundError:
        return True
    finally:
        os.close(handle)
    return False


@pytest.fixture
def service(folder: Path) -> Iterator[PrivateService]:
    """One that has not been started."""
    found = PrivateService(podman(folder), folder / "state" / "p.sock", SystemClock())
    yield found
    found.close()


def test_a_service_is_started_and_ended(service: PrivateService, folder: Path) -> None:
    """In a folder of the agent's, so that it holds no other; closed twice is fine."""
    service.ensure()
    assert service.endpoint == f"unix://{folder}/state/p.sock"
    assert (folder / "state/cwd").read_text() == str(folder / "state")
    pid = engine_process(str(folder / "state/p.sock"))
    service.ensure()
    assert engine_process(str(folder / "state/p.sock")) == pid
    service.close()
    assert not Path(f"/proc/{pid}").exists()
    service.close()
    with pytest.raises(RuntimeUnavailable, match="closed"):
        service.ensure()


@pytest.mark.parametrize("variable", ["CONTAINER_HOST", "CONTAINER_CONNECTION"])
def test_it_is_no_client(service: PrivateService, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    """With these in its environment podman would only speak to another service."""
    monkeypatch.setenv(variable, "unix:///elsewhere.sock")
    service.ensure()


def test_one_that_died_is_started_again(service: PrivateService, folder: Path) -> None:
    """The socket it left behind is no obstacle."""
    service.ensure()
    socket = str(folder / "state/p.sock")
    first = engine_process(socket)
    os.kill(first, signal.SIGKILL)
    assert gone(first)
    service.ensure()
    assert engine_process(socket) != first


def test_a_living_agents_service_is_used_and_left(service: PrivateService, folder: Path) -> None:
    """As by a command beside the agent."""
    service.ensure()
    beside = PrivateService("/nonexistent", folder / "state/p.sock", SystemClock())
    beside.ensure()
    beside.close()
    assert engine_process(str(folder / "state/p.sock"))


def test_a_killed_agents_service_is_taken_over(folder: Path) -> None:
    """And ended by its new owner."""
    socket = folder / "p.sock"
    script = (
        "import os, sys; from pathlib import Path; from podsync.clock import SystemClock; "
        "from podsync.runtimes.podman.service import PrivateService; "
        "PrivateService(sys.argv[1], Path(sys.argv[2]), SystemClock()).ensure(); os._exit(9)"
    )
    subprocess.run([sys.executable, "-c", script, podman(folder), str(socket)], check=False)
    pid = engine_process(str(socket))
    heir = PrivateService("/nonexistent", socket, SystemClock())
    heir.ensure()
    heir.close()
    assert gone(pid)


def test_a_service_nobody_of_us_started_is_left(folder: Path) -> None:
    """It has no mark of ours."""
    socket = folder / "p.sock"
    own = {name: value for name, value in os.environ.items() if not name.startswith("CONTAINER_")}
    process = subprocess.Popen([podman(folder), "system", "service", "--time", "0", f"unix://{socket}"], env=own)
    try:
        while not socket.exists():
            threading.Event().wait(0.01)
        user = PrivateService("/nonexistent", socket, SystemClock())
        user.ensure()
        user.close()
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()


def test_what_it_says_before_it_fails_is_told(folder: Path) -> None:
    """With its exit code."""
    binary = podman(folder, 'print("cannot set up namespace", file=sys.stderr); sys.exit(125)')
    service = PrivateService(binary, folder / "p.sock", SystemClock())
    with pytest.raises(RuntimeUnavailable, match=r"ended with code 125: cannot set up namespace"):
        service.ensure()
    service.close()


class Impatient(ManualClock):
    """A clock that runs fast."""

    def monotonic(self) -> float:
        """Ten seconds on at each look."""
        self.advance(10)
        return super().monotonic()


def test_one_that_does_not_come_up_is_ended(folder: Path) -> None:
    """It is not waited for without end."""
    service = PrivateService(podman(folder, "import time; signal = time.sleep(60)"), folder / "p.sock", Impatient())
    with pytest.raises(RuntimeUnavailable, match="did not answer within 20 s: it said nothing"):
        service.ensure()
    assert service._process is None
    service.close()


@pytest.mark.parametrize("binary", ["/nonexistent/podman", "/etc/hostname"])
def test_what_cannot_be_run(folder: Path, binary: str) -> None:
    """Absent or no program."""
    service = PrivateService(binary, folder / "p.sock", SystemClock())
    with pytest.raises(RuntimeUnavailable, match="cannot start"):
        service.ensure()
    service.close()


def test_which_endpoints_ask_for_a_service() -> None:
    """Those with a scheme of their own."""
    assert requested("service:///run/x/p.sock") == Path("/run/x/p.sock")
    assert requested("unix:///run/x/p.sock") is None
    assert requested("") is None


def test_closing_does_not_wait_for_one_that_does_not_come_up(folder: Path) -> None:
    """It is ended, and who waited for it is told."""
    extra = f"import time, pathlib; pathlib.Path({str(folder / 'begun')!r}).touch(); time.sleep(30)"
    slow = PrivateService(podman(folder, extra), folder / "state/p.sock", SystemClock())
    told: Queue[Exception] = Queue()

    def start() -> None:
        try:
            slow.ensure()
        except RuntimeUnavailable as error:
            told.put(error)

    starter = threading.Thread(target=start, daemon=True)
    starter.start()
    pause = threading.Event()
    while not (folder / "begun").exists():
        pause.wait(0.01)
    closer = threading.Thread(target=slow.close, daemon=True)
    closer.start()
    closer.join(2)
    assert not closer.is_alive()
    assert isinstance(told.get(timeout=2), Closed)
    assert slow._process is None
