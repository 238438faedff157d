"""An owner whose jobs a test carries out by hand: no threads, no waiting, every order possible."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from podsync import identity
from podsync.clock import ManualClock
from podsync.desired import DesiredStore
from podsync.errors import SourceError
from podsync.executor import Executor
from podsync.messages import Hinted, Message, SourceFailed, SourceSpoke
from podsync.models import EnvVar, Pod, PodKey
from podsync.observer import Observer
from podsync.owner import Owner, Parts
from podsync.publisher import Publisher
from podsync.reconciler import NodeSettings, Reconciler
from podsync.runtimes.base import ContainerState, RuntimeHint, RuntimeInfo
from podsync.runtimes.fake import FakeEngine, FakeRuntime
from podsync.runtimes.fake.images import ImageStore, Pullable
from podsync.runtimes.fake.programs import Programs
from podsync.sources.base import Refusal
from podsync.testing.faults import Faults, FaultyRuntime, FaultyVolumes
from podsync.volumes import MemoryVolumes

NODE = "node-1"
T = TypeVar("T")


class Lanes:
    """Workers and inbox: a job waits here until the test lets it run, its news until the test delivers it."""

    def __init__(self) -> None:
        self.jobs: dict[str, Callable[[], Message]] = {}
        self.submitted: list[str] = []
        self.posted: list[Message] = []

    def submit(self, lane: str, job: Callable[[], Message]) -> None:
        """A lane is never used twice at once."""
        assert lane not in self.jobs, f"the lane {lane} is used twice at once"
        self.jobs[lane] = job
        self.submitted.append(lane)

    def together(self, jobs: Sequence[Callable[[], None]]) -> None:
        """One after the other."""
        for job in jobs:
            job()

    def stop(self, timeout: float) -> bool:
        """Nothing to stop."""
        return True

    def post(self, message: Message) -> None:
        """Kept for the next step."""
        self.posted.append(message)

    def wait(self, timeout: float | None) -> Sequence[Message]:
        """Nobody waits here."""
        return ()


class MemoryFiles:
    """Where a publisher writes; a name in ``failing`` cannot be written."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.failing: dict[str, OSError] = {}
        self.tries: list[str] = []

    def missing(self) -> frozenset[str]:
        """What was written and is no longer there: a test takes it out of ``texts``."""
        return frozenset()

    def write(self, name: str, text: str, mode: int = 0o644) -> bool:
        """As ``store.RootStore.write`` does."""
        self.tries.append(name)
        if name in self.failing:
            raise self.failing[name]
        self.texts[name] = text
        return True

    def read(self, name: str) -> Any:
        """The JSON document of that name."""
        return json.loads(self.texts[name])


