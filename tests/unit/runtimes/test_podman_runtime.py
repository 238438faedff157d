"""Podman's looks and images, and the runtime as a whole."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from queue import Queue
from typing import Any

import pytest

from podsync.errors import ImageAbsent, ImageFault, RuntimeFault, RuntimeUnavailable
from podsync.runtimes.base import Auth, ContainerState, PullProgress
from podsync.runtimes.podman.adapter import PodmanRuntime
from tests.libpod import BUSYBOX, POD, Libpod, box, connected, member


@pytest.fixture
def libpod() -> Libpod:
    """An engine of today."""
    return Libpod()


@pytest.fixture
def runtime(libpod: Libpod) -> Iterator[PodmanRuntime]:
    """A runtime for it."""
    found = connected(libpod)
    yield found
    found.close()


# -- looking ---------------------------------------------------------------------------


def test_a_look_shows_the_pod(runtime: PodmanRuntime, libpod: Libpod) -> None:
    """Under its sandbox, with addresses; only what changed is asked for again."""
    sandbox = box(runtime)
    container = member(runtime, sandbox)
    runtime.start_container(container)
    (found,) = runtime.list_sandboxes(POD.uid)
    assert (found.name, found.ready, found.ips) == (sandbox, True, ("10.88.0.9",))
    assert [item.id for item in found.containers] == [container]
    libpod.calls.clear()
    assert runtime.observe().sandboxes == (found,)
    assert libpod.calls == ["GET /containers/json"]
    assert libpod.params[-1]["sync"] == "true"


def test_a_look_is_not_behind_the_kernel(runtime: PodmanRuntime, libpod: Libpod) -> None:
    """A process known to be dead is inspected until the engine knows it too."""
    container = member(runtime, box(runtime))
    runtime.start_container(container)
    inspections = 0
    original = libpod.call

    def call(method: str, path: str, **more: Any) -> Any:
        nonlocal inspections
        if (method, path) == ("GET", f"/containers/{container}/json"):
            inspections += 1
            if inspections == 3:
                libpod.end(container, 7)
        return original(method, path, **more)

    libpod.call = call  # type: ignore[method-assign]
    runtime._watch.alive = lambda *asked: asked[0] != container  # type: ignore[method-assign]
    ((record,),) = [sandbox.containers for sandbox in runtime.list_sandboxes()]
    assert (record.state, record.exit_code, inspections) == (ContainerState.EXITED, 7, 3)


@pytest.mark.parametrize("what", ["a look", "a removal"])
def test_closing_ends_a_wait_for_the_engine(
    runtime: PodmanRuntime, libpod: Libpod, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """Which is behind the kernel, or still cleans up."""
    monkeypatch.setattr("podsync.runtimes.podman.adapter._CATCH_UP", (10.0,))
    monkeypatch.setattr("podsync.runtimes.podman.engine._FIRST_WAIT", 10.0)
    container = member(runtime, box(runtime))
    runtime.start_container(container)
    runtime._watch.alive = lambda *_: False  # type: ignore[method-assign]
    libpod.refuse(f"DELETE /containers/{container}", 500, "device or resource busy", times=9)
    call = f"DELETE /containers/{container}" if what == "a removal" else f"GET /containers/{container}/json"
    asked, failed = threading.Event(), Queue[Exception]()
    original = libpod.call

    def noting(method: str, path: str, **more: Any) -> Any:
        try:
            return original(method, path, **more)
        finally:
            if f"{method} {path}" == call:
                asked.set()

    libpod.call = noting  # type: ignore[method-assign]

    def wait() -> None:
        try:
            runtime.remove_container(container) if what == "a removal" else runtime.list_sandboxes()
        except RuntimeFault as fault:
            failed.put(fault)

    waiter = threading.Thread(target=wait, daemon=True)
    waiter.start()
    assert asked.wait(5)
    runtime.close()
    assert isinstance(failed.get(timeout=1), RuntimeFault)
    waiter.join(1)
    assert not waiter.is_alive()


def test_an_engine_that_says_no_to_a_look_shows_no_empty_world(runtime: PodmanRuntime, libpod: Libpod) -> None:
    """Whatever it says: the look fails."""
    libpod.refuse("GET /containers/json", 500, "database is locked")
    with pytest.raises(RuntimeFault, match="locked"):
        runtime.list_sandboxes()


# -- images ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["busybox", "docker.io/library/busybox", "docker.io/library/busybox:latest", BUSYBOX])
def test_images_are_found_by_any_of_their_names(runtime: PodmanRuntime, name: str) -> None:
    """A short one is Docker Hub's."""
    found = runtime.image(name)
    assert found is not None
    assert found.id == BUSYBOX


def test_an_image_built_here_is_found_by_its_short_name(runtime: PodmanRuntime, libpod: Libpod) -> None:
    """If Docker Hub's is not there; an absent one, and a name that is none, are not."""
    libpod.images["mine"] = {"Id": "d" * 64}
    found = runtime.image("mine")
    assert found is not None
    assert found.id == "d" * 64
    assert runtime.image("absent") is None
    assert runtime.image("NO/name at all") is None


