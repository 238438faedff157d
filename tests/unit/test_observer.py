"""A look, with the termination messages of what has ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from podsync import labels
from podsync.clock import ManualClock
from podsync.errors import NotFound, RuntimeFault, RuntimeUnavailable
from podsync.observer import Observer
from podsync.runtimes.base import ContainerSpec, LogLine, LogOptions
from podsync.runtimes.fake import FakeEngine, FakeRuntime, Program, exits, fails_to_start, runs
from podsync.testing.builders import PodNames
from podsync.volumes import MemoryVolumes

NODE = "node-1"
FALLBACK = "FallbackToLogsOnError"


class Scene:
    """One pod with one container whose message file may say something."""

    def __init__(self, program: Program, *, said: str | None = "said", policy: str = "File") -> None:
        self.engine = FakeEngine(ManualClock())
        self.runtime = FakeRuntime(node=NODE, engine=self.engine, programs={"main": program})
        self.volumes = MemoryVolumes()
        self.reads: list[str] = []
        self.volumes.read_message = self._read  # type: ignore[method-assign]
        self.said = said or ""
        self.names = PodNames(NODE, uid="u1")
        spec = self.names.container("busybox:1")
        own = {**spec.labels, labels.TERMINATION_MESSAGE_POLICY: policy}
        if said is not None:
            own[labels.TERMINATION_MESSAGE_FILE] = "/m/0"
        self.runtime.create_sandbox(self.names.sandbox())
        self.runtime.start_sandbox(self.names.ref("POD"))
        self.runtime.create_container(self.names.ref("POD"), ContainerSpec(spec.name, own, spec.image))
        self.observer = Observer(self.runtime, self.volumes)

    def _read(self, path: str) -> str:
        self.reads.append(path)
        return self.said

    def start(self) -> None:
        """Start the container."""
        self.runtime.start_container(self.names.ref("main"))

    def message(self, uid: str | None = None) -> str:
        """What a look shows as the container's message."""
        ((container,),) = (sandbox.containers for sandbox in self.observer.look(uid))
        return container.termination_message


def test_only_what_has_ended_has_a_message() -> None:
    """The file of a container that was created or runs is not read."""
    scene = Scene(runs())
    assert scene.message() == ""
    scene.start()
    assert scene.message() == ""
    assert scene.reads == []
    scene.engine.kill(scene.names.ref("main"))
    assert scene.message() == "said"


def test_a_message_is_read_once() -> None:
    """An ended container's message is read at the first look and kept from then on, of whichever kind the looks are."""
    scene = Scene(exits(1))
    scene.start()
    assert scene.message("u1") == "said"
    scene.said = "changed"
    assert [scene.message(), scene.message("u1"), scene.message()] == ["said"] * 3
    assert scene.reads == ["/m/0"]


def test_messages_of_what_is_gone_are_forgotten() -> None:
    """A full look forgets the messages of containers that are no more."""
    scene = Scene(exits(1))
    scene.start()
    scene.message()
    scene.runtime.remove_container(scene.names.ref("main"))
    scene.observer.look()
    assert scene.observer._messages == {}


def test_without_a_file_there_is_no_message() -> None:
    """A container made without a message file says nothing, unless its logs are to."""
    scene = Scene(exits(1), said=None)
    scene.start()
    assert scene.message() == ""
    assert scene.reads == []


@pytest.mark.parametrize(
    ("program", "said", "policy", "message"),
    [
        (exits(1).saying("one", "two"), "", FALLBACK, "one\ntwo\n"),
        (exits(1).saying("one"), "said", FALLBACK, "said"),
        (exits(0).saying("one"), "", FALLBACK, ""),
        (exits(1).saying("one"), "", "File", ""),
        (exits(1).saying("one"), None, FALLBACK, "one\n"),
        (exits(1).saying(*(f"{n:03}" for n in range(100))), "", FALLBACK, "".join(f"{n:03}\n" for n in range(20, 100))),
        (exits(1).saying("x" * 5000), "", FALLBACK, "x" * 2047 + "\n"),
        (fails_to_start("no such file", 127), "", FALLBACK, ""),
    ],
    ids=["logs", "file first", "success", "file only", "no file", "80 lines", "2048 bytes", "never started"],
)
def test_the_logs_end_stands_in_for_a_missing_message(
    program: Program, said: str | None, policy: str, message: str
) -> None:
    """With FallbackToLogsOnError a failed container without a message shows its last 80 lines, 2048 bytes at most."""
    scene = Scene(program, said=said, policy=policy)
    if program.start_fault:
        with pytest.raises(RuntimeFault):
            scene.start()
    else:
        scene.start()
    assert scene.message() == message


class Lines:
    """A log that fails while it is read, and notes that it was closed."""

    def __init__(self, error: Exception) -> None:
        self.error, self.closed = error, False

    def __iter__(self) -> Iterator[LogLine]:
        """Itself."""
        return self

    def __next__(self) -> LogLine:
        """Always fails."""
        raise self.error

    def close(self) -> None:
        """Noted."""
        self.closed = True


def failing(error: Exception, lines: Lines) -> dict[str, Callable[[str, LogOptions], Any]]:
    """Ways in which logs may fail: when asked for, and while read."""

    def refused(ref: str, options: LogOptions) -> Any:
        raise error

    return {"asked": refused, "read": lambda ref, options: lines}


@pytest.mark.parametrize("when", ["asked", "read"])
@pytest.mark.parametrize("error", [NotFound("no such container"), RuntimeFault("log driver none")])
def test_logs_that_cannot_be_read_are_the_message(when: str, error: RuntimeFault) -> None:
    """When the logs fail, the message says so in the engine's words, and the stream is closed."""
    scene, lines = Scene(exits(1), said="", policy=FALLBACK), Lines(error)
    scene.runtime.logs = failing(error, lines)[when]  # type: ignore[method-assign]
    scene.start()
    assert scene.message() == f"Error on reading termination message from logs: {error}"
    assert lines.closed is (when == "read")


@pytest.mark.parametrize("when", ["asked", "read"])
def test_an_engine_that_goes_away_under_a_look_fails_it(when: str) -> None:
    """A look cut short is no look: nothing is remembered of it, and the next one reads again."""
    gone = RuntimeUnavailable("gone")
    scene, lines = Scene(exits(1).saying("one"), said="", policy=FALLBACK), Lines(gone)
    original = scene.runtime.logs
    scene.runtime.logs = failing(gone, lines)[when]  # type: ignore[method-assign]
    scene.start()
    with pytest.raises(RuntimeUnavailable):
        scene.message()
    scene.runtime.logs = original  # type: ignore[method-assign]
    assert scene.message() == "one\n"


def test_which_images_are_there() -> None:
    """Of the names asked for, those the store has."""
    runtime = FakeRuntime(images=["busybox:1"])
    observer = Observer(runtime, MemoryVolumes())
    assert observer.present(["busybox:1", "far:1"]) == {"busybox:1"}
    assert observer.present([]) == frozenset()
