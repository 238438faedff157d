"""The fake runtime's own side: scripts, virtual time, and what tests may do to it."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest

from podsync.clock import ManualClock
from podsync.errors import Conflict, ImageAbsent, ImageFault, NotFound, RuntimeUnavailable, StartFault
from podsync.runtimes.base import ContainerRecord, ContainerState, LogOptions, NamespaceMode, PortMapping
from podsync.runtimes.fake import (
    FakeEngine,
    FakeRuntime,
    Program,
    Pullable,
    connect,
    exits,
    exits_on_term,
    fails_to_start,
    ignores_term,
    oom,
    runs,
)
from podsync.testing.builders import PodNames

NAMES = PodNames("n", uid="0" * 32)
IMAGE = "busybox:1.36"


class World:
    """A fake on a clock that the test moves, with one running sandbox."""

    def __init__(self, **settings: object) -> None:
        self.clock = ManualClock()
        self.runtime = FakeRuntime(node="n", clock=self.clock, **settings)  # type: ignore[arg-type]
        self.runtime.start_sandbox(self.runtime.create_sandbox(NAMES.sandbox()))

    def run(self, name: str = "main", attempt: int = 0, **settings: object) -> str:
        """A started container."""
        spec = NAMES.container(IMAGE, name, attempt, **settings)
        self.runtime.create_container(NAMES.ref("POD"), spec)
        self.runtime.start_container(spec.name)
        return spec.name

    def record(self, ref: str) -> ContainerRecord:
        """As it is listed now."""
        return next(c for s in self.runtime.list_sandboxes() for c in s.containers if ref in {c.name, c.id})


def test_a_program_ends_when_its_time_has_come() -> None:
    """Not before, and at its moment, whenever somebody looks."""
    world = World(programs={"main": exits(3, after=10)})
    ref = world.run()
    world.clock.advance(9.9)
    assert world.record(ref).state is ContainerState.RUNNING
    world.clock.advance(100)
    record = world.record(ref)
    assert (record.state, record.exit_code) == (ContainerState.EXITED, 3)
    assert record.started_at is not None
    assert record.finished_at == record.started_at + timedelta(seconds=10)


@pytest.mark.parametrize(
    ("program", "after", "code"),
    [
        (runs(), 0, 143),
        (ignores_term(), 1000, None),
        (exits_on_term(7, after=5), 4, None),
        (exits_on_term(7, after=5), 5, 7),
        (exits(0, after=2).on_term(9, after=5), 3, 0),
    ],
)
def test_a_program_answers_term(program: Program, after: float, code: int | None) -> None:
    """At once, later or never; its own end may come first."""
    world = World(programs={"main": program})
    ref = world.run()
    world.runtime.signal_container(ref, "TERM")
    world.clock.advance(after)
    assert world.record(ref).exit_code == code


def test_a_second_term_does_not_put_the_end_off() -> None:
    """The first one counts."""
    world = World(programs={"main": exits_on_term(0, after=5)})
    ref = world.run()
    world.runtime.signal_container(ref, "SIGTERM")
    world.clock.advance(4)
    world.runtime.signal_container(ref, "SIGTERM")
    world.clock.advance(1)
    assert world.record(ref).state is ContainerState.EXITED


def test_out_of_memory() -> None:
    """137 and the engine's flag."""
    world = World(programs={"main": oom(after=1)})
    ref = world.run()
    world.clock.advance(1)
    assert (world.record(ref).exit_code, world.record(ref).oom_killed) == (137, True)


def test_a_failed_start_has_ended() -> None:
    """The words come with the error and stay in the record; it cannot be started again."""
    world = World(programs={"main": fails_to_start("no such file", 127)})
    with pytest.raises(StartFault, match="no such file"):
        world.run()
    record = world.record(NAMES.ref("main"))
    assert (record.state, record.exit_code, record.message) == (ContainerState.EXITED, 127, "no such file")
    assert record.started_at is None
    with pytest.raises(Conflict):
        world.runtime.start_container(record.id)


