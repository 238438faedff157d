"""The fake engine itself: its objects, and how they change as time goes by.

Nothing runs here. Every object's state is a function of the clock, worked out when
somebody looks, so an hour costs nothing and a moment repeats exactly.
"""

from __future__ import annotations

import heapq
import itertools
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from podsync import labels
from podsync.clock import Clock, SystemClock
from podsync.errors import NotFound, RuntimeUnavailable
from podsync.runtimes.base import (
    ContainerRecord,
    ContainerState,
    HostPort,
    NamespaceMode,
    SandboxRecord,
)
from podsync.runtimes.fake.images import ImageStore
from podsync.runtimes.fake.programs import Output, Program

__all__ = ["Change", "FakeContainer", "FakeEngine", "FakeSandbox"]

_KEPT_CHANGES = 10_000


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that happened, for hints and for tests that ask what went on.

    ``what`` is ``created``, ``started``, ``signalled``, ``ended``, ``removed`` or ``connection``;
    ``why`` is the signal, or an ending's reason: ``program``, a signal's name, ``kill``,
    ``sandbox``, ``removed`` or ``engine``.
    """

    number: int
    at: datetime
    what: str
    name: str = ""
    uid: str = ""
    id: str = ""
    why: str = ""
    connected: bool = True


@dataclass(slots=True)
class FakeContainer:
    """One container: its record, its program, and when that ends."""

    record: ContainerRecord
    program: Program
    shares_pid: bool = False
    began: float = 0.0
    ends: float | None = None
    end_code: int = 0
    end_why: str = ""

    @property
    def uid(self) -> str:
        """The pod's uid."""
        return self.record.labels.get(labels.POD_UID, "")

    @property
    def place(self) -> tuple[str, int]:
        """Which sandbox it was made for: the pod's uid and the sandbox's attempt."""
        return self.uid, labels.integer(self.record.labels, labels.SANDBOX_ATTEMPT)

    def output_until(self, moment: float) -> list[tuple[float, Output]]:
        """What it has written by then, with the monotonic moment of each piece."""
        if self.record.started_at is None:
            return []
        last = moment if self.ends is None else min(moment, self.ends)
        written = [(self.began + piece.after, piece) for piece in self.program.output]
        return sorted(((at, piece) for at, piece in written if at <= last), key=lambda pair: pair[0])


@dataclass(slots=True)
class FakeSandbox:
    """One sandbox, without its containers."""

    record: SandboxRecord
    network: NamespaceMode = NamespaceMode.POD
    ports: frozenset[HostPort] = frozenset()


