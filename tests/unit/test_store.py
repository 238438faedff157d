"""The root directory: lock, atomic files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from podsync.errors import ConfigError
from podsync.store import LOCK, STATUS, RootStore, agent_pid, default_root, read_json, remembered_pods

HOLD = "import sys; from podsync.store import RootStore; s = RootStore(sys.argv[1]); print('held', flush=True); input()"


def test_second_agent_is_told_the_firsts_pid(tmp_path: Path) -> None:
    """A root in use is refused with the pid of who has it, and is free again when that one dies."""
    argv = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"

        assert agent_pid(str(tmp_path)) == holder.pid
        with pytest.raises(ConfigError, match=f"pid {holder.pid}"):
            RootStore(str(tmp_path))
        holder.kill()

    assert agent_pid(str(tmp_path)) is None
    RootStore(str(tmp_path)).close()


@pytest.mark.parametrize("kind", ["file", "missing parent is a file", "unwritable"])
def test_unusable_root_is_one_clear_error(tmp_path: Path, kind: str) -> None:
    """A root that cannot be used says so and what to do."""
    root = tmp_path / "root"
    if kind == "file":
        root.write_text("")
    elif kind == "missing parent is a file":
        (tmp_path / "parent").write_text("")
        root = tmp_path / "parent" / "root"
    else:
        root = Path("/proc/podsync")

    with pytest.raises(ConfigError, match=r"cannot be used.*--root"):
        RootStore(str(root))


def test_write_replaces_and_skips_what_is_there(tmp_path: Path) -> None:
    """A file is replaced as a whole, not rewritten with the same text, and nothing temporary stays."""
    store = RootStore(str(tmp_path))

    assert store.write(STATUS, "one")
    first = (tmp_path / STATUS).stat().st_ino
    assert not store.write(STATUS, "one")
    assert (tmp_path / STATUS).stat().st_ino == first
    assert store.write(STATUS, "two")

    assert (tmp_path / STATUS).read_text() == "two"
    assert {path.name for path in tmp_path.iterdir()} == {LOCK, STATUS}
    store.close()


def test_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    """When writing fails the old content stays and the same text is tried again later."""
    store = RootStore(str(tmp_path))
    store.write(STATUS, "old")
    (tmp_path / f".{STATUS}.new").mkdir()

    with pytest.raises(OSError, match="directory"):
        store.write(STATUS, "new")
    assert (tmp_path / STATUS).read_text() == "old"

    (tmp_path / f".{STATUS}.new").rmdir()
    assert store.write(STATUS, "new")
    store.close()


def test_default_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """PODSYNC_ROOT wins; else it depends on who asks."""
    monkeypatch.setenv("PODSYNC_ROOT", "/somewhere")
    assert default_root() == "/somewhere"

    monkeypatch.delenv("PODSYNC_ROOT")
    monkeypatch.setenv("XDG_STATE_HOME", "/home/u/.state")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert default_root() == "/home/u/.state/podsync"
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert default_root() == "/var/lib/podsync"


def test_read_json(tmp_path: Path) -> None:
    """An absent file is None, an unreadable one an error that names it."""
    assert read_json(str(tmp_path), STATUS) is None

    (tmp_path / STATUS).write_text("{")
    with pytest.raises(ConfigError, match=STATUS):
        read_json(str(tmp_path), STATUS)


def test_remembered_pods(tmp_path: Path) -> None:
    """Pods come back from the status file by uid; whatever else is in it is passed over."""
    good = {
        "metadata": {"name": "web", "namespace": "default", "uid": "u1"},
        "spec": {"containers": [{"name": "main", "image": "busybox"}]},
        "status": {"phase": "Running"},
    }
    (tmp_path / STATUS).write_text(json.dumps({"items": [good, {"metadata": 3}, "text", None]}))

    pods = remembered_pods(str(tmp_path))

    assert list(pods) == ["u1"]
    assert pods["u1"].spec.containers[0].name == "main"
    (tmp_path / STATUS).write_text("garbage")
    assert remembered_pods(str(tmp_path)) == {}


def test_a_removed_file_is_noticed_and_written_again(tmp_path: Path) -> None:
    """A file taken away behind the agent's back is told as missing, and the same text is written anew."""
    store = RootStore(str(tmp_path))
    store.write(STATUS, "text")
    assert store.missing() == frozenset()

    (tmp_path / STATUS).unlink()

    assert store.missing() == {STATUS}
    assert store.write(STATUS, "text")
    assert (tmp_path / STATUS).read_text() == "text"
    store.close()


def test_a_removed_lock_file_lets_no_second_agent_in(tmp_path: Path) -> None:
    """The folder itself is locked as well."""
    store = RootStore(str(tmp_path))
    (tmp_path / LOCK).unlink()

    with pytest.raises(ConfigError, match="another podsync agent"):
        RootStore(str(tmp_path))
    store.close()
    RootStore(str(tmp_path)).close()


def test_names_that_are_not_utf8_are_written_escaped(tmp_path: Path) -> None:
    """A path of the file system may hold any bytes; the report shows them escaped."""
    store = RootStore(str(tmp_path))

    store.write(STATUS, "dir:/tmp/x\udcff")

    assert (tmp_path / STATUS).read_text() == "dir:/tmp/x\\udcff"
    store.close()


def test_deeply_nested_file_is_one_clear_error(tmp_path: Path) -> None:
    """A file that no JSON reader can take is named, with what to do."""
    (tmp_path / STATUS).write_text("[" * 100_000)

    with pytest.raises(ConfigError, match="remove it"):
        read_json(str(tmp_path), STATUS)
    assert remembered_pods(str(tmp_path)) == {}


def test_a_root_belongs_to_one_node_as_long_as_it_has_pods(tmp_path: Path) -> None:
    """Under another node name (a renamed host) the pods kept there would be made anew beside the old ones."""
    store = RootStore(str(tmp_path))
    store.claim("n1")
    store.claim("n1")
    store.claim("n2")
    (tmp_path / "pods" / "u1").mkdir(parents=True)

    with pytest.raises(ConfigError, match='"n2", not of "n3"; give --node-name n2'):
        store.claim("n3")
    store.claim("n2")
    store.close()
