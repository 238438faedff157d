"""The shipped suites find faults: runtimes and a source that are wrong in one point each."""
# ruff: noqa: D102 - each class says what its wrong method does

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from podsync.errors import Conflict, NotFound
from podsync.runtimes.base import (
    Auth,
    ContainerId,
    ContainerSpec,
    ExecResult,
    ImageRecord,
    LogOptions,
    Ref,
    RuntimeHint,
    SandboxRecord,
    SandboxSpec,
    StopToken,
)
from podsync.runtimes.fake import FakeEngine, FakeRuntime
from podsync.runtimes.fake.images import ImageStore
from podsync.runtimes.fake.streams import FakeLogStream
from podsync.sources.base import Sink, Source
from podsync.testing.builders import pod
from podsync.testing.conformance import RuntimeConformance
from podsync.testing.programs import EXECS, PROGRAMS
from podsync.testing.sources import SourceConformance


class RefusesTheAbsent(FakeRuntime):
    """Removing twice is an error."""

    def remove_container(self, container: Ref) -> None:
        if self.engine.find_container(container) is None:
            raise NotFound(container)
        super().remove_container(container)


class RemovesTheRunning(FakeRuntime):
    """Without a word."""

    def remove_container(self, container: Ref) -> None:
        super().signal_container(container, "SIGKILL")
        super().remove_container(container)


class StartsOnce(FakeRuntime):
    """A second start is an error."""

    def start_container(self, container: Ref) -> None:
        found = self.engine.find_container(container)
        if found is not None and found.record.started_at is not None:
            raise Conflict("has been started")
        super().start_container(container)


class SeesEverybody(FakeRuntime):
    """Does not look at the node."""

    def _ours(self, found: Mapping[str, str], uid: str | None) -> bool:
        del uid
        return True


class LosesLabels(FakeRuntime):
    """All but those it needs itself."""

    def create_container(self, sandbox: Ref, spec: ContainerSpec) -> ContainerId:
        kept = {key: value for key, value in spec.labels.items() if key != "podsync.io/kind"}
        return super().create_container(sandbox, replace(spec, labels=kept))


class TakesAnyName(FakeRuntime):
    """Two objects may carry one."""

    def _claim(self, name: str) -> None:
        """Anything goes."""


class Deaf(FakeRuntime):
    """Never delivers SIGTERM."""

    def signal_container(self, container: Ref, signal: str) -> None:
        if signal != "SIGTERM":
            super().signal_container(container, signal)


class Rash(FakeRuntime):
    """Takes every signal for SIGKILL."""

    def signal_container(self, container: Ref, signal: str) -> None:
        super().signal_container(container, "SIGKILL")


class Patient(FakeRuntime):
    """Knows no time-out."""

    def exec(self, container: Ref, command: Sequence[str], timeout: float) -> ExecResult:
        return super().exec(container, command, 1e9)


class Blends(FakeRuntime):
    """Both streams of a command into one."""

    def exec(self, container: Ref, command: Sequence[str], timeout: float) -> ExecResult:
        result = super().exec(container, command, timeout)
        return ExecResult(result.exit_code, result.stdout + result.stderr)


class Verbose(FakeRuntime):
    """Gives the whole log, always."""

    def logs(self, container: Ref, options: LogOptions) -> FakeLogStream:
        return super().logs(container, LogOptions(follow=options.follow))


class PullsAnything(FakeRuntime):
    """Says that it has."""

    def pull_image(self, image: str, auth: Auth | None = None, progress: Any = None) -> ImageRecord:
        return ImageRecord("sha256:0")


class Silent(FakeRuntime):
    """Hints at nothing."""

    def hints(self, stop: StopToken) -> Iterator[RuntimeHint]:
        yield RuntimeHint()
        stop.wait()


class Forgetful(FakeRuntime):
    """Leaves out what has no sandbox any more."""

    def list_sandboxes(self, uid: str | None = None) -> Sequence[SandboxRecord]:
        return tuple(sandbox for sandbox in super().list_sandboxes(uid) if sandbox.id)