class FakeEngine:
    """What several ``FakeRuntime`` of different nodes may share, and what outlives each of them.

    All methods are safe to call from several threads. Those that change something
    from outside (``kill``, ``restart``, …) are for tests.
    """

    def __init__(self, clock: Clock | None = None, images: ImageStore | None = None) -> None:
        """``clock``: the machine's when not given."""
        self.clock: Clock = clock or SystemClock()
        self._born = (self.clock.now(), self.clock.monotonic())
        self.images = images or ImageStore()
        self.lock = threading.RLock()
        self.containers: dict[str, FakeContainer] = {}
        self.sandboxes: dict[str, FakeSandbox] = {}
        self._names: dict[str, str] = {}
        self._homes: dict[tuple[str, int], str] = {}  # a sandbox's id by its pod's uid and attempt
        self._endings: list[tuple[float, str, str]] = []  # a heap; entries that no longer hold are skipped
        self._changes: deque[Change] = deque(maxlen=_KEPT_CHANGES)
        self._numbers = itertools.count(1)
        self._addresses = itertools.count(2)
        self._ids = itertools.count(1)
        self._up = True

    # -- looking ---------------------------------------------------------------------

    def enter(self) -> None:
        """Bring everything up to now; raises RuntimeUnavailable while the engine is away."""
        self.advance()
        if not self._up:
            raise RuntimeUnavailable("the fake engine is down")

    def advance(self) -> None:
        """End what has ended by now, in the order of the endings."""
        now = self.clock.monotonic()
        while (ending := self._next_ending()) is not None and ending[0] <= now:
            container = self.containers[ending[2]]
            self._end(container, container.end_code, container.end_why, at=ending[0])

    def next_change(self) -> float | None:
        """The monotonic moment when something next changes by itself; None if nothing will."""
        with self.lock:
            self.advance()
            ending = self._next_ending()
            return None if ending is None else ending[0]

    def changes(self, after: int = 0) -> tuple[Change, ...]:
        """What happened since the change of that number, oldest first."""
        with self.lock:
            self.advance()
            recent = itertools.takewhile(lambda change: change.number > after, reversed(self._changes))
            return tuple(recent)[::-1]

    def find_container(self, ref: str) -> FakeContainer | None:
        """By id or name."""
        return self.containers.get(self._names.get(ref, ref))

    def find_sandbox(self, ref: str) -> FakeSandbox | None:
        """By id or name."""
        return self.sandboxes.get(self._names.get(ref, ref))

    def taken(self, name: str) -> bool:
        """Whether any object carries the name."""
        return name in self._names

    def wall(self, moment: float) -> datetime:
        """The wall time of a monotonic moment, reckoned from the engine's birth so that order is kept."""
        return self._born[0] + timedelta(seconds=moment - self._born[1])

    def now(self) -> datetime:
        """The wall time of this moment."""
        return self.wall(self.clock.monotonic())

    # -- what the verbs do -------------------------------------------------------------

    def new_id(self) -> str:
        """64 hex digits, as engines give."""
        return f"{next(self._ids):064x}"

    def new_address(self) -> str:
        """An unused address of the fake bridge."""
        number = next(self._addresses)
        return f"10.88.{number // 250 % 250}.{number % 250 + 2}"

    def add_container(self, container: FakeContainer) -> None:
        """Take a new container in."""
        self.containers[container.record.id] = container
        self._names[container.record.name] = container.record.id
        self.note("created", container.record.name, container.uid, container.record.id)

    def add_sandbox(self, sandbox: FakeSandbox) -> None:
        """Take a new sandbox in."""
        self.sandboxes[sandbox.record.id] = sandbox
        self._names[sandbox.record.name] = sandbox.record.id
        self._homes[sandbox.record.uid, sandbox.record.attempt] = sandbox.record.id
        self.note("created", sandbox.record.name, sandbox.record.uid, sandbox.record.id)

    def begin(self, container: FakeContainer) -> None:
        """Its process starts now."""
        container.began = self.clock.monotonic()
        container.record = replace(
            container.record,
            state=ContainerState.RUNNING,
            started_at=self.wall(container.began),
            exit_code=None,
            message="",
        )
        if container.program.after is not None:
            self._end_by(container, container.program.after, container.program.exit_code, "program")
        self.note("started", container.record.name, container.uid, container.record.id)

    def signal(self, container: FakeContainer, signal: str) -> None:
        """Deliver a signal to a container; one that does not run takes no notice."""
        word = signal if signal.startswith("SIG") else f"SIG{signal}"
        if not _runs(container):
            return
        self.note("signalled", container.record.name, container.uid, container.record.id, word)
        if word == "SIGKILL":
            self._end(container, 137, word)
        elif word == "SIGTERM" and container.program.term is not None:
            code, after = container.program.term
            self._end_by(container, after, code, word)
            self.advance()

    def signal_sandbox(self, sandbox: FakeSandbox, signal: str) -> None:
        """Deliver a signal to a sandbox's process, which ends on SIGTERM and SIGKILL."""
        word = signal if signal.startswith("SIG") else f"SIG{signal}"
        if sandbox.record.ready and word in {"SIGTERM", "SIGKILL"}:
            self.set_ready(sandbox, ready=False, why=word)

    def refuse(self, container: FakeContainer, text: str, exit_code: int) -> None:
        """A start fails: the container has ended without ever having run, and tells why."""
        container.record = replace(
            container.record,
            state=ContainerState.EXITED,
            exit_code=exit_code,
            finished_at=self.now(),
            message=text,
        )

    def networked(self, container: FakeContainer) -> bool:
        """Whether the sandbox it was made for runs."""
        home = self.sandboxes.get(self._homes.get(container.place, ""))
        return home is not None and home.record.ready

    def set_ready(self, sandbox: FakeSandbox, *, ready: bool, why: str = "") -> None:
        """Start or end a sandbox's process. Members that share its processes end with it."""
        record = sandbox.record
        ips = () if not ready or sandbox.network is NamespaceMode.NODE else (self.new_address(),)
        sandbox.record = replace(record, ready=ready, ips=ips, started=True)
        self.note("started" if ready else "ended", record.name, record.uid, record.id, why)
        if not ready:
            for member in self.members(sandbox):
                if member.shares_pid and _runs(member):
                    self._end(member, 137, "sandbox")

    def members(self, sandbox: FakeSandbox) -> Iterator[FakeContainer]:
        """Containers made for that sandbox."""
        place = (sandbox.record.uid, sandbox.record.attempt)
        return (c for c in list(self.containers.values()) if c.place == place)

    def drop(self, thing: FakeContainer | FakeSandbox, why: str = "removed") -> None:
        """Remove an object whatever its state; its process, if any, is killed."""
        if isinstance(thing, FakeContainer):
            if _runs(thing):
                self._end(thing, 137, why)
            del self.containers[thing.record.id]
            uid = thing.uid
        else:
            if thing.record.ready:
                self.set_ready(thing, ready=False, why=why)
            del self.sandboxes[thing.record.id]
            self._homes.pop((thing.record.uid, thing.record.attempt), None)
            uid = thing.record.uid
        del self._names[thing.record.name]
        self.note("removed", thing.record.name, uid, thing.record.id)

    def note(
        self, what: str, name: str = "", uid: str = "", ident: str = "", why: str = "", *, at: datetime | None = None
    ) -> None:
        """Write a change down."""
        number, moment = next(self._numbers), at or self.now()
        self._changes.append(Change(number, moment, what, name, uid, ident, why, connected=self._up))

    def _end_by(self, container: FakeContainer, after: float, code: int, why: str) -> None:
        """Let it end after so many seconds, unless it does so before."""
        ends = self.clock.monotonic() + after
        if container.ends is None or ends < container.ends:
            container.ends, container.end_code, container.end_why = ends, code, why
            heapq.heappush(self._endings, (ends, container.record.name, container.record.id))

    def _next_ending(self) -> tuple[float, str, str] | None:
        while self._endings:
            moment, _, ident = self._endings[0]
            container = self.containers.get(ident)
            if container is not None and _runs(container) and container.ends == moment:
                return self._endings[0]
            heapq.heappop(self._endings)
        return None

    def _end(self, container: FakeContainer, code: int, why: str, *, at: float | None = None) -> None:
        moment = self.clock.monotonic() if at is None else at
        container.ends = moment
        container.record = replace(
            container.record,
            state=ContainerState.EXITED,
            exit_code=code,
            finished_at=self.wall(moment),
            oom_killed=container.program.oom and why == "program",
        )
        self.note("ended", container.record.name, container.uid, container.record.id, why, at=self.wall(moment))

    # -- what tests do to it -----------------------------------------------------------

    def kill(self, ref: str, exit_code: int = 137) -> None:
        """End a running container's or sandbox's process behind podsync's back. Raises NotFound."""
        with self.lock:
            self.advance()
            if (container := self.find_container(ref)) is not None:
                if _runs(container):
                    self._end(container, exit_code, "kill")
            elif (sandbox := self.find_sandbox(ref)) is not None:
                if sandbox.record.ready:
                    self.set_ready(sandbox, ready=False, why="kill")
            else:
                raise NotFound(f"no such container: {ref}")

    def remove_behind(self, ref: str) -> None:
        """Remove a container or sandbox behind podsync's back, as ``docker rm -f`` does. Raises NotFound."""
        with self.lock:
            self.advance()
            thing = self.find_container(ref) or self.find_sandbox(ref)
            if thing is None:
                raise NotFound(f"no such container: {ref}")
            self.drop(thing, "kill")

    def unavailable(self, away: bool = True) -> None:
        """Let every call raise RuntimeUnavailable, or end that. Processes live on."""
        with self.lock:
            self.advance()
            if self._up is away:
                self._up = not away
                self.note("connection")

    def restart(self, *, live_restore: bool = True) -> None:
        """Restart the engine: the connection breaks and comes back.

        Without ``live_restore`` everything that ran is ended on the way.
        """
        with self.lock:
            self.unavailable()
            if not live_restore:
                for container in [c for c in self.containers.values() if _runs(c)]:
                    term = container.program.term
                    self._end(container, term[0] if term else 137, "engine")
                for sandbox in [s for s in self.sandboxes.values() if s.record.ready]:
                    self.set_ready(sandbox, ready=False, why="engine")
            self.unavailable(away=False)

    def seed(self, sandboxes: Iterable[SandboxRecord]) -> None:
        """Take over records of another engine as they stand; what runs there runs on here."""
        with self.lock:
            for sandbox in sandboxes:
                if sandbox.id:
                    self.sandboxes[sandbox.id] = FakeSandbox(replace(sandbox, containers=()))
                    self._names[sandbox.name] = sandbox.id
                    self._homes[sandbox.uid, sandbox.attempt] = sandbox.id
                for record in sandbox.containers:
                    self.containers[record.id] = FakeContainer(record, Program(), began=self.clock.monotonic())
                    self._names[record.name] = record.id


def _runs(container: FakeContainer) -> bool:
    return container.record.state is ContainerState.RUNNING
