"""Images that are remembered, and the one of a sandbox."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import Queue

import pytest

from podsync.clock import ManualClock
from podsync.errors import ImageFault, StartFault, Unsupported
from podsync.runtimes.base import ImageRecord
from podsync.runtimes.common import pause
from podsync.runtimes.common.faults import Refusal
from podsync.runtimes.common.images import UNHEARD, ImageCache, SandboxImages


class Store:
    """An engine's images by name; counts look-ups."""

    def __init__(self, cache: ImageCache) -> None:
        self.cache = cache
        self.tags = {"a": "1"}
        self.asked = 0

    def ask(self) -> ImageRecord | None:
        """Look ``a`` up."""
        self.asked += 1
        return ImageRecord(self.tags["a"]) if "a" in self.tags else None

    def find(self) -> str:
        """Id of ``a`` as the cache tells it; empty for an absent one."""
        found = self.cache.find("a", self.ask)
        return found.id if found else ""


@pytest.fixture
def clock() -> ManualClock:
    """One that stands still."""
    return ManualClock()


@pytest.fixture
def store(clock: ManualClock) -> Store:
    """With a cache."""
    return Store(ImageCache(clock))


def test_an_image_is_looked_up_once_while_events_are_heard(store: Store, clock: ManualClock) -> None:
    """However long that is: an event would tell of a change."""
    store.cache.heard(heard=True)
    for _ in range(3):
        assert store.find() == "1"
        clock.advance(10 * UNHEARD)
    assert store.asked == 1


def test_a_look_up_grows_old_while_no_events_are_heard(store: Store, clock: ManualClock) -> None:
    """Somebody may have moved the tag."""
    store.find()
    store.tags["a"] = "2"
    clock.advance(UNHEARD - 1)
    assert store.find() == "1"
    clock.advance(1)
    assert store.find() == "2"


CHANGES: dict[str, Callable[[ImageCache], None]] = {
    "an event, a pull, an image that is gone": ImageCache.changed,
    "events are heard": lambda cache: cache.heard(heard=True),
    "events are heard no longer": lambda cache: cache.heard(heard=False),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("heard", [False, True])
def test_a_moved_tag_is_seen_after_a_change(store: Store, change: str, *, heard: bool) -> None:
    """Whether or not events were heard before."""
    store.cache.heard(heard=heard)
    store.find()
    store.tags["a"] = "2"
    CHANGES[change](store.cache)
    assert store.find() == "2"


@pytest.mark.parametrize("change", CHANGES)
def test_an_answer_from_before_a_change_is_not_remembered(store: Store, change: str) -> None:
    """It was on its way as the tag was moved."""
    store.cache.heard(heard=True)

    def slow() -> ImageRecord | None:
        answer = store.ask()
        store.tags["a"] = "2"
        CHANGES[change](store.cache)
        return answer

    store.cache.find("a", slow)
    assert store.find() == "2"


def test_absence_is_not_remembered(store: Store) -> None:
    """An image may come without an event."""
    store.cache.heard(heard=True)
    del store.tags["a"]
    assert store.find() == ""
    store.tags["a"] = "1"
    assert store.find() == "1"


def test_looking_up_does_not_hold_others_up(store: Store) -> None:
    """A hung look-up of one image leaves another to be found."""
    free, asked, found = threading.Event(), threading.Event(), Queue[object]()

    def hung() -> ImageRecord | None:
        asked.set()
        free.wait(10)
        return None

    waiting = threading.Thread(target=lambda: found.put(store.cache.find("b", hung)))
    waiting.start()
    assert asked.wait(5)
    assert store.find() == "1"
    store.cache.changed()
    free.set()
    assert found.get(timeout=5) is None
    waiting.join(5)


# -- sandboxes -------------------------------------------------------------------------

BUILT_IN = pause.image("amd64")


class Engine:
    """A store that sandboxes' images are found in, loaded to and pulled to."""

    def __init__(self) -> None:
        self.images: dict[str, str] = {}
        self.loaded: list[bytes] = []
        self.gate = threading.Event()
        self.gate.set()
        self.loading = threading.Semaphore(0)
        self.refusal: Refusal | None = None
        self.architecture = "amd64"
        self.sandboxes = SandboxImages(self.find, self.pull, self.load, lambda: self.architecture)

    def find(self, name: str) -> ImageRecord | None:
        """Look one up."""
        return ImageRecord(self.images[name]) if name in self.images else None

    def pull(self, name: str) -> ImageRecord:
        """Only one of them exists."""
        if name != "there":
            raise ImageFault(f"no {name}")
        return ImageRecord("pulled")

    def load(self, archive: bytes) -> None:
        """Load the built-in one."""
        self.loading.release()
        assert self.gate.wait(5)
        if self.refusal is not None:
            raise self.refusal
        self.loaded.append(archive)
        self.images[BUILT_IN.reference] = f"built in {len(self.loaded)}"


def test_the_built_in_image_is_loaded_once_for_many() -> None:
    """Sandboxes are made side by side."""
    engine, found = Engine(), Queue[str]()
    engine.gate.clear()
    threads = [threading.Thread(target=lambda: found.put(engine.sandboxes.id(""))) for _ in range(8)]
    for thread in threads:
        thread.start()
    assert engine.loading.acquire(timeout=5)
    engine.gate.set()
    assert [found.get(timeout=5) for _ in threads] == ["built in 1"] * 8
    for thread in threads:
        thread.join(5)
    assert engine.loaded == [BUILT_IN.archive]


def test_the_built_in_image_is_loaded_again_when_it_is_gone() -> None:
    """It is not looked for before somebody says so."""
    engine = Engine()
    engine.sandboxes.id("")
    engine.images.clear()
    assert engine.sandboxes.id("") == "built in 1"
    engine.sandboxes.forget()
    assert engine.sandboxes.id("") == "built in 2"


@pytest.mark.parametrize(("name", "found"), [("here", "known"), ("there", "pulled")])
def test_a_named_image_is_found_or_pulled(name: str, found: str) -> None:
    """The built-in one is none of its business."""
    engine = Engine()
    engine.images["here"] = "known"
    assert engine.sandboxes.id(name) == found
    assert engine.loaded == []


@pytest.mark.parametrize(
    ("name", "refusal", "text"),
    [("nowhere", None, "sandbox image: no nowhere"), ("", Refusal(500, "disk full"), "cannot be loaded: disk full")],
)
def test_an_image_that_is_not_to_be_had(name: str, refusal: Refusal | None, text: str) -> None:
    """It is the sandbox that failed, not an image of the pod."""
    engine = Engine()
    engine.refusal = refusal
    with pytest.raises(StartFault, match=text) as caught:
        engine.sandboxes.id(name)
    assert caught.value.reason == "CreatePodSandboxError"


def test_an_image_that_is_gone_once_loaded() -> None:
    """Somebody prunes at that very moment."""
    engine = Engine()
    sandboxes = SandboxImages(lambda name: None, engine.pull, engine.load, lambda: "amd64")
    with pytest.raises(StartFault, match="gone again"):
        sandboxes.id("")


def test_a_machine_there_is_no_built_in_image_for() -> None:
    """One has to be named, and no other try helps."""
    engine = Engine()
    engine.architecture = "s390x"
    with pytest.raises(Unsupported, match="name another"):
        engine.sandboxes.id("")
