"""A container engine in memory that behaves like one; passes the same suite as the real ones."""

from __future__ import annotations

from collections.abc import Mapping

from podsync import labels
from podsync.runtimes.fake.engine import Change, FakeEngine
from podsync.runtimes.fake.images import Pullable
from podsync.runtimes.fake.programs import (
    Output,
    Program,
    ScriptedExec,
    exits,
    exits_on_term,
    fails_to_start,
    ignores_term,
    oom,
    runs,
)
from podsync.runtimes.fake.runtime import FakeRuntime

__all__ = [
    "Change",
    "FakeEngine",
    "FakeRuntime",
    "Output",
    "Program",
    "Pullable",
    "ScriptedExec",
    "connect",
    "exits",
    "exits_on_term",
    "fails_to_start",
    "ignores_term",
    "oom",
    "runs",
]


def connect(options: Mapping[str, str]) -> FakeRuntime:
    """The entry point ``fake``: an engine of its own, empty, on the machine's clock. Option ``node``."""
    return FakeRuntime(node=options.get("node", labels.DEFAULT_NODE))
