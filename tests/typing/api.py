"""The public names as a user's type checker sees them: checked by mypy, never run."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

import podsync
from podsync import Agent, FakeRuntime, Plan, Pod, PodKey, PodStatus, Reconciler, converge, load
from podsync.plan import Action, CreateContainer
from podsync.runtimes.base import Runtime
from podsync.sources.base import Source

pods: tuple[Pod, ...] = load(Path("pod.yaml"))
runtime: Runtime = FakeRuntime()
named: Runtime = podsync.runtimes.get("docker")
source: Source = podsync.sources.open("dir:/manifests")

plan: Plan = Reconciler().sync(pods, runtime.observe())
actions: list[Action] = list(plan)
wake: datetime | None = plan.wake_at
names: list[str] = [action.container_name for action in plan if isinstance(action, CreateContainer)]
plan.execute(runtime)

statuses: Mapping[PodKey, PodStatus] = converge(pods, runtime, timeout=5)
phase: str = statuses[PodKey("default", "web")].phase
image: str = pods[0].spec.containers[0].image

agent = Agent(sources=[source, "file:pod.yaml"], runtime="auto", root="/var/lib/podsync")
current: Mapping[PodKey, PodStatus] = agent.statuses
try:
    load("…", strict=True)
except podsync.ManifestError as error:
    paths: list[str] = [problem.path for problem in error.errors]
