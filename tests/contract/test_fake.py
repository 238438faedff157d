"""The fake runtime passes the suite that the real ones pass."""

from __future__ import annotations

from podsync.runtimes.base import Runtime
from podsync.runtimes.fake import FakeEngine, FakeRuntime
from podsync.runtimes.fake.images import ImageStore
from podsync.testing.conformance import RuntimeConformance
from podsync.testing.programs import EXECS, PROGRAMS


class TestFake(RuntimeConformance):
    """Its programs are scripted, so what only a real process can show is skipped."""

    processes = False
    engine: FakeEngine | None = None

    def make_runtime(self, node: str) -> Runtime:
        """All runtimes of a test share one engine."""
        self.engine = self.engine or FakeEngine(images=ImageStore(present=[self.image], registry={}))
        return FakeRuntime(node=node, engine=self.engine, programs=PROGRAMS, execs=EXECS)
