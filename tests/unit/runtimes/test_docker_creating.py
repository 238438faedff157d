"""Creating on a scripted Docker: which calls are made, and what refusals mean."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from podsync.errors import Conflict, ImageAbsent, NotFound, RuntimeFault, StartFault
from podsync.runtimes.base import Mount, SandboxSpec, SecuritySpec
from podsync.runtimes.common import pause
from podsync.runtimes.common.faults import Refusal
from podsync.runtimes.docker.adapter import DockerRuntime
from tests.dockerd import BOX_LABELS, PAUSE, Engine, connected, container


@pytest.fixture
def engine() -> Engine:
    """One that says yes."""
    return Engine()


@pytest.fixture
def runtime(engine: Engine) -> Iterator[DockerRuntime]:
    """On that engine."""
    found = connected(engine)
    yield found
    found.close()


def test_creating_is_one_call_by_id(engine: Engine, runtime: DockerRuntime) -> None:
    """A list would cost more for every container created by its image's name."""
    assert runtime.create_container("box", container()) == "i" * 64
    ((what, query, body),) = engine.calls
    assert (what, query, body["Image"]) == ("POST /containers/create", {"name": "k8s_c"}, "sha256:b")


def test_settings_that_docker_leaves_out_are_told_once(engine: Engine, runtime: DockerRuntime) -> None:
    """The container is made without them; an operator learns of it."""
    warning = "Your kernel does not support swap limit capabilities"
    engine.on("POST /containers/create", {"Id": "1", "Warnings": [warning]}, {"Id": "2", "Warnings": [warning]})
    engine.on("GET /info", {})
    runtime.create_container("box", container())
    runtime.create_container("box", container())
    assert runtime.info().notes == (f"Docker: {warning}",)


def test_an_image_without_its_id_is_looked_up(engine: Engine, runtime: DockerRuntime) -> None:
    """One that is absent is not created from."""
    engine.on("GET /images/busybox/json", {"Id": "sha256:x"})
    engine.on("GET /images/absent/json", Refusal(404, "No such image: absent"))
    runtime.create_container("box", container(image_id=""))
    assert engine.calls[-1][2]["Image"] == "sha256:x"
    with pytest.raises(ImageAbsent):
        runtime.create_container("box", container(image_id="", image="absent"))


def test_an_image_that_is_gone_is_looked_up_again(engine: Engine, runtime: DockerRuntime) -> None:
    """The name may stand for another one by now."""
    engine.on("GET /images/busybox/json", {"Id": "sha256:old"}, {"Id": "sha256:new"})
    engine.on("POST /containers/create", Refusal(404, "No such image: sha256:old"), {"Id": "2"})
    with pytest.raises(ImageAbsent):
        runtime.create_container("box", container(image_id=""))
    runtime.create_container("box", container(image_id=""))
    assert engine.calls[-1][2]["Image"] == "sha256:new"


@pytest.mark.parametrize(
    ("refusal", "fault", "reason"),
    [
        (Refusal(409, 'The container name "/k8s_c" is already in use by container "1"'), Conflict, "Conflict"),
        (Refusal(404, "No such image: sha256:b"), ImageAbsent, "ErrImageAbsent"),
        (Refusal(404, "No such container: box"), NotFound, "NotFound"),
        (Refusal(400, "invalid mount config for type"), StartFault, "CreateContainerError"),
        (Refusal(500, "anything"), StartFault, "CreateContainerError"),
    ],
)
def test_refused_creations(
    engine: Engine, runtime: DockerRuntime, refusal: Refusal, fault: type[RuntimeFault], reason: str
) -> None:
    """Each with its own error, the answer chained."""
    engine.on("POST /containers/create", refusal)
    with pytest.raises(fault) as caught:
        runtime.create_container("box", container())
    assert caught.value.reason == reason
    assert caught.value.__cause__ is refusal


def test_the_pause_image_is_loaded_when_it_is_absent(engine: Engine, runtime: DockerRuntime) -> None:
    """Once; later sandboxes are one call."""
    engine.on(f"GET /images/{PAUSE}/json", Refusal(404, f"No such image: {PAUSE}"), {"Id": "sha256:p"})
    runtime.create_sandbox(SandboxSpec("k8s_POD", BOX_LABELS))
    loaded = next(body for what, _, body in engine.calls if what == "POST /images/load")
    assert loaded == pause.image("amd64").archive
    engine.made()
    runtime.create_sandbox(SandboxSpec("k8s_POD", BOX_LABELS))
    ((what, _, body),) = engine.calls
    assert (what, body["Image"]) == ("POST /containers/create", "sha256:p")


