"""What is found out about an engine once."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from podsync.runtimes.common.limits import EngineLimits, Limits
from podsync.runtimes.podman import facts
from podsync.runtimes.podman.client import Client
from tests.libpod import Libpod

LIMITS = """\
Limit                     Soft Limit           Hard Limit           Units
Max processes             96363                96363                processes
Max open files            1024                 20000                files
Max locked memory         unlimited            unlimited            bytes
"""


def limits(*missing: str) -> Limits:
    """Those of an engine that lacks these capabilities."""
    found = Limits()
    found.take(EngineLimits(missing_capabilities=frozenset(missing)))
    return found


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    """A /proc with one process."""
    (tmp_path / "7").mkdir()
    (tmp_path / "7/limits").write_text(LIMITS)
    (tmp_path / "sys/kernel").mkdir(parents=True)
    (tmp_path / "sys/kernel/pid_max").write_text("32768\n")
    return tmp_path


def test_limits_that_cannot_be_raised(proc: Path) -> None:
    """The most the engine's process may have itself, and no more processes than there are numbers."""
    assert facts.lowered_rlimits(7, limits("SYS_RESOURCE"), proc) == (("nofile", 20000), ("nproc", 32768))


def test_limits_that_can_be_raised_are_left_to_podman(proc: Path) -> None:
    """It asks for plenty by itself."""
    assert facts.lowered_rlimits(7, limits("SYS_TIME"), proc) == ()


@pytest.mark.parametrize("pid", [0, 8])
def test_a_process_that_is_not_to_be_seen(proc: Path, pid: int) -> None:
    """Nothing is known of its limits."""
    assert facts.lowered_rlimits(pid, limits("SYS_RESOURCE"), proc) == ()


def test_unlimited_stays_as_it_is(proc: Path) -> None:
    """There is no number to ask for."""
    (proc / "7/limits").write_text(LIMITS.replace("20000", "unlimited"))
    assert facts.lowered_rlimits(7, limits("SYS_RESOURCE"), proc) == (("nproc", 32768),)


@pytest.mark.parametrize(
    ("version", "security", "cgroups", "expected", "limited"),
    [
        ("4.3.1", {}, "v1", {"cgroup-v1"}, True),
        ("4.3.1", {"rootless": True}, "v1", {"rootless", "cgroup-v1"}, False),
        ("4.9.0", {"rootless": True}, "v2", {"rootless", "cgroup-v2"}, True),
        (
            "5.0.0",
            {"seccompEnabled": True, "apparmorEnabled": True, "selinuxEnabled": True},
            "v2",
            {"seccomp", "apparmor", "selinux", "cgroup-v2", "image-volumes", "volume-subpath"},
            True,
        ),
    ],
)
def test_capabilities(version: str, security: dict[str, bool], cgroups: str, expected: set[str], limited: bool) -> None:
    """From the release and from what it says of the host."""
    libpod = Libpod(version, **security)
    libpod.cgroups = cgroups
    found = facts.find(cast("Client", libpod), Limits())
    assert (found.capabilities, found.keeps_resource_limits, found.local) == (expected, limited, False)
