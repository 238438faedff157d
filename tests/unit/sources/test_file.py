"""One file, and standard input."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from podsync.clock import ManualClock
from podsync.errors import ConfigError, SourceError
from podsync.sources import open as open_source
from podsync.sources.base import Snapshot, Source
from podsync.sources.file import FileSource, StdinSource
from tests.unit.sources.listening import Running, images, manifest

Run = Callable[[Source], Running]
SOON = 3.0  # seconds; far below the ten between two looks
BAD = "kind: Pod\nmetadata: {name: a\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A good manifest file whose name says nothing."""
    file = tmp_path / "pods"
    file.write_text(manifest("a"))
    return file


def source(path: Path, root: Path | None = None, clock: ManualClock | None = None) -> FileSource:
    """The source of that file; its clock starts in 2030, so that the file is old."""
    opened = open_source(f"file:{path}", clock or ManualClock(), root)
    assert isinstance(opened, FileSource)
    return opened


def look(reading: FileSource) -> Snapshot:
    """Look once and store."""
    snapshot = reading.read()
    assert snapshot is not None
    reading.save()
    return snapshot


def test_any_name_will_do(path: Path) -> None:
    """It was named on purpose, so its ending does not matter."""
    assert images(look(source(path)).pods) == {"a": "busybox:latest"}


def test_an_unchanged_file_gives_the_same_snapshot(path: Path) -> None:
    """Nothing looks new."""
    reading = source(path)
    assert look(reading) is look(reading)


def test_a_missing_file_is_a_failed_read(path: Path) -> None:
    """After the moment an editor's save may take; its pods stay, and it counts again when it is back."""
    clock = ManualClock()
    reading = source(path, clock=clock)
    before = look(reading)
    text = path.read_text()
    path.unlink()
    assert reading.read() is before
    clock.advance(reading.interval())
    with pytest.raises(SourceError, match="does not exist"):
        reading.read()
    path.write_text(text.replace("busybox:latest", "new"))
    assert images(look(reading).pods) == {"a": "new"}


def test_missing_from_the_start_is_a_failed_read_at_once(tmp_path: Path) -> None:
    """It has not spoken, so nothing ends."""
    with pytest.raises(SourceError, match="does not exist"):
        source(tmp_path / "none.yaml").read()


@pytest.mark.parametrize("kind", ["directory", "pipe", "dangling link", "loop"])
def test_what_is_no_readable_file_is_a_failed_read(tmp_path: Path, kind: str) -> None:
    """Neither opened nor taken for an empty set."""
    path = tmp_path / "x.yaml"
    if kind == "directory":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("x.yaml" if kind == "loop" else "nowhere")
    with pytest.raises(SourceError):
        source(path).read()


def test_a_bad_file_keeps_its_pod_across_restarts(path: Path, tmp_path: Path) -> None:
    """The same rule as for a file of a directory."""
    root = tmp_path / "root"
    reading = source(path, root)
    look(reading)
    path.write_text(BAD)
    for each in (reading, source(path, root), source(path, root)):
        snapshot = look(each)
        assert images(snapshot.pods) == {"a": "busybox:latest"}
        assert [refused.kept for refused in snapshot.refusals] == [True]


def test_a_file_missing_after_a_restart_runs_what_was_in_it(path: Path, tmp_path: Path, run: Run) -> None:
    """Its last good pods are spoken, and the failure."""
    root = tmp_path / "root"
    look(source(path, root))
    path.unlink()
    running = run(open_source(f"file:{path}", root=root))
    assert running.heard.wait(lambda heard: bool(heard.errors))
    assert running.heard.now == {"a": "busybox:latest"}


def test_an_explicit_empty_list_wants_no_pod(path: Path) -> None:
    """As everywhere."""
    reading = source(path)
    look(reading)
    path.write_text("apiVersion: v1\nkind: List\nitems: []\n")
    assert look(reading) == Snapshot()


@pytest.mark.parametrize("save", ["rename", "in place", "vim"])
def test_an_edit_is_found_soon(path: Path, run: Run, save: str) -> None:
    """Watching its directory shortens the wait; an editor's way to save is no failure."""
    running = run(open_source(f"file:{path}"))
    assert running.heard.shows({"a": "busybox:latest"})
    new = path.with_name("new")
    if save == "vim":
        path.rename(path.with_name("pods~"))
    target = new if save == "rename" else path
    target.write_text(manifest("a", "new"))
    if save == "rename":
        new.rename(path)
    assert running.heard.shows({"a": "new"}, SOON)
    assert running.heard.errors == []


