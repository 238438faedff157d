"""The whole status of one pod."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from podsync import restarts
from podsync.models import ContainerStatus, HostIP, PodIP, PodStatus
from podsync.plan import CreateContainer, CreateSandbox, PodPlan, PullImage, StartContainer
from podsync.qos import qos_class
from podsync.runtimes import base
from podsync.status.conditions import Facts, conditions_of
from podsync.status.containers import Reporter, whole_seconds
from podsync.status.phase import TERMINAL, phase_of

if TYPE_CHECKING:
    from podsync.models import Container, Pod
    from podsync.restarts import Instance
    from podsync.runtimes.base import SandboxRecord
    from podsync.state import ActualPod, PodMemory

__all__ = ["NodeStatusInfo", "compute"]


@dataclass(frozen=True, slots=True)
class NodeStatusInfo:
    """What every status says of the node: the runtime's name and the node's addresses, primary first."""

    runtime: str
    addresses: tuple[str, ...] = ()


def compute(  # noqa: PLR0917 - what it is computed from, the pod first
    pod: Pod,
    actual: ActualPod,
    at: datetime,
    plan: PodPlan | None,
    node: NodeStatusInfo,
    previous: PodStatus | None = None,
) -> PodStatus:
    """The pod's status at the moment of the look ``actual`` (``at``).

    ``plan`` tells why containers wait and what was decided about the pod as a whole.
    ``previous`` is the status last published for the same uid: transition times, the
    start time before there is a sandbox, the last addresses and what is known of
    instances that have vanished come from it. All times are whole seconds.
    """
    now = whole_seconds(at) or at
    sandboxes = restarts.sandboxes_of(actual.sandboxes, pod.metadata.uid)
    current = sandboxes[-1] if sandboxes else None
    instances = restarts.instances_of(sandboxes, actual.memory)
    initialized = current is not None and any(
        i.sandbox_attempt == current.attempt for c in pod.spec.containers for i in instances.get(c.name, ())
    )
    over = initialized and restarts.is_finished(pod, sandboxes, instances, actual.memory)
    init, regular = _container_statuses(
        pod, instances, _Context(current, plan, node, previous, initialized, over, actual.memory.term_sent)
    )
    restarting = _restarting(pod, instances, actual.memory, plan, over=over)
    phase, reason, message = _phase(plan, previous, phase_of(pod, init, regular, restarting), instances)
    facts = Facts(phase, _network_ready(pod, current), initialized, init, regular)
    addresses = _addresses(pod, current, node, previous)
    if plan is not None and plan.verdict is not None and not sandboxes:
        init, regular = {}, {}  # rejected before anything was made: as on a kubelet there is no status of containers
    return PodStatus(
        phase=phase,
        conditions=conditions_of(pod, facts, previous.conditions if previous is not None else (), now),
        reason=reason,
        message=message,
        host_ip=node.addresses[0] if node.addresses else "",
        host_ips=tuple(HostIP(ip=address) for address in node.addresses),
        pod_ip=addresses[0] if addresses else "",
        pod_ips=tuple(PodIP(ip=address) for address in addresses),
        start_time=whole_seconds(restarts.start_time(sandboxes)) or (previous.start_time if previous else None) or now,
        init_container_statuses=tuple(init[c.name] for c in pod.spec.init_containers if c.name in init),
        container_statuses=tuple(regular[name] for name in sorted(regular)),
        qos_class=qos_class(pod),
    )


@dataclass(frozen=True, slots=True)
class _Context:
    current: SandboxRecord | None
    plan: PodPlan | None
    node: NodeStatusInfo
    previous: PodStatus | None
    initialized: bool
    over: bool
    told: Collection[str]


def _container_statuses(
    pod: Pod, instances: Mapping[str, Sequence[Instance]], context: _Context
) -> tuple[dict[str, ContainerStatus], dict[str, ContainerStatus]]:
    """Statuses of the init containers and of the others, by name in the order of the spec."""
    spec, plan, previous = pod.spec, context.plan, context.previous
    before = (*previous.init_container_statuses, *previous.container_statuses) if previous is not None else ()
    reporter = Reporter(
        runtime=context.node.runtime,
        containers=len(spec.init_containers) + len(spec.containers),
        has_init=bool(spec.init_containers),
        current=context.current.attempt if context.current is not None else None,
        initialized=context.initialized,
        waiting={w.container_name: w for w in plan.waiting} if plan is not None else {},
        previous={status.name: status for status in before},
        ending=plan is not None and plan.terminating,
        over=context.over,
        told=context.told,
    )
    init = {c.name: reporter.report(c, instances.get(c.name, ()), init=True) for c in spec.init_containers}
    regular = {c.name: reporter.report(c, instances.get(c.name, ()), init=False) for c in spec.containers}
    return init, regular


def _restarting(
    pod: Pod, instances: Mapping[str, Sequence[Instance]], memory: PodMemory, plan: PodPlan | None, *, over: bool
) -> frozenset[str]:
    """Names of the containers that run again once they have ended."""
    ending = plan is not None and plan.terminating

    def again(container: Container) -> bool:
        known = instances.get(container.name)
        if ending:
            # every container is told to end then: only its policy says what became of it
            return restarts.will_restart(pod, container, known[-1].record.exit_code if known else restarts.KILLED)
        if over:
            return False
        # one that vanished is made anew whatever the policy
        return not known or restarts.runs_again(pod, container, known[-1].record, memory)

    return frozenset(c.name for c in (*pod.spec.init_containers, *pod.spec.containers) if again(c))


def _phase(
    plan: PodPlan | None,
    previous: PodStatus | None,
    computed: str,
    instances: Mapping[str, Sequence[Instance]],
) -> tuple[str, str, str]:
    """(phase, reason, message): a verdict first, then an end once reached, then what the containers tell."""
    if plan is not None and plan.verdict is not None:
        return plan.verdict.phase, plan.verdict.reason, plan.verdict.message
    if previous is None or previous.phase not in TERMINAL:
        return computed, "", ""
    alive = any(i.record.state is base.ContainerState.RUNNING for all_ in instances.values() for i in all_)
    if previous.phase == computed or not (alive or _starts(plan)):
        return previous.phase, previous.reason, previous.message
    return computed, "", ""


def _starts(plan: PodPlan | None) -> bool:
    """Whether the pod is being run (again)."""
    starting = CreateSandbox | CreateContainer | StartContainer | PullImage
    return plan is not None and any(isinstance(action, starting) for action in plan.actions())


def _network_ready(pod: Pod, sandbox: SandboxRecord | None) -> bool:
    return sandbox is not None and sandbox.ready and (bool(pod.spec.host_network) or bool(sandbox.ips))


def _addresses(
    pod: Pod, sandbox: SandboxRecord | None, node: NodeStatusInfo, previous: PodStatus | None
) -> tuple[str, ...]:
    """The pod's addresses; the last ones known once its sandbox has stopped."""
    if sandbox is not None and pod.spec.host_network:
        return node.addresses
    if sandbox is not None and sandbox.ips:
        return sandbox.ips
    return tuple(address.ip for address in previous.pod_ips) if previous is not None else ()
