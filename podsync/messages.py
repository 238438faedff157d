"""What reaches the owner's inbox. Frozen: a message is the only thing threads share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from podsync.errors import SourceError
    from podsync.models import Pod, PodKey
    from podsync.plan import Action
    from podsync.runtimes.base import ImageRecord, PullProgress, RuntimeHint, SandboxRecord
    from podsync.sources.base import Refusal

__all__ = [
    "BatchDone",
    "Hinted",
    "Looked",
    "Message",
    "Outcome",
    "PullDone",
    "PullProgressed",
    "SourceFailed",
    "SourceSpoke",
    "Woken",
]


@dataclass(frozen=True, slots=True)
class SourceSpoke:
    """A source sent its whole set."""

    source: str
    revision: int
    pods: Sequence[Pod]
    refusals: Sequence[Refusal]


@dataclass(frozen=True, slots=True)
class SourceFailed:
    """A source could not be read; its last set stands."""

    source: str
    error: SourceError


@dataclass(frozen=True, slots=True)
class Hinted:
    """The engine says that something happened."""

    hint: RuntimeHint


@dataclass(frozen=True, slots=True)
class Looked:
    """A look is back. ``uid`` is None for a full one, which also names the pod folders.

    ``images``: those known to be missing that are there now.
    """

    sequence: int
    uid: str | None
    sandboxes: tuple[SandboxRecord, ...] = ()
    folders: Mapping[str, PodKey] | None = None
    images: frozenset[str] = frozenset()
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one action went."""

    action: Action
    at: datetime
    seconds: float
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class BatchDone:
    """A pod's batch has ended, and the look made after its last action.

    ``uids`` are those the look was for; ``look_error`` is set when it failed.
    """

    key: PodKey
    outcomes: tuple[Outcome, ...]
    uids: tuple[str, ...]
    sandboxes: tuple[SandboxRecord, ...] = ()
    look_error: Exception | None = None


@dataclass(frozen=True, slots=True)
class PullDone:
    """A pull has ended."""

    image: str
    at: datetime
    seconds: float
    record: ImageRecord | None = None
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class PullProgressed:
    """A pull goes on; for whoever shows progress."""

    progress: PullProgress


@dataclass(frozen=True, slots=True)
class Woken:
    """Somebody wants the owner to look at its flags (stop, shut down)."""


Message = SourceSpoke | SourceFailed | Hinted | Looked | BatchDone | PullDone | PullProgressed | Woken
