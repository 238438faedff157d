"""The composition root: a configuration in, a running agent or a plan out."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from podsync import runtimes, sources
from podsync.agent import Agent, default_node_name
from podsync.clock import SystemClock
from podsync.desired import DesiredStore
from podsync.errors import ConfigError, SourceError
from podsync.forecast import forecast
from podsync.host import checked_node_name, node_settings
from podsync.observer import Observer
from podsync.reconciler import Reconciler
from podsync.state import Actual, Desired, grouped
from podsync.store import default_root
from podsync.volumes import VolumeStore

if TYPE_CHECKING:
    from podsync.models import Pod
    from podsync.plan import Plan
    from podsync.runtimes.base import Runtime
    from podsync.sources.base import Refusal

__all__ = ["Config", "Planned", "open_runtime", "open_sources", "plan", "run"]

log = logging.getLogger(__name__)

SOURCE_SECONDS = 30.0
"""How long ``plan`` waits for every source to speak once."""


@dataclass(frozen=True, slots=True)
class Config:
    """What a run of podsync is told; the command line's options, or an embedding program's."""

    sources: tuple[str, ...] = ()
    runtime: str = "auto"
    root: str = field(default_factory=default_root)
    node_name: str = field(default_factory=default_node_name)
    name_suffix: bool = False
    pause_image: str = ""
    workers: int = 16
    interval: float | None = None
    """Seconds between two reads of a source; None for each source's own."""
    source_options: tuple[str, ...] = ()
    """``[N:]KEY=VALUE`` pairs for the sources; see ``podsync.sources``."""

    def __post_init__(self) -> None:
        """Raise ConfigError for a node name that is none."""
        checked_node_name(self.node_name)


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan, what was refused on the way, and which sources could not be read."""

    plan: Plan
    refusals: tuple[Refusal, ...] = ()
    errors: tuple[str, ...] = ()


def open_runtime(config: Config) -> Runtime:
    """Connect to the configured engine. Raises RuntimeUnavailable, PluginError, ConfigError."""
    return runtimes.get(config.runtime, node=config.node_name, state=config.root)


def open_sources(config: Config, *, read_only: bool = False) -> list[sources.Source]:
    """Open the configured sources, ``read_only`` without keeping last good versions.

    Raises ConfigError, PluginError.
    """
    if not config.sources:
        raise ConfigError(
            "no source is given: say where the manifests are, such as --source dir:/etc/podsync/manifests"
        )
    clock = SystemClock()
    opened = []
    for spec, options in zip(config.sources, sources.share_options(config.sources, config.source_options), strict=True):
        if config.interval is not None:
            options.setdefault("interval", str(config.interval))
        opened.append(sources.open(spec, clock, config.root, read_only=read_only, **options))
    return opened


def run(
    config: Config,
    *,
    once: bool = False,
    down: bool = False,
    watch: Callable[[Agent], None] | None = None,
) -> int:
    """Run an agent until a signal ends it; returns the exit code.

    SIGTERM and SIGINT leave pods running, or end them first with ``down``; a second
    one ends the process at once. With ``once`` it returns when every pod has come to
    rest: 0, or 1 if one failed or a source could not be used. With ``once`` and
    ``down`` it ends every pod of its node and returns.
    """
    opened = [] if once and down else open_sources(config)
    runtime = open_runtime(config)
    with closing(runtime):
        agent = Agent(
            sources=opened,
            runtime=runtime,
            root=config.root,
            node_name=config.node_name,
            name_suffix=config.name_suffix,
            pause_image=config.pause_image,
            workers=config.workers,
            watch=watch,
        )
        with closing(agent), _signals(agent.shut_down if down else agent.stop):
            if not once:
                agent.run()
                return 0
            if down:
                agent.shut_down()
                agent.run()
                return 0
            agent.run(until=lambda running: running.at_rest)
            return _once_code(agent)


def plan(config: Config, *, to_rest: bool = False) -> Planned:
    """What would be done now, or with ``to_rest`` everything until nothing is left to do.

    Raises RuntimeUnavailable, ConfigError, PluginError.
    """
    store, errors = _read_once(open_sources(config, read_only=True), config)
    runtime = open_runtime(config)
    try:
        volumes = VolumeStore(config.root)
        actual = _observe(runtime, volumes, store.desired())
        reconciler = Reconciler(node_settings(config.node_name, config.root, config.pause_image))
        desired = store.desired()
        made = forecast(reconciler, desired, actual) if to_rest else reconciler.sync(desired, actual)
        return Planned(made, tuple(store.refusals()), errors)
    finally:
        runtime.close()


def _observe(runtime: Runtime, volumes: VolumeStore, desired: Desired) -> Actual:
    """One look, with the pods' folders and which of the wanted images are not there."""
    folders = volumes.folders()
    at = SystemClock().now()
    observer = Observer(runtime, volumes)
    pods = grouped(observer.look(), folders)
    specs = [pod.spec for pod in desired.pods.values()]
    images = frozenset(c.image for spec in specs for c in (*spec.init_containers, *spec.containers))
    return Actual(at, pods, images - observer.present(images))


