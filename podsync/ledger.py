"""What the agent keeps of each pod between two steps. Owned by one thread."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from podsync import identity, plan
from podsync.errors import ImageAbsent, PodsyncError, RuntimeUnavailable
from podsync.runtimes.base import ContainerState
from podsync.state import ActualPod, Failure, PodMemory, PullState, in_order

if TYPE_CHECKING:
    from podsync.messages import Outcome
    from podsync.models import Pod, PodKey, PodStatus
    from podsync.plan import Action, PodPlan
    from podsync.runtimes.base import SandboxRecord

__all__ = [
    "Entry",
    "Ledger",
    "folder_changes",
    "forget_gone",
    "fresh_memory",
    "pull_failed",
    "pull_succeeded",
    "remember",
    "remembers",
    "uids_of",
]

SANDBOX = "/sandbox"
VOLUMES = "/volumes"


@dataclass(slots=True)
class Entry:
    """One pod key: what is wanted, what was seen, what is under way."""

    key: PodKey
    pod: Pod | None = None
    """Wanted now; None when no source names it."""
    last_pod: Pod | None = None
    """The pod last known under this key, for reporting one that is being ended."""
    deleted_at: datetime | None = None
    actual: ActualPod = field(default_factory=ActualPod)
    plan: PodPlan | None = None
    status: PodStatus | None = None
    status_uid: str = ""
    """The uid of the pod that ``status`` tells of."""
    busy: bool = False
    """A batch is under way in the pod's lane."""
    mark: int = 0
    """Looks that began at or before this number are stale."""
    stale: bool = False
    """Must be looked at before it is planned."""
    dirty: bool = True
    """Must be planned."""
    changed: bool = True
    """Must be reported."""
    looking: int = 0
    """Number of the look under way for this pod, 0 when none is."""
    hinted: set[str] = field(default_factory=set)
    """Ids of containers that changed while the pod could not be looked at; "" for unknown."""
    setbacks: int = 0
    """Batches in a row that failed in a way the planner does not remember."""
    hold_until: float = 0.0
    """Monotonic time before which no batch is started."""

    @property
    def gone(self) -> bool:
        """Nothing is wanted and nothing is left."""
        actual = self.actual
        return self.pod is None and not self.busy and not actual.sandboxes and not actual.folders

    @property
    def known_pod(self) -> Pod | None:
        """The pod wanted, else the one last known."""
        return self.pod or self.last_pod

    def uses(self, images: frozenset[str]) -> bool:
        """Whether a container of the wanted pod is made from one of those images."""
        spec = self.pod.spec if self.pod is not None else None
        return spec is not None and any(c.image in images for c in (*spec.init_containers, *spec.containers))

    def see(self, sandboxes: Iterable[SandboxRecord], uids: Iterable[str] | None) -> None:
        """Take in a look: of those uids, or of everything when ``uids`` is None."""
        if uids is None:
            merged = list(sandboxes)
        else:
            looked = set(uids)
            merged = [s for s in self.actual.sandboxes if s.uid not in looked]
            merged += sandboxes
        seen = in_order(merged)
        if seen != self.actual.sandboxes:
            self.actual = replace(self.actual, sandboxes=seen)
            self.changed = True
        self.remember(forget_gone(self.actual.memory, seen))

    def remember(self, memory: PodMemory) -> None:
        """Replace the memory part of the observation."""
        if memory is not self.actual.memory:
            self.actual = replace(self.actual, memory=memory)
            self.dirty = self.changed = True

    def explains(self, container: str, *, looked: bool) -> bool:
        """Whether what is known already shows that this container has ended.

        ``looked``: the pod has just been looked at, so that one not there has been removed.
        """
        if not container:
            return False
        for sandbox in self.actual.sandboxes:
            if sandbox.id == container:
                return not sandbox.ready
            for record in sandbox.containers:
                if record.id == container:
                    return record.state is ContainerState.EXITED
        return looked


class Ledger:
    """All entries, by key and by uid, and those that ask for the owner's attention."""

    def __init__(self) -> None:
        self.entries: dict[PodKey, Entry] = {}
        self.actual: dict[PodKey, ActualPod] = {}
        """Every entry's observation, as the planner wants them."""
        self.attention: set[PodKey] = set()
        """Who must be looked at, planned or reported in this step."""
        self.floor = 0
        """The newest mark of a dropped entry: an older look may still show what was removed."""
        self._keys: dict[str, PodKey] = {}

    def entry(self, key: PodKey) -> Entry:
        """The entry of that key, made if there is none yet."""
        entry = self.entries.get(key)
        if entry is None:
            entry = self.entries[key] = Entry(key, mark=self.floor)
            self.attention.add(key)
        return entry

    def of_uid(self, uid: str) -> Entry | None:
        """The entry a pod uid belongs to."""
        key = self._keys.get(uid)
        return self.entries.get(key) if key is not None else None

    def index(self, entry: Entry) -> None:
        """Note the uids of an entry. Former ones stay until it is dropped: looks at them may be under way."""
        if entry.pod is not None:
            self._keys[entry.pod.metadata.uid] = entry.key
        for sandbox in entry.actual.sandboxes:
            self._keys[sandbox.uid] = entry.key

    def attend(self, entry: Entry) -> None:
        """Ask for the owner's attention."""
        self.attention.add(entry.key)

    def touch(self, keys: Iterable[PodKey]) -> None:
        """Ask for those to be planned and reported anew."""
        for key in tuple(keys):
            entry = self.entries[key]
            entry.dirty = entry.changed = True
            self.attention.add(key)

    def drop(self, entry: Entry) -> None:
        """Forget one of which nothing is wanted and nothing left."""
        del self.entries[entry.key]
        self.floor = max(self.floor, entry.mark)
        self.actual.pop(entry.key, None)
        self._keys = {uid: key for uid, key in self._keys.items() if key != entry.key}


