"""What every source must do, as tests.

A source's whole test is a subclass that can change what the source reads::

    class TestMine(SourceConformance):
        def make_source(self) -> Source: ...
        def want(self, *names: str) -> None: ...      # pods of these names, in namespace default
        def break_it(self) -> None: ...               # from now on it cannot be read
        def mend(self) -> None: ...
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from podsync.clock import SystemClock
from podsync.errors import SourceError
from podsync.models import Pod
from podsync.sources.base import Refusal, Source

__all__ = ["RecordingSink", "SourceConformance"]


@dataclass
class RecordingSink:
    """Keeps what a source said, in order."""

    revisions: list[int] = field(default_factory=list)
    sets: list[tuple[str, ...]] = field(default_factory=list)
    pods: list[tuple[Pod, ...]] = field(default_factory=list)
    refusals: list[tuple[Refusal, ...]] = field(default_factory=list)
    errors: list[SourceError] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    threads: set[int] = field(default_factory=set)

    def replace(self, revision: int, pods: Sequence[Pod], refusals: Sequence[Refusal]) -> None:
        """See ``Sink``."""
        self.threads.add(threading.get_ident())
        self.revisions.append(revision)
        self.pods.append(tuple(pods))
        self.refusals.append(tuple(refusals))
        self.sets.append(tuple(sorted(pod.metadata.name for pod in pods)))
        self.words.append("replace")

    def failed(self, error: SourceError) -> None:
        """See ``Sink``."""
        self.threads.add(threading.get_ident())
        self.errors.append(error)
        self.words.append("failed")


class SourceConformance:
    """The Source port; everything a test waits for has to come within ``patience`` seconds."""

    patience = 10.0
    fails = True
    """The source can be broken at all."""

    def make_source(self) -> Source:
        """A new source that reads what ``want`` put there, and looks again within ``patience``."""
        raise NotImplementedError

    def want(self, *names: str) -> None:
        """Let the place the source reads hold exactly the pods of these names."""
        raise NotImplementedError

    def break_it(self) -> None:
        """Make the place unreadable, as when a server is away."""
        raise NotImplementedError

    def mend(self) -> None:
        """Undo ``break_it``; what was wanted before is there again."""
        raise NotImplementedError

    def test_name_is_the_same_from_run_to_run(self) -> None:
        """It enters the pods' uid."""
        assert self.make_source().name == self.make_source().name != ""

    def test_speaks_once_at_the_start(self) -> None:
        """The whole set, from one thread."""
        self.want("a", "b")
        with self.running() as sink:
            self.until(lambda: bool(sink.sets), "the first set")
            assert sink.sets[0] == ("a", "b")
        assert len(sink.threads) == 1

    def test_an_empty_place_is_an_empty_set(self) -> None:
        """It is spoken too: podsync waits for every source's first word."""
        self.want()
        with self.running() as sink:
            self.until(lambda: bool(sink.words), "the first word")
            assert sink.words[0] == "replace"
            assert sink.sets[0] == ()

    def test_says_nothing_new_while_nothing_changes(self) -> None:
        """A set is not repeated."""
        self.want("a")
        with self.running() as sink:
            self.until(lambda: bool(sink.sets), "the first set")
            threading.Event().wait(0.5)
            assert sink.sets == [("a",)]

    def test_speaks_whole_sets_on_change(self) -> None:
        """Pods added, and pods gone."""
        self.want("a")
        with self.running() as sink:
            for wanted in (("a", "b"), ("b",), ()):
                self.want(*wanted)
                self.until(lambda wanted=wanted: sink.sets[-1:] == [wanted], f"{wanted}")  # type: ignore[misc]

    def test_revisions_grow(self) -> None:
        """Each set has a larger number than the one before."""
        self.want("a")
        with self.running() as sink:
            self.until(lambda: len(sink.sets) == 1, "the first set")
            self.want("a", "b")
            self.until(lambda: len(sink.sets) > 1, "the next set")
        assert all(one < other for one, other in zip(sink.revisions, sink.revisions[1:], strict=False))

    def test_a_failed_read_is_not_an_empty_read(self) -> None:
        """It is said to have failed; no set is spoken until it can be read again."""
        self.may_fail()
        self.want("a")
        with self.running() as sink:
            self.until(lambda: bool(sink.sets), "the first set")
            self.break_it()
            try:
                self.until(lambda: bool(sink.errors), "the failure")
                assert set(sink.sets) == {("a",)}
            finally:
                self.mend()
            self.want("a", "b")
            self.until(lambda: sink.sets[-1] == ("a", "b"), "the set after mending")
            assert () not in sink.sets

    def test_failing_from_the_start_is_no_set_at_all(self) -> None:
        """Nothing may be taken for "no pods" before the first good read."""
        self.may_fail()
        self.want("a")
        self.break_it()
        try:
            with self.running() as sink:
                self.until(lambda: bool(sink.errors), "the failure")
                assert sink.sets == []
                self.mend()
                self.until(lambda: sink.sets[-1:] == [("a",)], "the first set")
        finally:
            self.mend()

    def test_error_names_the_source_and_says_why(self) -> None:
        """A person has to know where to look."""
        self.may_fail()
        self.want("a")
        self.break_it()
        try:
            with self.running() as sink:
                self.until(lambda: bool(sink.errors), "the failure")
        finally:
            self.mend()
        assert sink.errors[0].source == self.make_source().name
        assert len(str(sink.errors[0])) > len(sink.errors[0].source) + 2

    def test_same_pods_are_equal_from_run_to_run(self) -> None:
        """Reading twice gives equal pods, so that nothing restarts."""
        self.want("a")
        seen = []
        for _ in range(2):
            with self.running() as sink:
                self.until(lambda sink=sink: bool(sink.pods), "the first set")  # type: ignore[misc]
            seen.append(sink.pods[0])
        assert seen[0] == seen[1]

    def test_stops_promptly(self) -> None:
        """Within two seconds, whatever it waits for."""
        self.want("a")
        with self.running() as sink:
            self.until(lambda: bool(sink.sets), "the first set")

    def may_fail(self) -> None:
        """Skip where a source cannot be broken."""
        if not self.fails:
            pytest.skip("this source cannot fail to read")

    @contextmanager
    def running(self) -> Iterator[RecordingSink]:
        """A source that runs on a thread of its own, and has to end in time."""
        sink, stop, source = RecordingSink(), threading.Event(), self.make_source()
        thread = threading.Thread(target=source.run, args=(sink, stop), daemon=True)
        thread.start()
        try:
            yield sink
        finally:
            stop.set()
            thread.join(2.0)
        assert not thread.is_alive(), "it goes on after it was stopped"

    def until(self, look: Callable[[], bool], what: str) -> None:
        """Wait for something to become true; fails when patience runs out."""
        clock, pause = SystemClock(), threading.Event()
        deadline = clock.monotonic() + self.patience
        while not look():
            if clock.monotonic() > deadline:
                pytest.fail(f"waited in vain for {what}")
            pause.wait(0.02)
