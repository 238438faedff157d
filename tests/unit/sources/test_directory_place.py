"""The directory itself: links, mounts, replacement, and how it is named."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from podsync.errors import ConfigError, SourceError
from podsync.sources import open as open_source
from podsync.sources.directory import HOLD_REPLACED, DirectorySource
from podsync.sources.lastgood import LastGood
from tests.unit.sources.listening import images, manifest
from tests.unit.sources.looking import Looking

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")


def test_a_link_out_of_the_directory_is_followed_and_watched_closely(looking: Looking, tmp_path: Path) -> None:
    """Nothing tells of a change of its target, so the looks come every second."""
    target = tmp_path / "elsewhere.txt"
    target.write_text(manifest("a"))
    (looking.folder / "a.yaml").symlink_to(target)
    assert looking.pods() == {"a": "busybox:latest"}
    assert looking.source.interval() == 1.0
    target.write_text(manifest("a", "new"))
    assert looking.pods() == {"a": "new"}


def test_a_configmap_volume_is_followed_through_its_swap(looking: Looking) -> None:
    """``x.yaml -> ..data/x.yaml``, ``..data -> ..1``: one rename of ``..data`` changes all files."""
    for version in ("1", "2"):
        (looking.folder / f"..{version}").mkdir()
        (looking.folder / f"..{version}" / "x.yaml").write_text(manifest("x", f"v{version}"))
    (looking.folder / "..data").symlink_to("..1")
    (looking.folder / "x.yaml").symlink_to("..data/x.yaml")
    assert looking.pods() == {"x": "v1"}
    (looking.folder / "..new").symlink_to("..2")
    (looking.folder / "..new").rename(looking.folder / "..data")
    shutil.rmtree(looking.folder / "..1")
    assert looking.pods() == {"x": "v2"}


def test_a_link_that_dangles_for_a_moment_keeps_its_pod(looking: Looking) -> None:
    """A swap done in two steps leaves the link without target in between."""
    (looking.folder / "..1").mkdir()
    (looking.folder / "..1" / "x.yaml").write_text(manifest("x"))
    (looking.folder / "..data").symlink_to("..1")
    (looking.folder / "x.yaml").symlink_to("..data/x.yaml")
    looking.pods()
    (looking.folder / "..data").unlink()
    assert looking.gone() == {"x": "busybox:latest"}
    (looking.folder / "..data").symlink_to("..1")
    assert looking.look().refusals == ()


def test_a_linked_directory_that_is_pointed_elsewhere(tmp_path: Path) -> None:
    """Deployed by a switch of one link: what is new counts at once, what is missing after a while."""
    for release in ("one", "two"):
        (tmp_path / release).mkdir()
        (tmp_path / release / "a.yaml").write_text(manifest("a", release))
    (tmp_path / "one" / "b.yaml").write_text(manifest("b"))
    link = tmp_path / "current"
    link.symlink_to("one")
    looking = Looking(link)
    looking.pods()
    (tmp_path / "next").symlink_to("two")
    (tmp_path / "next").rename(link)
    assert looking.pods() == {"a": "two", "b": "busybox:latest"}
    assert looking.after(HOLD_REPLACED) == {"a": "two"}
    assert looking.source.name == f"dir:{link}"


def test_a_vanished_directory_is_a_failed_read(looking: Looking) -> None:
    """Its pods stay; when it is there again it is read again."""
    (looking.folder / "a.yaml").write_text(manifest("a"))
    looking.pods()
    moved = looking.folder.with_name("moved")
    looking.folder.rename(moved)
    with pytest.raises(SourceError, match="does not exist"):
        looking.source.read()
    assert looking.source.interval() == 1.0
    moved.rename(looking.folder)
    (looking.folder / "b.yaml").write_text(manifest("b"))
    assert looking.pods().keys() == {"a", "b"}


def test_a_recreated_directory_has_time_to_be_filled(looking: Looking) -> None:
    """``rm -r`` and a new copy: pods that come back are never missing, the others end after a while."""
    for name in "ab":
        (looking.folder / f"{name}.yaml").write_text(manifest(name))
    looking.pods()
    shutil.rmtree(looking.folder)
    with pytest.raises(SourceError):
        looking.source.read()
    looking.folder.mkdir()
    assert looking.pods().keys() == {"a", "b"}
    assert looking.after(HOLD_REPLACED / 2).keys() == {"a", "b"}
    (looking.folder / "a.yaml").write_text(manifest("a"))
    assert looking.after(HOLD_REPLACED).keys() == {"a"}


def test_an_emptied_directory_ends_its_pods(looking: Looking) -> None:
    """It is the same one, and somebody took the files out."""
    (looking.folder / "a.yaml").write_text(manifest("a"))
    looking.pods()
    (looking.folder / "a.yaml").unlink()
    assert looking.gone() == {}


@pytest.fixture
def mounted(folder: Path) -> Iterator[Path]:
    """A directory that is a mount point of its own."""
    done = subprocess.run(["mount", "-t", "tmpfs", "podsync-test", folder], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"cannot mount here: {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", folder], capture_output=True, check=False)


@needs_root
def test_an_unmounted_directory_is_a_failed_read(mounted: Path) -> None:
    """The empty mount point says nothing, until somebody puts a manifest there on purpose."""
    looking = Looking(mounted)
    (mounted / "a.yaml").write_text(manifest("a"))
    looking.pods()
    subprocess.run(["umount", mounted], check=True)
    with pytest.raises(SourceError, match="not mounted"):
        looking.source.read()
    (mounted / "b.yaml").write_text(manifest("b"))
    assert looking.pods().keys() == {"a", "b"}
    assert looking.after(HOLD_REPLACED).keys() == {"b"}


@needs_root
def test_a_directory_not_mounted_at_the_start_is_a_failed_read(mounted: Path, tmp_path: Path) -> None:
    """After a reboot without the disk the last good pods run."""

    def begin() -> Looking:
        return Looking(mounted, store=LastGood(tmp_path / "root", f"dir:{mounted}"))

    before = begin()
    (mounted / "a.yaml").write_text(manifest("a"))
    before.pods()
    before.source.save()
    subprocess.run(["umount", mounted], check=True)
    after = begin()
    with pytest.raises(SourceError, match="not mounted"):
        after.source.read()
    stored = after.source.stored()
    assert stored is not None
    assert images(stored.pods) == {"a": "busybox:latest"}


def test_a_file_in_the_place_of_the_directory_is_a_failed_read(tmp_path: Path) -> None:
    """The message names the other kind of source."""
    (tmp_path / "a.yaml").write_text(manifest("a"))
    with pytest.raises(SourceError, match=f"write file:{tmp_path}/a.yaml"):
        Looking(tmp_path / "a.yaml").source.read()


@pytest.mark.parametrize(
    ("error", "word"),
    [(PermissionError(13, "Permission denied"), "permissions"), (OSError(5, "Input/output error"), "Input/output")],
)
@pytest.mark.parametrize("call", ["open", "scandir"])
def test_a_directory_that_cannot_be_read_is_a_failed_read(
    looking: Looking, monkeypatch: pytest.MonkeyPatch, error: OSError, word: str, call: str
) -> None:
    """Neither a refusal nor an input error in the middle of the listing is an empty directory."""

    def refuse(*_args: object, **_more: object) -> None:
        raise error

    monkeypatch.setattr(os, call, refuse)
    with pytest.raises(SourceError, match=word):
        looking.source.read()


@pytest.mark.parametrize("spelling", ["{}", "{}/", "{}/./", "//{}", "{}/sub/.."])
def test_the_name_does_not_depend_on_the_spelling(folder: Path, spelling: str) -> None:
    """It enters the pods' uid: another spelling of the path must not restart them."""
    assert open_source("dir:" + spelling.format(folder)).name == f"dir:{folder}"


def test_a_relative_path_is_made_absolute(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same directory from wherever the agent is started."""
    monkeypatch.chdir(folder.parent)
    assert open_source("dir:manifests").name == f"dir:{folder}"


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"intervall": "3"}, "did you mean interval"),
        ({"interval": "soon"}, "seconds"),
        ({"interval": "0"}, "seconds"),
        ({"interval": "-1"}, "seconds"),
        ({"interval": "inf"}, "seconds"),
        ({"colour": "red"}, "it knows interval"),
    ],
)
def test_wrong_options_are_told(folder: Path, options: dict[str, str], word: str) -> None:
    """With the nearest one that exists, or what is wrong with the value."""
    with pytest.raises(ConfigError, match=word):
        open_source(f"dir:{folder}", **options)


def test_the_interval_option_replaces_both_intervals(folder: Path) -> None:
    """Seconds, with or without the s."""
    source = open_source(f"dir:{folder}", interval="7s")
    assert isinstance(source, DirectorySource)
    assert source.interval() == 7.0
