"""What a look makes of edits, removals, renames and files being written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from podsync.sources.directory import HOLD
from podsync.sources.files import RESTLESS, SETTLE
from tests.unit.sources.listening import manifest
from tests.unit.sources.looking import BAD, Looking, fresh


def test_an_unchanged_directory_gives_the_same_snapshot(looking: Looking) -> None:
    """The loop speaks on change only, so nothing may look new."""
    (looking.folder / "a.yaml").write_text(manifest("a"))
    first = looking.look()
    assert looking.look() is first


def test_only_changed_files_are_parsed_again(looking: Looking, monkeypatch: pytest.MonkeyPatch) -> None:
    """An idle look costs a stat a file."""
    for name in "abc":
        (looking.folder / f"{name}.yaml").write_text(manifest(name))
    looking.pods()
    from podsync.sources import files

    parsed: list[str] = []
    real = files.read_manifest
    monkeypatch.setattr(
        files, "read_manifest", lambda content, origin, last: parsed.append(origin) or real(content, origin, last)
    )
    (looking.folder / "b.yaml").write_text(manifest("b", "new"))
    (looking.folder / "c.yaml").touch()
    assert looking.pods()["b"] == "new"
    assert parsed == [str(looking.folder / "b.yaml")]


def test_a_change_that_keeps_size_and_mtime_is_found(looking: Looking) -> None:
    """Rsync or a clever script may restore the time stamp."""
    path = looking.folder / "a.yaml"
    path.write_text(manifest("a", "one"))
    looking.pods()
    before = path.stat()
    path.write_text(manifest("a", "two"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert looking.pods() == {"a": "two"}


def test_a_change_within_one_tick_of_the_file_systems_clock_is_found(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two writes of equal size in one tick leave equal time stamps: a young file is compared by content."""
    from podsync.sources import files

    monkeypatch.setattr(files, "_signature", lambda status: (1, 1, status.st_size, status.st_mtime_ns, 0))
    looking, path = Looking(folder, fresh()), folder / "a.yaml"
    path.write_text(manifest("a", "one"))
    stamp = path.stat().st_mtime_ns
    looking.source.read()
    assert looking.after(SETTLE) == {"a": "one"}
    path.write_text(manifest("a", "two"))
    os.utime(path, ns=(stamp, stamp))
    assert looking.pods() == {"a": "two"}


def test_deleting_a_file_ends_its_pods_once_it_stayed_away(looking: Looking) -> None:
    """Not in the same look, in case it is a rename or an editor's save."""
    for name in "ab":
        (looking.folder / f"{name}.yaml").write_text(manifest(name))
    looking.pods()
    (looking.folder / "a.yaml").unlink()
    assert looking.pods().keys() == {"a", "b"}
    assert looking.source.interval() == pytest.approx(HOLD)
    assert looking.after(HOLD).keys() == {"b"}


def test_a_renamed_file_changes_nothing(looking: Looking) -> None:
    """The file's name is no part of the pod."""
    (looking.folder / "a.yaml").write_text(manifest("a"))
    first = looking.look()
    (looking.folder / "a.yaml").rename(looking.folder / "z.yml")
    again = looking.look()
    assert (again.pods, again.refusals) == (first.pods, ())
    assert looking.after(HOLD) == {"a": "busybox:latest"}


def test_a_rename_seen_as_removal_then_creation_changes_nothing(looking: Looking) -> None:
    """One look falls between: the pod is held until the new name shows."""
    path = looking.folder / "a.yaml"
    path.write_text(manifest("a"))
    looking.pods()
    text = path.read_text()
    path.unlink()
    assert looking.pods() == {"a": "busybox:latest"}
    (looking.folder / "b.yaml").write_text(text)
    assert looking.after(HOLD) == {"a": "busybox:latest"}
    assert looking.after(HOLD) == {"a": "busybox:latest"}


def test_no_pod_ends_while_another_file_is_being_written(folder: Path) -> None:
    """A removal waits for the directory to rest: the pod may be on its way into the young file."""
    clock = fresh()
    looking = Looking(folder, clock)
    (folder / "old.yaml").write_text(manifest("a"))
    looking.source.read()
    assert looking.after(SETTLE) == {"a": "busybox:latest"}
    clock.advance(60 - SETTLE)
    (folder / "old.yaml").unlink()
    new = folder / "new.yaml"
    new.write_text("")
    os.utime(new, (clock.now().timestamp() + HOLD, clock.now().timestamp() + HOLD))
    looking.pods()
    assert looking.after(HOLD) == {"a": "busybox:latest"}
    new.write_text(manifest("a"))
    os.utime(new, (clock.now().timestamp(), clock.now().timestamp()))
    assert looking.after(SETTLE / 2) == {"a": "busybox:latest"}
    assert looking.after(SETTLE) == {"a": "busybox:latest"}
    assert looking.after(HOLD) == {"a": "busybox:latest"}


