"""Which files of a directory are read, and what becomes of those that cannot be."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from podsync.sources.base import Snapshot
from podsync.sources.directory import is_manifest_name
from tests.unit.sources.listening import images, manifest
from tests.unit.sources.looking import BAD, Looking


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("a.yaml", True),
        ("a.yml", True),
        ("a.json", True),
        ("A.YAML", True),
        ("10-a.b.yaml", True),
        ("é.yaml", True),
        (".yaml", False),
        (".a.yaml", False),
        (".#a.yaml", False),
        ("..data", False),
        (".a.yaml.swp", False),
        ("a.yaml~", False),
        ("a.yaml.bak", False),
        ("a.yaml.swp", False),
        ("#a.yaml#", False),
        ("4913", False),
        ("a.yaml.orig", False),
        ("a.yaml.rpmnew", False),
        ("a.yaml.dpkg-dist", False),
        ("a.yaml.tmp", False),
        ("README", False),
        ("README.txt", False),
        ("pod", False),
        ("yaml", False),
        ("a.yamlx", False),
        ("", False),
    ],
)
def test_which_names_are_manifests(name: str, read: bool) -> None:
    """Three endings in any case, no leading dot: editors' and packagers' leftovers are none."""
    assert is_manifest_name(name) is read


def test_reads_yaml_and_json_and_several_documents(looking: Looking) -> None:
    """Every form kubectl takes."""
    (looking.folder / "a.yaml").write_text(manifest("a") + "---\n" + manifest("b"))
    (looking.folder / "c.json").write_text(
        '{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"c"},'
        '"spec":{"containers":[{"name":"m","image":"i"}]}}]}'
    )
    assert looking.pods() == {"a": "busybox:latest", "b": "busybox:latest", "c": "i"}


def test_other_documents_are_accepted_beside_pods(looking: Looking) -> None:
    """A ConfigMap or Secret in a file is no error and no pod."""
    (looking.folder / "a.yaml").write_text(
        manifest("a") + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {k: v}\n"
        "---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {k: v}\n"
    )
    snapshot = looking.look()
    assert (images(snapshot.pods), snapshot.refusals) == ({"a": "busybox:latest"}, ())


def test_an_empty_directory_wants_no_pod(looking: Looking) -> None:
    """It exists and is empty: that is an answer."""
    assert looking.look() == Snapshot()


def test_what_is_left_aside_is_said_once(looking: Looking, caplog: pytest.LogCaptureFixture) -> None:
    """Junk and sub-directories are named in one line, and again only when new; hidden names never."""
    caplog.set_level(logging.INFO, "podsync.sources")
    (looking.folder / "README.txt").touch()
    (looking.folder / ".hidden").touch()
    (looking.folder / "sub").mkdir()
    (looking.folder / "sub" / "x.yaml").write_text(manifest("x"))
    assert looking.pods() == {}
    looking.pods()
    assert len(caplog.messages) == 1
    assert "README.txt, sub/" in caplog.messages[0]
    assert "hidden" not in caplog.messages[0]
    (looking.folder / "4913").touch()
    looking.pods()
    assert [("4913" in text, "README" in text) for text in caplog.messages[1:]] == [(True, False)]


def test_a_long_list_of_junk_is_one_short_line(looking: Looking, caplog: pytest.LogCaptureFixture) -> None:
    """Somebody points it at a home directory."""
    caplog.set_level(logging.INFO, "podsync.sources")
    for number in range(40):
        (looking.folder / f"{number:02}.txt").touch()
    looking.pods()
    assert "09.txt and 30 more" in caplog.messages[0]


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        here = Path.cwd()
        os.chdir(path.parent)  # a socket's path may have a hundred characters
        try:
            listener.bind(path.name)
        finally:
            os.chdir(here)


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _directory(path: Path) -> None:
    path.mkdir()


def _dangling(path: Path) -> None:
    path.symlink_to("nowhere")


def _loop(path: Path) -> None:
    path.symlink_to(path.name)


def _too_large(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate((10 << 20) + 1)


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (_fifo, "named pipe"),
        (_socket, "socket"),
        (_device, "device"),
        (_directory, "directory"),
        (_dangling, "nowhere"),
        (_loop, "cannot be read"),
        (_too_large, "10 MiB"),
    ],
)
def test_what_is_no_readable_file_is_refused_and_the_rest_goes_on(
    looking: Looking, make: Callable[[Path], None], word: str
) -> None:
    """Pipes and devices are not opened (they would block or never end); the others' pods run."""
    make(looking.folder / "bad.yaml")
    (looking.folder / "good.yaml").write_text(manifest("good"))
    snapshot = looking.look()
    assert images(snapshot.pods) == {"good": "busybox:latest"}
    (refused,) = snapshot.refusals
    assert refused.origin == str(looking.folder / "bad.yaml")
    assert word in str(refused.errors[0])
    assert looking.look() is snapshot


@pytest.mark.parametrize("make", [_fifo, _socket, _device, _directory, _dangling, _loop, _too_large])
def test_a_good_file_replaced_by_something_unusable_keeps_its_pod(
    looking: Looking, make: Callable[[Path], None]
) -> None:
    """The name is still there: that is no wish to end the pod. Mended, it counts again."""
    path = looking.folder / "a.yaml"
    path.write_text(manifest("a"))
    looking.pods()
    path.unlink()
    make(path)
    snapshot = looking.look()
    assert images(snapshot.pods) == {"a": "busybox:latest"}
    assert [refused.kept for refused in snapshot.refusals] == [True]
    path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    path.write_text(manifest("a", "new"))
    assert (looking.pods(), looking.look().refusals) == ({"a": "new"}, ())


def test_an_unreadable_file_keeps_its_pod(looking: Looking, monkeypatch: pytest.MonkeyPatch) -> None:
    """No permission, an input error: known by the refusal, the pod runs on."""
    path = looking.folder / "a.yaml"
    path.write_text(manifest("a"))
    looking.pods()
    path.write_text(manifest("a", "new"))
    real = os.open

    def refuse(name: str, flags: int, *args: int, dir_fd: int | None = None) -> int:
        if name == "a.yaml":
            raise PermissionError(13, "Permission denied")
        return real(name, flags, *args, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", refuse)
    snapshot = looking.look()
    assert images(snapshot.pods) == {"a": "busybox:latest"}
    assert "Permission denied" in str(snapshot.refusals[0].errors[0])
    assert snapshot.refusals[0].kept
    monkeypatch.undo()
    assert looking.pods() == {"a": "new"}


def test_names_that_are_no_text_are_escaped(folder: Path) -> None:
    """A name with a line break or bytes outside UTF-8 cannot forge a log line."""
    for name in (b"a\n\x1b[31m.yaml", b"b\xff.yaml"):
        Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_text(BAD)
    origins = [refused.origin for refused in Looking(folder).look().refusals]
    assert [origin.rpartition("/")[2] for origin in origins] == ["a\\n\\x1b[31m.yaml", "b\\xff.yaml"]
