"""What must hold of an engine that podsync looks after, whatever happens: checked change by change.

A ``Watch`` reads the fake engine's changes in order and keeps a book of its own: it asks
neither the planner nor the agent, so a fault in them does not hide itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from podsync import identity, labels

if TYPE_CHECKING:
    from podsync.models import Pod
    from podsync.runtimes.fake import Change, FakeEngine

__all__ = ["Watch"]

OWN_ENDINGS = frozenset({"SIGTERM", "SIGKILL", "removed"})
"""Why a process ended, where it was podsync that ended it."""
SLACK = 0.001


@dataclass(slots=True)
class Instance:
    """One run of a container, as the engine's changes tell it."""

    name: str
    uid: str
    attempt: int
    place: int
    init: bool
    grace: int
    started: datetime | None = None
    ended: datetime | None = None
    why: str = ""
    exit_code: int | None = None
    delay: float | None = None
    term_at: datetime | None = None

    @property
    def alive(self) -> bool:
        """Its process runs."""
        return self.started is not None and self.ended is None


@dataclass(slots=True)
class Life:
    """All that was seen of one pod uid since it was last wanted anew."""

    instances: dict[str, Instance] = field(default_factory=dict)
    ready: dict[str, int] = field(default_factory=dict)
    made: int = -1
    disturbed: set[str] = field(default_factory=set)
    """Containers of which a test has removed a record, so that nothing can be said of their past."""


