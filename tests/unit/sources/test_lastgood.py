"""Last good versions across restarts of the agent, and what becomes of trouble with their store."""

from __future__ import annotations

import logging
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from podsync.clock import ManualClock
from podsync.identity import pod_uid
from podsync.manifest.load import parse
from podsync.sources import open as open_source
from podsync.sources.base import Snapshot, Source
from podsync.sources.directory import HOLD, DirectorySource
from podsync.sources.lastgood import LastGood
from tests.unit.sources.listening import Running, images, manifest

BAD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The agent's root."""
    return tmp_path / "root"


class Agent:
    """One life of the agent as far as a directory source goes."""

    def __init__(self, folder: Path, root: Path | None) -> None:
        self.clock = ManualClock()
        source = open_source(f"dir:{folder}", self.clock, root)
        assert isinstance(source, DirectorySource)
        self.source = source

    def look(self) -> Snapshot:
        """Look and store, as the loop does."""
        snapshot = self.source.read()
        assert snapshot is not None
        self.source.save()
        return snapshot

    def pods(self) -> dict[str, str]:
        """Name to image."""
        return images(self.look().pods)


def files(root: Path) -> list[Path]:
    """What is stored: one file an origin."""
    return sorted((root / "sources").glob("*/*.json"))


def test_a_file_turned_bad_keeps_its_pod_across_restarts(folder: Path, root: Path) -> None:
    """Bad, restart, restart: still there, still the same uid, still refused."""
    path = folder / "a.yaml"
    path.write_text(manifest("a"))
    first = Agent(folder, root).look().pods[0]
    path.write_text(BAD)
    for _ in range(2):
        snapshot = Agent(folder, root).look()
        assert [pod_uid(pod, "n", "s") for pod in snapshot.pods] == [pod_uid(first, "n", "s")]
        assert [refused.kept for refused in snapshot.refusals] == [True]


def test_a_file_turned_bad_while_the_agent_ran_keeps_its_pod(folder: Path, root: Path) -> None:
    """The store is not overwritten by the bad version."""
    agent, path = Agent(folder, root), folder / "a.yaml"
    path.write_text(manifest("a"))
    agent.pods()
    path.write_text(BAD)
    agent.pods()
    assert Agent(folder, root).pods() == {"a": "busybox:latest"}


def test_what_ran_last_is_kept_and_not_what_was_good_as_a_whole_last(folder: Path, root: Path) -> None:
    """A half-good edit moved one pod on; it must not fall back when the file breaks fully and the agent restarts."""
    agent, path = Agent(folder, root), folder / "a.yaml"
    path.write_text(manifest("a", "one") + "---\n" + manifest("b", "one"))
    agent.pods()
    path.write_text(manifest("a", "two") + "---\n" + manifest("b", "").replace("image", "imag"))
    assert agent.pods() == {"a": "two", "b": "one"}
    path.write_text(BAD)
    assert agent.pods() == {"a": "two", "b": "one"}
    assert Agent(folder, root).pods() == {"a": "two", "b": "one"}


def test_a_good_file_is_not_overruled_by_the_store(folder: Path, root: Path) -> None:
    """Edited while the agent was down, the new text counts, pods it dropped included."""
    path = folder / "a.yaml"
    path.write_text(manifest("a") + "---\n" + manifest("b"))
    Agent(folder, root).pods()
    path.write_text(manifest("a", "new"))
    snapshot = Agent(folder, root).look()
    assert (images(snapshot.pods), snapshot.refusals) == ({"a": "new"}, ())


def test_a_file_deleted_while_the_agent_was_down_ends_its_pod(folder: Path, root: Path) -> None:
    """Nothing is said for the moment every removal is held; then it is gone, from the store too."""
    (folder / "a.yaml").write_text(manifest("a"))
    Agent(folder, root).pods()
    (folder / "a.yaml").unlink()
    agent = Agent(folder, root)
    assert agent.source.read() is None
    agent.clock.advance(HOLD)
    assert (agent.pods(), files(root)) == ({}, [])


@pytest.mark.parametrize("end", ["delete", "want nothing"])
def test_the_store_forgets_with_the_file(folder: Path, root: Path, end: str) -> None:
    """Nothing of a pod nobody wants stays behind."""
    agent, path = Agent(folder, root), folder / "a.yaml"
    path.write_text(manifest("a"))
    agent.pods()
    assert len(files(root)) == 1
    if end == "delete":
        path.unlink()
        agent.pods()
        agent.clock.advance(HOLD)
    else:
        path.write_text("{apiVersion: v1, kind: List, items: []}")
    assert (agent.pods(), files(root)) == ({}, [])