@pytest.mark.parametrize(
    "key",
    [NAMES.ref("main"), "main", (IMAGE, "sh", "-c", "x"), ("sh", "-c", "x"), IMAGE],
    ids=["engine name", "name", "image and command", "command", "image"],
)
def test_what_a_program_is_found_by(key: str | tuple[str, ...]) -> None:
    """Any of these keys, the most particular first."""
    world = World(programs={key: exits(5), "other": exits(6)})
    ref = world.run(command=("sh",), args=("-c", "x"))
    assert world.record(ref).exit_code == 5


def test_keys_go_from_the_particular_to_the_general() -> None:
    """A container's name comes before its command, and that before its image."""
    world = World(programs={"main": exits(1), ("sh",): exits(2), IMAGE: exits(3)})
    refs = [world.run("main", command=("sh",)), world.run("b", command=("sh",)), world.run("c")]
    assert [world.record(ref).exit_code for ref in refs] == [1, 2, 3]


def test_a_sequence_of_programs_goes_by_attempt() -> None:
    """The last one repeats."""
    world = World(programs={"main": (exits(1), exits(0))})
    codes = [world.record(world.run("main", attempt)).exit_code for attempt in range(3)]
    assert codes == [1, 0, 0]


def test_without_scripts_containers_run_and_init_containers_end_well() -> None:
    """What a unit test usually wants."""
    world = World()
    main = world.run()
    spec = NAMES.container(IMAGE, "init")
    labels = {**spec.labels, "podsync.io/kind": "init"}
    world.runtime.create_container(NAMES.ref("POD"), type(spec)(name=spec.name, labels=labels, image=IMAGE))
    world.runtime.start_container(spec.name)
    world.clock.advance(1e6)
    assert world.record(main).state is ContainerState.RUNNING
    assert world.record(spec.name).exit_code == 0


def test_the_next_change_is_known_beforehand() -> None:
    """So that a simulation can go straight to it."""
    world = World(programs={"a": exits(after=10), "b": exits(after=4)})
    assert world.runtime.next_change() is None
    world.run("a")
    world.run("b")
    assert world.runtime.next_change() == 4
    world.clock.advance(5)
    assert world.runtime.next_change() == 10


def test_changes_are_written_down_in_their_order() -> None:
    """Also those that nobody looked at when they happened."""
    world = World(programs={"a": exits(after=10), "b": exits(after=4)})
    world.run("a")
    world.run("b")
    world.clock.advance(60)
    ended = [c for c in world.runtime.engine.changes() if c.what == "ended"]
    assert [(c.name, c.why) for c in ended] == [(NAMES.ref("b"), "program"), (NAMES.ref("a"), "program")]
    assert ended[0].at < ended[1].at
    assert world.runtime.engine.changes(after=ended[1].number) == ()


def test_killing_behind_podsyncs_back() -> None:
    """A container gets the code asked for; a sandbox loses its address and leaves its containers alone."""
    world = World()
    ref = world.run()
    world.runtime.kill(ref, exit_code=9)
    assert world.record(ref).exit_code == 9
    world.runtime.kill(NAMES.ref("POD"))
    (sandbox,) = world.runtime.list_sandboxes()
    assert (sandbox.ready, sandbox.ips) == (False, ())
    with pytest.raises(NotFound):
        world.runtime.kill("nobody")


def test_members_that_share_processes_end_with_their_sandbox() -> None:
    """As in one process namespace; others live on."""
    world = World()
    sharing, apart = world.run("a", pid=NamespaceMode.POD), world.run("b")
    world.runtime.kill(NAMES.ref("POD"))
    assert world.record(sharing).exit_code == 137
    assert world.record(apart).state is ContainerState.RUNNING