class World:
    """An owner, its engine, and a test in between."""

    def __init__(
        self,
        *,
        sources: Sequence[str] = ("a",),
        programs: Programs | None = None,
        images: Iterable[str] | None = None,
        registry: Mapping[str, Pullable] | None = None,
        engine: FakeEngine | None = None,
        clock: ManualClock | None = None,
        remembered: Mapping[str, Pod] | None = None,
    ) -> None:
        self.clock = clock or ManualClock()
        self.engine = engine or FakeEngine(self.clock, ImageStore(images, registry))
        self.faults = Faults()
        self.broken: dict[str, Exception] = {}
        """What each call of a verb raises, until it is taken out."""
        self.calls: list[tuple[float, str]] = []
        self.lanes = Lanes()
        self.files = MemoryFiles()
        self.volumes = MemoryVolumes()
        self._arrived: dict[str, Message] = {}
        self._revisions = itertools.count(1)
        runtime = FaultyRuntime(FakeRuntime(node=NODE, engine=self.engine, programs=programs), self._call)
        volumes = FaultyVolumes(self.volumes, self._call)
        self.publisher = Publisher(
            info=RuntimeInfo("fake"), node=NODE, files=self.files, remembered=remembered, now=self.clock.now
        )
        self.owner = Owner(
            Parts(
                clock=self.clock,
                inbox=self.lanes,
                workers=self.lanes,
                desired=DesiredStore(sources, NODE, clock=self.clock),
                observer=Observer(runtime, volumes),
                executor=Executor(runtime, volumes, self.clock, self.lanes.together),
                volumes=volumes,
                reconciler=Reconciler(NodeSettings(node_name=NODE, root="/root")),
                publisher=self.publisher,
            )
        )

    def _call(self, verb: str, call: Callable[[], T]) -> T:
        self.calls.append((self.clock.monotonic(), verb))
        if verb in self.broken:
            raise self.broken[verb]
        return self.faults.around(verb, call)

    # -- what reaches the owner ----------------------------------------------------------------

    def step(self, *messages: Message) -> None:
        """One step of the owner."""
        posted, self.lanes.posted = self.lanes.posted, []
        self.owner.step((*posted, *messages))

    def say(self, *pods: Pod, source: str = "a", revision: int | None = None, refusals: Sequence[Refusal] = ()) -> None:
        """A source sends its whole set."""
        number = revision if revision is not None else next(self._revisions)
        self.step(SourceSpoke(source, number, pods, refusals))

    def fail(self, source: str = "a") -> None:
        """A source cannot be read."""
        self.step(SourceFailed(source, SourceError(source, "no such thing")))

    def hint(self, ref: str = "", *, connected: bool = True) -> None:
        """The engine says that this container or sandbox changed; without a name that the stream is there."""
        thing = self.engine.find_container(ref) or self.engine.find_sandbox(ref)
        uid = (identity.split(ref) or ("", "", "", ""))[3]
        self.step(Hinted(RuntimeHint(uid, thing.record.id if thing is not None else "", connected)))

    # -- jobs --------------------------------------------------------------------------------------

    @property
    def waiting(self) -> list[str]:
        """Lanes with a job that has not been delivered, in the order they were submitted."""
        return list(self.lanes.jobs)

    def perform(self, lane: str) -> None:
        """Let a job have its effect; its news is still on the way."""
        self._arrived[lane] = self.lanes.jobs[lane]()

    def deliver(self, lane: str) -> None:
        """Let a job's news arrive; the job runs now if it has not yet."""
        if lane not in self._arrived:
            self.perform(lane)
        del self.lanes.jobs[lane]
        self.step(self._arrived.pop(lane))

    def work(self, *held: str) -> None:
        """Deliver whatever is under way, and what follows, but for lanes that start so; no time goes by."""
        for _ in range(200):
            lane = next((name for name in self.waiting if not name.startswith(held)), None)
            if lane is not None:
                self.deliver(lane)
            elif self.owner.seconds_to_wait() <= 0:
                self.step()
            else:
                return
        raise AssertionError(f"the owner never comes to rest: {self.lanes.submitted[-10:]}")

    def run(self, seconds: float, *held: str) -> None:
        """Let time go by, each wake and each change of the engine at its moment."""
        end = self.clock.monotonic() + seconds
        self.work(*held)
        while (left := end - self.clock.monotonic()) > 1e-9:
            change = self.engine.next_change()
            until_change = change - self.clock.monotonic() if change is not None else left
            self.clock.advance(min(left, max(1e-6, min(self.owner.seconds_to_wait(), until_change))))
            self.step()
            self.work(*held)

    # -- looking -----------------------------------------------------------------------------------

    def names(self, state: ContainerState = ContainerState.RUNNING) -> list[str]:
        """``pod/container#attempt`` of the containers in a state."""
        found = []
        for container in self.engine.containers.values():
            parts = identity.split(container.record.name)
            if parts and container.record.state is state:
                found.append(f"{parts[1]}/{parts[0]}#{parts[4]}")
        return sorted(found)

    def ref(self, pod: str, container: str = "main", attempt: int = 0) -> str:
        """The engine's name of one instance; there has to be exactly one."""
        things: list[Any] = [*self.engine.containers.values(), *self.engine.sandboxes.values()]
        names = [thing.record.name for thing in things]
        (name,) = (n for n in names if n.startswith(f"k8s_{container}_{pod}_") and n.endswith(f"_{attempt}"))
        return str(name)

    def changes(self, what: str) -> list[str]:
        """``pod/container#attempt`` (or sandbox) of every such change, in order."""
        found = []
        for change in self.engine.changes():
            parts = identity.split(change.name)
            if change.what == what and parts:
                found.append(f"{parts[1]}/{parts[0]}#{parts[4]}")
        return found

    def times(self, verb: str) -> list[float]:
        """When a verb was called."""
        return [at for at, called in self.calls if called == verb]

    @property
    def events(self) -> list[str]:
        """The reasons of all events, in the order they were seen last."""
        return [event.reason for event in self.publisher.events.events]

    @property
    def mistakes(self) -> int:
        """How many unforeseen errors the agent tells of."""
        self.publisher.flush(self.clock.monotonic(), self.owner.engine_error, force=True)
        return int(self.files.read("agent.json")["unexpectedErrors"])

    def phase(self, name: str) -> str | None:
        """A pod's phase as reported; None when it is not reported."""
        status = self.owner.statuses.get(PodKey("default", name))
        return status.phase if status is not None else None


def started(*pods: Pod, **settings: Any) -> World:
    """A world that has looked once, hears the engine's hints, and has brought up these pods."""
    world = World(**settings)
    world.step()
    world.hint()
    for source in settings.get("sources", ("a",)):
        world.say(*(pods if source == "a" else ()), source=source)
    world.work()
    return world


def edited(before: Pod, text: str = "1") -> Pod:
    """The same pod with another environment, so of another uid."""
    containers = tuple(c.evolve(env=(EnvVar(name="EDITION", value=text),)) for c in before.spec.containers)
    return before.evolve(spec=before.spec.evolve(containers=containers))


def gaps(times: Sequence[float]) -> list[float]:
    """Seconds between each moment and the next."""
    return [round(later - earlier, 6) for earlier, later in itertools.pairwise(times)]
