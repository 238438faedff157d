"""The entry: desired and actual in, plan out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from podsync import identity
from podsync.errors import ConfigError
from podsync.models import PodKey
from podsync.plan import Plan, PodPlan
from podsync.reconciler.admission import Admission
from podsync.reconciler.draft import view_of
from podsync.reconciler.pod import pod_plan
from podsync.reconciler.settings import NodeSettings
from podsync.reconciler.steady import is_steady
from podsync.reconciler.termination import removal_plan
from podsync.runtimes.base import Observation
from podsync.state import Actual, ActualPod, Desired, PodMemory, PullState, grouped

if TYPE_CHECKING:
    from podsync.models import Pod

__all__ = ["Reconciler"]

LIBRARY_SOURCE = "library"
"""Source of pods that are given to ``sync`` directly."""
_NOTHING = ActualPod()
_DEFAULTS = NodeSettings()


@dataclass(frozen=True, slots=True)
class Reconciler:
    """Plans. Holds settings and nothing that changes, so one may be shared by threads."""

    settings: NodeSettings = _DEFAULTS

    def sync(
        self,
        desired: Desired | Iterable[Pod],
        actual: Actual | Observation,
        *,
        only: Collection[PodKey] | None = None,
    ) -> Plan:
        """The next safe steps from what is to what should be.

        Pure: equal inputs give equal plans, and planning twice does nothing twice. Carry
        the plan out, look again and plan again, until it is empty; ``wake_at`` says when
        time alone will change it. ``only`` limits the plan to those keys; the other pods
        are still seen where pods touch each other.

        ``desired`` may be plain pods, which then are all that is wanted; those without a
        uid get one. ``actual`` may be what ``runtime.observe()`` returns. Raises
        ConfigError when two pods of a plain list have the same name.
        """
        wanted = desired if isinstance(desired, Desired) else self._adopt(desired)
        seen = actual if isinstance(actual, Actual) else _grouped(actual, wanted)
        admission = Admission(wanted.pods, seen.pods)
        plans: dict[PodKey, PodPlan] = {}
        keys: Iterable[PodKey] = wanted.pods if only is None else [key for key in only if key in wanted.pods]
        pods, world = wanted.pods, seen.pods
        for key in keys:
            pod, known = pods[key], world.get(key, _NOTHING)
            if is_steady(pod, known) or (key in wanted.tentative and _is_another(pod, known)):
                continue
            view = view_of(self.settings, pod, known, seen)
            plan = pod_plan(view, admission.verdict(key, pod))
            if plan is not None:
                plans[key] = plan
        if wanted.complete:
            plans.update(_removals(wanted, seen, only))
        return Plan(plans)

    def _adopt(self, pods: Iterable[Pod]) -> Desired:
        found: dict[PodKey, Pod] = {}
        for pod in pods:
            key = pod.key
            if key in found:
                raise ConfigError(f"two pods are called {key}")
            known = bool(pod.metadata.uid and pod.source)
            found[key] = pod if known else identity.adopt(pod, self.settings.node_name, pod.source or LIBRARY_SOURCE)
        return Desired(found)


def _removals(wanted: Desired, seen: Actual, only: Collection[PodKey] | None) -> Mapping[PodKey, PodPlan]:
    """What no source names is ended; what is undecided is left as it is."""
    plans: dict[PodKey, PodPlan] = {}
    for key in seen.pods if only is None else only:
        if key in wanted.pods or key in wanted.undecided or key not in seen.pods:
            continue
        plan = removal_plan(key, seen.pods[key], seen.observed_at)
        if plan is not None:
            plans[key] = plan
    return plans


def _is_another(pod: Pod, known: ActualPod) -> bool:
    """Whether another pod of the same name runs."""
    return any(sandbox.uid != pod.metadata.uid for sandbox in known.sandboxes)


def _grouped(observation: Observation, wanted: Desired) -> Actual:
    """An observation by pod.

    Nothing is remembered of pulls, so they are left to whoever carries the plan out.
    """
    found = grouped(observation.sandboxes, {})
    for key, pod in wanted.pods.items():
        found[key] = replace(found.get(key, _NOTHING), memory=_all_pulled(pod))
    return Actual(observation.observed_at, found)


def _all_pulled(pod: Pod) -> PodMemory:
    spec = pod.spec
    return PodMemory(pulls={c.image: PullState(ready=True) for c in (*spec.init_containers, *spec.containers)})
