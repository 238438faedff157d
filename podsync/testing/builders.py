"""Pods and specs in one line, complete enough for an engine."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from podsync import labels
from podsync.models import Container, ObjectMeta, Pod, PodSecurityContext, PodSpec
from podsync.runtimes.base import ContainerSpec, SandboxSpec

__all__ = ["PodNames", "container", "pod"]


def container(name: str = "main", image: str = "busybox:1.36", **fields: Any) -> Container:
    """A container with the API's defaults; ``fields`` are those of ``Container``."""
    policy = "Always" if image.endswith(":latest") or ":" not in image else "IfNotPresent"
    defaults = {
        "image_pull_policy": policy,
        "termination_message_path": "/dev/termination-log",
        "termination_message_policy": "File",
    }
    return Container(name=name, image=image, **{**defaults, **fields})


def pod(name: str, *containers: Container, namespace: str = "default", **spec: Any) -> Pod:
    """A pod with the API's defaults, of one container unless given; ``spec`` are fields of ``PodSpec``."""
    defaults = {
        "restart_policy": "Always",
        "termination_grace_period_seconds": 30,
        "dns_policy": "ClusterFirst",
        "security_context": PodSecurityContext(),
    }
    return Pod(
        metadata=ObjectMeta(name=name, namespace=namespace),
        spec=PodSpec(containers=containers or (container(),), **{**defaults, **spec}),
    )


@dataclass(frozen=True, slots=True)
class PodNames:
    """One pod of one node, as far as an engine knows it: makes the names and labels of its objects."""

    node: str
    name: str = "pod"
    namespace: str = "default"
    uid: str = field(default_factory=lambda: uuid4().hex)

    def ref(self, container: str, attempt: int = 0) -> str:
        """The engine's name of one instance."""
        return f"k8s_{container}_{self.name}_{self.namespace}_{self.uid}_{attempt}"

    def labels(self, container: str, attempt: int, kind: str, **more: str) -> dict[str, str]:
        """Every label an object of the pod needs."""
        return {
            labels.NODE: self.node,
            labels.POD_NAME: self.name,
            labels.POD_NAMESPACE: self.namespace,
            labels.POD_UID: self.uid,
            labels.CONTAINER_NAME: container,
            labels.KIND: kind,
            labels.ATTEMPT: str(attempt),
            **more,
        }

    def sandbox(self, attempt: int = 0, **settings: Any) -> SandboxSpec:
        """A sandbox to create; ``settings`` are fields of ``SandboxSpec``."""
        own = self.labels(labels.SANDBOX_CONTAINER, attempt, "sandbox")
        return SandboxSpec(name=self.ref(labels.SANDBOX_CONTAINER, attempt), labels=own, **settings)

    def container(
        self, image: str, name: str = "main", attempt: int = 0, *, sandbox_attempt: int = 0, **settings: Any
    ) -> ContainerSpec:
        """A container to create; ``settings`` are fields of ``ContainerSpec``."""
        own = self.labels(name, attempt, "container")
        own[labels.SANDBOX_ATTEMPT] = str(sandbox_attempt)
        return ContainerSpec(name=self.ref(name, attempt), labels=own, image=image, **settings)