class Eager(FakeRuntime):
    """Starts what it creates."""

    def create_sandbox(self, spec: SandboxSpec) -> Any:
        sandbox = super().create_sandbox(spec)
        super().start_sandbox(sandbox)
        return sandbox


@pytest.mark.parametrize(
    ("broken", "test", "arguments"),
    [
        (RefusesTheAbsent, "test_removing_what_does_not_run", ()),
        (RemovesTheRunning, "test_running_container_is_not_removed", ()),
        (StartsOnce, "test_started_container_runs", ()),
        (SeesEverybody, "test_other_nodes_are_invisible", ()),
        (SeesEverybody, "test_list_of_one_pod", ()),
        (LosesLabels, "test_created_container_is_listed_but_does_not_run", ()),
        (TakesAnyName, "test_container_name_is_unique", ()),
        (TakesAnyName, "test_one_name_is_taken_once", ()),
        (Deaf, "test_term_is_delivered", ()),
        (Rash, "test_only_kill_ends_a_deaf_program", ()),
        (Patient, "test_exec_time_out", ()),
        (Blends, "test_exec_tells_code_and_both_streams", ()),
        (Verbose, "test_log_tail", (2, b"line 4")),
        (PullsAnything, "test_failed_pull", ("localhost:1/podsync/absent:latest",)),
        (Silent, "test_death_of_a_container_is_hinted_at", ()),
        (Silent, "test_hints_end_when_closed", ()),
        (Forgetful, "test_containers_without_their_sandbox_are_listed_under_a_stand_in", ()),
        (Eager, "test_created_sandbox_is_listed_but_does_not_run", ()),
    ],
)
def test_a_wrong_runtime_is_found_out(broken: type[FakeRuntime], test: str, arguments: tuple[object, ...]) -> None:
    """The test of that point fails; with a sound runtime it passes."""

    class Trial(RuntimeConformance):
        patience = hint_patience = 0.2
        processes = False

        def __init__(self, kind: type[FakeRuntime]) -> None:
            self.kind, self.node = kind, "trial"
            self.engine = FakeEngine(images=ImageStore([self.image], registry={}))
            self.runtime = self.make_runtime(self.node)

        def make_runtime(self, node: str) -> FakeRuntime:
            return self.kind(node=node, engine=self.engine, programs=PROGRAMS, execs=EXECS)

    with pytest.raises((AssertionError, Conflict, NotFound, pytest.fail.Exception)):
        getattr(Trial(broken), test)(*arguments)
    getattr(Trial(FakeRuntime), test)(*arguments)


class EmptyOnFailure:
    """Takes a place that cannot be read for an empty one, and speaks again and again."""

    def __init__(self, place: SourceTrial, *, repeats: bool, grows: bool) -> None:
        self.name = "trial"
        self._place, self._repeats, self._grows = place, repeats, grows

    def run(self, sink: Sink, stop: StopToken) -> None:
        last, revision = None, 0
        while not stop.wait(0.01):
            pods = () if self._place.broken else self._place.pods
            if self._repeats or pods != last:
                revision += 1 if self._grows else -1
                sink.replace(revision, pods, ())
                last = pods


class SourceTrial(SourceConformance):
    """The suite over a place in memory."""

    patience = 0.3
    broken = False
    pods: tuple[Any, ...] = ()

    def __init__(self, *, repeats: bool, grows: bool) -> None:
        self._settings = {"repeats": repeats, "grows": grows}

    def make_source(self) -> Source:
        return EmptyOnFailure(self, **self._settings)

    def want(self, *names: str) -> None:
        self.pods = tuple(pod(name) for name in names)

    def break_it(self) -> None:
        self.broken = True

    def mend(self) -> None:
        self.broken = False


@pytest.mark.parametrize(
    ("test", "repeats", "grows"),
    [
        ("test_a_failed_read_is_not_an_empty_read", False, True),
        ("test_failing_from_the_start_is_no_set_at_all", False, True),
        ("test_says_nothing_new_while_nothing_changes", True, True),
        ("test_revisions_grow", False, False),
    ],
)
def test_a_wrong_source_is_found_out(test: str, *, repeats: bool, grows: bool) -> None:
    """The test of that point fails."""
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        getattr(SourceTrial(repeats=repeats, grows=grows), test)()