def test_the_pause_image_is_loaded_again_when_someone_has_removed_it(engine: Engine, runtime: DockerRuntime) -> None:
    """Users prune images; the sandbox is made all the same."""
    engine.on("POST /containers/create", {"Id": "1"}, Refusal(404, "No such image: sha256:pause"), {"Id": "2"})
    runtime.create_sandbox(SandboxSpec("k8s_POD", BOX_LABELS))
    engine.on(f"GET /images/{PAUSE}/json", Refusal(404, f"No such image: {PAUSE}"), {"Id": "sha256:new"})
    assert runtime.create_sandbox(SandboxSpec("k8s_POD", BOX_LABELS)) == "2"
    assert engine.calls[-1][2]["Image"] == "sha256:new"
    assert "POST /images/load" in engine.made()


def test_an_own_pause_image_is_used_by_its_id(engine: Engine, runtime: DockerRuntime) -> None:
    """The one that a spec names; it is looked up by that name, and the built-in one is left alone."""
    engine.on("GET /images/mine/json", {"Id": "sha256:mine"})
    runtime.create_sandbox(SandboxSpec("k8s_POD", BOX_LABELS, image="mine"))
    assert engine.calls[-1][2]["Image"] == "sha256:mine"
    assert engine.made() == ["GET /images/mine/json", "POST /containers/create"]


def test_an_own_pause_image_that_was_removed_is_looked_up_again(engine: Engine, runtime: DockerRuntime) -> None:
    """What is remembered of it is of no use then."""
    engine.on("GET /images/mine/json", {"Id": "sha256:old"}, {"Id": "sha256:new"})
    engine.on("POST /containers/create", {"Id": "1"}, Refusal(404, "No such image: sha256:old"), {"Id": "2"})
    runtime.create_sandbox(SandboxSpec("a", BOX_LABELS, image="mine"))
    runtime.create_sandbox(SandboxSpec("b", BOX_LABELS, image="mine"))
    assert engine.calls[-1][2]["Image"] == "sha256:new"


def test_a_pause_image_that_is_not_to_be_had_is_a_failed_start(engine: Engine, runtime: DockerRuntime) -> None:
    """Not a failed pull of one of the pod's images."""
    engine.on(f"GET /images/{PAUSE}/json", Refusal(404, f"No such image: {PAUSE}"))
    engine.on("POST /images/load", Refusal(500, "no space left on device"))
    with pytest.raises(StartFault, match="no space left") as caught:
        runtime.create_sandbox(SandboxSpec("k8s_POD", BOX_LABELS))
    assert caught.value.reason == "CreatePodSandboxError"


def test_a_seccomp_profile_is_read_from_its_file(engine: Engine, runtime: DockerRuntime, tmp_path: Any) -> None:
    """A missing or broken one is a failed creation, not a container without it."""
    profile = tmp_path / "p.json"
    security = SecuritySpec(seccomp=f"Localhost:{profile}")
    with pytest.raises(StartFault, match="cannot be used") as caught:
        runtime.create_container("box", container(security=security))
    assert caught.value.reason == "CreateContainerError"
    profile.write_text('{"defaultAction": "SCMP_ACT_ALLOW"}')
    runtime.create_container("box", container(security=security))
    (option,) = engine.calls[-1][2]["HostConfig"]["SecurityOpt"]
    assert json.loads(option.removeprefix("seccomp=")) == {"defaultAction": "SCMP_ACT_ALLOW"}


def test_a_mount_that_cannot_be_made_is_refused_before_any_call(engine: Engine, runtime: DockerRuntime) -> None:
    """The engine would ignore what it does not know."""
    mount = Mount("/a", "/b", read_only=True, recursive_read_only=True)
    with pytest.raises(RuntimeFault, match=r"API 1\.44"):
        runtime.create_container("box", container(mounts=(mount,)))
    assert engine.made() == []
