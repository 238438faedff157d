"""Commands in containers, and containers' logs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from podsync.clock import Clock
from podsync.errors import NotFound
from podsync.runtimes.base import ContainerState, ExecResult, LogOptions, Ref
from podsync.runtimes.common import execs, faults
from podsync.runtimes.common.execs import ExecState, Session
from podsync.runtimes.common.faults import Refusal
from podsync.runtimes.common.logs import LogReader
from podsync.runtimes.common.looking import Looker
from podsync.runtimes.common.records import Detail
from podsync.runtimes.common.wire import Stream
from podsync.runtimes.docker import records
from podsync.runtimes.docker.client import Api

__all__ = ["Processes"]

_START = 120.0
"""Seconds a busy engine may take to begin a command."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Processes:
    """``Execs`` and ``Logs`` of one engine."""

    def __init__(self, api: Api, looker: Looker, clock: Clock) -> None:
        self._api = api
        self._looker = looker
        self._clock = clock

    def exec(self, container: Ref, command: Sequence[str], timeout: float) -> ExecResult:
        """Run to the end, at most ``timeout`` seconds."""
        session = self._create(container, command, stdin=False, tty=False)
        began = self._clock.monotonic()
        try:
            stream = self._start(session, tty=False, upgrade=False)
        except Refusal as refusal:
            return self._not_run(session, refusal)
        return execs.run(
            stream,
            lambda: self._state(session),
            clock=self._clock,
            command=command,
            container=self._id(container),
            began=began,
            timeout=timeout,
        )

    def open_exec(self, container: Ref, command: Sequence[str], *, stdin: bool, tty: bool) -> Session:
        """Start a command with its streams open."""
        session = self._create(container, command, stdin=stdin, tty=tty)
        try:
            stream = self._start(session, tty=tty, upgrade=True)
        except Refusal as refusal:
            raise faults.verb_fault(refusal) from refusal
        return Session(
            stream,
            lambda: self._state(session),
            lambda rows, columns: self._resize(session, rows, columns),
            tty=tty,
        )

    def logs(self, container: Ref, options: LogOptions) -> LogReader:
        """Lines, oldest first."""
        detail = self._detail(container)
        query = {
            "stdout": "1",
            "stderr": "1",
            "timestamps": "1",
            "follow": "1" if options.follow else "0",
            "tail": "all" if options.tail is None else str(options.tail),
        }
        if options.since is not None:
            since = options.since - _EPOCH
            query["since"] = f"{since.days * 86400 + since.seconds}.{since.microseconds:06d}000"
        try:
            stream = self._api.open("GET", f"/containers/{detail.id}/logs", query=query)
        except Refusal as refusal:
            raise faults.verb_fault(refusal) from refusal
        broken_off = (lambda: self._runs(detail.id)) if options.follow else None
        return LogReader(stream, tty=detail.tty, broken_off=broken_off)

    def _create(self, container: Ref, command: Sequence[str], *, stdin: bool, tty: bool) -> str:
        """Id of a new exec session. Raises NotFound, Conflict."""
        body = {
            "Cmd": list(command),
            "AttachStdin": stdin,
            "AttachStdout": True,
            "AttachStderr": True,
            "Tty": tty,
        }
        try:
            answer: Any = self._api.call("POST", f"/containers/{container}/exec", body=body)
        except Refusal as refusal:
            raise faults.verb_fault(refusal) from refusal
        return str(answer["Id"])

    def _start(self, session: str, *, tty: bool, upgrade: bool) -> Stream:
        """Its output, and with an upgrade its input. Raises Refusal."""
        body = {"Detach": False, "Tty": tty}
        return self._api.open("POST", f"/exec/{session}/start", body=body, upgrade=upgrade, timeout=_START)

    def _not_run(self, session: str, refusal: Refusal) -> ExecResult:
        """What a command that could not be run comes to: the code a shell would give, and why."""
        if faults.is_absent(refusal) or faults.is_not_running(refusal):
            raise faults.verb_fault(refusal) from refusal
        code = self._state(session).exit_code
        return ExecResult(code or faults.start_exit_code(refusal.text), stderr=faults.clean(refusal.text).encode())

    def _state(self, session: str) -> ExecState:
        """How a command fares."""
        try:
            return records.exec_state(self._api.call("GET", f"/exec/{session}/json"))
        except Refusal as refusal:
            raise faults.verb_fault(refusal) from refusal

    def _resize(self, session: str, rows: int, columns: int) -> None:
        """Set a terminal's size."""
        try:
            self._api.call("POST", f"/exec/{session}/resize", query={"h": str(rows), "w": str(columns)})
        except Refusal as refusal:
            raise faults.verb_fault(refusal) from refusal

    def _detail(self, container: Ref) -> Detail:
        """What is known of a container. Raises NotFound."""
        found = self._looker.inspected(container)
        if found is None:
            raise NotFound(f"no such container: {container}")
        return found

    def _id(self, container: Ref) -> str:
        """Its id."""
        return self._detail(container).id

    def _runs(self, container: Ref) -> bool:
        """Whether it runs now."""
        found = self._looker.ask(container)
        return found is not None and found.state is ContainerState.RUNNING
