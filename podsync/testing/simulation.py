"""The whole agent on a virtual clock: its engine, workers, inbox and sources are one scheduler.

Everything that happens is an event on a heap, drawn from one seed: when a job's effect
comes and, apart from that, when the news of it arrives; how long each call takes; which
hints are lost; in which order words arrive. An hour of crash loop takes a moment, and
the same seed gives the same history::

    sim = Simulation(seed=7)
    sim.apply(pod("web"))
    sim.run(60)
    sim.crash()            # kill -9: memory, queue and timers are gone, the engine stays
    sim.settle()           # trouble ends; asserts that the engine is as the manifests say
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from podsync.clock import ManualClock
from podsync.desired import DesiredStore
from podsync.errors import Conflict, NotFound, PodsyncError
from podsync.executor import Executor
from podsync.messages import BatchDone, Hinted, Looked, Message, PullDone
from podsync.models import Pod, PodKey
from podsync.observer import Observer
from podsync.owner import Owner, Parts
from podsync.publisher import Publisher
from podsync.reconciler import NodeSettings, Reconciler
from podsync.runtimes.base import ContainerState, RuntimeHint
from podsync.runtimes.fake import FakeEngine, FakeRuntime
from podsync.runtimes.fake.images import ImageStore, Pullable
from podsync.runtimes.fake.programs import Programs
from podsync.testing.builders import PodNames
from podsync.testing.faults import Faults, FaultyRuntime, FaultyVolumes
from podsync.testing.invariants import Watch
from podsync.testing.rest import problems_at_rest
from podsync.testing.wishes import Wishes
from podsync.volumes import MemoryVolumes

if TYPE_CHECKING:
    from podsync.models import PodStatus

__all__ = ["AgentKilled", "Simulation"]

T = TypeVar("T")
NODE = "sim"
STRANGER = "stranger"
MOMENT = 0.001
STEPS_A_MOMENT = 500
"""So many steps with less than a moment between each and the next are a busy loop."""
CALM_AFTER = 60.0
"""Seconds after which trouble has had all its effects."""


class AgentKilled(BaseException):
    """``kill -9``: passes through everything the agent does."""


class Simulation:
    """One agent, one engine, some sources; and the trouble they have.

    ``programs``, ``images`` and ``registry`` are those of ``FakeRuntime``. ``sources`` are
    names, the first wins a doubled pod. ``faults`` lets the agent's calls fail. ``log``
    holds every call with its moment.
    """

    def __init__(
        self,
        seed: int,
        *,
        sources: Sequence[str] = ("first", "second"),
        programs: Programs | None = None,
        images: Iterable[str] | None = None,
        registry: Mapping[str, Pullable] | None = None,
    ) -> None:
        """Boot the agent; nothing is wanted yet."""
        self.random = random.Random(seed)  # noqa: S311 - a game, not a secret
        self.clock = ManualClock()
        self.engine = FakeEngine(self.clock, ImageStore(images, registry))
        self.faults = Faults()
        self.log: list[str] = []
        self.lost_hints = 0.1
        """The share of hints that never arrive."""
        self.slow = 0.05
        """The share of calls and messages that take seconds."""
        self._programs = programs
        self._volumes = MemoryVolumes()
        self._events: list[tuple[float, int, int | None, Callable[[], None]]] = []
        self._order = itertools.count()
        self._life = 0
        self._lanes: set[str] = set()
        self._inbox: list[Message] = []
        self._steps = 0
        self._wake = 0
        self._unexpected: list[str] = []
        self._trouble_at = float("-inf")
        self._reconciler = Reconciler(NodeSettings(node_name=NODE, root="/sim"))
        self._wishes = Wishes(sources, NODE, self.clock.monotonic)
        self.watch = Watch(
            self.engine,
            pod_of=self._wishes.pods.get,
            unwanted=self._wishes.lately_unwanted,
            calm=self._calm,
        )
        self._stranger = _stranger(self.engine)
        self._seen = self.engine.changes()[-1].number
        self._boot()

    # -- what a test does --------------------------------------------------------------

    def apply(self, pod: Pod, source: str | None = None) -> None:
        """Put a manifest into a source (the first unless named), or another in its place."""
        name = source or self._first
        self._wishes.put(name, pod)
        self._speak(name)

    def delete(self, key: PodKey, source: str | None = None) -> None:
        """Take a manifest away. Absent: nothing changes."""
        name = source or self._first
        if self._wishes.held[name].pop(key, None) is not None:
            self._speak(name)

    def break_source(self, source: str) -> None:
        """From now on it cannot be read; what it said last stands."""
        self._wishes.broken.add(source)
        self._speak(source)

    def mend_source(self, source: str) -> None:
        """It can be read again."""
        self._wishes.broken.discard(source)
        self._speak(source)

    def run(self, seconds: float) -> None:
        """Let time go by. Raises AssertionError as soon as something is wrong."""
        until = self.clock.monotonic() + seconds
        while True:
            try:
                self._pump(until)
            except AgentKilled:
                self._trouble()
                self._boot()
            else:
                break
        self.check()

    def crash(self) -> None:
        """End the agent at once and start it again."""
        self._trouble()
        self._boot()

    def crash_in(self, seconds: float) -> None:
        """End the agent in so many seconds, wherever it is then."""
        self._at(seconds, self._kill, self._life)

    def kill(self, ref: str, exit_code: int = 137) -> None:
        """End a container's or sandbox's process behind the agent's back."""
        self._trouble()
        self.engine.kill(ref, exit_code)
        self._collect()

    def remove_behind(self, ref: str) -> None:
        """Remove a container or sandbox behind the agent's back."""
        self._trouble()
        self.watch.disturbed(ref)
        self.engine.remove_behind(ref)
        self._collect()

    def engine_away(self, seconds: float) -> None:
        """No call reaches the engine for so long; processes live on."""
        self._trouble(seconds)
        self.engine.unavailable()
        self._collect()
        self._at(seconds, lambda: self.engine.unavailable(away=False), None)

    def restart_engine(self, *, live_restore: bool) -> None:
        """Restart the engine, with or without what runs on it."""
        self._trouble()
        self.engine.restart(live_restore=live_restore)
        self._collect()

    def names(self, state: ContainerState | None = None) -> list[str]:
        """The names of our containers and sandboxes, sorted; of a state only containers."""
        containers = [c.record.name for c in self.engine.containers.values() if state in {None, c.record.state}]
        sandboxes = [s.record.name for s in self.engine.sandboxes.values()] if state is None else []
        return sorted(name for name in containers + sandboxes if self._stranger.uid not in name)

    @property
    def statuses(self) -> Mapping[PodKey, PodStatus]:
        """What the agent reports."""
        return self._owner.statuses

    def check(self) -> None:
        """Assert that nothing forbidden has happened so far."""
        problems = self.watch.violations + self._unexpected
        assert not problems, "\n".join(problems)

    def settle(self, seconds: float = 700.0) -> None:
        """End all trouble, let time go by, and assert that the engine is as the manifests say."""
        self.faults.clear()
        self.lost_hints = self.slow = 0.0
        for name in self._wishes.held:
            self.mend_source(name)
        self.run(seconds)
        runtime = FakeRuntime(node=NODE, engine=self.engine)
        problems = problems_at_rest(
            wanted=self._wishes.wanted(),
            statuses=self.statuses,
            sandboxes=runtime.list_sandboxes(),
            folders=self._volumes.folders(),
            now=self.clock.now(),
            reconciler=self._reconciler,
        )
        text = "\n".join(problems)
        assert not text, text

    @property
    def _first(self) -> str:
        return next(iter(self._wishes.held))

    # -- the agent ---------------------------------------------------------------------

    def _boot(self) -> None:
        """A new agent that knows nothing; jobs, timers and messages of the former are void."""
        self._life += 1
        self._lanes.clear()
        self._inbox.clear()
        self._note("boot")
        runtime = FaultyRuntime(FakeRuntime(node=NODE, engine=self.engine, programs=self._programs), self._call)
        volumes = FaultyVolumes(self._volumes, self._call)
        remembered = self._wishes.pods if self.random.random() < 0.5 else {}
        workers = _Workers(self, self._life)
        self._owner = Owner(
            Parts(
                clock=self.clock,
                inbox=workers,
                workers=workers,
                desired=DesiredStore(list(self._wishes.held), NODE, clock=self.clock),
                observer=Observer(runtime, volumes),
                executor=Executor(runtime, volumes, self.clock, workers.together),
                volumes=volumes,
                reconciler=self._reconciler,
                publisher=Publisher(
                    info=FakeRuntime(engine=FakeEngine(self.clock)).info(),
                    node=NODE,
                    remembered=remembered,
                    now=self.clock.now,
                ),
            )
        )
        for name in self._wishes.held:
            self._speak(name)
        self._at(self._delay(), lambda: self._deliver(Hinted(RuntimeHint())), self._life)
        self._step()

    def _kill(self) -> None:
        raise AgentKilled

    def _speak(self, source: str) -> None:
        """The source's word, on its way; words may overtake each other."""
        message = self._wishes.say(source)
        self._at(self._delay(), lambda: self._deliver(message), self._life)

    def _deliver(self, message: Message) -> None:
        self._inbox.append(message)
        self._step()

    def _step(self) -> None:
        self._steps += 1
        if self._steps > STEPS_A_MOMENT:
            self._unexpected.append("the agent steps again and again while hardly any time goes by")
            raise AssertionError(self._unexpected[-1])
        messages, self._inbox[:] = tuple(self._inbox), []
        self._owner.step(messages)
        self._wake += 1
        ticket = self._wake
        wait = max(self._owner.seconds_to_wait(), 1e-6)
        self._at(wait, lambda: self._step() if ticket == self._wake else None, self._life)

    # -- jobs and calls ------------------------------------------------------------------

    def submit(self, lane: str, job: Callable[[], Message], life: int) -> None:
        """Run a job some time, and let its news arrive some time later."""
        if lane in self._lanes:
            self._unexpected.append(f"the lane {lane} is used twice at once")
        self._lanes.add(lane)
        self._at(self._delay(), lambda: self._perform(lane, job, life), life)

    def _perform(self, lane: str, job: Callable[[], Message], life: int) -> None:
        message = job()
        self._judge(message)

        def arrive() -> None:
            self._lanes.discard(lane)
            self._deliver(message)

        self._at(self._delay(), arrive, life)

    def _judge(self, message: Message) -> None:
        """Errors must be podsync's own; and while there is no trouble, no action is at odds with the engine."""
        errors: list[Exception | None] = []
        if isinstance(message, BatchDone):
            errors = [*(outcome.error for outcome in message.outcomes), message.look_error]
        elif isinstance(message, Looked | PullDone):
            errors = [message.error]
        calm = self._calm()
        for error in errors:
            if error is not None and (
                not isinstance(error, PodsyncError) or (calm and isinstance(error, Conflict | NotFound))
            ):
                self._unexpected.append(f"unexpected {error!r}")

    def _calm(self) -> bool:
        return self._trouble_at + CALM_AFTER < self.clock.monotonic()

    def _trouble(self, seconds: float = 0.0) -> None:
        self._trouble_at = max(self._trouble_at, self.clock.monotonic() + seconds)

    def together(self, jobs: Sequence[Callable[[], None]]) -> None:
        """Independent calls, in any order."""
        for job in self.random.sample(list(jobs), len(jobs)):
            job()

    def _call(self, verb: str, call: Callable[[], T]) -> T:
        """One call of the agent: the way there, the effect, the way back; other things happen meanwhile."""
        try:
            self._travel(verb)
        except AgentKilled:
            # the request is on its way already: its effect may come after its sender's death
            if self.random.random() < 0.5:
                self._at(self.random.uniform(0, 0.5), lambda: self._stray(verb, call), None)
            raise
        raised = len(self.faults.raised)
        try:
            answer = self.faults.around(verb, lambda: self._effect(verb, call))
        finally:
            self._collect()
            if len(self.faults.raised) > raised:
                self._trouble()
        self._travel(verb)
        return answer

    def _effect(self, verb: str, call: Callable[[], T]) -> T:
        self._note(verb)
        return call()

    def _stray(self, verb: str, call: Callable[[], object]) -> None:
        self._note(f"{verb} of a dead agent")
        try:
            call()
        except PodsyncError as error:
            self._note(str(error))
        self._collect()

    def _travel(self, verb: str) -> None:
        if verb == "pull_image" and self.slow:
            self._pump(self.clock.monotonic() + self.random.uniform(0, 20))
        elif self.random.random() < self.slow:
            self._pump(self.clock.monotonic() + self.random.uniform(0, 6))
        elif self.random.random() < 0.2:
            self._pump(self.clock.monotonic() + self.random.uniform(0, 0.2))

    # -- the scheduler -------------------------------------------------------------------

    def _delay(self) -> float:
        if self.random.random() < self.slow:
            return self.random.uniform(1, 8)
        return self.random.uniform(0.001, 0.05 if self.random.random() < 0.8 else 1.0)

    def _at(self, seconds: float, event: Callable[[], None], life: int | None) -> None:
        """Let something happen; what belongs to an agent's life ends with it."""
        heapq.heappush(self._events, (self.clock.monotonic() + seconds, next(self._order), life, event))

    def _pump(self, until: float) -> None:
        """Let everything happen that is due by then, each at its moment."""
        while not (self._unexpected or self.watch.violations):
            change = self.engine.next_change()
            due = self._events[0][0] if self._events else float("inf")
            moment = min(due, change if change is not None else float("inf"))
            if moment > until:
                break
            self._forward(moment)
            self._collect()
            if due <= moment:
                _, _, life, event = heapq.heappop(self._events)
                if life in {None, self._life}:
                    event()
                    self._collect()
        self._forward(until)

    def _forward(self, moment: float) -> None:
        step = moment - self.clock.monotonic()
        if step > 0:
            self.clock.advance(step)
        if step > MOMENT:
            self._steps = 0

    def _collect(self) -> None:
        """Show the engine's news to the watch, and hint at them to the agent."""
        for change in self.engine.changes(self._seen):
            self._seen = change.number
            self._note(f"  {change.what} {change.name} {change.why}".rstrip())
            self.watch.saw(change)
            if change.what == "connection":
                hint = RuntimeHint(connected=change.connected)
            elif change.what in {"ended", "removed"} and self.random.random() >= self.lost_hints:
                hint = RuntimeHint(change.uid, change.id)
            else:
                continue
            self._at(self._delay(), lambda hint=hint: self._deliver(Hinted(hint)), self._life)  # type: ignore[misc]

    def _note(self, text: str) -> None:
        self.log.append(f"{self.clock.monotonic():.6f} {text}")


