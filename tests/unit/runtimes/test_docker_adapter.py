"""The adapter's verbs against a scripted engine: which calls they make, and what refusals mean."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest

from podsync import labels as keys
from podsync.clock import ManualClock
from podsync.errors import Conflict, ImageAbsent, ImageFault, NotFound, RuntimeFault, RuntimeUnavailable, StartFault
from podsync.runtimes.base import ContainerSpec, ContainerState, Mount, Resources, SandboxSpec, SecuritySpec
from podsync.runtimes.common import pause
from podsync.runtimes.common.faults import Refusal
from podsync.runtimes.docker.adapter import DockerRuntime

PAUSE = pause.image("amd64").reference
BOX_LABELS = {keys.NODE: "n", keys.CONTAINER_NAME: "POD", keys.POD_UID: "u", keys.ATTEMPT: "0"}
LABELS = {keys.NODE: "n", keys.CONTAINER_NAME: "c", keys.POD_UID: "u"}
Answer = Any


class Engine:
    """Plays ``Api``: answers by method and path, the last answer of a list for ever."""

    socket_path = "/nonexistent/docker.sock"
    endpoint = "unix:///nonexistent/docker.sock"
    version = (1, 41)

    def __init__(self) -> None:
        self.offer: Mapping[str, Any] = {"Arch": "amd64", "Version": "20.10.24", "ApiVersion": "1.41"}
        self.answers: dict[str, list[Answer]] = {
            f"GET /images/{PAUSE}/json": [{"Id": "sha256:pause"}],
            "POST /containers/create": [{"Id": "i" * 64}],
        }
        self.calls: list[tuple[str, Mapping[str, str], Any]] = []

    def on(self, what: str, *answers: Answer) -> None:
        """Answer so; an exception is raised."""
        self.answers[what] = list(answers)

    def call(
        self, method: str, path: str, *, query: Mapping[str, str] | None = None, body: Any = None,
        data: bytes | None = None, timeout: float = 30,
    ) -> Any:  # fmt: skip
        """One call."""
        what = f"{method} {path}"
        self.calls.append((what, query or {}, body if data is None else data))
        answers = self.answers.get(what, [None])
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def made(self) -> list[str]:
        """Calls since the last question."""
        found, self.calls = [what for what, _, _ in self.calls], []
        return found

    def forget(self) -> None:
        """Nothing is settled here."""

    def check_open(self) -> None:
        """It always is."""

    def close(self) -> None:
        """Nothing is open here."""


@pytest.fixture
def engine() -> Engine:
    """One that says yes."""
    return Engine()


@pytest.fixture
def runtime(engine: Engine) -> Iterator[DockerRuntime]:
    """On that engine."""
    found = DockerRuntime(engine, node="n", clock=ManualClock())  # type: ignore[arg-type]
    yield found
    found.close()


def container(**changes: Any) -> ContainerSpec:
    """A plain one."""
    return ContainerSpec(name="k8s_c", labels=LABELS, image="busybox", **{"image_id": "sha256:b", **changes})


def inspection(status: str, **state: Any) -> dict[str, Any]:
    """What Docker tells of a container."""
    return {"Id": "i" * 64, "State": {"Status": status, **state}, "Config": {}, "NetworkSettings": {}}


# -- creating ----------------------------------------------------------------------------


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
    engine.on("GET /images/busybox/json", {"Id": "sha256:x"}, Refusal(404, "No such image: busybox"))
    runtime.create_container("box", container(image_id=""))
    assert engine.calls[-1][2]["Image"] == "sha256:x"
    with pytest.raises(ImageAbsent):
        runtime.create_container("box", container(image_id=""))


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


def test_an_own_pause_image_is_used_by_its_id(engine: Engine) -> None:
    """The option's, or the one a spec names."""
    engine.on("GET /images/mine/json", {"Id": "sha256:mine"})
    engine.on("GET /images/spec/json", {"Id": "sha256:spec"})
    runtime = DockerRuntime(engine, node="n", clock=ManualClock(), pause_image="mine")  # type: ignore[arg-type]
    for image, used in (("", "sha256:mine"), ("spec", "sha256:spec")):
        runtime.create_sandbox(SandboxSpec("k8s_POD", BOX_LABELS, image=image))
        assert engine.calls[-1][2]["Image"] == used
    runtime.close()


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


