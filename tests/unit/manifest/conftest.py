"""A pod that uses every supported field well, and what is said of it once a field is changed."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from podsync.manifest.decode import decode_pod
from podsync.manifest.validate import validate_pod
from podsync.models import Pod

BASE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "web-1.example.com",
        "namespace": "prod",
        "uid": "0123abcd-0123",
        "labels": {"app": "web", "example.com/tier": "front_1", "empty": ""},
        "annotations": {"Example.com/Note": "any text, of any kind"},
    },
    "spec": {
        "initContainers": [{"name": "first", "image": "busybox", "ports": [{"containerPort": 80, "hostPort": 80}]}],
        "containers": [
            {
                "name": "main",
                "image": "registry.example.com:5000/a/b:1.2",
                "ports": [
                    {"name": "http", "containerPort": 80, "hostPort": 80},
                    {"name": "dns-u", "containerPort": 53, "hostPort": 80, "protocol": "UDP", "hostIP": "127.0.0.1"},
                    {"containerPort": 53, "hostPort": 81, "hostIP": "127.0.0.1"},
                    {"containerPort": 53, "hostPort": 81, "hostIP": "10.0.0.1"},
                    {"containerPort": 53, "hostPort": 81, "hostIP": "::"},
                ],
                "env": [{"name": "A", "value": "1"}, {"name": "odd name.with-all_of(it)", "value": ""}],
                "resources": {
                    "limits": {"cpu": "500m", "memory": "128Mi"},
                    "requests": {"cpu": "0.5", "memory": "64Mi", "ephemeral-storage": "1Gi"},
                },
                "volumeMounts": [
                    {"name": "scratch", "mountPath": "/scratch"},
                    {"name": "host", "mountPath": "relative:path", "readOnly": True, "recursiveReadOnly": "IfPossible"},
                ],
                "securityContext": {"runAsUser": 0, "allowPrivilegeEscalation": False, "privileged": False},
            },
            {
                "name": "other",
                "image": "busybox@sha256:" + "0" * 64,
                "imagePullPolicy": "Never",
                "terminationMessagePolicy": "FallbackToLogsOnError",
                "securityContext": {
                    "privileged": True,
                    "seccompProfile": {"type": "Localhost", "localhostProfile": "a/b"},
                },
                "volumeMounts": [{"name": "host", "mountPath": "/h", "mountPropagation": "Bidirectional"}],
            },
        ],
        "volumes": [
            {"name": "scratch", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}},
            {"name": "host", "hostPath": {"path": "/srv/..data", "type": "DirectoryOrCreate"}},
        ],
        "restartPolicy": "OnFailure",
        "dnsPolicy": "None",
        "dnsConfig": {
            "nameservers": ["10.0.0.1", "fd00::1"],
            "searches": ["a.b", "_x.y.", "."],
            "options": [{"name": "ndots"}],
        },
        "hostname": "web",
        "subdomain": "example",
        "hostAliases": [{"ip": "127.0.0.1", "hostnames": ["a.b", "c"]}],
        "activeDeadlineSeconds": 1,
        "nodeName": "node-1",
        "nodeSelector": {"a": "b"},
        "tolerations": [
            {"operator": "Exists"},
            {"key": "a", "value": "b", "effect": "NoExecute", "tolerationSeconds": 5},
        ],
        "securityContext": {
            "runAsUser": 1000, "runAsGroup": 1000, "fsGroup": 0, "supplementalGroups": [1, 2],
            "fsGroupChangePolicy": "OnRootMismatch", "seccompProfile": {"type": "RuntimeDefault"},
        },
        "os": {"name": "linux"},
    },
}  # fmt: skip


@pytest.fixture
def changed() -> Callable[[str, Any], Pod]:
    """Give the pod with one field (``spec/containers/0/name``) replaced, or taken away when the value is None."""
    return _changed


@pytest.fixture
def problems() -> Callable[[str, Any], list[str]]:
    """Give what validation says of the pod with one field changed."""
    return lambda path, value: [str(error) for error in validate_pod(_changed(path, value))]


def _changed(path: str, value: Any) -> Pod:
    data = copy.deepcopy(BASE)
    *parents, last = [int(step) if step.isdigit() else step for step in path.split("/")]
    inner: Any = data
    for step in parents:
        inner = inner[step] if isinstance(step, int) else inner.setdefault(step, {})
    if value is None:
        del inner[last]
    elif isinstance(last, int) and last == len(inner):
        inner.append(value)
    else:
        inner[last] = value
    pod, _ = decode_pod(data)
    assert pod is not None
    return pod
