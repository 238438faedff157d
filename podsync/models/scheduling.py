"""Where a cluster would place a pod; on one host it has one place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from podsync.models.base import Model
from podsync.models.wire import Int32, wire

if TYPE_CHECKING:
    from podsync.models.meta import LabelSelector

__all__ = [
    "Affinity",
    "NodeAffinity",
    "NodeSelector",
    "NodeSelectorRequirement",
    "NodeSelectorTerm",
    "PodAffinity",
    "PodAffinityTerm",
    "PodAntiAffinity",
    "PodSchedulingGate",
    "PodSchedulingGroup",
    "PreferredSchedulingTerm",
    "Toleration",
    "TopologySpreadConstraint",
    "WeightedPodAffinityTerm",
]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Affinity(Model):
    """Wishes about the node and about neighbours."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAntiAffinity | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class NodeAffinity(Model):
    """Wishes about the node."""

    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: tuple[PreferredSchedulingTerm, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class NodeSelector(Model):
    """Node conditions, any of which suffices."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class NodeSelectorTerm(Model):
    """Node conditions that must all hold."""

    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class NodeSelectorRequirement(Model):
    """One condition on a node's label or field."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PreferredSchedulingTerm(Model):
    """A node condition with a weight from 1 to 100."""

    weight: Int32 = wire(0, always=True)
    preference: NodeSelectorTerm = NodeSelectorTerm()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PodAffinity(Model):
    """Pods to be near."""

    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] = ()
    preferred_during_scheduling_ignored_during_execution: tuple[WeightedPodAffinityTerm, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PodAntiAffinity(Model):
    """Pods to be away from."""

    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] = ()
    preferred_during_scheduling_ignored_during_execution: tuple[WeightedPodAffinityTerm, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PodAffinityTerm(Model):
    """Which pods, and what counts as the same place."""

    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    topology_key: str = ""
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class WeightedPodAffinityTerm(Model):
    """A neighbour condition with a weight from 1 to 100."""

    weight: Int32 = wire(0, always=True)
    pod_affinity_term: PodAffinityTerm = PodAffinityTerm()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Toleration(Model):
    """A taint of the node that the pod puts up with."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TopologySpreadConstraint(Model):
    """How evenly pods spread over places."""

    max_skew: Int32 = 0
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: LabelSelector | None = None
    min_domains: Int32 | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PodSchedulingGate(Model):
    """Something that must be cleared before the pod may be scheduled."""

    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PodSchedulingGroup(Model):
    """The group of pods that must be scheduled together."""

    pod_group_name: str | None = None