# -- starting ----------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["name", "id"])
def test_starting_what_was_created_here_is_one_call(engine: Engine, runtime: DockerRuntime, by: str) -> None:
    """No look is needed before."""
    made = runtime.create_container("box", container())
    engine.made()
    ref = made if by == "id" else "k8s_c"
    runtime.start_container(ref)
    assert engine.made() == [f"POST /containers/{ref}/start"]


@pytest.mark.parametrize(
    ("seen", "outcome"),
    [
        (inspection("created"), None),
        (inspection("running"), None),
        (inspection("exited", StartedAt="2030-01-01T00:00:00Z"), Conflict),
        (inspection("created", ExitCode=127, Error="no such file"), Conflict),
        (Refusal(404, "No such container: x"), NotFound),
    ],
    ids=["created", "running", "ended", "failed before", "absent"],
)
def test_what_may_have_ended_is_looked_at_before_its_start(
    engine: Engine, runtime: DockerRuntime, seen: Any, outcome: type[RuntimeFault] | None
) -> None:
    """Docker would start it again, and a new instance is to be a new container."""
    engine.on("GET /containers/x/json", seen)
    if outcome is None:
        runtime.start_container("x")
    else:
        with pytest.raises(outcome):
            runtime.start_container("x")
    started = "POST /containers/x/start" in engine.made()
    assert started == (seen == inspection("created"))


def test_a_sandbox_whose_start_failed_may_be_started_again(engine: Engine, runtime: DockerRuntime) -> None:
    """It has never run: the port may be free now."""
    engine.on("GET /containers/x/json", inspection("created", ExitCode=128, Error="port is already allocated"))
    runtime.start_sandbox("x")
    assert "POST /containers/x/start" in engine.made()


def test_a_started_sandbox_tells_its_addresses(engine: Engine, runtime: DockerRuntime) -> None:
    """From the inspection after the start."""
    seen = {**inspection("running"), "NetworkSettings": {"Networks": {"bridge": {"IPAddress": "172.17.0.2"}}}}
    engine.on("GET /containers/k8s_POD/json", seen)
    runtime.create_sandbox(SandboxSpec("k8s_POD", BOX_LABELS))
    assert runtime.start_sandbox("k8s_POD") == ("172.17.0.2",)


@pytest.mark.parametrize(("sandbox", "reason"), [(True, "CreatePodSandboxError"), (False, "RunContainerError")])
def test_refused_starts(engine: Engine, runtime: DockerRuntime, reason: str, *, sandbox: bool) -> None:
    """With the engine's words, its wrappings taken off."""
    text = "failed to create shim task: OCI runtime create failed: runc create failed: what went wrong: unknown"
    engine.on("POST /containers/x/start", Refusal(500, text))
    engine.on("GET /containers/x/json", inspection("created"))
    with pytest.raises(StartFault) as caught:
        (runtime.start_sandbox if sandbox else runtime.start_container)("x")
    assert (caught.value.reason, caught.value.message) == (reason, "what went wrong")


def test_a_score_that_was_refused_is_asked_for_no_more(engine: Engine, runtime: DockerRuntime) -> None:
    """The failed start is told; the next container gets what is allowed, and the operator a note."""
    engine.on("POST /containers/k8s_c/start", Refusal(500, "can't get final child's PID from pipe: EOF: unknown"))
    runtime.create_container("box", container(resources=Resources(oom_score_adj=-997)))
    with pytest.raises(StartFault):
        runtime.start_container("k8s_c")
    runtime.create_container("box", container(resources=Resources(oom_score_adj=-997)))
    assert engine.calls[-1][2]["HostConfig"]["OomScoreAdj"] == 0
    engine.on("GET /info", {})
    assert "oom_score_adj" in runtime.info().notes[0]