def test_a_file_whose_directory_comes_late(tmp_path: Path, run: Run) -> None:
    """Missing with its directory is a failed read; once there it is read."""
    path = tmp_path / "sub" / "a.yaml"
    running = run(open_source(f"file:{path}"))
    assert running.heard.wait(lambda heard: bool(heard.errors))
    path.parent.mkdir()
    path.write_text(manifest("a"))
    assert running.heard.shows({"a": "busybox:latest"}, SOON)


def test_stops_promptly(path: Path, run: Run) -> None:
    """Within half a second."""
    running = run(open_source(f"file:{path}"))
    assert running.heard.shows({"a": "busybox:latest"})
    assert running.end(0.5)


# --- standard input --------------------------------------------------------------------------


@pytest.fixture
def pipe() -> tuple[int, int]:
    """A pipe in the place of standard input: (read end, write end)."""
    return os.pipe()


def _feed(pipe: tuple[int, int], text: bytes) -> None:
    with os.fdopen(pipe[1], "wb") as writer:
        writer.write(text)


def test_standard_input_is_read_to_its_end(pipe: tuple[int, int], run: Run) -> None:
    """Nothing is said before the end, since a first part may parse; then once."""
    running = run(StdinSource(pipe[0]))
    os.write(pipe[1], (manifest("a") + "---\n").encode())
    assert not running.heard.wait(lambda heard: bool(heard.sets), 0.2)
    _feed(pipe, manifest("b").encode())
    assert running.heard.shows({"a": "busybox:latest", "b": "busybox:latest"})
    assert running.end(0.5)
    os.close(pipe[0])


def test_standard_input_that_never_ends_does_not_hinder_stopping(pipe: tuple[int, int], run: Run) -> None:
    """It waits for input and for the end at once."""
    running = run(StdinSource(pipe[0]))
    assert running.end(0.5)
    assert (running.heard.sets, running.heard.errors) == ([], [])
    os.close(pipe[0])
    os.close(pipe[1])


HALF = manifest("a") + "---\n{"


@pytest.mark.parametrize(
    "text", [b"", BAD.encode(), b"\xff\x00", HALF.encode()], ids=["empty", "bad", "binary", "half"]
)
def test_bad_standard_input_is_a_failed_read(pipe: tuple[int, int], run: Run, text: bytes) -> None:
    """A command that fails on the other side of the pipe wishes no pod away."""
    running = run(StdinSource(pipe[0]))
    _feed(pipe, text)
    assert running.heard.wait(lambda heard: bool(heard.errors))
    assert "<stdin>" in str(running.heard.errors[0])
    assert running.heard.sets == []
    os.close(pipe[0])


def test_too_much_standard_input_is_a_failed_read(run: Run, tmp_path: Path) -> None:
    """Ten MiB are the limit; a regular file serves as input too."""
    with (tmp_path / "large").open("w+b") as large:
        large.truncate((10 << 20) + 1)
        running = run(StdinSource(large.fileno()))
        assert running.heard.wait(lambda heard: bool(heard.errors))
    assert "10 MiB" in str(running.heard.errors[0])


def test_a_closed_standard_input_is_a_failed_read(run: Run) -> None:
    """Started by something that gives none."""
    read, write = os.pipe()
    os.close(read)
    os.close(write)
    running = run(StdinSource(read))
    assert running.heard.wait(lambda heard: bool(heard.errors))


@pytest.mark.parametrize("spec", ["-", "file:-"])
def test_how_standard_input_is_named(spec: str) -> None:
    """Both spellings are the same source."""
    assert (type(open_source(spec)), open_source(spec).name) == (StdinSource, "file:-")


@pytest.mark.parametrize("spec", ["file:{}", "file://{}", "file:{}/../pods"])
def test_the_name_does_not_depend_on_the_spelling(path: Path, spec: str) -> None:
    """It enters the pods' uid."""
    assert open_source(spec.format(path if ".." not in spec else path.parent / "x")).name == f"file:{path}"


def test_a_file_needs_a_path() -> None:
    """Not even the current directory is meant by nothing."""
    with pytest.raises(ConfigError, match="needs a path"):
        open_source("file:")
