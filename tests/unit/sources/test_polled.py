"""The loop: when it speaks, what it makes of failures, how long it waits."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from podsync.backoff import Backoff
from podsync.clock import ManualClock
from podsync.errors import SourceError
from podsync.models import Container, ObjectMeta, Pod, PodSpec
from podsync.sources.base import Snapshot
from podsync.sources.polled import Polled, RetryLater
from tests.unit.sources.listening import Listener

Step = Snapshot | Exception | None


def snapshot(*names: str) -> Snapshot:
    """A set of pods with these names."""
    spec = PodSpec(containers=(Container(name="main", image="i"),))
    return Snapshot(pods=tuple(Pod(metadata=ObjectMeta(name=name, namespace="default"), spec=spec) for name in names))


class Script:
    """Plays reads one after the other without waiting, and notes the waits."""

    def __init__(self, *steps: Step) -> None:
        self.steps = list(steps)
        self.stop = threading.Event()
        self.waits: list[float] = []
        self.clock = ManualClock()
        self.cost = 0.0

    def read(self) -> Snapshot | None:
        """The next step."""
        self.clock.advance(self.cost)
        step = self.steps.pop(0)
        if isinstance(step, Exception):
            raise step
        return step

    def pause(self, seconds: float, stop: threading.Event) -> None:
        """Note how long the loop wanted to wait; stop it after the last step."""
        self.waits.append(seconds)
        if not self.steps:
            stop.set()

    def play(self, interval: float | Callable[[], float] = 20.0, **options: object) -> Listener:
        """Run the loop to the last step; gives what the sink heard."""
        heard = Listener()
        Polled("test:x", self.read, interval, self.clock, pause=self.pause, **options).run(heard, self.stop)  # type: ignore[arg-type]
        return heard


def test_speaks_once_at_the_start_and_then_on_change() -> None:
    """The same snapshot again is no news; another one is, with a larger revision."""
    first, second = snapshot("a"), snapshot("a", "b")
    heard = Script(first, first, second, second).play()
    assert [(revision, set(pods)) for revision, pods, _ in heard.sets] == [(1, {"a"}), (2, {"a", "b"})]


def test_an_empty_set_is_spoken() -> None:
    """A source with nothing in it says so, or the agent would wait for it for ever."""
    assert [pods for _, pods, _ in Script(Snapshot()).play().sets] == [{}]


def test_nothing_to_say_yet_is_neither_set_nor_failure() -> None:
    """None from a read keeps the loop silent."""
    heard = Script(None, snapshot("a")).play()
    assert (len(heard.sets), heard.errors) == (1, [])


def test_a_failure_is_no_set() -> None:
    """A failed read reaches the sink as a failure only, and the next good one is spoken even if unchanged."""
    same = snapshot("a")
    heard = Script(same, SourceError("test:x", "away"), same).play()
    assert [pods.keys() for _, pods, _ in heard.sets] == [{"a"}, {"a"}]
    assert [str(error) for error in heard.errors] == ["test:x: away"]


def test_an_unexpected_exception_is_a_failure_and_the_loop_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    """A fault in a reader does not end the thread, and its traceback is logged."""
    heard = Script(ZeroDivisionError("oops"), snapshot("a")).play()
    assert heard.now == {"a": "i"}
    assert "unexpected ZeroDivisionError: oops" in str(heard.errors[0])
    assert caplog.records[0].exc_info is not None


def test_stored_set_is_spoken_if_the_first_read_fails() -> None:
    """After a reboot with the server away the last good set runs, and the failure is told too."""
    heard = Script(SourceError("test:x", "away"), SourceError("test:x", "away")).play(stored=lambda: snapshot("old"))
    assert [pods.keys() for _, pods, _ in heard.sets] == [{"old"}]
    assert len(heard.errors) == 2


def test_stored_set_is_not_spoken_if_the_first_read_succeeds() -> None:
    """What is read now beats what was stored, also when a later read fails."""
    heard = Script(snapshot("new"), SourceError("test:x", "away")).play(stored=lambda: snapshot("old"))
    assert [pods.keys() for _, pods, _ in heard.sets] == [{"new"}]


def test_without_a_stored_set_a_failing_source_has_not_spoken() -> None:
    """Nothing known is not the same as nothing wanted."""
    assert Script(SourceError("test:x", "away")).play(stored=lambda: None).sets == []


def test_stores_after_the_sink_has_the_set() -> None:
    """Storing must not delay a pod, and happens on change only."""
    script, order = Script(snapshot("a"), None, SourceError("test:x", "away")), []

    class Ordered(Listener):
        def replace(self, *args: object) -> None:
            order.append("told")

    Polled("test:x", script.read, 1, script.clock, pause=script.pause, spoken=lambda: order.append("stored")).run(
        Ordered(), script.stop
    )
    assert order == ["told", "stored"]


def test_interval_counts_from_the_start_of_a_look() -> None:
    """A look that took 3 s of 20 is followed by a wait of 17; one that took longer by none."""
    script = Script(None, None)
    script.cost = 3.0
    script.play(20.0)
    late = Script(None)
    late.cost = 30.0
    late.play(20.0)
    assert (script.waits, late.waits) == ([17.0, 17.0], [0.0])


def test_interval_is_asked_after_each_look() -> None:
    """A reader can ask for an earlier next look."""
    script, answers = Script(None, None, None), iter([0.05, 10.0, 1.0])
    script.play(lambda: next(answers))
    assert script.waits == [0.05, 10.0, 1.0]


def test_backoff_grows_with_failures_in_a_row_and_ends_with_success() -> None:
    """1, 2, 4 … up to the maximum; a good read starts over."""
    away = SourceError("test:x", "away")
    script = Script(away, away, away, away, None, away)
    script.play(20.0, backoff=Backoff(initial=1, maximum=5), jitter=lambda: 0.0)
    assert script.waits == [1.0, 2.0, 4.0, 5.0, 20.0, 1.0]


def test_backoff_is_jittered_by_at_most_a_fifth() -> None:
    """Many hosts that lost one server do not come back at one moment."""
    away = SourceError("test:x", "away")
    script = Script(away, away)
    numbers = iter([0.5, 1.0])
    script.play(20.0, backoff=Backoff(initial=10, maximum=10), jitter=lambda: next(numbers))
    assert script.waits == [pytest.approx(11.0), pytest.approx(12.0)]


def test_retry_later_is_a_lower_bound() -> None:
    """The other side's wish is kept when it is longer than our own delay, and ours when not."""
    script = Script(RetryLater("test:x", "busy", 30.0), RetryLater("test:x", "busy", 0.5))
    script.play(20.0, backoff=Backoff(initial=1, maximum=60), jitter=lambda: 0.0)
    assert script.waits == [30.0, 2.0]


def test_run_again_speaks_again_with_newer_revisions() -> None:
    """Whoever restarts a source after a fault hears its set, not as an older one."""
    same = snapshot("a")
    script = Script(same)
    polled, heard = Polled("test:x", script.read, 1, script.clock, pause=script.pause), Listener()
    polled.run(heard, script.stop)
    script.steps.append(same)
    script.stop.clear()
    polled.run(heard, script.stop)
    assert [revision for revision, _, _ in heard.sets] == [1, 2]


def test_stops_at_once_while_waiting() -> None:
    """The default pause waits on the stop token."""
    stop, heard = threading.Event(), Listener()
    thread = threading.Thread(
        target=Polled("test:x", Snapshot, 600.0, ManualClock()).run, args=(heard, stop), daemon=True
    )
    thread.start()
    assert heard.wait(lambda h: bool(h.sets))
    stop.set()
    thread.join(0.5)
    assert not thread.is_alive()