# -- ending ------------------------------------------------------------------------------


ENDINGS: Mapping[str, tuple[Callable[[DockerRuntime], None], str]] = {
    "signal": (lambda r: r.signal_container("x", "SIGKILL"), "POST /containers/x/kill"),
    "remove container": (lambda r: r.remove_container("x"), "DELETE /containers/x"),
    "remove sandbox": (lambda r: r.remove_sandbox("x"), "DELETE /containers/x"),
}


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (None, None),
        (Refusal(404, "No such container: x"), None),
        (Refusal(500, "boom"), RuntimeFault),
        (RuntimeUnavailable("away"), RuntimeUnavailable),
    ],
    ids=["ok", "absent", "refused", "away"],
)
def test_ending_what_is_absent_succeeds(
    engine: Engine, runtime: DockerRuntime, ending: str, answer: Any, outcome: type[RuntimeFault] | None
) -> None:
    """And nothing else that is refused does."""
    verb, call = ENDINGS[ending]
    engine.on(call, answer)
    if outcome is None:
        verb(runtime)
    else:
        with pytest.raises(outcome):
            verb(runtime)
    assert call in engine.made()


def test_signalling_what_has_ended_succeeds(engine: Engine, runtime: DockerRuntime) -> None:
    """There is nobody left to signal."""
    engine.on("POST /containers/x/kill", Refusal(409, "Cannot kill container: x: Container x is not running"))
    runtime.signal_container("x", "SIGKILL")
    assert engine.calls[0][1] == {"signal": "SIGKILL"}


@pytest.mark.parametrize(("image", "sent"), [("SIGQUIT", "SIGQUIT"), ("", "SIGTERM"), (None, "SIGTERM")])
def test_term_means_the_images_own_stop_signal(
    engine: Engine, runtime: DockerRuntime, image: str | None, sent: str
) -> None:
    """Where it sets one; SIGKILL never does."""
    engine.on("GET /containers/x/json", {**inspection("running"), "Config": {"StopSignal": image}})
    runtime.signal_container("x", "SIGTERM")
    assert engine.calls[-1][1] == {"signal": sent}
    runtime.signal_container("x", "SIGKILL")
    assert engine.calls[-1][1] == {"signal": "SIGKILL"}


def test_removing_a_running_container_is_a_conflict(engine: Engine, runtime: DockerRuntime) -> None:
    """It is not forced."""
    engine.on("DELETE /containers/x", Refusal(409, "You cannot remove a running container x"))
    with pytest.raises(Conflict):
        runtime.remove_container("x")
    assert engine.calls[-1][1] == {"v": "1", "force": "0"}


def test_a_removal_by_someone_else_is_waited_for(engine: Engine, runtime: DockerRuntime) -> None:
    """It is gone when the verb returns."""
    engine.on("DELETE /containers/x", Refusal(409, "removal of container x is already in progress"))
    engine.on("POST /containers/x/wait", Refusal(404, "No such container: x"))
    runtime.remove_sandbox("x")
    assert engine.made() == ["DELETE /containers/x", "POST /containers/x/wait"]


def test_all_are_removed_though_one_cannot_be(engine: Engine, runtime: DockerRuntime) -> None:
    """The first problem is told in the end."""
    engine.on("DELETE /containers/b", Refusal(500, "boom"))
    with pytest.raises(RuntimeFault, match="boom"):
        runtime.remove_sandbox("box", ["a", "b", "c"])
    assert sorted(engine.made()) == [f"DELETE /containers/{ref}" for ref in ("a", "b", "box", "c")]


# -- looking -----------------------------------------------------------------------------


def listed(*entries: tuple[str, str, Mapping[str, str]]) -> list[dict[str, Any]]:
    """A list of (id, state, labels)."""
    return [{"Id": key, "Names": [f"/{key}"], "State": state, "Labels": labels} for key, state, labels in entries]


