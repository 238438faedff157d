"""The agent: an owner with threads around it, for a process or for an embedding program."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from podsync import labels, runtimes, sources
from podsync.clock import Clock, SystemClock
from podsync.desired import DesiredStore
from podsync.errors import ConfigError, PodsyncError, SourceError
from podsync.executor import Executor
from podsync.host import checked_node_name, default_node_name, host_address, node_settings
from podsync.messages import Hinted, SourceFailed, SourceSpoke, Woken
from podsync.models.base import format_time
from podsync.observer import Observer
from podsync.owner import Owner, Parts
from podsync.publisher import Publisher
from podsync.reconciler import NodeSettings, Reconciler
from podsync.runtimes.base import RuntimeHint
from podsync.store import EVENTS, STATUS, RootStore, default_root, read_json, remembered_pods
from podsync.volumes import MemoryVolumes, Volumes, VolumeStore
from podsync.workers import Inbox, ThreadInbox, ThreadWorkers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from podsync.models import Pod, PodKey, PodStatus
    from podsync.runtimes.base import Runtime, StopToken
    from podsync.sources.base import Refusal, Source

__all__ = ["Agent", "default_node_name"]

log = logging.getLogger(__name__)

JOIN_SECONDS = 5.0
"""How long ``run`` waits at its end for calls under way."""
RESTART_SECONDS = 1.0
"""How long a source or a stream of hints that broke in an unforeseen way rests before it is run again."""


class Agent:
    """Keeps an engine at what the sources want, for as long as ``run`` runs.

    ``statuses``, ``stop`` and ``shut_down`` may be called from any thread.
    """

    def __init__(
        self,
        *,
        sources: Sequence[Source | str],
        runtime: Runtime | str = "auto",
        root: str | Path | None = None,
        node_name: str | None = None,
        settings: NodeSettings | None = None,
        name_suffix: bool = False,
        pause_image: str = "",
        clock: Clock | None = None,
        workers: int = 16,
        watch: Callable[[Agent], None] | None = None,
    ) -> None:
        """Lock the root and connect to the engine; nothing runs yet.

        ``sources`` and ``runtime`` are objects or what the command line takes
        (``dir:/etc/manifests``; ``docker``). ``root`` defaults to the command line's; a
        virtual runtime object (the fake) needs none and then leaves no files. ``node_name``
        defaults to the node a runtime object was made for, else to the host's name.
        ``watch`` is called on the owner's thread after each step.
        Raises ConfigError, PluginError, RuntimeUnavailable.
        """
        self._clock = clock or SystemClock()
        given = None if isinstance(runtime, str) else runtime
        name = node_name or (given.node if given is not None else default_node_name())
        self.node_name = checked_node_name(name)
        if given is not None and given.node != self.node_name:
            raise ConfigError(f"the runtime was made for the node {given.node}, not for {self.node_name}")
        virtual = root is None and given is not None and "virtual" in given.info().capabilities
        self.store = None if virtual else RootStore(str(root) if root is not None else default_root())
        self.root = str(self.store.path) if self.store is not None else "/"
        self._watch = watch
        self._stopping = threading.Event()
        self._ending = threading.Event()
        self._inbox: Inbox = ThreadInbox()
        self._workers = ThreadWorkers(self._inbox, size=workers)
        self._threads: list[threading.Thread] = []
        self._closing = ExitStack()  # what is left to do at the end, the last one first
        try:
            if self.store is not None:
                self._closing.callback(self.store.close)
                self.store.claim(self.node_name)
            self._closing.callback(self._join)
            if isinstance(runtime, str):
                self.runtime: Runtime = runtimes.get(runtime, node=self.node_name, state=self.root)
                self._closing.callback(self.runtime.close)
            else:
                self.runtime = runtime
            self._sources = _opened(sources, self._clock, self.store)
            self.info = self.runtime.info()
            if self.store is not None:
                self._refuse_foreign_pods()
            self._build(settings or node_settings(self.node_name, self.root, pause_image), name_suffix=name_suffix)
            self._closing.callback(self._finish)
        except BaseException:
            self.close()
            raise

    def _build(self, settings: NodeSettings, *, name_suffix: bool) -> None:
        volumes: Volumes = VolumeStore(self.root) if self.store is not None else MemoryVolumes()
        about: dict[str, Any] = {
            "pid": os.getpid(),
            "startedAt": format_time(self._clock.now()),
            "notes": list(self.info.notes),
        }
        self.publisher = Publisher(
            info=self.info,
            node=self.node_name,
            addresses=(host_address(),),
            files=self.store,
            remembered=remembered_pods(self.root) if self.store is not None else {},
            about=about,
            now=self._clock.now,
        )
        if self.store is not None:
            self._load_events(self.root)
        self.owner = Owner(
            Parts(
                clock=self._clock,
                inbox=self._inbox,
                workers=self._workers,
                desired=DesiredStore(
                    [s.name for s in self._sources], self.node_name, name_suffix=name_suffix, clock=self._clock
                ),
                observer=Observer(self.runtime, volumes),
                executor=Executor(self.runtime, volumes, self._clock, self._workers.together),
                volumes=volumes,
                reconciler=Reconciler(settings),
                publisher=self.publisher,
            )
        )

    def _refuse_foreign_pods(self) -> None:
        """An agent with another root and the same node name would end this one's pods, and this one its."""
        for sandbox in self.runtime.list_sandboxes():
            other = sandbox.labels.get(labels.ROOT, self.root)
            if other != self.root and Path(other, STATUS).exists():
                raise ConfigError(
                    f'the engine runs pods of the node "{self.node_name}" that belong to the agent with the root '
                    f"{other}; give this one a --node-name of its own, or use --root {other}"
                )

    def _load_events(self, root: str) -> None:
        try:
            unread = self.publisher.events.load(read_json(root, EVENTS) or {})
        except ConfigError as error:
            log.warning("earlier events are lost: %s", error)
        else:
            if unread:
                log.warning("%d earlier events could not be read", unread)

    @property
    def statuses(self) -> Mapping[PodKey, PodStatus]:
        """Every pod's last status: an immutable map, swapped whole."""
        return self.owner.statuses

    @property
    def at_rest(self) -> bool:
        """Nothing is under way, and each pod runs, has ended, or waits for a retry."""
        owner = self.owner
        return (
            owner.settled
            and not owner.ending
            and all(status.phase != "Pending" or owner.waits(key) for key, status in owner.statuses.items())
        )

    def run(
        self,
        stop: StopToken | None = None,
        *,
        until: Callable[[Agent], bool] | None = None,
        deadline: float | None = None,
    ) -> None:
        """Keep going until ``stop`` is called, ``stop`` is set, or ``until`` says so.

        ``until`` is asked after each step. After ``deadline`` seconds it ends in any case.
        Pods run on afterwards. Blocks; call it on any one thread, once.
        """
        end = None if deadline is None else self._clock.monotonic() + deadline
        log.info(
            "podsync runs on %s %s",
            self.info.name,
            self.info.version,
            extra={"node": self.node_name, "root": self.root},
        )
        self._start_threads()
        owner = self.owner
        try:
            owner.step(())
            while not self._stopping.is_set():
                if stop is not None and stop.is_set():
                    break
                messages = self._inbox.wait(self._patience(stop, end))
                if self._ending.is_set():
                    owner.end_everything()
                owner.step(messages)
                if self._watch is not None:
                    self._watch(self)
                if (until is not None and until(self)) or (self._ending.is_set() and owner.empty):
                    break
                if end is not None and self._clock.monotonic() >= end:
                    break
        finally:
            self.close()

    def _patience(self, stop: StopToken | None, end: float | None) -> float:
        """Seconds to wait for a message: a foreign stop token must be looked at now and then."""
        longest = 60.0 if stop is None else 0.5
        if end is not None:
            longest = min(longest, max(0.0, end - self._clock.monotonic()))
        return min(self.owner.seconds_to_wait(), longest)

    def stop(self) -> None:
        """Make ``run`` return; pods run on. From any thread, also from a signal handler's."""
        self._stopping.set()
        self._inbox.post(Woken())

    def shut_down(self) -> None:
        """End every pod with its grace, then make ``run`` return."""
        self._ending.set()
        self._inbox.post(Woken())

    def close(self) -> None:
        """Join the threads, write what is unwritten, free the engine and the root. Twice is fine."""
        self._stopping.set()
        self._closing.close()

    def _finish(self) -> None:
        if not self._workers.stop(JOIN_SECONDS):
            log.warning("calls to the engine are still under way; they are left to end by themselves")
        self.publisher.flush(self._clock.monotonic(), self.owner.engine_error, force=True)

    def _join(self) -> None:
        for thread in self._threads:
            thread.join(JOIN_SECONDS)
        self._threads.clear()

    # --- threads -------------------------------------------------------------------------------

    def _start_threads(self) -> None:
        jobs: list[tuple[str, Callable[[], None]]] = [("podsync-hints", self._read_hints)]
        jobs += [(f"podsync-source-{s.name}", lambda s=s: self._run_source(s)) for s in self._sources]  # type: ignore[misc]
        for name, job in jobs:
            thread = threading.Thread(target=job, name=name, daemon=True)
            self._threads.append(thread)
            thread.start()

    def _run_source(self, source: Source) -> None:
        sink = _InboxSink(source.name, self._inbox)
        while not self._stopping.is_set():
            try:
                source.run(sink, self._stopping)
            except Exception as error:
                log.exception("source %s failed unexpectedly", source.name)
                sink.failed(SourceError(source.name, f"unexpected {type(error).__name__}: {error}"))
            else:
                if not sink.spoke and not self._stopping.is_set():
                    sink.failed(SourceError(source.name, "it ended without having said anything"))
                return
            self._stopping.wait(RESTART_SECONDS)

    def _read_hints(self) -> None:
        while not self._stopping.is_set():
            try:
                for hint in self.runtime.hints(self._stopping):
                    self._inbox.post(Hinted(hint))
            except PodsyncError as error:
                log.warning("the engine's events cannot be read: %s", error)
            except Exception:
                log.exception("reading the engine's events failed unexpectedly")
            self._inbox.post(Hinted(RuntimeHint(connected=False)))
            self._stopping.wait(RESTART_SECONDS)


class _InboxSink:
    """Turns what a source says into messages."""

    def __init__(self, name: str, inbox: Inbox) -> None:
        self._name, self._inbox = name, inbox
        self.spoke = False

    def replace(self, revision: int, pods: Sequence[Pod], refusals: Sequence[Refusal]) -> None:
        if not isinstance(revision, int):
            raise TypeError(f"a revision is a whole number that grows, not {revision!r}")
        self.spoke = True
        self._inbox.post(SourceSpoke(self._name, revision, tuple(pods), tuple(refusals)))

    def failed(self, error: SourceError) -> None:
        self.spoke = True
        self._inbox.post(SourceFailed(self._name, error))


def _opened(given: Sequence[Source | str], clock: Clock, store: RootStore | None) -> list[Source]:
    root = store.path if store is not None else None
    opened = [sources.open(s, clock=clock, root=root) if isinstance(s, str) else s for s in given]
    names = [s.name for s in opened]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"the source {name} is given twice")
    return opened