class Watch:
    """Collects ``violations``, in words."""

    def __init__(
        self,
        engine: FakeEngine,
        *,
        pod_of: Callable[[str], Pod | None],
        unwanted: Callable[[str], bool],
        calm: Callable[[], bool],
    ) -> None:
        """``pod_of`` gives the manifest of a uid, ``unwanted`` whether lately no source wanted it.

        ``calm`` says whether nothing but podsync has touched the engine lately.
        """
        self._engine, self._pod_of, self._unwanted, self._calm = engine, pod_of, unwanted, calm
        self._lives: dict[str, Life] = defaultdict(Life)
        self._by_id: dict[str, Instance] = {}
        self.violations: list[str] = []

    def disturbed(self, name: str) -> None:
        """A test is about to remove this object behind podsync's back."""
        parts = identity.split(name)
        if parts is not None:
            self._lives[parts[3]].disturbed.add(parts[0])

    def saw(self, change: Change) -> None:
        """Take one change in."""
        parts = identity.split(change.name)
        if parts is None:
            return
        if self._pod_of(parts[3]) is None:
            if change.why != "engine":
                self._say(change.at, f"{change.name}, which is not ours, is {change.what}")
            return
        name, uid, attempt = parts[0], parts[3], parts[4]
        if name == labels.SANDBOX_CONTAINER:
            self._sandbox(change, uid, attempt)
        elif change.what == "created":
            self._created(change, name, uid, attempt)
        elif (instance := self._by_id.get(change.id)) is not None:
            if change.what == "started":
                self._started(change, name, instance)
            elif change.what == "ended":
                self._ended(change, instance)
            elif change.what == "signalled":
                self._signalled(change, instance)

    # -- sandboxes -------------------------------------------------------------------

    def _sandbox(self, change: Change, uid: str, attempt: int) -> None:
        life = self._lives[uid]
        if change.what == "created":
            if attempt == 0 and not any(i.alive for i in life.instances.values()):
                life = self._lives[uid] = Life()
            life.made = max(life.made, attempt)
        elif change.what == "started":
            life.ready[change.id] = attempt
            if len(life.ready) > 1:
                self._say(change.at, f"two sandboxes of {uid[:8]} run at once")
        elif change.what == "ended":
            life.ready.pop(change.id, None)
            self._sandbox_ended(change, uid, attempt, life)

    def _sandbox_ended(self, change: Change, uid: str, attempt: int, life: Life) -> None:
        if change.why not in OWN_ENDINGS or self._unwanted(uid) or life.ready:
            return
        if any(i.alive and i.place == attempt for i in life.instances.values()):
            self._say(change.at, f"{change.name} is ended under running containers ({change.why})")
        pod = self._pod_of(uid)
        if pod is not None and pod.spec.restart_policy == "Always" and pod.spec.active_deadline_seconds is None:
            self._say(change.at, f"{change.name} of a pod that runs for ever is ended ({change.why})")

    # -- containers ------------------------------------------------------------------

    def _created(self, change: Change, name: str, uid: str, attempt: int) -> None:
        record = self._engine.containers[change.id].record
        life, before = self._lives[uid], self._lives[uid].instances.get(name)
        self._by_id[change.id] = Instance(
            name=change.name,
            uid=uid,
            attempt=attempt,
            place=labels.integer(record.labels, labels.SANDBOX_ATTEMPT),
            init=record.labels.get(labels.KIND) == "init",
            grace=labels.integer(record.labels, labels.GRACE, 30),
        )
        if name in life.disturbed or before is None:
            return
        if attempt <= before.attempt:
            self._say(change.at, f"{change.name} is made although {before.name} has started: a restart count is lost")

    def _started(self, change: Change, name: str, instance: Instance) -> None:
        life = self._lives[instance.uid]
        instance.started = change.at
        self._alone(change, name, instance)
        self._in_order(change, name, instance, life)
        before = life.instances.get(name)
        if before is not None and name not in life.disturbed:
            self._again(change, instance, before)
        life.instances[name] = instance
        life.disturbed.discard(name)

    def _alone(self, change: Change, name: str, instance: Instance) -> None:
        mine = identity.split(change.name)
        for other in self._by_id.values():
            if other is instance or not other.alive:
                continue
            theirs = identity.split(other.name)
            if mine is None or theirs is None or mine[1:3] != theirs[1:3]:
                continue
            if theirs[3] != mine[3]:
                self._say(change.at, f"{change.name} is started while {other.name} of the former pod runs")
            elif theirs[0] == name:
                self._say(change.at, f"{change.name} and {other.name} run at once")

    def _in_order(self, change: Change, name: str, instance: Instance, life: Life) -> None:
        pod = self._pod_of(instance.uid)
        if pod is None:
            return
        inits = [c.name for c in pod.spec.init_containers]
        here = {n: i for n, i in life.instances.items() if i.place == instance.place}
        if instance.init:
            if any(not i.init and n not in life.disturbed for n, i in here.items()):
                self._say(change.at, f"{change.name} is started after the pod's main containers")
            inits = inits[: inits.index(name)]
        for earlier in inits:
            done = here.get(earlier)
            if earlier not in life.disturbed and (done is None or done.ended is None or done.exit_code != 0):
                self._say(change.at, f"{change.name} is started before {earlier} has ended well")

    def _again(self, change: Change, instance: Instance, before: Instance) -> None:
        if before.ended is None or before.started is None:
            return
        same_place = before.place == instance.place
        if same_place or not instance.init:
            ran = (before.ended - before.started).total_seconds()
            instance.delay = _delay_after(before.delay, ran)
            waited = (change.at - before.ended).total_seconds()
            if waited < instance.delay - SLACK:
                self._say(change.at, f"{change.name} is started {waited:.3f} s after the last, not {instance.delay} s")
        if instance.init:
            if same_place and before.exit_code == 0:
                self._say(change.at, f"{change.name} is started although {before.name} has ended well")
            return
        pod = self._pod_of(instance.uid)
        if pod is None or self._unwanted(instance.uid) or before.why in OWN_ENDINGS:
            return
        policy = pod.spec.restart_policy
        if policy == "Never" or (policy == "OnFailure" and before.exit_code == 0):
            self._say(change.at, f"{change.name} is started again under {policy}")

    def _signalled(self, change: Change, instance: Instance) -> None:
        if change.why == "SIGTERM":
            instance.term_at = instance.term_at or change.at
        elif change.why == "SIGKILL":
            grace = max(2, instance.grace)
            told = instance.term_at
            if told is None or (change.at - told).total_seconds() < grace - SLACK:
                self._say(change.at, f"{change.name} is killed within its grace period of {grace} s")

    def _ended(self, change: Change, instance: Instance) -> None:
        instance.ended, instance.why = change.at, change.why
        container = self._engine.containers.get(change.id)
        instance.exit_code = container.record.exit_code if container is not None else 137
        if change.why == "removed" and self._calm():
            self._say(change.at, f"{change.name} is removed while it runs")
        if change.why not in OWN_ENDINGS or self._unwanted(instance.uid):
            return
        life, pod = self._lives[instance.uid], self._pod_of(instance.uid)
        if list(life.ready.values()) != [instance.place]:
            return  # its sandbox has died, or there are two
        if pod is not None and pod.spec.active_deadline_seconds is not None:
            return
        self._say(change.at, f"{change.name} is ended for no reason ({change.why})")

    def _say(self, at: datetime, text: str) -> None:
        self.violations.append(f"{at:%H:%M:%S.%f} {text}")


def _delay_after(delay: float | None, ran: float) -> float:
    """Seconds a kubelet waits after such a run: none the first time, then 10, 20, 40 … 300."""
    if delay is None or ran > 600:
        return 0.0
    return min(delay * 2, 300.0) if delay else 10.0
