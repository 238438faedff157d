"""The agreement of runtimes, tried where it must hold: two fakes."""

from __future__ import annotations

import pytest
from hypothesis import settings

from podsync.runtimes.base import Ref, Runtime
from podsync.runtimes.fake import FakeRuntime
from podsync.testing.agreement import RuntimeAgreement
from podsync.testing.programs import PROGRAMS, RUN


class FakeAgreement(RuntimeAgreement):
    """A second fake in the place of the real engine."""

    patience = 0.0

    def make_runtime(self, node: str) -> Runtime:
        """Another fake."""
        return FakeRuntime(node=node, images=[self.image], programs=PROGRAMS)

    def handlers_installed(self) -> None:
        """Scripted programs need no moment."""


TestFakeAgreement = FakeAgreement.TestCase
TestFakeAgreement.settings = settings(max_examples=20, stateful_step_count=20, deadline=None)


def test_disagreement_is_found() -> None:
    """An engine that does not deliver SIGTERM is caught."""

    class Deaf(FakeRuntime):
        def signal_container(self, container: Ref, signal: str) -> None:
            if signal == "SIGKILL":
                super().signal_container(container, signal)

    class Disagreement(FakeAgreement):
        def make_runtime(self, node: str) -> Runtime:
            return Deaf(node=node, images=[self.image], programs=PROGRAMS)

    machine = Disagreement()
    machine.connect()
    box = machine.create_sandbox(pod=0, attempt=0)
    container = machine.run_container(box=box, line=RUN)
    with pytest.raises(AssertionError):
        machine.signal_container(ref=container, signal="SIGTERM")