def test_removing_behind_podsyncs_back() -> None:
    """Running or not."""
    world = World()
    ref = world.run()
    world.runtime.remove_behind(ref)
    assert world.runtime.list_sandboxes()[0].containers == ()
    world.runtime.remove_behind(NAMES.ref("POD"))
    assert world.runtime.list_sandboxes() == ()
    with pytest.raises(NotFound):
        world.runtime.remove_behind(ref)


@pytest.mark.parametrize("live_restore", [True, False])
def test_an_engine_restart(live_restore: bool) -> None:
    """With live-restore all runs on; without it containers are told to end, as the engine's shut-down does."""
    world = World(programs={"deaf": ignores_term()})
    refs = [world.run(), world.run("deaf")]
    world.runtime.restart_engine(live_restore=live_restore)
    assert [world.record(ref).exit_code for ref in refs] == ([None, None] if live_restore else [143, 137])
    assert world.runtime.list_sandboxes()[0].ready is live_restore
    told = [c.connected for c in world.runtime.engine.changes() if c.what == "connection"]
    assert told == [False, True]


def test_an_engine_that_is_away() -> None:
    """No call is answered; what runs goes on, also to its end."""
    world = World(programs={"main": exits(after=5)})
    ref = world.run()
    world.runtime.unavailable()
    for call in (world.runtime.list_sandboxes, world.runtime.info, world.runtime.observe):
        with pytest.raises(RuntimeUnavailable):
            call()
    world.clock.advance(10)
    world.runtime.unavailable(away=False)
    assert world.record(ref).state is ContainerState.EXITED


def test_starting_in_a_dead_sandbox_is_refused() -> None:
    """There is no network to join."""
    world = World()
    spec = NAMES.container(IMAGE)
    world.runtime.create_container(NAMES.ref("POD"), spec)
    world.runtime.kill(NAMES.ref("POD"))
    with pytest.raises(StartFault, match="network"):
        world.runtime.start_container(spec.name)


@pytest.mark.parametrize(
    ("one", "other", "clashes"),
    [
        (("TCP", ""), ("TCP", ""), True),
        (("TCP", ""), ("UDP", ""), False),
        (("TCP", "127.0.0.1"), ("TCP", ""), True),
        (("TCP", "127.0.0.1"), ("TCP", "127.0.0.2"), False),
    ],
)
def test_published_ports_clash_as_on_a_host(one: tuple[str, str], other: tuple[str, str], clashes: bool) -> None:
    """By protocol and address; an empty address is every one."""
    runtime = FakeRuntime(node="n")

    def start(number: int, protocol: str, host_ip: str) -> None:
        ports = (PortMapping(80, 8080, host_ip, protocol),)
        runtime.start_sandbox(runtime.create_sandbox(PodNames("n", uid=str(number)).sandbox(ports=ports)))

    start(1, *one)
    if clashes:
        with pytest.raises(StartFault, match="8080"):
            start(2, *other)
    else:
        start(2, *other)


def test_every_image_is_there_unless_said_otherwise() -> None:
    """Under one name in all its forms, with an id that is found as well."""
    runtime = FakeRuntime()
    found = [
        runtime.image(name) for name in ("web", "web:latest", "docker.io/library/web", "docker.io/library/web:latest")
    ]
    assert found[0] is not None
    assert found == [found[0]] * 4
    assert runtime.image(found[0].id) == found[0]
    assert runtime.image("example.org:5000/team/web") != found[0]
    assert runtime.image("sha256:" + "0" * 64) is None


def test_images_and_registry_may_be_told() -> None:
    """Absent ones are absent until pulled; the registry refuses what it does not have."""
    fault = ImageFault("unauthorized")
    world = World(images=["busybox:1.36"], registry={"web": Pullable(), "secret": Pullable(fault=fault)})
    assert world.runtime.image("web") is None
    with pytest.raises(ImageAbsent):
        world.runtime.create_container(NAMES.ref("POD"), NAMES.container("web"))
    assert world.runtime.pull_image("web") == world.runtime.image("web:latest")
    with pytest.raises(ImageFault, match="unauthorized"):
        world.runtime.pull_image("secret")
    with pytest.raises(ImageFault, match="access denied"):
        world.runtime.pull_image("unknown")


