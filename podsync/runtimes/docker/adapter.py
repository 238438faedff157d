"""Docker as a podsync runtime: thin verbs over one engine's API."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from podsync import errors
from podsync.clock import Clock
from podsync.errors import Conflict, NotFound, StartFault
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
    Resources,
    RuntimeHint,
    RuntimeInfo,
    SandboxId,
    SandboxRecord,
    SandboxSpec,
    SecuritySpec,
    StopToken,
)
from podsync.runtimes.common import faults, hints
from podsync.runtimes.common.crew import Crew
from podsync.runtimes.common.faults import Refusal
from podsync.runtimes.common.fresh import Fresh
from podsync.runtimes.common.images import ImageCache, SandboxImages
from podsync.runtimes.common.limits import Limits
from podsync.runtimes.common.looking import Looker
from podsync.runtimes.common.records import Detail, Row, label_filter
from podsync.runtimes.common.shared import Shared
from podsync.runtimes.common.wire import Stream
from podsync.runtimes.docker import records
from podsync.runtimes.docker import spec as bodies
from podsync.runtimes.docker.client import Api
from podsync.runtimes.docker.images import ImageStore
from podsync.runtimes.docker.processes import Processes

__all__ = ["DockerRuntime"]

_CHANGE = 120.0
"""Seconds an engine has for a change; many at once make each of them slow."""
_TERM = "SIGTERM"
_WIDTH = 16
_EVENTS = {
    "type": ["container", "image"],
    "event": [*records.NEWS, "create", "delete", "import", "load", "pull", "tag", "untag"],
}


class DockerRuntime:
    """``podsync.runtimes.base.Runtime`` for one Docker engine and one node name."""

    def __init__(self, api: Api, *, node: str, clock: Clock) -> None:
        self._api = api
        self.node = node
        self._looker = Looker(clock, self._rows, self._inspect)
        self._cache = ImageCache(clock)
        self._images = ImageStore(api, self._cache)
        self._sandbox_images = SandboxImages(
            self._images.image, self._images.pull, self._images.load, lambda: str(api.offer.get("Arch") or "")
        )
        self._processes = Processes(api, self._looker, clock)
        self._limits = Limits()
        self._limits_read = Shared(lambda: self._limits.read(api.socket_path))
        self._fresh = Fresh()
        self._listening = False
        self._leaving: set[Ref] = set()
        self._crew = Crew(_WIDTH, "podsync-docker")

    # -- looking -----------------------------------------------------------------------

    def list_sandboxes(self, uid: str | None = None) -> Sequence[SandboxRecord]:
        """All of ours, or one pod's, with their containers."""
        return self._looker.look(uid)

    def observe(self) -> Observation:
        """One look at everything of ours, with its time."""
        return self._looker.observe()

    def hints(self, stop: StopToken) -> Iterator[RuntimeHint]:
        """The engine's events, until stopped or closed."""
        try:
            yield from hints.follow(stop, self._looker, self._events, self._hint)
        finally:
            self._deaf()

    def info(self) -> RuntimeInfo:
        """Who the engine is; asks it."""
        self._api.forget()
        offer, version = self._api.offer, self._api.version
        try:
            facts = self._api.call("GET", "/info")
        except Refusal as refusal:
            raise faults.verb_fault(refusal) from refusal
        return RuntimeInfo(
            name="docker",
            version=str(offer.get("Version") or ""),
            api_version=".".join(map(str, version)),
            endpoint=self._api.endpoint,
            capabilities=records.capabilities(version, facts),
            notes=self._found_limits().notes,
        )

    # -- sandboxes -----------------------------------------------------------------------

    def create_sandbox(self, spec: SandboxSpec) -> SandboxId:
        """Created, not running; the pause image is loaded when the store lacks it."""
        try:
            return self._create_sandbox(spec)
        except errors.ImageAbsent:
            self._forget_images()  # someone has removed it since
            return self._create_sandbox(spec)

    def start_sandbox(self, sandbox: Ref) -> tuple[str, ...]:
        """Start it; returns its addresses."""
        self._start(sandbox, sandbox=True)
        detail = self._looker.ask(sandbox)
        if detail is None:
            raise NotFound(f"no such container: {sandbox}")
        return detail.ips

    def remove_sandbox(self, sandbox: Ref, containers: Sequence[Ref] = ()) -> None:
        """End and remove it and the containers named, side by side."""
        self._crew.remove(
            [partial(self._remove, ref, force=True) for ref in containers],
            meanwhile=partial(self._remove, sandbox, force=True),
        )

    # -- containers ------------------------------------------------------------------------

    def create_container(self, sandbox: Ref, spec: ContainerSpec) -> ContainerId:
        """Created, not running."""
        image = spec.image_id
        if not image:
            found = self._images.image(spec.image)
            if found is None:
                raise errors.ImageAbsent(spec.image)
            image = found.id
        profile = self._profile(spec.security)
        limits = self._found_limits()
        allowed = replace(spec, resources=limits.allowed(spec.resources))
        self._note_privileges(spec.security)
        body = bodies.container_body(
            allowed, sandbox, image, api=self._api.version, limits=limits.found, profile=profile
        )
        try:
            return ContainerId(self._create(spec.name, body, allowed.resources))
        except Refusal as refusal:
            fault = faults.create_fault(refusal, image=spec.image, sandbox=False)
            if isinstance(fault, errors.ImageAbsent):
                self._forget_images()
            raise fault from refusal

    def start_container(self, container: Ref) -> None:
        """Start it, unless it has ended before."""
        self._start(container, sandbox=False)

    def signal_container(self, container: Ref, signal: str) -> None:
        """Send a signal; SIGTERM means the image's own stop signal where it sets one."""
        word = signal
        if signal == _TERM:
            detail = self._looker.inspected(container)
            word = (detail.stop_signal if detail else "") or signal
        try:
            self._api.call("POST", f"/containers/{container}/kill", query={"signal": word}, timeout=_CHANGE)
        except Refusal as refusal:
            if not faults.is_absent(refusal) and not faults.is_not_running(refusal):
                raise faults.verb_fault(refusal) from refusal
        self._looker.doubt(container)

    def remove_container(self, container: Ref) -> None:
        """Remove it with its anonymous volumes, unless it runs."""
        self._remove(container, force=False)

    # -- images, commands, logs --------------------------------------------------------------

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
        return self._processes.exec(container, command, timeout)

    def open_exec(self, container: Ref, command: Sequence[str], *, stdin: bool, tty: bool) -> ExecSession:
        """Start a command with its streams open."""
        return self._processes.open_exec(container, command, stdin=stdin, tty=tty)

    def logs(self, container: Ref, options: LogOptions) -> LogStream:
        """Lines of its output, oldest first."""
        return self._processes.logs(container, options)

    def close(self) -> None:
        """End streams, connections and threads; containers go on."""
        self._api.close()
        self._looker.close()
        self._crew.close()
        self._limits_read.close()
        self._sandbox_images.close()

    # -- the engine ------------------------------------------------------------------------

    def _rows(self, uid: str | None) -> list[Row]:
        """One list call."""
        filters = json.dumps({"label": label_filter(self.node, uid)})
        try:
            entries: list[Any] = self._api.call("GET", "/containers/json", query={"all": "1", "filters": filters})
        except Refusal as refusal:
            raise faults.verb_fault(refusal) from refusal
        return [records.row(entry) for entry in entries]

    def _inspect(self, container: str) -> Detail | None:
        """One inspection; None when it is gone."""
        try:
            return records.detail(self._api.call("GET", f"/containers/{container}/json"))
        except Refusal as refusal:
            if faults.is_absent(refusal):
                return None
            raise faults.verb_fault(refusal) from refusal

    def _events(self) -> Stream:
        """The stream of events; whatever engine answers now may be another one than before."""
        self._deaf()
        self._api.forget()
        self._limits_read.forget()
        stream = self._api.open("GET", "/events", query={"filters": json.dumps(_EVENTS)})
        self._cache.heard(heard=True)
        self._listening = True
        return stream

    def _deaf(self) -> None:
        """No event is heard any longer."""
        self._cache.heard(heard=False)
        self._listening = False
        self._leaving.clear()

    def _hint(self, line: bytes) -> RuntimeHint | None:
        """What a line of the events tells. Raises ValueError for one that is no event."""
        event = hints.event(line)
        if event.get("Type") == "image":
            self._cache.changed()
        hint = records.hint(event, self.node)
        if hint is None or not self._our_doing(event, hint):
            return hint
        return None

    def _our_doing(self, event: Mapping[str, Any], hint: RuntimeHint) -> bool:
        """Whether it tells of a removal that this runtime asked for, which is no news."""
        refs = {hint.container, records.event_name(event)} & self._leaving
        if refs and event.get("Action") == "destroy":
            self._leaving.difference_update(refs)
        return bool(refs)

    def _forget_images(self) -> None:
        """The engine says that it lacks an image it had."""
        self._cache.changed()
        self._sandbox_images.forget()

    def _create_sandbox(self, spec: SandboxSpec) -> SandboxId:
        """One try."""
        image = self._sandbox_images.id(spec.image)
        profile = self._profile(spec.security)
        limits = self._found_limits()
        allowed = replace(spec, resources=limits.allowed(spec.resources))
        body = bodies.sandbox_body(allowed, image, api=self._api.version, limits=limits.found, profile=profile)
        try:
            return SandboxId(self._create(spec.name, body, allowed.resources))
        except Refusal as refusal:
            raise faults.create_fault(refusal, image=spec.image or image, sandbox=True) from refusal

    def _create(self, name: str, body: dict[str, Any], resources: Resources) -> str:
        """Id of what was created. Raises Refusal."""
        answer = self._api.call("POST", "/containers/create", query={"name": name}, body=body, timeout=_CHANGE)
        made = str(answer["Id"])
        for warning in answer.get("Warnings") or ():  # what this machine cannot do, and Docker leaves out
            self._limits.note(f"Docker: {faults.clean(warning)}")
        self._looker.created(made)
        self._fresh.add(made, name, resources.oom_score_adj)
        return made

    def _start(self, ref: Ref, *, sandbox: bool) -> None:
        """Start what was created; the engine would start an ended one again, so that is asked for first."""
        made = self._fresh.take(ref)
        if made is None:
            detail = self._looker.ask(ref)
            if detail is None:
                raise NotFound(f"no such container: {ref}")
            if detail.state is ContainerState.RUNNING:
                return
            if detail.state is not ContainerState.CREATED and (detail.started_at is not None or not sandbox):
                raise Conflict(f"container {ref} has ended before: a new instance is a new container")
        try:
            self._api.call("POST", f"/containers/{ref}/start", timeout=_CHANGE)
        except Refusal as refusal:
            if made is not None:
                self._looker.doubt(made.id)
            self._limits.learn(refusal.text, made.oom_score_adj if made else None)
            raise faults.start_fault(refusal, sandbox=sandbox) from refusal

    def _remove(self, ref: Ref, *, force: bool) -> None:
        """Remove one. Absent: succeeds. Being removed by someone else: waits for that."""
        self._fresh.take(ref)
        if self._listening:
            self._leaving.add(ref)
        query = {"v": "1", "force": "1" if force else "0"}
        try:
            self._api.call("DELETE", f"/containers/{ref}", query=query, timeout=_CHANGE)
        except Refusal as refusal:
            self._leaving.discard(ref)
            if faults.is_absent(refusal):
                return
            self._looker.doubt(ref)
            if not faults.is_removal_under_way(refusal):
                raise faults.verb_fault(refusal) from refusal
            self._await_removal(ref)
        except errors.RuntimeFault:
            self._leaving.discard(ref)
            raise

    def _await_removal(self, ref: Ref) -> None:
        """Return once it is gone."""
        try:
            self._api.call("POST", f"/containers/{ref}/wait", query={"condition": "removed"}, timeout=_CHANGE)
        except Refusal as refusal:
            if not faults.is_absent(refusal):
                raise faults.verb_fault(refusal) from refusal

    def _found_limits(self) -> Limits:
        """What the engine's process lacks, looked at once."""
        self._limits_read.get()
        return self._limits

    def _note_privileges(self, security: SecuritySpec) -> None:
        """Tell once that "privileged" is less than it says on this machine."""
        missing = self._limits.found.missing_capabilities
        if missing and (security.privileged or "ALL" in security.cap_add):
            self._limits.note(
                f"this machine's engine lacks {', '.join(f'CAP_{name}' for name in sorted(missing))}: "
                "privileged containers run without"
            )

    @staticmethod
    def _profile(security: SecuritySpec) -> str:
        """The text of the seccomp profile that is named by its file; Docker takes the text."""
        if not security.seccomp.startswith(bodies.LOCALHOST_PROFILE):
            return ""
        path = Path(security.seccomp.removeprefix(bodies.LOCALHOST_PROFILE))
        try:
            return json.dumps(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError) as error:
            raise StartFault(
                f"seccomp profile {path} cannot be used: {error}", reason="CreateContainerError"
            ) from error
