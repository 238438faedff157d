"""Images by name: remembered while that is safe, and which one a sandbox is made from."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final, NamedTuple

from podsync.clock import Clock
from podsync.errors import ImageFault, StartFault
from podsync.runtimes.base import ImageRecord
from podsync.runtimes.common import faults, pause
from podsync.runtimes.common.faults import Refusal
from podsync.runtimes.common.shared import Shared

__all__ = ["UNHEARD", "ImageCache", "SandboxImages"]

UNHEARD: Final = 30.0
"""Seconds an image is remembered while the engine's events are not heard."""
_REASON: Final = "CreatePodSandboxError"


class _Known(NamedTuple):
    """An image, and when it was looked up."""

    record: ImageRecord
    at: float


class ImageCache:
    """What a name stands for, asked for once as long as that cannot have changed.

    A look-up takes up to 20 ms and every container needs one. All is dropped with any
    event about an image, with a pull, with a creation that finds its image gone, and when
    the engine's events begin or cease to be heard. While they are not, somebody may move a
    tag unnoticed: then a look-up counts for ``UNHEARD`` seconds at most. That an image is
    absent is never remembered.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._known: dict[str, _Known] = {}
        self._era = 0
        self._heard = False

    def find(self, name: str, ask: Callable[[], ImageRecord | None]) -> ImageRecord | None:
        """The image of that name; ``ask`` looks it up, and what it raises passes through."""
        with self._lock:
            now, era, known = self._clock.monotonic(), self._era, self._known.get(name)
            if known is not None and (self._heard or now - known.at < UNHEARD):
                return known.record
        record = ask()
        with self._lock:
            if record is not None and self._era == era:  # else the answer may be from before a change
                self._known[name] = _Known(record, now)
        return record

    def changed(self) -> None:
        """Some image came, went, or has another name."""
        with self._lock:
            self._era += 1
            self._known.clear()

    def heard(self, *, heard: bool) -> None:
        """The engine's events are heard from now on, or no longer."""
        with self._lock:
            self._heard = heard
        self.changed()


class SandboxImages:
    """The image of a sandbox: the one its spec names, else the built-in one, which is loaded when it is absent.

    ``find`` and ``pull`` are the engine's for a name, ``load`` gives it an archive (raises
    Refusal), ``architecture`` asks for the one it runs on.
    """

    def __init__(
        self,
        find: Callable[[str], ImageRecord | None],
        pull: Callable[[str], ImageRecord],
        load: Callable[[bytes], object],
        architecture: Callable[[], str],
    ) -> None:
        self._find = find
        self._pull = pull
        self._load = load
        self._architecture = architecture
        self._built_in = Shared(self._ask)

    def id(self, named: str) -> str:
        """Id of the named one (empty: of the built-in one). Raises StartFault when it is not to be had."""
        try:
            if not named:
                return self._built_in.get()
            return (self._find(named) or self._pull(named)).id
        except ImageFault as fault:
            raise StartFault(f"sandbox image: {fault.message}", reason=_REASON) from fault

    def forget(self) -> None:
        """The engine says that it lacks the built-in one."""
        self._built_in.forget()

    def close(self) -> None:
        """Let go of those who wait for the built-in one."""
        self._built_in.close()

    def _ask(self) -> str:
        """Id of the built-in one."""
        built_in = pause.image(self._architecture())
        found = self._find(built_in.reference)
        if found is None:
            try:
                self._load(built_in.archive)
            except Refusal as refusal:
                raise ImageFault(f"the built-in one cannot be loaded: {faults.clean(refusal.text)}") from refusal
            found = self._find(built_in.reference)
        if found is None:
            raise ImageFault("the built-in one was loaded and is gone again")
        return found.id