def test_a_removed_image_is_absent_even_where_all_are_there() -> None:
    """As after an image garbage collection; a pull brings it back."""
    world = World()
    assert world.runtime.image("web") is not None
    world.runtime.engine.images.remove("web:latest")
    assert world.runtime.image("web") is None
    world.runtime.pull_image("web")
    assert world.runtime.image("web") is not None


def test_a_slow_pull_takes_its_time_on_the_runtimes_clock() -> None:
    """And ends at once when the runtime is closed."""
    world = World(images=[], registry={"web": Pullable(delay=60)})
    failures: list[Exception] = []

    def pull() -> None:
        try:
            world.runtime.pull_image("web")
        except ImageFault as fault:
            failures.append(fault)

    pulls = [threading.Thread(target=pull, daemon=True) for _ in range(2)]
    pulls[0].start()
    world.clock.advance(60)
    pulls[0].join(5)
    assert world.runtime.image("web") is not None
    pulls[1].start()
    world.runtime.close()
    pulls[1].join(5)
    assert not any(thread.is_alive() for thread in pulls)
    assert len(failures) == 1


def test_log_lines_appear_as_time_goes_by() -> None:
    """And stop with the program; a line still being written waits for its end."""
    world = World(programs={"main": exits(after=3).saying("one").saying("two", after=2).saying("never", after=4)})
    ref = world.run()

    def lines() -> list[bytes]:
        return [line.data for line in world.runtime.logs(ref, LogOptions())]

    assert lines() == [b"one"]
    world.clock.advance(2)
    assert lines() == [b"one", b"two"]
    world.clock.advance(10)
    assert lines() == [b"one", b"two"]


def test_a_forecast_starts_from_an_observation() -> None:
    """What ran goes on, records stay as they were, and new containers run."""
    world = World(programs={"b": exits(4)})
    refs = [world.run("a"), world.run("b")]
    fake = FakeRuntime.from_observation(world.runtime.observe(), world.clock, node="n")
    assert fake.list_sandboxes() == world.runtime.list_sandboxes()
    world.runtime.kill(refs[0])
    spec = NAMES.container(IMAGE, "b", 1)
    fake.create_container(NAMES.ref("POD"), spec)
    fake.start_container(spec.name)
    states = {c.name: c.state for s in fake.list_sandboxes() for c in s.containers}
    assert states[refs[0]] is states[spec.name] is ContainerState.RUNNING
    assert states[refs[1]] is ContainerState.EXITED


def test_containers_of_a_vanished_sandbox_enter_a_forecast_too() -> None:
    """Under the same stand-in."""
    world = World()
    world.run()
    world.runtime.remove_behind(NAMES.ref("POD"))
    fake = FakeRuntime.from_observation(world.runtime.observe(), world.clock, node="n")
    assert fake.list_sandboxes() == world.runtime.list_sandboxes()


def test_two_nodes_on_one_engine() -> None:
    """Each sees its own; names are the engine's."""
    engine = FakeEngine()
    one, other = FakeRuntime(node="n", engine=engine), FakeRuntime(node="m", engine=engine)
    one.create_sandbox(NAMES.sandbox())
    assert other.list_sandboxes() == ()
    with pytest.raises(Conflict):
        other.create_sandbox(NAMES.sandbox())


def test_an_engine_brings_its_own_clock_and_images() -> None:
    """Both at once would leave open which counts."""
    with pytest.raises(ValueError, match="its own"):
        FakeRuntime(engine=FakeEngine(), clock=ManualClock())


def test_the_entry_point() -> None:
    """Takes the options every runtime gets."""
    assert connect({"node": "here", "endpoint": "", "state": ""}).node == "here"
