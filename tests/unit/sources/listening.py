"""What the tests of sources share: small manifests, a sink to listen at, a thread to run a source on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from podsync.errors import SourceError
from podsync.models import Pod
from podsync.sources.base import Refusal, Source

PATIENCE = 5.0  # seconds a test waits for what must come


def manifest(name: str, image: str = "busybox:latest", namespace: str = "default") -> str:
    """A small pod as text; ``image`` stands for what an edit changes."""
    return (
        "apiVersion: v1\nkind: Pod\n"
        f"metadata: {{name: {name}, namespace: {namespace}}}\n"
        f"spec:\n  containers:\n  - name: main\n    image: {image}\n"
    )


def images(pods: Sequence[Pod]) -> dict[str, str]:
    """Pod name to image: what a test usually wants to know of a set."""
    return {pod.metadata.name: pod.spec.containers[0].image for pod in pods}


class Listener:
    """A sink that remembers, and lets a test wait for what it should hear."""

    def __init__(self) -> None:
        self._news = threading.Condition()
        self.sets: list[tuple[int, dict[str, str], tuple[Refusal, ...]]] = []
        self.errors: list[SourceError] = []

    def replace(self, revision: int, pods: Sequence[Pod], refusals: Sequence[Refusal]) -> None:
        """Hear a set."""
        with self._news:
            self.sets.append((revision, images(pods), tuple(refusals)))
            self._news.notify_all()

    def failed(self, error: SourceError) -> None:
        """Hear a failure."""
        with self._news:
            self.errors.append(error)
            self._news.notify_all()

    def wait(self, heard: Callable[[Listener], bool], seconds: float = PATIENCE) -> bool:
        """Whether it comes true in time."""
        with self._news:
            return self._news.wait_for(lambda: heard(self), seconds)

    @property
    def now(self) -> dict[str, str] | None:
        """The last set heard; None before the first."""
        return self.sets[-1][1] if self.sets else None

    @property
    def refused(self) -> tuple[Refusal, ...]:
        """What was refused in the last set."""
        return self.sets[-1][2] if self.sets else ()

    def shows(self, pods: dict[str, str], seconds: float = PATIENCE) -> bool:
        """Whether exactly these pods (name to image) are wanted in time."""
        return self.wait(lambda _: self.now == pods, seconds)


class Running:
    """A source on its thread."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.heard = Listener()
        self.stop = threading.Event()
        self.thread = threading.Thread(target=source.run, args=(self.heard, self.stop), daemon=True)
        self.thread.start()

    def end(self, seconds: float = PATIENCE) -> bool:
        """Stop it; whether it ended in time."""
        self.stop.set()
        self.thread.join(seconds)
        return not self.thread.is_alive()
