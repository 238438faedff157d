"""One look at the engine, with what only the host's files tell: termination messages."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

from podsync import labels
from podsync.errors import ImageFault, RuntimeFault, RuntimeUnavailable
from podsync.runtimes.base import ContainerRecord, ContainerState, LogOptions, Runtime, SandboxRecord

if TYPE_CHECKING:
    from podsync.volumes import Volumes

__all__ = ["Observer"]

log = logging.getLogger(__name__)

FALLBACK_LINES = 80
FALLBACK_BYTES = 2048


class Observer:
    """Looks, and adds the termination message to each container that has ended.

    An ended container's message is read once; a container id never runs again.
    Safe to call from several threads.
    """

    def __init__(self, runtime: Runtime, volumes: Volumes) -> None:
        """Read from those two."""
        self._runtime = runtime
        self._volumes = volumes
        self._messages: dict[str, str] = {}

    def look(self, uid: str | None = None) -> tuple[SandboxRecord, ...]:
        """Everything of ours, or of one pod. Raises RuntimeUnavailable."""
        sandboxes = self._runtime.list_sandboxes(uid)
        found = tuple(self._with_messages(sandbox) for sandbox in sandboxes)
        if uid is None:
            present = {c.id for sandbox in found for c in sandbox.containers}
            self._messages = {id_: text for id_, text in self._messages.copy().items() if id_ in present}
        return found

    def present(self, images: Iterable[str]) -> frozenset[str]:
        """Those of the named images that the engine's store has. Raises RuntimeUnavailable."""
        return frozenset(image for image in images if self._has(image))

    def _has(self, image: str) -> bool:
        try:
            return self._runtime.image(image) is not None
        except ImageFault:
            return False  # not a name at all: the attempt to use it will say so

    def _with_messages(self, sandbox: SandboxRecord) -> SandboxRecord:
        if all(c.state is not ContainerState.EXITED for c in sandbox.containers):
            return sandbox
        return replace(sandbox, containers=self._all_messages(sandbox.containers))

    def _all_messages(self, containers: Sequence[ContainerRecord]) -> tuple[ContainerRecord, ...]:
        return tuple(
            replace(c, termination_message=self._message(c)) if c.state is ContainerState.EXITED else c
            for c in containers
        )

    def _message(self, container: ContainerRecord) -> str:
        known = self._messages.get(container.id)
        if known is None:
            known = self._messages[container.id] = self._read(container)
        return known

    def _read(self, container: ContainerRecord) -> str:
        path = container.labels.get(labels.TERMINATION_MESSAGE_FILE)
        text = self._volumes.read_message(path) if path else ""
        policy = container.labels.get(labels.TERMINATION_MESSAGE_POLICY)
        started = container.started_at is not None
        if text or policy != "FallbackToLogsOnError" or not container.exit_code or not started:
            return text
        try:
            with closing(self._runtime.logs(container.id, LogOptions(tail=FALLBACK_LINES))) as lines:
                data = b"".join(line.data + (b"" if line.partial else b"\n") for line in lines)
        except RuntimeUnavailable:
            raise
        except RuntimeFault as error:
            return f"Error on reading termination message from logs: {error}"
        return data[-FALLBACK_BYTES:].decode("utf-8", "replace")