class _Workers:
    """The simulation as one agent's ``Workers`` and ``Inbox``."""

    def __init__(self, sim: Simulation, life: int) -> None:
        self._sim, self._life = sim, life

    def submit(self, lane: str, job: Callable[[], Message]) -> None:
        self._sim.submit(lane, job, self._life)

    def together(self, jobs: Sequence[Callable[[], None]]) -> None:
        self._sim.together(jobs)

    def stop(self, timeout: float) -> bool:
        del timeout
        return True

    def post(self, message: Message) -> None:
        self._sim._inbox.append(message)  # noqa: SLF001 - one thing in two classes

    def wait(self, timeout: float | None) -> Sequence[Message]:
        del timeout
        return ()  # nobody waits here: the simulation steps the owner when there is something to tell


def _stranger(engine: FakeEngine) -> PodNames:
    """A pod of another node that podsync must not touch."""
    names = PodNames(STRANGER, name="p0", uid="5" * 32)
    runtime = FakeRuntime(node=STRANGER, engine=engine)
    sandbox = runtime.create_sandbox(names.sandbox())
    runtime.start_sandbox(sandbox)
    spec = names.container("busybox:1.36")
    engine.images.add(spec.image)
    runtime.start_container(runtime.create_container(sandbox, spec))
    return names
