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

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from podsync.desired import DesiredStore
from podsync.errors import PodsyncError
from podsync.executor import Executor
from podsync.messages import Hinted, Message
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
from podsync.testing.life import AgentKilled, Life
from podsync.testing.rest import problems_at_rest
from podsync.testing.schedule import Schedule
from podsync.testing.wishes import Wishes
from podsync.volumes import MemoryVolumes

if TYPE_CHECKING:
    from podsync.models import PodStatus

__all__ = ["AgentKilled", "Simulation"]

T = TypeVar("T")
NODE = "sim"
STRANGER = "stranger"
CALM_AFTER = 60.0
"""Seconds after which trouble has had all its effects."""
LOOKS = 3
BETWEEN_LOOKS = 7.0


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
        self._schedule = Schedule(seed)
        self.clock = self._schedule.clock
        self.engine = FakeEngine(self.clock, ImageStore(images, registry))
        self.faults = Faults()
        self.log: list[str] = []
        self.lost_hints = 0.1
        """The share of hints that never arrive."""
        self._programs = programs
        self._volumes = MemoryVolumes()
        self._problems: list[str] = []
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
        self._schedule.next_change, self._schedule.look = self.engine.next_change, self._collect
        self._schedule.halted = lambda: bool(self._problems or self.watch.violations)
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
                self._schedule.pump(until)
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
        self._life.later(seconds, self._life.kill)

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
        self._schedule.at(seconds, lambda: self.engine.unavailable(away=False))

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
        owner = self._life.owner
        return owner.statuses if owner is not None else {}

    @property
    def slow(self) -> float:
        """The share of calls and messages that take seconds."""
        return self._schedule.slow

    @slow.setter
    def slow(self, share: float) -> None:
        self._schedule.slow = share

    def check(self) -> None:
        """Assert that nothing forbidden has happened so far."""
        problems = self.watch.violations + self._problems
        assert not problems, "\n".join(problems)

    def settle(self, seconds: float = 700.0) -> None:
        """End all trouble, let time go by, and assert that the engine is as the manifests say."""
        self.faults.clear()
        self.lost_hints = self.slow = 0.0
        for name in self._wishes.held:
            self.mend_source(name)
        self.run(seconds)
        looks = 0
        while problems := self._problems_at_rest():
            looks += 1
            assert looks < LOOKS, "\n".join(problems)
            self.run(BETWEEN_LOOKS)  # a crash loop's next round may be under way just now

    def _problems_at_rest(self) -> list[str]:
        found = problems_at_rest(
            wanted=self._wishes.wanted(),
            statuses=self.statuses,
            sandboxes=FakeRuntime(node=NODE, engine=self.engine).list_sandboxes(),
            folders=self._volumes.folders(),
            now=self.clock.now(),
            reconciler=self._reconciler,
        )
        return list(found)

    @property
    def _first(self) -> str:
        return next(iter(self._wishes.held))

    # -- the agent ---------------------------------------------------------------------

    def _boot(self) -> None:
        """A new agent that knows nothing; jobs, timers and messages of the former are void."""
        self._note("boot")
        life = self._life = Life(self._schedule, self._problems, self._calm)
        runtime = FaultyRuntime(FakeRuntime(node=NODE, engine=self.engine, programs=self._programs), self._call)
        volumes = FaultyVolumes(self._volumes, self._call)
        remembered = self._wishes.pods if self._schedule.random.random() < 0.5 else {}
        life.owner = Owner(
            Parts(
                clock=self.clock,
                inbox=life,
                workers=life,
                desired=DesiredStore(list(self._wishes.held), NODE, clock=self.clock),
                observer=Observer(runtime, volumes),
                executor=Executor(runtime, volumes, self.clock, life.together),
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
        self._tell(Hinted(RuntimeHint()))
        life.step()

    def _speak(self, source: str) -> None:
        """The source's word, on its way; words may overtake each other."""
        self._tell(self._wishes.say(source))

    # -- jobs and calls ------------------------------------------------------------------

    def _calm(self) -> bool:
        return self._trouble_at + CALM_AFTER < self.clock.monotonic()

    def _trouble(self, seconds: float = 0.0) -> None:
        self._trouble_at = max(self._trouble_at, self.clock.monotonic() + seconds)

    def _call(self, verb: str, call: Callable[[], T]) -> T:
        """One call of the agent: the way there, the effect, the way back; other things happen meanwhile."""
        try:
            self._travel(verb)
        except AgentKilled:
            # the request is on its way already: its effect may come after its sender's death
            if self._schedule.random.random() < 0.5:
                self._schedule.at(self._schedule.random.uniform(0, 0.5), lambda: self._stray(verb, call))
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
        schedule = self._schedule
        if verb == "pull_image" and schedule.slow:
            schedule.pause(schedule.random.uniform(0, 20))
        elif schedule.random.random() < schedule.slow:
            schedule.pause(schedule.random.uniform(0, 6))
        elif schedule.random.random() < 0.2:
            schedule.pause(schedule.random.uniform(0, 0.2))

    def _collect(self) -> None:
        """Show the engine's news to the watch, and hint at them to the agent."""
        for change in self.engine.changes(self._seen):
            self._seen = change.number
            self._note(f"  {change.what} {change.name} {change.why}".rstrip())
            self.watch.saw(change)
            if change.what == "connection":
                hint = RuntimeHint(connected=change.connected)
            elif change.what in {"ended", "removed"} and self._schedule.random.random() >= self.lost_hints:
                hint = RuntimeHint(change.uid, change.id)
            else:
                continue
            self._tell(Hinted(hint))

    def _tell(self, message: Message) -> None:
        """A message to whoever lives, on its way."""
        life = self._life
        life.later(self._schedule.delay(), lambda: life.deliver(message))

    def _note(self, text: str) -> None:
        self.log.append(f"{self.clock.monotonic():.6f} {text}")


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