def remember(memory: PodMemory, outcome: Outcome) -> PodMemory:
    """The memory after an action. Planning looks at it; nothing right may depend on it."""
    subject = _subject(outcome.action)
    error = outcome.error
    if isinstance(outcome.action, plan.SignalContainer) and error is None:
        container = outcome.action.container
        if outcome.action.signal == "SIGKILL":
            return replace(memory, kill_sent={**memory.kill_sent, container: outcome.at})
        # the first one counts: grace is not begun anew by a repeated signal
        return replace(memory, term_sent={container: outcome.at, **memory.term_sent})
    if isinstance(outcome.action, plan.CreateContainer) and error is None:
        memory = _used_pull(memory, outcome.action.spec.image)
    if subject is None or isinstance(error, RuntimeUnavailable | ImageAbsent):
        return memory
    if error is None:
        # a container counts as started only when its start succeeded, a sandbox likewise
        if subject not in memory.failures or isinstance(outcome.action, plan.CreateContainer | plan.CreateSandbox):
            return memory
        return replace(memory, failures={s: f for s, f in memory.failures.items() if s != subject})
    reason = error.reason if isinstance(error, PodsyncError) else "InternalError"
    if subject == SANDBOX:
        reason = "CreatePodSandboxError"
    before = memory.failures.get(subject)
    failure = Failure(reason, str(error), outcome.at, before.count + 1 if before else 1)
    return replace(memory, failures={**memory.failures, subject: failure})


def remembers(outcome: Outcome) -> bool:
    """Whether the planner learns of this failure from the memory, and so keeps the distance itself."""
    return _subject(outcome.action) is not None and not isinstance(outcome.error, RuntimeUnavailable)


def _subject(action: Action) -> str | None:
    match action:
        case plan.MountVolumes():
            return VOLUMES
        case plan.CreateSandbox() | plan.StartSandbox():
            return SANDBOX
        case plan.CreateContainer(container_name=name) | plan.StartContainer(container_name=name):
            return name
        case _:
            return None


def _used_pull(memory: PodMemory, image: str) -> PodMemory:
    state = memory.pulls.get(image)
    if state is None or not state.ready:
        return memory
    return replace(memory, pulls={**memory.pulls, image: replace(state, ready=False)})


def pull_succeeded(memory: PodMemory, image: str) -> PodMemory:
    """The memory after a pull that this pod waited for."""
    return replace(memory, pulls={**memory.pulls, image: PullState(ready=True)})


def pull_failed(memory: PodMemory, image: str, error: Exception, at: datetime) -> PodMemory:
    """The memory after a failed pull that this pod waited for."""
    before = memory.pulls.get(image, PullState()).failure
    reason = error.reason if isinstance(error, PodsyncError) else "ErrImagePull"
    failure = Failure(reason, str(error), at, before.count + 1 if before else 1)
    return replace(memory, pulls={**memory.pulls, image: PullState(failure=failure)})


def forget_gone(memory: PodMemory, sandboxes: Iterable[SandboxRecord]) -> PodMemory:
    """Signals are remembered while the container's record is there: how it ended is read by them."""
    if not memory.term_sent and not memory.kill_sent:
        return memory
    there = {c.id for s in sandboxes for c in s.containers}
    if there.issuperset((*memory.term_sent, *memory.kill_sent)):
        return memory
    term = {id_: at for id_, at in memory.term_sent.items() if id_ in there}
    kill = {id_: at for id_, at in memory.kill_sent.items() if id_ in there}
    return replace(memory, term_sent=term, kill_sent=kill)


def uids_of(stages: Iterable[Iterable[Action]]) -> tuple[str, ...]:
    """The pod uids a batch touches on the engine, so that it can be looked at afterwards."""
    found: dict[str, None] = {}
    for stage in stages:
        for action in stage:
            name = _name(action)
            parts = identity.split(name) if name else None
            if parts:
                found[parts[3]] = None
    return tuple(found)


def _name(action: Action) -> str:
    match action:
        case plan.CreateSandbox(spec=spec) | plan.CreateContainer(spec=spec):
            return spec.name
        case plan.StartSandbox(sandbox=name) | plan.StartContainer(container=name):
            return name
        case (
            plan.RemoveSandbox(name=name)
            | plan.StopSandbox(name=name)
            | plan.SignalContainer(name=name)
            | plan.RemoveContainer(name=name)
        ):
            return name
        case _:
            return ""


def folder_changes(outcomes: Iterable[Outcome], folders: frozenset[str]) -> frozenset[str]:
    """The pod folders there are after those actions."""
    for outcome in outcomes:
        match outcome.action:
            case plan.MountVolumes(pod=pod):
                folders |= {pod.metadata.uid}
            case plan.UnmountVolumes(uid=uid) if outcome.error is None:
                folders -= {uid}
            case _:
                continue
    return folders


def fresh_memory(memory: PodMemory, uid: str) -> PodMemory:
    """The memory for a new uid of the same key: only signals sent are still of use."""
    return PodMemory(uid=uid, term_sent=memory.term_sent, kill_sent=memory.kill_sent)
