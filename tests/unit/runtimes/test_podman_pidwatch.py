"""Deaths as the kernel tells them."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from queue import Empty, SimpleQueue

import pytest

from podsync.runtimes.podman.pidwatch import PidWatch

BOX = "c" * 64


class Process:
    """A real process that belongs to a container of that id, as a made-up /proc says."""

    def __init__(self, proc: Path, container: str = BOX) -> None:
        self.process = subprocess.Popen(["sleep", "60"])
        self.pid = self.process.pid
        self.folder = proc / str(self.pid)
        self.folder.mkdir()
        (self.folder / "cgroup").write_text(f"0::/libpod-{container}\n")

    def kill(self) -> None:
        """End it; it stays a zombie, as a container's process may."""
        self.process.kill()

    def reap(self) -> None:
        """End it and leave nothing."""
        self.process.kill()
        self.process.wait()


def descriptors() -> int:
    """How many this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.fixture
def told() -> SimpleQueue[tuple[str, str]]:
    """The deaths told of."""
    return SimpleQueue()


@pytest.fixture
def watch(told: SimpleQueue[tuple[str, str]], tmp_path: Path) -> Iterator[PidWatch]:
    """One that looks processes up in the test's own folder."""
    found = PidWatch(lambda container, uid: told.put((container, uid)), tmp_path)
    yield found
    found.close()


@pytest.fixture
def process(tmp_path: Path) -> Iterator[Process]:
    """A running one."""
    found = Process(tmp_path)
    yield found
    found.reap()


def test_a_death_is_told_at_once(watch: PidWatch, told: SimpleQueue[tuple[str, str]], process: Process) -> None:
    """With the container and the pod."""
    watch.watch(BOX, "uid", process.pid)
    assert watch.alive(BOX) is True
    process.kill()
    assert told.get(timeout=5) == (BOX, "uid")
    assert watch.alive(BOX) is False


def test_a_death_is_told_once(watch: PidWatch, told: SimpleQueue[tuple[str, str]], process: Process) -> None:
    """However often the process is given."""
    for _ in range(3):
        watch.watch(BOX, "uid", process.pid)
    process.kill()
    told.get(timeout=5)
    watch.watch(BOX, "uid", process.pid)
    with pytest.raises(Empty):
        told.get(timeout=0.2)


def test_one_that_is_gone_already_is_told_of(
    watch: PidWatch, told: SimpleQueue[tuple[str, str]], process: Process
) -> None:
    """A look may be older than the death."""
    process.reap()
    watch.watch(BOX, "uid", process.pid)
    assert told.get(timeout=5) == (BOX, "uid")
    assert watch.alive(BOX) is False


def test_another_process_under_that_number_is_not_watched(
    watch: PidWatch, told: SimpleQueue[tuple[str, str]], tmp_path: Path
) -> None:
    """Its death would be no news of the container."""
    stranger = Process(tmp_path, container="d" * 64)
    watch.watch(BOX, "uid", stranger.pid)
    assert watch.alive(BOX) is None
    stranger.reap()
    with pytest.raises(Empty):
        told.get(timeout=0.2)


def test_a_container_that_was_started_again_is_watched_anew(
    watch: PidWatch, told: SimpleQueue[tuple[str, str]], process: Process, tmp_path: Path
) -> None:
    """The process counts, not the container's name."""
    watch.watch(BOX, "uid", process.pid)
    process.kill()
    told.get(timeout=5)
    second = Process(tmp_path)
    watch.watch(BOX, "uid", second.pid)
    assert (watch.alive(BOX), watch.alive(BOX, process.pid), watch.alive(BOX, second.pid)) == (True, None, True)
    second.reap()
    assert told.get(timeout=5) == (BOX, "uid")


@pytest.mark.parametrize("pid", [0, -1])
def test_no_process_is_no_death(watch: PidWatch, told: SimpleQueue[tuple[str, str]], pid: int) -> None:
    """An engine tells 0 of what does not run."""
    watch.watch(BOX, "uid", pid)
    assert (watch.alive(BOX), told.empty()) == (None, True)


def test_what_is_gone_is_forgotten(watch: PidWatch, process: Process) -> None:
    """Its descriptor is freed."""
    before = descriptors()
    watch.watch(BOX, "uid", process.pid)
    assert descriptors() == before + 1
    watch.keep({BOX})
    assert watch.alive(BOX) is True
    watch.keep(set())
    assert watch.alive(BOX) is None
    watch.watch(BOX, "uid", process.pid)
    watch.forget(BOX)
    assert (watch.alive(BOX), descriptors()) == (None, before)


def test_descriptors_are_not_all_used_up(watch: PidWatch, process: Process, tmp_path: Path) -> None:
    """Past its share it watches no more: the engine's event has to do."""
    watch._limit = 1
    second = Process(tmp_path, container="d" * 64)
    watch.watch(BOX, "uid", process.pid)
    watch.watch("d" * 64, "uid", second.pid)
    second.reap()
    assert (watch.alive(BOX), watch.alive("d" * 64)) == (True, None)


def test_closing_ends_everything(told: SimpleQueue[tuple[str, str]], process: Process, tmp_path: Path) -> None:
    """Thread and descriptors; closed twice is fine, and nothing is told afterwards."""
    before = descriptors()
    watch = PidWatch(lambda container, uid: told.put((container, uid)), tmp_path)
    watch.watch(BOX, "uid", process.pid)
    watch.close()
    watch.close()
    watch.watch(BOX, "uid", process.pid)
    process.kill()
    assert descriptors() == before
    assert "podsync-pidwatch" not in {thread.name for thread in threading.enumerate()}
    with pytest.raises(Empty):
        told.get(timeout=0.2)
