"""Whose process a number stands for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from podsync.runtimes.common import whose

BOX = "c" * 64


@pytest.mark.parametrize(
    ("cgroup", "parent", "expected"),
    [
        (f"0::/machine/libpod-{BOX}.scope", "conmon", True),
        (f"9:pids:/libpod_parent/libpod-{BOX}\n1:name=systemd:/", "x", True),
        ("0::/user.slice", f"/usr/bin/conmon\0-c\0{BOX}\0-u\0", True),
        ("0::/user.slice", "/usr/bin/conmon\0-c\0other", False),
    ],
)
def test_whose_process_it_is(tmp_path: Path, cgroup: str, parent: str, expected: bool) -> None:
    """Its cgroup says it, or where there are none the command line of conmon, its parent."""
    for pid in ("7", "3"):
        (tmp_path / pid).mkdir()
    (tmp_path / "7/cgroup").write_text(cgroup)
    (tmp_path / "7/stat").write_text("7 (a ) b) S 3 7 7 0")
    (tmp_path / "3/cmdline").write_text(parent)
    assert whose.runs_in(7, BOX, tmp_path) is expected


def test_a_process_that_is_gone_is_nobodys(tmp_path: Path) -> None:
    """There is nothing to read of it."""
    assert not whose.runs_in(7, BOX, tmp_path)


def test_which_engines_numbers_are_ours(tmp_path: Path) -> None:
    """Those of one in the same pid namespace; an unseen one has others."""
    assert whose.is_of_this_host(os.getpid())
    assert not whose.is_of_this_host(0)
    for pid, namespace in (("self", "pid:[1]"), ("5", "pid:[1]"), ("6", "pid:[2]")):
        (tmp_path / pid / "ns").mkdir(parents=True)
        (tmp_path / pid / "ns/pid").symlink_to(namespace)
    assert whose.is_of_this_host(5, tmp_path)
    assert not whose.is_of_this_host(6, tmp_path)
    assert not whose.is_of_this_host(7, tmp_path)
