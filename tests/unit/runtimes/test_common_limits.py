"""What an engine's process may not do."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from podsync.runtimes.base import Resources
from podsync.runtimes.common.limits import CAPABILITIES, EngineLimits, Limits, engine_process, read_limits

ALL = (1 << 41) - 1
RESOURCE = 1 << CAPABILITIES.index("SYS_RESOURCE")


def proc(folder: Path, effective: int, *, ids: str = "0 0 4294967295", score: int = 0, last: int = 40) -> Path:
    """A /proc with one process, 7."""
    (folder / "7").mkdir()
    (folder / "7/status").write_text(f"Name:\tdockerd\nCapEff:\t{effective:016x}\n")
    (folder / "7/uid_map").write_text(f"         {ids}\n")
    (folder / "7/oom_score_adj").write_text(f"{score}\n")
    (folder / "sys/kernel").mkdir(parents=True)
    (folder / "sys/kernel/cap_last_cap").write_text(f"{last}\n")
    return folder


def test_numbers_of_capabilities() -> None:
    """As in capabilities(7)."""
    assert {name: CAPABILITIES.index(name) for name in ("CHOWN", "NET_ADMIN", "SYS_ADMIN", "SYS_RESOURCE", "BPF")} == {
        "CHOWN": 0,
        "NET_ADMIN": 12,
        "SYS_ADMIN": 21,
        "SYS_RESOURCE": 24,
        "BPF": 39,
    }


@pytest.mark.parametrize(
    ("effective", "settings", "lowest", "missing"),
    [
        (ALL, {}, -1000, set()),
        (ALL & ~RESOURCE, {}, 0, {"SYS_RESOURCE"}),
        (ALL & ~RESOURCE, {"score": -500}, 0, {"SYS_RESOURCE"}),
        (ALL & ~RESOURCE, {"score": 200}, 200, {"SYS_RESOURCE"}),
        (ALL, {"ids": "0 1000 1"}, 0, {"SYS_RESOURCE"}),
        ((1 << 38) - 1, {"last": 37}, -1000, set()),
        (ALL & ~1, {}, -1000, {"CHOWN"}),
    ],
    ids=["all", "no resource", "low score of its own", "high score", "user namespace", "old kernel", "another"],
)
def test_limits_of_a_process(
    tmp_path: Path, effective: int, settings: dict[str, object], lowest: int, missing: set[str]
) -> None:
    """Read from what the kernel tells of it."""
    found = read_limits(7, proc(tmp_path, effective, **settings))  # type: ignore[arg-type]
    assert (found.lowest_oom_score, set(found.missing_capabilities)) == (lowest, missing)


def test_a_process_that_cannot_be_looked_at_has_no_limits(tmp_path: Path) -> None:
    """Starts that fail will tell."""
    assert read_limits(7, tmp_path) == EngineLimits()
    assert read_limits(0) == EngineLimits()


def test_the_process_behind_a_socket(serve: Callable[[Callable[[socket.socket, bytes], None]], str]) -> None:
    """Here it is this one; without one it is an error."""
    assert engine_process(serve(lambda connection, request: None)) == os.getpid()
    with pytest.raises(OSError, match="No such file"):
        engine_process("/nonexistent/engine.sock")


@pytest.mark.parametrize(("asked", "given"), [(-998, 0), (0, 0), (3, 3), (1000, 1000), (None, None)])
def test_a_score_is_raised_to_what_is_allowed(asked: int | None, given: int | None) -> None:
    """And no further; one that was not asked for stays so."""
    limits = Limits()
    assert limits.allowed(Resources(oom_score_adj=asked)).oom_score_adj == asked
    limits.take(EngineLimits(lowest_oom_score=0))
    assert limits.allowed(Resources(oom_score_adj=asked, cpu_shares=5)) == Resources(oom_score_adj=given, cpu_shares=5)


@pytest.mark.parametrize(
    ("text", "score", "learnt"),
    [
        ("nsexec[1]: failed to update /proc/self/oom_score_adj: Permission denied", None, True),
        ("write /proc/self/oom_score_adj: permission denied", -998, True),
        ("can't get final child's PID from pipe: EOF: unknown", -998, True),
        ("can't get final child's PID from pipe: EOF: unknown", None, False),
        ("can't get final child's PID from pipe: EOF: unknown", 3, False),
        ("exec: no such file or directory", -998, False),
    ],
)
def test_a_failed_start_teaches(text: str, score: int | None, *, learnt: bool) -> None:
    """By what it says, and where that is vague by what was asked for."""
    limits = Limits()
    assert limits.learn(text, score) is learnt
    assert limits.allowed(Resources(oom_score_adj=-5)).oom_score_adj == (0 if learnt else -5)
    assert not limits.learn(text, score)


def test_an_operator_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    """In the log, and whenever asked."""
    limits = Limits()
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            limits.take(EngineLimits(lowest_oom_score=0))
            limits.note("something else")
    assert len(caplog.records) == len(limits.notes) == 2
    assert "oom_score_adj" in limits.notes[0]