class _Collector:
    """A sink that keeps the first thing a source says."""

    def __init__(self) -> None:
        self.spoke = threading.Event()
        self.said: tuple[int, Sequence[Pod], Sequence[Refusal]] | None = None
        self.error: SourceError | None = None

    def replace(self, revision: int, pods: Sequence[Pod], refusals: Sequence[Refusal]) -> None:
        self.said = (revision, pods, refusals)
        self.spoke.set()

    def failed(self, error: SourceError) -> None:
        self.error = error
        self.spoke.set()


def _read_once(opened: Sequence[sources.Source], config: Config) -> tuple[DesiredStore, tuple[str, ...]]:
    store = DesiredStore([s.name for s in opened], config.node_name, name_suffix=config.name_suffix)
    stop = threading.Event()
    collectors = [(source, _Collector()) for source in opened]
    for source, collector in collectors:
        threading.Thread(target=_speak, args=(source, collector, stop), daemon=True).start()
    errors: list[str] = []
    clock = SystemClock()
    end = clock.monotonic() + SOURCE_SECONDS
    for source, collector in collectors:
        if not collector.spoke.wait(max(0.0, end - clock.monotonic())):
            errors.append(f"{source.name}: no answer within {SOURCE_SECONDS:.0f} s")
        elif collector.said is not None:
            store.replace(source.name, *collector.said)
        if collector.error is not None:
            store.failed(source.name, collector.error)
            errors.append(str(collector.error))
    stop.set()
    return store, tuple(errors)


def _speak(source: sources.Source, collector: _Collector, stop: threading.Event) -> None:
    try:
        source.run(collector, stop)
    except Exception as error:
        log.exception("source %s failed unexpectedly", source.name)
        collector.failed(SourceError(source.name, f"unexpected {type(error).__name__}: {error}"))


def _once_code(agent: Agent) -> int:
    bad = [
        str(key)
        for key, status in agent.owner.statuses.items()
        if status.phase in {"Failed", "Pending"} or agent.owner.waits(key)
    ]
    if bad:
        log.error("not running: %s", ", ".join(sorted(bad)))
    if not agent.at_rest:
        log.error("ended before every pod had come to rest")
    return 1 if bad or not agent.at_rest or agent.publisher.source_problems else 0


@contextmanager
def _signals(handle: Callable[[], None]) -> Iterator[None]:
    """SIGTERM and SIGINT call ``handle`` once; after that they have their default effect again."""

    def received(_number: int, _frame: object) -> None:
        for each in before:
            signal.signal(each, signal.SIG_DFL)
        handle()

    before = {each: signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT)}
    for each in before:
        signal.signal(each, received)
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