def test_only_the_owner_may_read_it(folder: Path, root: Path) -> None:
    """Manifests hold secrets in their environment."""
    (folder / "a.yaml").write_text(manifest("a"))
    Agent(folder, root).pods()
    (stored,) = files(root)
    assert (stored.stat().st_mode & 0o777, stored.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert not list(stored.parent.glob(".*"))


def test_two_sources_of_one_root_are_apart(folder: Path, root: Path, tmp_path: Path) -> None:
    """Two directories with equal file names do not mix."""
    other = tmp_path / "other"
    other.mkdir()
    (folder / "a.yaml").write_text(manifest("a"))
    (other / "a.yaml").write_text(manifest("b"))
    Agent(folder, root).pods()
    Agent(other, root).pods()
    for each in (folder, other):
        (each / "a.yaml").write_text(BAD)
    assert Agent(folder, root).pods().keys() == {"a"}
    assert Agent(other, root).pods().keys() == {"b"}


def test_a_missing_directory_runs_what_was_there_last(
    folder: Path, root: Path, run: Callable[[Source], Running]
) -> None:
    """After a reboot: the failure is told, the pods run."""
    (folder / "a.yaml").write_text(manifest("a"))
    Agent(folder, root).pods()
    folder.rename(folder.with_name("away"))
    running = run(open_source(f"dir:{folder}", root=root))
    assert running.heard.wait(lambda heard: bool(heard.errors))
    assert running.heard.now == {"a": "busybox:latest"}


def test_reading_only_changes_nothing(folder: Path, root: Path) -> None:
    """``podsync plan`` uses what the agent stored and leaves it alone."""
    path = folder / "a.yaml"
    path.write_text(manifest("a"))
    Agent(folder, root).pods()
    path.write_text(BAD)
    (folder / "b.yaml").write_text(manifest("b"))
    source = open_source(f"dir:{folder}", ManualClock(), root, read_only=True)
    assert isinstance(source, DirectorySource)
    snapshot = source.read()
    source.save()
    assert snapshot is not None
    assert images(snapshot.pods).keys() == {"a", "b"}
    assert len(files(root)) == 1


def test_reading_only_makes_no_root(folder: Path, root: Path) -> None:
    """A command that looks leaves no trace on a machine without an agent."""
    (folder / "a.yaml").write_text(manifest("a"))
    source = open_source(f"dir:{folder}", ManualClock(), root, read_only=True)
    assert isinstance(source, DirectorySource)
    source.read()
    source.save()
    assert not root.exists()


def test_without_a_root_nothing_is_kept(folder: Path) -> None:
    """Embedded without a root, the rule holds for as long as the process lives."""
    agent, path = Agent(folder, None), folder / "a.yaml"
    path.write_text(manifest("a"))
    agent.pods()
    path.write_text(BAD)
    assert agent.pods() == {"a": "busybox:latest"}
    assert Agent(folder, None).pods() == {}


@pytest.mark.parametrize("damage", ["", "{", '{"source": 1}', "[]", "null", "\x00\xff"])
def test_a_damaged_record_counts_as_absent(
    folder: Path, root: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Torn by a power cut: logged, and the good files go on."""
    for name in "ab":
        (folder / f"{name}.yaml").write_text(manifest(name))
    Agent(folder, root).pods()
    files(root)[0].write_text(damage)
    (folder / "c.yaml").write_text(manifest("c"))
    assert Agent(folder, root).pods().keys() == {"a", "b", "c"}
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_a_stored_pod_that_is_no_longer_valid_is_left_out(root: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Another version of podsync may be stricter."""
    store = LastGood(root, "dir:/x")
    store.save("a.yaml", parse(manifest("a")).pods)
    (stored,) = files(root)
    stored.write_text(stored.read_text().replace("busybox:latest", ""))
    assert store.load() == {"a.yaml": ()}
    assert "is not used" in caplog.text


@pytest.fixture
def full(root: Path) -> Iterator[Path]:
    """A root on a full disk."""
    root.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "podsync-test", root], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        pytest.skip(f"cannot mount here: {done.stderr.strip()}")
    filler = os.open(root / "filler", os.O_WRONLY | os.O_CREAT)
    try:
        while os.write(filler, b"\0" * 4096):
            pass
    except OSError:
        pass
    finally:
        os.close(filler)
    yield root
    subprocess.run(["umount", "-l", root], capture_output=True, check=False)


def test_a_full_disk_is_told_and_stops_no_pod(full: Path, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    """One warning for many files, news when it works again, and no torn file."""
    caplog.set_level(logging.INFO, "podsync.sources")
    agent = Agent(folder, full)
    for name in "abc":
        (folder / f"{name}.yaml").write_text(manifest(name))
    assert agent.pods().keys() == {"a", "b", "c"}
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "No space left on device" in caplog.text
    assert files(full) == []
    (full / "filler").unlink()
    (folder / "a.yaml").write_text(manifest("a", "new"))
    agent.pods()
    assert caplog.records[-1].levelname == "INFO"
    assert len(files(full)) == 1


def test_an_unusable_root_is_told_and_stops_no_pod(folder: Path, root: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A file stands where the folder should be."""
    root.write_text("")
    (folder / "a.yaml").write_text(manifest("a"))
    assert Agent(folder, root).pods() == {"a": "busybox:latest"}
    assert "cannot be stored" in caplog.text
