"""The Source port: who says which pods should be, and how.

A source sends whole sets, never differences. A failed read is not an empty read:
``Sink.failed`` leaves the last set standing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from podsync.errors import FieldError, SourceError
    from podsync.models import Pod, PodKey
    from podsync.runtimes.base import StopToken

__all__ = ["Refusal", "Sink", "Snapshot", "Source"]


@dataclass(frozen=True, slots=True)
class Refusal:
    """A document that is not used, and why.

    ``key`` is the pod's where it could be read. ``kept`` says that the last good
    version of it goes on running meanwhile.
    """

    origin: str
    """File, URL or other place a person can go to."""
    errors: tuple[FieldError, ...]
    key: PodKey | None = None
    kept: bool = False


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The whole set a source wants at one moment. Pods carry no uid yet unless written by hand."""

    pods: tuple[Pod, ...] = ()
    refusals: tuple[Refusal, ...] = ()


class Sink(Protocol):
    """Where a source puts what it read; called from the source's own thread."""

    def replace(self, revision: int, pods: Sequence[Pod], refusals: Sequence[Refusal]) -> None:
        """The whole set this source wants now. Revisions only grow; an older one is dropped."""

    def failed(self, error: SourceError) -> None:
        """It could not be read: the last set stands."""


class Source(Protocol):
    """One place pods come from."""

    name: str
    """``dir:/root/manifests`` …: enters the pods' uid, so it must not change from run to run."""

    def run(self, sink: Sink, stop: StopToken) -> None:
        """Blocks, on a thread of its own, until stopped. Speaks once at the start, then on change."""
