"""Commands in containers, each on a socket of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from podsync.clock import Clock
from podsync.errors import Conflict, NotFound, RuntimeFault
from podsync.runtimes.base import ExecResult, Ref
from podsync.runtimes.common import execs, faults, wire
from podsync.runtimes.common.execs import ExecState
from podsync.runtimes.common.faults import Refusal
from podsync.runtimes.podman import records
from podsync.runtimes.podman.client import LOOK_TIMEOUT, Client, segment

__all__ = ["Commands"]

_FORGETS_SINCE: Final = (5, 0)
_ATTACHED: Final = 0.05
_PROCESS_WAITS: Final = (0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32)


class _Session(execs.Session):
    """A session that is dropped from the engine's books when closed."""

    drop: Callable[[], None]

    def close(self) -> None:
        """Free the connection; the command may live on."""
        super().close()
        self.drop()


class Commands:
    """``Execs`` of the port. ``version`` gives the engine's, as numbers."""

    def __init__(self, client: Client, clock: Clock, version: Callable[[], tuple[int, ...]]) -> None:
        self._client = client
        self._clock = clock
        self._version = version

    def run(self, container: Ref, command: Sequence[str], timeout: float, full_id: Callable[[], str]) -> ExecResult:
        """Run to the end. ``full_id`` finds the container's id, should the command have to be ended."""
        session = self._create(container, command, stdin=False, tty=False)
        began = self._clock.monotonic()
        stream = self._start(session, tty=False)
        try:
            return execs.run(
                stream,
                lambda: self._state(session),
                clock=self._clock,
                command=command,
                container=full_id(),
                began=began,
                timeout=timeout,
            )
        finally:
            self._drop(session)

    def open(self, container: Ref, command: Sequence[str], *, stdin: bool, tty: bool) -> execs.Session:
        """Start with streams open."""
        session = self._create(container, command, stdin=stdin, tty=tty)
        stream = self._start(session, tty=tty)

        begun = False

        def send(rows: int, columns: int) -> None:
            with suppress(Refusal):  # it has ended
                self._client.call("POST", f"/exec/{session}/resize", params={"h": rows, "w": columns})

        def resize(rows: int, columns: int) -> None:
            nonlocal begun
            if not begun:
                begun = True
                self._await_process(session)
                send(rows, columns)
                # When it attaches, Podman sets a size of its own, sometimes after ours.
                threading.Event().wait(_ATTACHED)
            send(rows, columns)

        opened = _Session(stream, lambda: self._state(session), resize, tty=tty)
        opened.drop = lambda: self._drop(session)
        return opened

    def _create(self, container: Ref, command: Sequence[str], *, stdin: bool, tty: bool) -> str:
        """A session's id."""
        body = {"Cmd": list(command), "AttachStdin": stdin, "AttachStdout": True, "AttachStderr": True, "Tty": tty}
        try:
            answer = self._client.call("POST", f"/containers/{segment(container)}/exec", body=body)
        except Refusal as refusal:
            raise _fault(refusal) from refusal
        return str(answer.json()["Id"])

    def _start(self, session: str, *, tty: bool) -> wire.Stream:
        """The session's streams."""
        try:
            return self._client.stream(
                "POST", f"/exec/{session}/start", body={"Detach": False, "Tty": tty}, upgrade=True
            )
        except Refusal as refusal:
            raise _fault(refusal) from refusal

    def _state(self, session: str) -> ExecState:
        """What the engine says of it now."""
        try:
            return records.exec_state(self._client.call("GET", f"/exec/{session}/json", timeout=LOOK_TIMEOUT).json())
        except Refusal as refusal:
            raise _fault(refusal) from refusal

    def _await_process(self, session: str) -> None:
        """Wait a moment for a command's process: a size set before it is there is lost, and yet not refused."""
        pause = threading.Event()
        for wait in _PROCESS_WAITS:
            if self._state(session).pid:
                return
            pause.wait(wait)

    def _drop(self, session: str) -> None:
        """Let the engine forget an ended session, where it can; it would keep it for minutes."""
        if self._version() < _FORGETS_SINCE:
            return
        with suppress(Refusal, RuntimeFault):
            if not self._state(session).running:
                self._client.call("POST", f"/exec/{session}/remove", body={"Force": False}, timeout=LOOK_TIMEOUT)


def _fault(refusal: Refusal) -> RuntimeFault:
    """What a refused command means."""
    if refusal.status == 404 or faults.is_absent(refusal):  # noqa: PLR2004 - HTTP's Not Found
        return NotFound(faults.clean(refusal.text))
    if faults.is_not_running(refusal):
        return Conflict(faults.clean(refusal.text))
    return faults.verb_fault(refusal)