def test_a_look_asks_for_our_node_only(engine: Engine, runtime: DockerRuntime) -> None:
    """Ended ones included, one pod when a uid is given."""
    engine.on("GET /containers/json", [])
    assert runtime.list_sandboxes("u") == ()
    ((_, query, _),) = engine.calls
    assert query["all"] == "1"
    assert json.loads(query["filters"]) == {"label": ["podsync.io/node=n", "io.kubernetes.pod.uid=u"]}


def test_a_look_that_fails_is_not_an_empty_one(engine: Engine, runtime: DockerRuntime) -> None:
    """Neither when the engine is away nor when it refuses."""
    for answer in (RuntimeUnavailable("away"), Refusal(500, "boom")):
        engine.on("GET /containers/json", answer)
        with pytest.raises(RuntimeFault):
            runtime.observe()


def test_records_join_list_and_inspection(engine: Engine, runtime: DockerRuntime) -> None:
    """Containers under their sandbox."""
    engine.on("GET /containers/json", listed(("b" * 64, "running", BOX_LABELS), ("c" * 64, "exited", LABELS)))
    engine.on(f"GET /containers/{'b' * 64}/json", inspection("running", StartedAt="2030-01-01T00:00:00Z"))
    engine.on(f"GET /containers/{'c' * 64}/json", inspection("exited", StartedAt="2030-01-01T00:00:00Z", ExitCode=4))
    (found,) = runtime.list_sandboxes()
    assert (found.id, found.ready) == ("b" * 64, True)
    assert [(c.id, c.state, c.exit_code) for c in found.containers] == [("c" * 64, ContainerState.EXITED, 4)]


def events(*items: Mapping[str, Any]) -> Sequence[bytes]:
    """Lines of the stream."""
    return [json.dumps(item).encode() for item in items]


def test_our_own_removals_are_no_news(engine: Engine, runtime: DockerRuntime) -> None:
    """Others' are, also of the same container once ours is over."""
    key = "x" * 64
    die, destroy = (
        {"Type": "container", "Action": word, "Actor": {"ID": key, "Attributes": LABELS}} for word in ("die", "destroy")
    )
    runtime._listening = True
    runtime.remove_sandbox(key)
    assert [runtime._hint(line) for line in events(die, destroy)] == [None, None]
    again = runtime._hint(events(die)[0])
    assert again is not None
    assert again.container == key


def test_an_image_is_looked_up_once_while_events_are_heard(engine: Engine, runtime: DockerRuntime) -> None:
    """Any event about an image, and a break of the events, ends what is remembered."""
    engine.on("GET /images/a/json", {"Id": "sha256:1"})

    def looked() -> int:
        return engine.made().count("GET /images/a/json")

    runtime.image("a")
    runtime.image("a")
    assert looked() == 2
    runtime._images.changed(heard=True)
    runtime.image("a")
    runtime.image("a")
    assert looked() == 1
    assert runtime._hint(events({"Type": "image", "Action": "tag"})[0]) is None
    runtime.image("a")
    assert looked() == 1
    runtime._images.changed(heard=False)
    runtime.image("a")
    runtime.image("a")
    assert looked() == 2


@pytest.mark.parametrize(
    ("answer", "fault"), [(Refusal(500, "boom"), ImageFault), (RuntimeUnavailable("x"), RuntimeUnavailable)]
)
def test_a_failed_lookup_is_not_an_absent_image(
    engine: Engine, runtime: DockerRuntime, answer: Exception, fault: type[RuntimeFault]
) -> None:
    """Only the engine's word makes it absent."""
    engine.on("GET /images/a/json", answer)
    with pytest.raises(fault):
        runtime.image("a")
    engine.on("GET /images/a/json", Refusal(404, "No such image: a"))
    assert runtime.image("a") is None


def test_a_mount_that_cannot_be_made_is_refused_before_any_call(engine: Engine, runtime: DockerRuntime) -> None:
    """The engine would ignore what it does not know."""
    mount = Mount("/a", "/b", read_only=True, recursive_read_only=True)
    with pytest.raises(RuntimeFault, match=r"API 1\.44"):
        runtime.create_container("box", container(mounts=(mount,)))
    assert engine.made() == []
