"""The directory source on its thread: what inotify shortens, and that nothing depends on it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from podsync.clock import SystemClock
from podsync.sources import open as open_source
from podsync.sources import watch
from podsync.sources.base import Source
from podsync.sources.directory import DirectorySource
from podsync.sources.files import SETTLE
from tests.unit.sources.listening import Running, manifest

Run = Callable[[Source], Running]
OLD = {"a": "busybox:latest"}
NEW = {"a": "new"}
SOON = 3.0  # seconds; far below the ten between two looks

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")


@pytest.fixture
def live(run: Run, folder: Path) -> Running:
    """A running source whose directory holds one pod, which has been heard."""
    (folder / "a.yaml").write_text(manifest("a"))
    running = run(open_source(f"dir:{folder}"))
    assert running.heard.shows(OLD)
    return running


def never_missing(running: Running) -> bool:
    """Whether pod ``a`` was in every set since it was first."""
    return all("a" in pods for _, pods, _ in running.heard.sets)


def test_a_rename_is_acted_on_at_once(live: Running, folder: Path) -> None:
    """A file that arrives by rename is whole; neither a look's interval nor the settle time is waited for."""
    clock, quickest = SystemClock(), 1.0
    for number in range(5):
        (folder / ".tmp").write_text(manifest("a", f"v{number}"))
        began = clock.monotonic()
        (folder / ".tmp").rename(folder / "a.yaml")
        assert live.heard.shows({"a": f"v{number}"}, SOON)
        quickest = min(quickest, clock.monotonic() - began)
    assert quickest < SETTLE


def _in_place(path: Path) -> None:
    path.write_text(manifest("a", "new"))


def _by_rename(path: Path) -> None:
    path.with_name("a.tmp").write_text(manifest("a", "new"))
    path.with_name("a.tmp").rename(path)


def _like_vim(path: Path) -> None:
    """Vim's default: probe with 4913, move the original to a backup, write anew, drop the backup."""
    path.with_name("4913").touch()
    path.with_name("4913").unlink()
    path.rename(path.with_name("a.yaml~"))
    path.write_text(manifest("a", "new"))
    path.with_name("a.yaml~").unlink()


def _like_emacs(path: Path) -> None:
    """Emacs: a dangling lock link, an auto-save file, a backup copy, then in place."""
    path.with_name(".#a.yaml").symlink_to("user@host.1")
    path.with_name("#a.yaml#").write_text(manifest("a", "draft"))
    shutil.copy2(path, path.with_name("a.yaml~"))
    path.write_text(manifest("a", "new"))
    path.with_name(".#a.yaml").unlink()


def _in_pieces(path: Path) -> None:
    """Each piece is flushed, and all but the last parse to something else or to nothing."""
    with path.open("w") as file:
        for line in manifest("a", "new").splitlines(keepends=True):
            file.write(line)
            file.flush()


def _sed(path: Path) -> None:
    subprocess.run(["sed", "-i", "s/busybox:latest/new/", path], check=True)


def _delete_and_write(path: Path) -> None:
    path.unlink()
    path.write_text(manifest("a", "new"))


def _to_another_name(path: Path) -> None:
    path.unlink()
    path.with_name("b.yml").write_text(manifest("a", "new"))


def _hard_link(path: Path) -> None:
    path.with_name("a.new").write_text(manifest("a", "new"))
    path.unlink()
    path.hardlink_to(path.with_name("a.new"))


def _symbolic_link(path: Path) -> None:
    path.with_name("a.new").write_text(manifest("a", "new"))
    path.unlink()
    path.symlink_to("a.new")


@pytest.mark.parametrize(
    "save",
    [
        _in_place,
        _by_rename,
        _like_vim,
        _like_emacs,
        _in_pieces,
        _sed,
        _delete_and_write,
        _to_another_name,
        _hard_link,
        _symbolic_link,
    ],
)
def test_however_a_file_is_saved(live: Running, folder: Path, save: Callable[[Path], None]) -> None:
    """The new text is found soon, the pod is never missing in between, and no half text is believed."""
    save(folder / "a.yaml")
    assert live.heard.shows(NEW, SOON)
    assert [pods for _, pods, _ in live.heard.sets if pods not in (OLD, NEW)] == []
    assert [refused for _, _, refusals in live.heard.sets for refused in refusals] == []


def test_deleting_a_file_is_found_soon(live: Running, folder: Path) -> None:
    """No look's interval is waited for."""
    (folder / "a.yaml").unlink()
    assert live.heard.shows({}, SOON)


def test_thirty_files_at_once(live: Running, folder: Path) -> None:
    """All are there soon, and the one that was there is never missing."""
    for number in range(30):
        (folder / f".{number}").write_text(manifest(f"p{number}"))
        (folder / f".{number}").rename(folder / f"p{number}.yaml")
    assert live.heard.wait(lambda heard: heard.now is not None and len(heard.now) == 31, SOON)
    assert never_missing(live)


def test_a_configmap_swap_is_found_soon(run: Run, folder: Path) -> None:
    """The rename of ``..data`` wakes the look although it is no manifest's name."""
    for version in ("1", "2"):
        (folder / f"..{version}").mkdir()
        (folder / f"..{version}" / "a.yaml").write_text(manifest("a", f"v{version}"))
    (folder / "..data").symlink_to("..1")
    (folder / "a.yaml").symlink_to("..data/a.yaml")
    running = run(open_source(f"dir:{folder}", interval="60"))
    assert running.heard.shows({"a": "v1"})
    (folder / "..new").symlink_to("..2")
    (folder / "..new").rename(folder / "..data")
    assert running.heard.shows({"a": "v2"}, SOON)