def test_a_pull(runtime: PodmanRuntime, libpod: Libpod) -> None:
    """In full name, with credentials, telling its progress; the image it brought is the result."""
    libpod.images["docker.io/library/new:latest"] = {"Id": "d" * 64}
    libpod.pull = [b'{"stream":"Trying to pull\\n"}', b"garbage", b'{"images":["d"],"id":"d"}']
    told: list[PullProgress] = []
    record = runtime.pull_image("new", Auth("me", "secret", "docker.io"), told.append)
    assert record.id == "d" * 64
    assert told == [PullProgress("new", "Trying to pull")]
    pull = libpod.calls.index("POST /images/pull")
    assert libpod.params[pull] == {"reference": "docker.io/library/new:latest", "policy": "always", "retry": 0}
    assert libpod.headers[-1]["X-Registry-Auth"]


@pytest.mark.parametrize(
    ("lines", "reason", "text"),
    [
        ([b'{"error":"unauthorized: bad password"}'], "ErrImagePull", "unauthorized"),
        ([b'{"stream":"x"}', b'{"error":"dial tcp: connection refused"}'], "ErrImagePull", "refused"),
        ([], "ErrImagePull", "no answer"),
        ([b'{"stream":"half of it"}'], "ErrImagePull", "no answer"),
    ],
)
def test_a_failed_pull(runtime: PodmanRuntime, libpod: Libpod, lines: list[bytes], reason: str, text: str) -> None:
    """An answer of 200 may hold an error, or just end."""
    libpod.pull = lines
    with pytest.raises(ImageFault, match=text) as caught:
        runtime.pull_image("new")
    assert caught.value.reason == reason


def test_an_image_is_not_looked_up_for_every_container(runtime: PodmanRuntime, libpod: Libpod) -> None:
    """A pull, a load, and a creation that finds its image gone, drop what is remembered."""
    look_up = "GET /images/docker.io%2Flibrary%2Fbusybox%3Alatest/json"

    def looked_up() -> int:
        before = len(libpod.asked(look_up))
        runtime.image("busybox")
        runtime.image("busybox")
        return len(libpod.asked(look_up)) - before

    assert (looked_up(), looked_up()) == (1, 0)
    libpod.pull = [b'{"id":"b"}']
    libpod.images["docker.io/library/new:latest"] = {"Id": "d" * 64}
    runtime.pull_image("new")
    assert (looked_up(), looked_up()) == (1, 0)
    sandbox = box(runtime)  # loads the pause image
    assert (looked_up(), looked_up()) == (1, 0)
    with pytest.raises(ImageAbsent):
        runtime.create_container(sandbox, POD.container("busybox", image_id="0" * 64))
    assert (looked_up(), looked_up()) == (1, 0)


# -- the whole -------------------------------------------------------------------------


def test_info() -> None:
    """Who it is and what it can do; asked anew each time."""
    libpod = Libpod("4.3.1", rootless=True, seccompEnabled=True)
    libpod.cgroups = "v1"
    runtime = connected(libpod)
    info = runtime.info()
    assert (info.name, info.version, info.endpoint) == ("podman", "4.3.1", libpod.endpoint)
    assert info.capabilities == {"rootless", "seccomp", "cgroup-v1"}
    assert any("without limits" in note for note in info.notes)
    libpod.version = "5.7.0"
    assert "image-volumes" in runtime.info().capabilities
    runtime.close()


def test_limits_that_cannot_be_set_are_not_asked_for() -> None:
    """A rootless engine on cgroup version 1 would complain at every start."""
    libpod = Libpod(rootless=True)
    libpod.cgroups = "v1"
    runtime = connected(libpod)
    runtime.create_sandbox(POD.sandbox())
    assert "resource_limits" not in libpod.bodies[-1]
    runtime.close()


def test_an_operator_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    """However often the engine is asked who it is."""
    libpod = Libpod(rootless=True)
    libpod.cgroups = "v1"
    runtime = connected(libpod)
    for _ in range(3):
        runtime.info()
    assert len(caplog.messages) == len(runtime.info().notes) == 1
    runtime.close()


@pytest.mark.parametrize("version", ["3.4.4", "1.0"])
def test_too_old_an_engine_is_refused(version: str) -> None:
    """In words."""
    runtime = connected(Libpod(version))
    with pytest.raises(RuntimeUnavailable, match="too old"):
        runtime.info()
    runtime.close()


def test_something_else_at_the_socket_is_refused(runtime: PodmanRuntime, libpod: Libpod) -> None:
    """Docker answers too, with 404."""
    libpod.refuse("GET /info", 404, "page not found")
    with pytest.raises(RuntimeUnavailable, match="is it Docker"):
        runtime.info()


def test_closing(libpod: Libpod) -> None:
    """Ends what is ours, the service included, and leaves containers alone; twice is fine."""

    class Service:
        closed = 0

        def close(self) -> None:
            self.closed += 1

    service = Service()
    before = threading.active_count()
    runtime = connected(libpod, service=service)
    box(runtime)
    runtime.close()
    runtime.close()
    assert (libpod.closed, service.closed > 0, len(libpod.containers)) == (True, True, 1)
    assert threading.active_count() == before
