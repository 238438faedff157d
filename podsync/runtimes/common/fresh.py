"""Containers created by this runtime and not yet started: they need no look before their start."""

from __future__ import annotations

import threading
from typing import NamedTuple

from podsync.runtimes.base import Ref

__all__ = ["Fresh", "Made"]


class Made(NamedTuple):
    """One that was created."""

    id: str
    name: str
    oom_score_adj: int | None
    """What it was created with."""


class Fresh:
    """Those that were created here and neither started nor removed since."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: dict[Ref, Made] = {}

    def add(self, container: str, name: str, oom_score_adj: int | None) -> None:
        """It was created just now."""
        made = Made(container, name, oom_score_adj)
        with self._lock:
            self._made[container] = self._made[name] = made

    def take(self, ref: Ref) -> Made | None:
        """The one of that id or name, if it is here; it no longer is."""
        with self._lock:
            made = self._made.pop(ref, None)
            if made is not None:
                for other in (made.id, made.name):
                    if self._made.get(other) == made:
                        del self._made[other]
            return made
