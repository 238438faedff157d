"""An agent on a thread of its own, and a way to wait for what it does."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from podsync import Agent
from podsync.models import PodKey
from podsync.runtimes.fake import FakeRuntime

LONG = 5.0
WEB = PodKey("default", "web")


class Watch:
    """Lets a test wait until the agent, after one of its steps, is as it should be."""

    def __init__(self) -> None:
        self._stepped = threading.Condition()

    def __call__(self, _: Agent) -> None:
        """The agent has made a step."""
        with self._stepped:
            self._stepped.notify_all()

    def until(self, wanted: Callable[[], bool]) -> None:
        """Wait for it; fails after some seconds."""
        with self._stepped:
            assert self._stepped.wait_for(wanted, LONG), "it never came to that"


@contextmanager
def running(one: Agent, stop: threading.Event | None = None) -> Iterator[threading.Thread]:
    """The agent on a thread of its own; stopped and joined at the end."""
    thread = threading.Thread(target=one.run, args=(stop,))
    thread.start()
    try:
        yield thread
    finally:
        one.stop()
        thread.join(LONG)
        assert not thread.is_alive()


def phase(one: Agent, key: PodKey = WEB) -> str:
    """A pod's phase as the agent tells it."""
    status = one.statuses.get(key)
    return status.phase if status is not None else ""


def states(runtime: FakeRuntime) -> dict[str, str]:
    """Every container's state by its manifest name."""
    return {c.container_name: c.state.value for s in runtime.list_sandboxes() for c in s.containers}


def threads() -> set[str]:
    """Names of podsync's threads that are alive."""
    return {t.name for t in threading.enumerate() if t.name.startswith("podsync-")}
