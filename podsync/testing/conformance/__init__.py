"""What every runtime must do, as tests.

A runtime's whole test is a subclass::

    class TestMine(RuntimeConformance):
        def make_runtime(self, node: str) -> Runtime:
            return connect({"node": node, "endpoint": "unix:///run/mine.sock"})

Class attributes say what the engine under test can do (see ``Suite``). Everything a
test makes carries a node name of its own and is removed when it ends.
"""

from __future__ import annotations

from podsync.testing.conformance.containers import ContainerConformance
from podsync.testing.conformance.execs import ExecConformance
from podsync.testing.conformance.images import ImageConformance
from podsync.testing.conformance.logs import LogConformance
from podsync.testing.conformance.processes import ProcessConformance
from podsync.testing.conformance.sandboxes import SandboxConformance
from podsync.testing.conformance.suite import Suite
from podsync.testing.conformance.whole import WholeConformance

__all__ = ["RuntimeConformance", "Suite"]


class RuntimeConformance(
    SandboxConformance,
    ContainerConformance,
    ProcessConformance,
    ExecConformance,
    LogConformance,
    ImageConformance,
    WholeConformance,
):
    """All parts of the port."""
