"""Rows and details of a look, and how they become sandboxes with their containers.

A *row* is what one list call tells of every container; a *detail* is what an
inspection adds. Adapters make both from their engine's JSON.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from podsync import labels as keys
from podsync.runtimes.base import (
    EMPTY,
    ContainerId,
    ContainerRecord,
    ContainerState,
    SandboxId,
    SandboxRecord,
)

__all__ = ["LOST_EXIT_CODE", "Detail", "Row", "container", "group", "label_filter", "listed", "parse_time", "sandbox"]

LOST_EXIT_CODE = 255
"""What an engine writes down for a container that ended while it was away itself."""
_YEAR_OF_NEVER = 1


@dataclass(frozen=True, slots=True)
class Row:
    """One container as the engine's list shows it."""

    id: str
    name: str
    state: ContainerState
    labels: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    created_at: datetime | None = None
    image_id: str = ""
    ips: tuple[str, ...] = ()

    @property
    def is_sandbox(self) -> bool:
        """Whether it is a pod's sandbox."""
        return self.labels.get(keys.CONTAINER_NAME) == keys.SANDBOX_CONTAINER

    @property
    def names_its_pod(self) -> bool:
        """Whether its labels say which pod it is of; one that only bears our node's name is none of ours."""
        return all(self.labels.get(key) for key in (keys.POD_UID, keys.POD_NAMESPACE, keys.POD_NAME))

    @property
    def uid(self) -> str:
        """The pod's uid."""
        return self.labels.get(keys.POD_UID, "")


@dataclass(frozen=True, slots=True)
class Detail:
    """What an inspection adds to a row."""

    id: str
    state: ContainerState
    """EXITED also for one whose start failed, which engines go on calling created."""
    started_at: datetime | None = None
    finished_at: datetime | None = None
    exit_code: int | None = None
    oom_killed: bool = False
    message: str = ""
    pid: int = 0
    ips: tuple[str, ...] = ()
    stop_signal: str = ""
    """The signal the image asks to be stopped with; empty for SIGTERM."""
    image_id: str = ""
    tty: bool = False
    extra: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    """What an adapter wants to remember of a container, such as its log's path."""


def listed(row: Row, known: Detail | None, *, remainder: bool, message: str) -> Detail:
    """What stands for an inspection that was refused: the row, and what was known of it before.

    ``remainder`` says that only the row is left of it: whatever it says, that one has ended.
    Its start is then taken for its creation, as a sandbox that never started would be started.
    """
    state = ContainerState.EXITED if remainder else row.state
    if known is not None and known.state is state:
        return known
    begun = known.started_at if known is not None else None
    if state in (ContainerState.RUNNING, ContainerState.EXITED):
        begun = begun or row.created_at
    ended = state is ContainerState.EXITED
    base = known or Detail(row.id, state)
    return replace(
        base,
        state=state,
        started_at=begun,
        finished_at=begun if ended else None,
        message=message if ended else "",
        pid=0,
    )


def parse_time(text: str | None) -> datetime | None:
    """An engine's RFC 3339 moment (nanoseconds are cut); None for Go's zero time and for nothing."""
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return None if moment.year <= _YEAR_OF_NEVER else moment.astimezone(UTC)


def container(row: Row, detail: Detail) -> ContainerRecord:
    """The record of a container of a pod."""
    return ContainerRecord(
        id=ContainerId(row.id),
        name=row.name,
        container_name=row.labels.get(keys.CONTAINER_NAME, ""),
        attempt=keys.integer(row.labels, keys.ATTEMPT),
        state=detail.state,
        labels=row.labels,
        created_at=row.created_at,
        started_at=detail.started_at,
        finished_at=detail.finished_at,
        exit_code=detail.exit_code,
        oom_killed=detail.oom_killed,
        image_id=detail.image_id or row.image_id,
        message=detail.message,
        pid=detail.pid,
    )


def sandbox(row: Row, detail: Detail) -> SandboxRecord:
    """The record of a sandbox, without its containers."""
    ready = detail.state is ContainerState.RUNNING
    return SandboxRecord(
        id=SandboxId(row.id),
        name=row.name,
        pod_name=row.labels.get(keys.POD_NAME, ""),
        namespace=row.labels.get(keys.POD_NAMESPACE, ""),
        uid=row.uid,
        attempt=keys.integer(row.labels, keys.ATTEMPT),
        ready=ready,
        labels=row.labels,
        ips=(row.ips or detail.ips) if ready else (),
        created_at=row.created_at,
        started=ready or detail.started_at is not None,
    )


def _lost(member: ContainerRecord, attempt: int) -> SandboxRecord:
    """What stands for a sandbox that is gone while a container of it is still there."""
    return SandboxRecord(
        id=SandboxId(""),
        name="",
        pod_name=member.labels.get(keys.POD_NAME, ""),
        namespace=member.labels.get(keys.POD_NAMESPACE, ""),
        uid=member.labels.get(keys.POD_UID, ""),
        attempt=attempt,
        ready=False,
        labels=member.labels,
        created_at=member.created_at,
    )


def group(sandboxes: Iterable[SandboxRecord], containers: Iterable[ContainerRecord]) -> tuple[SandboxRecord, ...]:
    """Each container under the sandbox it was made for, in a steady order.

    A container whose sandbox is gone comes under one without an id.
    """
    members: dict[tuple[str, int], list[ContainerRecord]] = defaultdict(list)
    for item in containers:
        place = (item.labels.get(keys.POD_UID, ""), keys.integer(item.labels, keys.SANDBOX_ATTEMPT))
        members[place].append(item)
    found = {(item.uid, item.attempt): item for item in sandboxes}
    for (uid, attempt), items in members.items():
        owner = found.get((uid, attempt)) or _lost(items[0], attempt)
        ordered = sorted(items, key=lambda item: (item.container_name, item.attempt, item.name))
        found[uid, attempt] = replace(owner, containers=tuple(ordered))
    return tuple(sorted(found.values(), key=lambda item: (item.namespace, item.pod_name, item.uid, item.attempt)))


def label_filter(node: str, uid: str | None) -> list[str]:
    """The label filter, ``key=value`` each, for all of ours or for one pod."""
    ours = [f"{keys.NODE}={node}"]
    return ours if uid is None else [*ours, f"{keys.POD_UID}={uid}"]
