"""QoS classes, OOM scores and cgroup settings."""

from __future__ import annotations

import pytest

from podsync.models import Container, Pod, PodSpec, Quantity, ResourceRequirements
from podsync.qos import container_resources, oom_score_adj, qos_class

GIB = 1 << 30


def container(requests: str = "", limits: str = "") -> Container:
    """A container with resources written ``cpu/memory``, ``-`` for none."""

    def parse(text: str) -> dict[str, Quantity]:
        pairs = zip(("cpu", "memory"), text.split("/"), strict=False)
        return {name: Quantity(value) for name, value in pairs if value not in ("", "-")}

    return Container(name="c", resources=ResourceRequirements(requests=parse(requests), limits=parse(limits)))


def pod(*containers: Container, init: tuple[Container, ...] = ()) -> Pod:
    """A pod of those."""
    return Pod(spec=PodSpec(containers=containers, init_containers=init))


FULL = container("1/1Gi", "1/1Gi")


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (pod(container()), "BestEffort"),
        (pod(container("0/0", "0/-")), "BestEffort"),
        (pod(container("1m")), "Burstable"),
        (pod(container("", "-/1Gi")), "Burstable"),
        (pod(FULL), "Guaranteed"),
        (pod(FULL, container()), "Burstable"),
        (pod(FULL, init=(container(),)), "Burstable"),
        (pod(FULL, init=(FULL,)), "Guaranteed"),
        (pod(container("1/1Gi", "2/1Gi")), "Burstable"),
        (pod(container("1000m/1024Mi", "1/1Gi")), "Guaranteed"),
    ],
)
def test_qos_class(made: Pod, expected: str) -> None:
    """Which pods are Guaranteed, Burstable and BestEffort."""
    assert qos_class(made) == expected


@pytest.mark.parametrize(
    ("made", "memory", "expected"),
    [
        (FULL, GIB, -997),
        (container(), GIB, 1000),
        (container("-/256Mi"), GIB, 750),
        (container("-/1Gi"), GIB, 3),
        (container("-/2Gi"), GIB, 3),
        (container("-/1"), GIB, 999),
        (container("1"), GIB, 999),
        (container("-/256Mi"), 0, 999),
    ],
)
def test_oom_score(made: Container, memory: int, expected: int) -> None:
    """By class, and within Burstable by the share of the machine's memory asked for."""
    assert oom_score_adj(pod(made), made, memory) == expected


@pytest.mark.parametrize(
    ("requests", "limits", "shares", "quota", "memory"),
    [
        ("", "", 2, None, None),
        ("1", "", 1024, None, None),
        ("1m", "", 2, None, None),
        ("", "500m", 512, 50_000, None),
        ("100m", "500m", 102, 50_000, None),
        ("", "1m", 2, 1000, None),
        ("0", "0/0", 2, None, None),
        ("1000", "", 262144, None, None),
        ("-/1Gi", "-/2Gi", 2, None, 2 * GIB),
    ],
)
def test_cgroup_settings(requests: str, limits: str, shares: int, quota: int | None, memory: int | None) -> None:
    """Requests to shares, limits to quota and memory, within the kernel's bounds."""
    made = container(requests, limits)
    found = container_resources(pod(made), made, GIB)
    assert (found.cpu_shares, found.cpu_quota, found.memory_limit) == (shares, quota, memory)
    assert found.cpu_period == (None if quota is None else 100_000)
