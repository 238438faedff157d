"""Pulls under way: who waits for which, and what comes of it."""

from __future__ import annotations

import pytest

from podsync import pulls
from podsync.clock import ManualClock
from podsync.errors import ImageAbsent, ImageFault
from podsync.executor import Executor
from podsync.ledger import Entry
from podsync.messages import PullDone, PullProgressed
from podsync.models import PodKey
from podsync.pulls import Pulls
from podsync.runtimes.base import PullProgress
from podsync.runtimes.fake import FakeEngine, FakeRuntime, Pullable
from podsync.runtimes.fake.images import ImageStore
from podsync.volumes import MemoryVolumes
from tests.unit.owned import Lanes

ONE, TWO = PodKey("default", "one"), PodKey("default", "two")


@pytest.fixture
def lanes() -> Lanes:
    """Where pulls are submitted."""
    return Lanes()


@pytest.fixture
def book(lanes: Lanes) -> Pulls:
    """Nothing is under way; the registry has one image and refuses all others."""
    clock = ManualClock()
    runtime = FakeRuntime(engine=FakeEngine(clock, ImageStore([], {"far:1": Pullable()})))
    return Pulls(clock, lanes, lanes, Executor(runtime, MemoryVolumes(), clock, lanes.together))


def done(lanes: Lanes, image: str) -> PullDone:
    """The news of the pull under way."""
    message = lanes.jobs.pop(f"pull:{image}")()
    assert isinstance(message, PullDone)
    return message


def test_all_who_want_an_image_wait_for_one_pull(book: Pulls, lanes: Lanes) -> None:
    """The second pod joins the first one's pull; its end concerns both, and is told once."""
    one, two = Entry(ONE), Entry(TWO)
    for entry in (one, two, one):
        book.start(entry, "far:1")
        assert entry.actual.memory.pulls["far:1"].pulling
    assert lanes.submitted == ["pull:far:1"]
    assert book
    news = done(lanes, "far:1")
    assert news.error is None
    assert book.returned(news) == {ONE, TWO}
    assert not book
    assert book.returned(news) == set()
    for entry in (one, two):
        pulls.outcome(entry, news)
        assert (entry.actual.memory.pulls["far:1"].ready, entry.actual.memory.pulls["far:1"].pulling) == (True, False)


def test_pulls_of_different_images_are_different_lanes(book: Pulls, lanes: Lanes) -> None:
    """One pod may wait for several images at once."""
    entry = Entry(ONE)
    book.start(entry, "far:1")
    book.start(entry, "far:2")
    assert lanes.submitted == ["pull:far:1", "pull:far:2"]


def test_a_failed_pull_is_told_with_the_engines_words(book: Pulls, lanes: Lanes) -> None:
    """The error is handed on, and counted in the memory of who waited."""
    entry = Entry(ONE)
    for count in (1, 2):
        book.start(entry, "nowhere:1")
        news = done(lanes, "nowhere:1")
        assert isinstance(news.error, ImageFault)
        assert book.returned(news) == {ONE}
        pulls.outcome(entry, news)
        failure = entry.actual.memory.pulls["nowhere:1"].failure
        assert failure is not None
        assert (failure.reason, failure.count) == ("ErrImagePull", count)
        assert "pull access denied" in failure.message


def test_what_is_missing_is_known_until_it_is_pulled(book: Pulls, lanes: Lanes) -> None:
    """A failed creation tells that an image is absent, a good pull that it is there; a failed pull tells nothing."""
    book.missing(ImageAbsent("far:1"))
    book.missing(ImageAbsent("nowhere:1"))
    entry = Entry(ONE)
    for image in ("far:1", "nowhere:1"):
        book.start(entry, image)
        book.returned(done(lanes, image))
    assert book.absent == {"nowhere:1"}


def test_progress_is_kept_while_the_pull_runs(book: Pulls, lanes: Lanes) -> None:
    """What a pull reports on the way arrives as messages; a late one after its end is dropped."""
    book.start(Entry(ONE), "far:1")
    news = done(lanes, "far:1")
    (message,) = lanes.posted
    assert isinstance(message, PullProgressed)
    book.progressed(message)
    assert dict(book.progress) == {"far:1": PullProgress("far:1", "Pulling")}
    book.returned(news)
    book.progressed(message)
    assert dict(book.progress) == {}


def test_a_pull_tells_how_long_it_took(book: Pulls, lanes: Lanes) -> None:
    """Seconds and moment come from the clock, the record from the engine."""
    book.start(Entry(ONE), "far:1")
    news = done(lanes, "far:1")
    assert news.seconds == 0.0
    assert news.at == ManualClock().now()
    assert news.record is not None
    assert news.record.size > 0