def test_a_renamed_bad_file_keeps_its_last_good_pod(looking: Looking) -> None:
    """It is the same file by inode, under another name."""
    path = looking.folder / "a.yaml"
    path.write_text(manifest("a"))
    looking.pods()
    path.write_text(BAD)
    looking.pods()
    path.rename(looking.folder / "b.yaml")
    looking.pods()
    assert looking.after(HOLD) == {"a": "busybox:latest"}
    assert looking.look().refusals[0].origin.endswith("/b.yaml")


def test_editing_the_name_ends_the_old_pod(looking: Looking) -> None:
    """A good text says all that its file wants."""
    path = looking.folder / "a.yaml"
    path.write_text(manifest("a"))
    looking.pods()
    path.write_text(manifest("b"))
    assert looking.pods() == {"b": "busybox:latest"}


def test_a_young_file_is_left_until_it_stands_still(folder: Path) -> None:
    """The first words may parse; each write starts the wait anew."""
    clock = fresh()
    looking, path = Looking(folder, clock), folder / "a.yaml"
    assert looking.pods() == {}
    for part in ("one", "two"):
        path.write_text(manifest("a", part))
        os.utime(path, (clock.now().timestamp(), clock.now().timestamp()))
        assert looking.pods() == {}
        assert 0 < looking.source.interval() <= SETTLE
        clock.advance(SETTLE * 0.8)
    assert looking.pods() == {}
    assert looking.after(SETTLE) == {"a": "two"}


def test_the_first_look_says_nothing_while_a_file_is_being_written(folder: Path) -> None:
    """Speaking without it would end the pod it names, should that run from before."""
    clock = fresh()
    looking = Looking(folder, clock)
    (folder / "a.yaml").write_text(manifest("a"))
    assert looking.source.read() is None
    assert looking.after(SETTLE) == {"a": "busybox:latest"}


def test_an_edited_file_stands_for_its_old_text_until_it_rests(folder: Path) -> None:
    """Truncated and rewritten in place, the pod it named is never missing."""
    clock = fresh()
    looking, path = Looking(folder, clock), folder / "a.yaml"
    path.write_text(manifest("a"))
    looking.source.read()
    looking.after(SETTLE)
    for text in ("", "apiVersion: v1\n", manifest("a", "new")):
        clock.advance(SETTLE * 0.8)
        path.write_text(text)
        os.utime(path, (clock.now().timestamp(), clock.now().timestamp()))
        assert looking.pods() == {"a": "busybox:latest"}
    assert looking.after(SETTLE) == {"a": "new"}


def test_a_file_that_never_rests_is_taken_as_it_is(folder: Path) -> None:
    """After a second, so that it holds nothing else back for ever."""
    clock = fresh()
    looking, path = Looking(folder, clock), folder / "a.yaml"
    looking.pods()
    seen: list[float] = []
    began = clock.monotonic()
    while not seen:
        path.write_text(manifest("a", f"i{clock.monotonic()}"))
        os.utime(path, (clock.now().timestamp(), clock.now().timestamp()))
        if looking.pods():
            seen.append(clock.monotonic() - began)
        clock.advance(SETTLE / 2)
        assert clock.monotonic() < 2 * RESTLESS
    assert seen[0] == pytest.approx(RESTLESS, abs=SETTLE)


def test_a_file_from_the_future_rests_by_our_own_watch(folder: Path) -> None:
    """A server's clock that runs ahead must not hold a manifest back until then."""
    looking = Looking(folder, fresh())
    looking.pods()
    (folder / "a.yaml").write_text(manifest("a"))
    os.utime(folder / "a.yaml", (4e9, 4e9))
    assert looking.pods() == {}
    assert looking.after(SETTLE) == {"a": "busybox:latest"}


def test_a_file_written_while_it_is_read_is_read_again(looking: Looking, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was read is a mixture, so it does not count."""
    path = looking.folder / "a.yaml"
    path.write_text(manifest("a", "one"))
    real, written = os.read, []

    def read(descriptor: int, size: int) -> bytes:
        part = real(descriptor, size)
        if part and not written:
            written.append(path.write_text(manifest("a", "another")))
        return part

    monkeypatch.setattr(os, "read", read)
    assert looking.source.read() is None
    assert looking.pods() == {"a": "another"}