def test_a_directory_that_comes_late(run: Run, folder: Path) -> None:
    """Missing at the start is told; once there it is read, and watched."""
    folder.rmdir()
    running = run(open_source(f"dir:{folder}"))
    assert running.heard.wait(lambda heard: bool(heard.errors))
    assert running.heard.sets == []
    folder.mkdir()
    assert running.heard.shows({}, SOON)
    (folder / "a.yaml").write_text(manifest("a"))
    assert running.heard.shows(OLD, SOON)


def test_a_recreated_directory_is_watched_again(live: Running, folder: Path) -> None:
    """The watch of the old one died with it; its pods never end meanwhile."""
    folder.rename(folder.with_name("gone"))
    assert live.heard.wait(lambda heard: bool(heard.errors), SOON)
    folder.mkdir()
    (folder / "a.yaml").write_text(manifest("a"))
    assert live.heard.wait(lambda heard: len(heard.sets) > 1, SOON)
    (folder / "a.yaml").write_text(manifest("a", "new"))
    assert live.heard.shows(NEW, SOON)
    assert never_missing(live)


def test_a_directory_deleted_and_made_anew_has_time_to_be_filled(live: Running, folder: Path) -> None:
    """Between two looks, and with the old one's inode, as file systems like to give it."""
    shutil.rmtree(folder)
    folder.mkdir()
    live.stop.wait(0.3)
    (folder / "a.yaml").write_text(manifest("a", "new"))
    assert live.heard.shows(NEW, SOON)
    assert never_missing(live)


def test_a_directory_replaced_by_one_rename_is_noticed(live: Running, folder: Path) -> None:
    """Nothing is told of that within the watched directory; what the path names is compared instead."""
    folder.with_name("next").mkdir()
    (folder.with_name("next") / "a.yaml").write_text(manifest("a", "new"))
    folder.rename(folder.with_name("gone"))
    folder.with_name("next").rename(folder)
    assert live.heard.shows(NEW, SOON)


def test_a_link_pointed_elsewhere_is_noticed(run: Run, tmp_path: Path) -> None:
    """The watch follows the link to where it leads now."""
    for release in ("one", "two"):
        (tmp_path / release).mkdir()
        (tmp_path / release / "a.yaml").write_text(manifest("a", release))
    (tmp_path / "current").symlink_to("one")
    running = run(open_source(f"dir:{tmp_path}/current"))
    assert running.heard.shows({"a": "one"})
    (tmp_path / "next").symlink_to("two")
    (tmp_path / "next").rename(tmp_path / "current")
    assert running.heard.shows({"a": "two"}, SOON)
    (tmp_path / "two" / "a.yaml").write_text(manifest("a", "edited"))
    assert running.heard.shows({"a": "edited"}, SOON)


def test_permissions_given_later_are_noticed(live: Running, folder: Path) -> None:
    """A change of mode wakes the look (root reads everything, so a link stands for the unreadable file)."""
    (folder / "b.yaml").symlink_to("b.yaml")
    assert live.heard.wait(lambda heard: len(heard.refused) == 1, SOON)
    (folder / "b.yaml").unlink()
    (folder / "b.yaml").write_text(manifest("b"))
    (folder / "b.yaml").chmod(0o600)
    assert live.heard.shows({**OLD, "b": "busybox:latest"}, SOON)


@pytest.mark.parametrize("fault", ["no inotify", "no watch"])
def test_without_inotify_the_looks_find_everything(
    run: Run, folder: Path, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No instance or no watch to be had: then a look a second, here quicker."""
    import inotify_simple

    def refuse(*_args: object) -> int:
        raise OSError(28, "No space left on device")

    if fault == "no watch":
        monkeypatch.setattr(inotify_simple.INotify, "add_watch", refuse)
    else:
        monkeypatch.setattr(watch, "_open_inotify", lambda: None)
    source = DirectorySource(folder, SystemClock(), interval=0.05)
    running = run(source)
    assert running.heard.shows({})
    (folder / "a.yaml").write_text(manifest("a"))
    assert running.heard.shows(OLD)
    (folder / "a.yaml").rename(folder / "b.yaml")
    (folder / "c.yaml").write_text(manifest("c"))
    assert running.heard.shows({**OLD, "c": "busybox:latest"})
    assert never_missing(running) or running.heard.sets[0][1] == {}
    (folder / "b.yaml").unlink()
    assert running.heard.shows({"c": "busybox:latest"})


def test_the_interval_is_ten_seconds_with_inotify_and_one_without(live: Running, folder: Path) -> None:
    """Known from the source itself, whose thread is waiting."""
    assert live.source.interval() == 10.0  # type: ignore[attr-defined]
    assert DirectorySource(folder, SystemClock()).interval() == 1.0


def test_stops_promptly(live: Running) -> None:
    """Within half a second, whatever it waits for."""
    assert live.end(0.5)


def test_lets_go_of_its_descriptors(run: Run, folder: Path) -> None:
    """Started and stopped twenty times, nothing is left open."""
    running = run(open_source(f"dir:{folder}"))
    assert running.heard.shows({})
    running.end()
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(5):
        again = run(open_source(f"dir:{folder}"))
        assert again.heard.shows({})
        assert again.end()
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_an_idle_look_at_a_hundred_files_is_cheap(folder: Path) -> None:
    """Under 2 ms: stat calls only, no reading and no parsing."""
    for number in range(100):
        (folder / f"{number}.yaml").write_text(manifest(f"p{number}"))
        os.utime(folder / f"{number}.yaml", (1e9, 1e9))
    source, clock = DirectorySource(folder, SystemClock()), SystemClock()
    first = source.read()
    times = []
    for _ in range(20):
        began = clock.monotonic()
        assert source.read() is first
        times.append(clock.monotonic() - began)
    assert min(times) < 0.002
