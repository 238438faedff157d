"""Looks, events and images on a scripted Docker."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from queue import Queue
from typing import Any

import pytest

from podsync.clock import ManualClock
from podsync.errors import ImageFault, RuntimeFault, RuntimeUnavailable
from podsync.runtimes.base import ContainerState, RuntimeHint
from podsync.runtimes.common.faults import Refusal
from podsync.runtimes.common.images import UNHEARD
from podsync.runtimes.docker.adapter import DockerRuntime
from tests.dockerd import BOX_LABELS, LABELS, Engine, connected, inspection, listed


@pytest.fixture
def engine() -> Engine:
    """One that says yes."""
    return Engine()


@pytest.fixture
def clock() -> ManualClock:
    """One that stands still."""
    return ManualClock()


@pytest.fixture
def runtime(engine: Engine, clock: ManualClock) -> Iterator[DockerRuntime]:
    """On that engine."""
    found = connected(engine, clock)
    yield found
    found.close()


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


class Events:
    """The engine's stream of events, as far as hints read it; it breaks when told to."""

    def __init__(self) -> None:
        self.lines: Queue[bytes] = Queue()

    def read(self, timeout: float) -> bytes:
        """The next lines."""
        return self.lines.get(timeout=5)

    def close(self) -> None:
        """End it."""


def test_an_image_is_looked_up_once_while_events_are_heard(
    engine: Engine, runtime: DockerRuntime, clock: ManualClock
) -> None:
    """An event about one ends what is remembered of all; so does a break of the events, and the listener's end."""
    engine.on("GET /images/a/json", {"Id": "sha256:1"})
    stream = Events()
    engine.open = lambda *_, **__: stream  # type: ignore[attr-defined]
    stop = threading.Event()
    hints = runtime.hints(stop)

    def looked_up() -> int:
        engine.made()
        for _ in range(2):
            runtime.image("a")
            clock.advance(10 * UNHEARD)
        return engine.made().count("GET /images/a/json")

    assert looked_up() == 2
    assert next(hints) == RuntimeHint()
    assert (looked_up(), looked_up()) == (1, 0)
    died = {"Type": "container", "Action": "die", "Actor": {"ID": "c", "Attributes": LABELS}}
    stream.lines.put(b"\n".join(events({"Type": "image", "Action": "tag"}, died)) + b"\n")
    assert next(hints).container == "c"
    assert (looked_up(), looked_up()) == (1, 0)
    stream.lines.put(b"")
    assert not next(hints).connected
    assert next(hints) == RuntimeHint()
    assert (looked_up(), looked_up()) == (1, 0)
    stop.set()
    assert list(hints) == []
    assert (looked_up(), looked_up()) == (2, 2)


def test_removals_are_not_remembered_once_nobody_listens(engine: Engine, runtime: DockerRuntime) -> None:
    """The list of them would only grow."""
    engine.open = lambda *_, **__: Events()  # type: ignore[attr-defined]
    hints = runtime.hints(threading.Event())
    next(hints)
    runtime.remove_container("x")
    assert runtime._leaving == {"x"}
    hints.close()  # type: ignore[attr-defined]
    runtime.remove_container("y")
    assert runtime._leaving == set()


def test_a_line_that_is_no_event_is_told_as_one(runtime: DockerRuntime) -> None:
    """It breaks the events; an empty one does not."""
    with pytest.raises(ValueError, match="garbage"):
        runtime._hint(b"garbage")
    assert runtime._hint(b"") is None


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
