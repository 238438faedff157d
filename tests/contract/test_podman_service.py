"""A Podman service of our own, with the real podman."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from podsync.clock import SystemClock
from podsync.runtimes import get
from podsync.runtimes.base import Runtime, RuntimeHint
from podsync.runtimes.common.limits import engine_process
from podsync.testing.builders import PodNames
from podsync.testing.programs import RUN

pytestmark = pytest.mark.podman


@pytest.fixture
def address(endpoint: str) -> Iterator[str]:
    """Asks for a service in a folder of the test's, with the settings of the engine under test."""
    if shutil.which("podman") is None:
        pytest.skip("podman is not on PATH")
    with tempfile.TemporaryDirectory(prefix="podsync-") as folder:
        yield f"service://{folder}/podman.sock"


def process(address: str) -> int:
    """The service's process."""
    return engine_process(address.removeprefix("service://"))


def test_pods_outlive_the_service(address: str) -> None:
    """It ends with its runtime; the next one finds everything as it was."""
    pod = PodNames(f"service-{SystemClock().now():%H%M%S%f}")
    first = get("podman", node=pod.node, endpoint=address)
    sandbox = first.create_sandbox(pod.sandbox())
    first.start_sandbox(sandbox)
    spec = pod.container("docker.io/library/busybox:latest", command=RUN[:1], args=RUN[1:])
    first.start_container(first.create_container(sandbox, spec))
    before = first.list_sandboxes()
    pid = process(address)
    first.close()
    assert not Path(f"/proc/{pid}").exists()
    second = get("podman", node=pod.node, endpoint=address)
    try:
        assert second.list_sandboxes() == before
    finally:
        second.remove_sandbox(sandbox, [item.id for item in before[0].containers])
        second.close()


def test_a_service_that_dies_is_started_again(address: str) -> None:
    """Whoever listens is told of the break, and that it is over."""
    runtime = get("podman", node="service-dies", endpoint=address)
    stop, heard, told = threading.Event(), list[RuntimeHint](), threading.Semaphore(0)

    def listen(runtime: Runtime) -> None:
        for hint in runtime.hints(stop):
            heard.append(hint)
            told.release()

    thread = threading.Thread(target=listen, args=(runtime,))
    thread.start()
    try:
        assert told.acquire(timeout=20)
        first = process(address)
        handle = Path(f"/proc/{first}/stat")
        runtime._service._process.kill()  # type: ignore[attr-defined]
        for _ in range(2):
            assert told.acquire(timeout=20)
        assert heard == [RuntimeHint(), RuntimeHint(connected=False), RuntimeHint()]
        assert (process(address) != first, handle.exists()) == (True, False)
        assert list(runtime.list_sandboxes()) == []
    finally:
        stop.set()
        thread.join(10)
        runtime.close()
    assert not thread.is_alive()
