"""Podman as a podsync runtime: thin verbs over libpod's API.

A pod is a sandbox and members that join its namespaces. Podman's own pods are not
used: they restart what has ended, cannot replace their sandbox, and take seconds to go.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple

from podsync import labels
from podsync.clock import Clock
from podsync.errors import Conflict, ImageAbsent, NotFound, StartFault
from podsync.runtimes.base import (
    Auth,
    ContainerId,
    ContainerSpec,
    ContainerState,
    ExecResult,
    ExecSession,
    ImageRecord,
    LogOptions,
    LogStream,
    Observation,
    PullProgress,
    Ref,
    RuntimeHint,
    RuntimeInfo,
    SandboxId,
    SandboxRecord,
    SandboxSpec,
    StopToken,
)
from podsync.runtimes.common import faults
from podsync.runtimes.common.crew import Crew
from podsync.runtimes.common.faults import Refusal
from podsync.runtimes.common.fresh import Fresh
from podsync.runtimes.common.images import ImageCache, SandboxImages
from podsync.runtimes.common.looking import Looker
from podsync.runtimes.common.records import Detail
from podsync.runtimes.common.wire import Closed
from podsync.runtimes.podman import records
from podsync.runtimes.podman import spec as bodies
from podsync.runtimes.podman.client import API, Client
from podsync.runtimes.podman.engine import Engine
from podsync.runtimes.podman.execs import Commands
from podsync.runtimes.podman.hints import HintFeed
from podsync.runtimes.podman.images import ImageStore
from podsync.runtimes.podman.logs import open_log
from podsync.runtimes.podman.pidwatch import PidWatch
from podsync.runtimes.podman.service import PrivateService

__all__ = ["PodmanRuntime"]

_TERM: Final = "SIGTERM"
_KILL: Final = "SIGKILL"
_WIDTH: Final = 16
_CATCH_UP: Final = (0.002, 0.004, 0.008, 0.016, 0.03, 0.06, 0.12, 0.25, 0.5, 1.0)
"""Seconds between inspections of a process that is dead while the engine calls it running."""


class _Box(NamedTuple):
    """A sandbox made here."""

    id: str
    uid: str


class PodmanRuntime:
    """``podsync.runtimes.base.Runtime`` for one Podman and one node name.

    ``service`` is the one of our own behind ``client``, if it is: restarted when it died,
    ended when the runtime is closed.
    """

    def __init__(self, client: Client, *, node: str, clock: Clock, service: PrivateService | None = None) -> None:
        self.node = node
        self._client = client
        self._service = service
        self._closing = threading.Event()
        self._engine = Engine(client, node, self._closing)
        self._cache = ImageCache(clock)
        self._images = ImageStore(client, self._cache)
        self._sandbox_images = SandboxImages(
            self._images.image, self._images.pull, self._images.load, lambda: self._engine.facts().architecture
        )
        self._commands = Commands(client, clock, lambda: self._engine.facts().numbers)
        self._looker = Looker(clock, self._engine.rows, self._inspect)
        self._feed = HintFeed(client, node, self._looker, self._cache, self._connecting)
        self._watch = PidWatch(self._feed.died)
        self._fresh = Fresh()
        self._lock = threading.Lock()
        self._boxes: dict[Ref, _Box] = {}
        self._joined: dict[str, Ref] = {}
        self._crew = Crew(_WIDTH, "podsync-podman")

    # -- looking -----------------------------------------------------------------------

    def list_sandboxes(self, uid: str | None = None) -> Sequence[SandboxRecord]:
        """All of ours, or one pod's, with their containers."""
        found = self._looker.look(uid)
        self._watch_all(found, everything=uid is None)
        return found

    def observe(self) -> Observation:
        """One look at everything of ours, with its time."""
        seen = self._looker.observe()
        self._watch_all(seen.sandboxes, everything=True)
        return seen

    def hints(self, stop: StopToken) -> Iterator[RuntimeHint]:
        """Deaths as the kernel tells them and the engine's events, until stopped or closed."""
        return self._feed.follow(stop)

    def info(self) -> RuntimeInfo:
        """Who it is; asks it."""
        self._engine.forget()
        known = self._engine.facts()
        return RuntimeInfo(
            name="podman",
            version=known.version,
            api_version=API,
            endpoint=self._client.endpoint,
            capabilities=known.capabilities,
            notes=known.limits.notes,
        )

    # -- sandboxes ---------------------------------------------------------------------

    def create_sandbox(self, spec: SandboxSpec) -> SandboxId:
        """Created, not running; the pause image is loaded, or pulled, when the store lacks it."""
        try:
            made = self._create_sandbox(spec)
        except ImageAbsent:
            self._forget_images()  # someone has removed it since
            made = self._create_sandbox(spec)
        box = _Box(made, spec.labels.get(labels.POD_UID, ""))
        with self._lock:
            self._boxes[made] = self._boxes[spec.name] = box
        return SandboxId(made)

    def start_sandbox(self, sandbox: Ref) -> tuple[str, ...]:
        """Start it; returns its addresses."""
        self._start(sandbox, sandbox=True)
        detail = self._looker.ask(sandbox)
        if detail is None:
            raise NotFound(f"no such container: {sandbox}")
        with self._lock:
            box = self._boxes.get(sandbox)
        if box is not None and self._engine.facts().local:
            self._watch.watch(box.id, box.uid, detail.pid)
        return detail.ips

    def remove_sandbox(self, sandbox: Ref, containers: Sequence[Ref] = ()) -> None:
        """End and remove it and the containers named. Whatever else still joins it goes too: Podman keeps no orphans.

        Its process is ended while the containers are removed, as both take their time.
        """
        self._crew.remove(
            [partial(self._remove, ref, force=True) for ref in containers],
            meanwhile=partial(self._engine.kill, sandbox, _KILL) if containers else None,
            last=partial(self._remove, sandbox, force=True, dependants=True),
        )

    # -- containers --------------------------------------------------------------------

    def create_container(self, sandbox: Ref, spec: ContainerSpec) -> ContainerId:
        """Created, not running; the sandbox need not run yet."""
        image = spec.image_id
        if not image:
            found = self._images.image(spec.image)
            if found is None:
                raise ImageAbsent(spec.image)
            image = found.id
        limits = self._engine.facts().limits
        fitting = replace(spec, image_id=image, resources=limits.allowed(spec.resources))
        body = bodies.container_body(sandbox, fitting, image_user=self._images.user(image))
        try:
            made = self._engine.create(body)
        except Refusal as refusal:
            fault = faults.create_fault(refusal, image=spec.image, sandbox=False)
            if isinstance(fault, ImageAbsent):
                self._forget_images()
            raise fault from refusal
        self._made(made, spec.name, fitting.resources.oom_score_adj)
        with self._lock:
            box = self._boxes.get(sandbox)
            self._joined[made] = box.id if box else sandbox
        return ContainerId(made)

    def start_container(self, container: Ref) -> None:
        """Start it, unless it has ended before or its sandbox has.

        Podman would start an ended sandbox with it, in a network of its own.
        """
        self._start(container, sandbox=False)

    def signal_container(self, container: Ref, signal: str) -> None:
        """Send a signal; SIGTERM means the image's own stop signal where it sets one."""
        word = signal
        if signal == _TERM:
            try:
                word = self._detail(container).stop_signal or signal
            except NotFound:
                return
        self._engine.kill(container, word)

    def remove_container(self, container: Ref) -> None:
        """Remove it with its anonymous volumes, unless it runs."""
        self._remove(container, force=False)

    # -- images, commands, logs --------------------------------------------------------

    def image(self, image: str) -> ImageRecord | None:
        """The image of that name or id."""
        return self._images.image(image)

    def pull_image(
        self, image: str, auth: Auth | None = None, progress: Callable[[PullProgress], None] | None = None
    ) -> ImageRecord:
        """Fetch it from its registry."""
        return self._images.pull(image, auth, progress)

    def exec(self, container: Ref, command: Sequence[str], timeout: float) -> ExecResult:
        """Run a command to its end."""
        return self._commands.run(container, command, timeout, lambda: self._detail(container).id)

    def open_exec(self, container: Ref, command: Sequence[str], *, stdin: bool, tty: bool) -> ExecSession:
        """Start a command with its streams open."""
        return self._commands.open(container, command, stdin=stdin, tty=tty)

    def logs(self, container: Ref, options: LogOptions) -> LogStream:
        """Lines of its output, oldest first."""
        detail = self._detail(container, ask=True)
        return open_log(
            self._client, detail, options, local=self._engine.facts().local, ended=lambda: self._has_ended(detail.id)
        )

    def close(self) -> None:
        """End hints, connections, threads and a service of our own; containers go on."""
        self._closing.set()
        self._feed.close()
        self._watch.close()
        self._looker.close()
        self._crew.close()
        self._client.close()
        self._engine.close()
        self._sandbox_images.close()
        if self._service is not None:
            self._service.close()

    # -- parts -------------------------------------------------------------------------

    def _connecting(self) -> None:
        """Before each connection to the engine's events: another engine may answer from now on."""
        self._engine.forget()
        if self._service is not None:
            self._service.ensure()

    def _inspect(self, container: Ref) -> Detail | None:
        """An inspection that is not behind the kernel: Podman learns of a death some milliseconds later."""
        for wait in _CATCH_UP:
            detail = self._engine.inspect(container)
            if detail is None or not detail.pid or self._watch.alive(detail.id, detail.pid) is not False:
                return detail
            if self._closing.wait(wait):
                raise Closed("this runtime has been closed")
        return self._engine.inspect(container)

    def _forget_images(self) -> None:
        """The engine says that it lacks an image it had."""
        self._cache.changed()
        self._sandbox_images.forget()

    def _create_sandbox(self, spec: SandboxSpec) -> str:
        """One try."""
        known = self._engine.facts()
        fitting = replace(spec, resources=known.limits.allowed(spec.resources))
        image = self._sandbox_images.id(spec.image)
        try:
            made = self._engine.create(bodies.sandbox_body(fitting, image))
        except Refusal as refusal:
            raise faults.create_fault(refusal, image=spec.image or image, sandbox=True) from refusal
        self._made(made, spec.name, fitting.resources.oom_score_adj)
        return made

    def _made(self, container: str, name: str, oom_score_adj: int | None) -> None:
        """Remember what was created just now, so that neither a look nor its start need ask for it."""
        self._looker.created(container)
        self._fresh.add(container, name, oom_score_adj)

    def _start(self, ref: Ref, *, sandbox: bool) -> None:
        """Start what was created; Podman would start an ended one again, so that is asked for first."""
        made = self._fresh.take(ref)
        if made is not None:
            container, score = made.id, made.oom_score_adj
            with self._lock:
                box = self._joined.pop(container, "")
        else:
            detail = self._detail(ref, ask=True)
            if detail.state is ContainerState.RUNNING:
                return
            if detail.state is not ContainerState.CREATED and (detail.started_at is not None or not sandbox):
                raise Conflict(f"container {ref} has ended before: a new instance is a new container")
            container, score, box = detail.id, None, detail.extra.get(records.SANDBOX, "")
        if box and not self._runs(box):
            raise StartFault(f"cannot start container {ref}: the sandbox of its pod does not run")
        try:
            self._engine.start(ref)
        except Refusal as refusal:
            self._engine.failed(container, refusal.text)
            self._looker.doubt(container)
            self._engine.facts().limits.learn(refusal.text, score)
            raise faults.start_fault(refusal, sandbox=sandbox) from refusal
        if box and self._watch.alive(box) is False:
            self._undo_revival(ref, box)

    def _runs(self, sandbox: Ref) -> bool:
        """Whether a sandbox runs: by its process where that is watched, else the engine is asked."""
        alive = self._watch.alive(sandbox)
        if alive is not None:
            return alive
        detail = self._looker.ask(sandbox)
        return detail is not None and detail.state is ContainerState.RUNNING

    def _undo_revival(self, container: Ref, sandbox: Ref) -> None:
        """The sandbox ended as a container was started. If Podman has started it again with it, end both.

        Its network would be another one than that of the pod's other containers, and nobody
        could tell by looking.
        """
        detail = self._looker.ask(sandbox)
        if detail is not None and detail.state is ContainerState.RUNNING:
            self._engine.kill(sandbox, _KILL)
            self._engine.kill(container, _KILL)
            raise StartFault(f"the sandbox of container {container} ended while it was started")

    def _remove(self, ref: Ref, *, force: bool, dependants: bool = False) -> None:
        """Remove, and forget what was known of it."""
        self._fresh.take(ref)
        gone = self._engine.remove(ref, force=force, dependants=dependants)
        self._feed.removed(gone)
        with self._lock:
            for container in gone:
                self._joined.pop(container, None)
                self._watch.forget(container)
            for name in [name for name, box in self._boxes.items() if box.id in gone]:
                del self._boxes[name]

    def _detail(self, ref: Ref, *, ask: bool = False) -> Detail:
        """What is known of it, or asked now. Raises NotFound."""
        detail = self._looker.ask(ref) if ask else self._looker.inspected(ref)
        if detail is None:
            raise NotFound(f"no such container: {ref}")
        return detail

    def _has_ended(self, container: str) -> bool:
        """Whether it has ended, all its output written; gone counts as well."""
        if self._watch.alive(container):
            return False
        detail = self._looker.ask(container)
        return detail is None or detail.state is not ContainerState.RUNNING

    def _watch_all(self, found: Sequence[SandboxRecord], *, everything: bool) -> None:
        """Have the kernel tell of the deaths of all that runs."""
        if not self._engine.facts().local:
            return
        for sandbox in found:
            detail = self._looker.known(sandbox.id) if sandbox.ready else None
            if detail is not None:
                self._watch.watch(sandbox.id, sandbox.uid, detail.pid)
            for container in sandbox.containers:
                if container.pid:
                    self._watch.watch(container.id, sandbox.uid, container.pid)
        if everything:
            present = {str(sandbox.id) for sandbox in found}
            present |= {str(container.id) for sandbox in found for container in sandbox.containers}
            self._watch.keep(present)
            self._feed.keep(present)
