"""Pods and programs for the simulation: every kind of life a container can have."""

from __future__ import annotations

from collections.abc import Callable

from podsync.errors import ImageFault
from podsync.models import Container, ContainerPort, EnvVar, Pod
from podsync.runtimes.fake import Pullable, exits, exits_on_term, fails_to_start, ignores_term, oom, runs
from podsync.testing.builders import container, pod

PROGRAMS = {
    "sim/runs:1": runs(),
    "sim/crash:1": exits(1, after=3),
    "sim/quick:1": exits(2),
    "sim/long:1": exits(0, after=650),
    "sim/done:1": exits(0, after=5),
    "sim/deaf:1": ignores_term(),
    "sim/slow-term:1": exits_on_term(0, after=4),
    "sim/oom:1": oom(after=2),
    "sim/broken:1": fails_to_start("exec: no such file"),
    "sim/third-time:1": (exits(1, after=1), exits(1, after=1), exits(0, after=1)),
    "sim/pulled:1": runs(),
    "sim/pulled-always:1": runs(),
}
IMAGES = tuple(name for name in PROGRAMS if "pulled" not in name)
REGISTRY = {
    "sim/pulled:1": Pullable(),
    "sim/pulled-always:1": Pullable(),
    "sim/refused:1": Pullable(fault=ImageFault("pull access denied")),
}


def _c(name: str, program: str, **fields: object) -> Container:
    return container(name, f"sim/{program}:1", **fields)


KINDS: dict[str, Callable[[], dict[str, object]]] = {
    "two": lambda: {"containers": (_c("a", "runs"), _c("b", "runs"))},
    "crashing": lambda: {"containers": (_c("a", "crash"), _c("b", "runs"))},
    "quick": lambda: {"containers": (_c("a", "quick"),)},
    "long": lambda: {"containers": (_c("a", "long"),)},
    "deaf": lambda: {"containers": (_c("a", "deaf"),), "termination_grace_period_seconds": 7},
    "slow-term": lambda: {
        "containers": (_c("a", "slow-term"), _c("b", "deaf")),
        "termination_grace_period_seconds": 12,
    },
    "oom": lambda: {"containers": (_c("a", "oom"),)},
    "broken": lambda: {"containers": (_c("a", "broken"), _c("b", "runs"))},
    "init": lambda: {"init_containers": (_c("i", "done"), _c("j", "done")), "containers": (_c("a", "runs"),)},
    "init-retry": lambda: {"init_containers": (_c("i", "third-time"),), "containers": (_c("a", "runs"),)},
    "init-slow": lambda: {"init_containers": (_c("i", "runs"),), "containers": (_c("a", "runs"),)},
    "job": lambda: {"containers": (_c("a", "done"), _c("b", "crash")), "restart_policy": "Never"},
    "job-retry": lambda: {"containers": (_c("a", "third-time"),), "restart_policy": "OnFailure"},
    "job-init-fails": lambda: {
        "init_containers": (_c("i", "crash"),),
        "containers": (_c("a", "done"),),
        "restart_policy": "Never",
    },
    "deadline": lambda: {"containers": (_c("a", "runs"),), "active_deadline_seconds": 20},
    "port": lambda: {"containers": (_c("a", "runs", ports=(ContainerPort(container_port=80, host_port=8080),)),)},
    "pulled": lambda: {"containers": (_c("a", "pulled"), _c("b", "runs"))},
    "pulled-always": lambda: {"containers": (_c("a", "pulled-always", image_pull_policy="Always"),)},
    "refused": lambda: {"containers": (_c("a", "refused"), _c("b", "runs"))},
    "shared": lambda: {"containers": (_c("a", "runs"), _c("b", "crash")), "share_process_namespace": True},
}


def make(name: str, kind: str, edition: int) -> Pod:
    """A pod of that kind; another edition is an edit that changes nothing but its identity."""
    spec = KINDS[kind]()
    edited = {EnvVar(name="EDITION", value=str(edition))}
    containers = tuple(c.evolve(env=tuple(edited)) for c in spec.pop("containers"))  # type: ignore[attr-defined]
    return pod(name, *containers, **spec)
