"""Rules of security contexts and of the pod's own fields, with the API's paths and words."""

# ruff: noqa: E501 - the API's messages stand whole, so that they can be searched for

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from podsync.manifest.decode import decode_pod
from podsync.manifest.validate import validate_pod
from podsync.models import Pod

Problems = Callable[[str, Any], list[str]]
Changed = Callable[[str, Any], Pod]
SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
NAME_PART = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
LABEL_VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
IP = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
IDS = "must be between 0 and 2147483647, inclusive"


SECURITY: list[tuple[dict[str, Any], list[str]]] = [
    ({"runAsUser": -1}, [f".runAsUser: Invalid value: -1: {IDS}"]),
    ({"runAsUser": 2**31}, [f".runAsUser: Invalid value: 2147483648: {IDS}"]),
    ({"runAsGroup": -1}, [f".runAsGroup: Invalid value: -1: {IDS}"]),
    ({"seccompProfile": {}}, [".seccompProfile.type: Required value: type is required when seccompProfile is set"]),
    ({"seccompProfile": {"type": "x"}},
     ['.seccompProfile.type: Unsupported value: "x": supported values: "Localhost", "RuntimeDefault", "Unconfined"']),
    ({"seccompProfile": {"type": "Localhost"}},
     [".seccompProfile.localhostProfile: Required value: must be set when seccomp type is Localhost"]),
    ({"seccompProfile": {"type": "Localhost", "localhostProfile": "/a"}},
     ['.seccompProfile.localhostProfile: Invalid value: "/a": must be a relative path']),
    ({"seccompProfile": {"type": "Localhost", "localhostProfile": "a/../b"}},
     [".seccompProfile.localhostProfile: Invalid value: \"a/../b\": must not contain '..'"]),
    ({"seccompProfile": {"type": "RuntimeDefault", "localhostProfile": "a"}},
     ['.seccompProfile.localhostProfile: Invalid value: "a": can only be set when seccomp type is Localhost']),
]  # fmt: skip


@pytest.mark.parametrize("path", ["spec.containers[0].securityContext", "spec.securityContext"])
@pytest.mark.parametrize(("context", "expected"), SECURITY)
def test_security(problems: Problems, path: str, context: dict[str, Any], expected: list[str]) -> None:
    """What the contexts of a pod and of a container have in common."""
    assert problems(path.replace("[", "/").replace("]", "").replace(".", "/"), context) == [
        f"{path}{line}" for line in expected
    ]


@pytest.mark.parametrize(
    ("context", "expected"),
    [
        ({"privileged": True}, "`privileged` to true"),
        ({"capabilities": {"add": ["CAP_SYS_ADMIN"]}}, "`capabilities.Add` CAP_SYS_ADMIN"),
        ({"capabilities": {"add": ["SYS_ADMIN"]}}, None),
    ],
)
def test_privilege_escalation(problems: Problems, context: dict[str, Any], expected: str | None) -> None:
    """Privileges cannot be given and held back at once."""
    found = problems("spec/containers/0/securityContext", {"allowPrivilegeEscalation": False, **context})
    if expected is None:
        assert found == []
        return
    (line,) = found
    assert line.startswith('spec.containers[0].securityContext: Invalid value: {"')
    assert line.endswith(f": cannot set `allowPrivilegeEscalation` to false and {expected}")


TOLERATION = "spec.tolerations[0]"
ANY_KEY = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
SPEC: list[tuple[str, Any, list[str]]] = [
    ("restartPolicy", "Sometimes",
     ['spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"']),
    ("dnsPolicy", "none",
     ['spec.dnsPolicy: Unsupported value: "none": supported values: "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"']),
    ("dnsConfig", None, ["spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None"]),
    ("dnsConfig/nameservers", [],
     ["spec.dnsConfig.nameservers: Required value: must provide at least one DNS nameserver when `dnsPolicy` is None"]),
    ("dnsConfig/nameservers", ["1.1.1.1"] * 4,
     [('spec.dnsConfig.nameservers: Invalid value: ["1.1.1.1","1.1.1.1","1.1.1.1","1.1.1.1"]: '
      "must not have more than 3 nameservers")]),
    ("dnsConfig/nameservers", ["1.1.1"], [f'spec.dnsConfig.nameservers[0]: Invalid value: "1.1.1": {IP}']),
    ("dnsConfig/searches", ["a"] * 32, []),
    ("dnsConfig/options", [{"name": ""}], ["spec.dnsConfig.options[0]: Required value: must not be empty"]),
    ("nodeSelector", {"a": "b c"}, [f'spec.nodeSelector: Invalid value: "b c": {LABEL_VALUE}']),
    ("securityContext/fsGroup", -1, [f"spec.securityContext.fsGroup: Invalid value: -1: {IDS}"]),
    ("securityContext/supplementalGroups", [1, -1], [f"spec.securityContext.supplementalGroups[1]: Invalid value: -1: {IDS}"]),
    ("securityContext/fsGroupChangePolicy", "Never",
     ['spec.securityContext.fsGroupChangePolicy: Unsupported value: "Never": supported values: "Always", "OnRootMismatch"']),
    ("activeDeadlineSeconds", 0,
     ["spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive"]),
    ("activeDeadlineSeconds", 2**31,
     ["spec.activeDeadlineSeconds: Invalid value: 2147483648: must be between 1 and 2147483647, inclusive"]),
    ("hostname", "a.b", ['spec.hostname: Invalid value: "a.b": must not contain dots']),
    ("hostname", "a" * 64, [f'spec.hostname: Invalid value: "{"a" * 64}": must be no more than 63 characters']),
    ("subdomain", "A", [f'spec.subdomain: Invalid value: "A": {LABEL}']),
    ("nodeName", "A", [f'spec.nodeName: Invalid value: "A": {SUBDOMAIN}']),
    ("serviceAccountName", "A", [f'spec.serviceAccountName: Invalid value: "A": {SUBDOMAIN}']),
    ("priorityClassName", "A", [f'spec.priorityClassName: Invalid value: "A": {SUBDOMAIN}']),
    ("hostAliases", [{"ip": "x"}], [f'spec.hostAliases[0].ip: Invalid value: "x": {IP}']),
    ("hostAliases", [{"hostnames": ["a"]}], [f'spec.hostAliases[0].ip: Invalid value: "": {IP}']),
    ("hostAliases/0/hostnames/1", "_", [f'spec.hostAliases[0].hostnames[1]: Invalid value: "_": {SUBDOMAIN}']),
    ("os", {"name": "windows"}, []),
    ("os", {}, ["spec.os.name: Required value"]),
    ("os", {"name": "plan9"}, ['spec.os: Unsupported value: "plan9": supported values: "linux", "windows"']),
    ("tolerations", [{}], [f'{TOLERATION}.operator: Invalid value: "": {ANY_KEY}']),
    ("tolerations", [{"key": "a b", "operator": "Exists"}], [f'{TOLERATION}.key: Invalid value: "a b": {NAME_PART}']),
    ("tolerations", [{"key": "a", "tolerationSeconds": 1}],
     [f"{TOLERATION}.effect: Invalid value: \"\": effect must be 'NoExecute' when `tolerationSeconds` is set"]),
    ("tolerations", [{"key": "a", "operator": "Exists", "value": "b"}],
     [f"{TOLERATION}.operator: Invalid value: \"b\": value must be empty when `operator` is 'Exists'"]),
    ("tolerations", [{"key": "a", "operator": "Is"}],
     [f'{TOLERATION}.operator: Unsupported value: "Is": supported values: "Equal", "Exists"']),
    ("tolerations", [{"key": "a", "effect": "x"}],
     [f'{TOLERATION}.effect: Unsupported value: "x": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"']),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value", "expected"), SPEC)
def test_spec(problems: Problems, path: str, value: Any, expected: list[str]) -> None:
    """The pod's own fields."""
    assert problems(f"spec/{path}", value) == expected


@pytest.mark.parametrize("searches", [["a"] * 33, ["a" * 250] * 9, ["A b"], ["a..b"], ["-"]])
def test_search_domains(problems: Problems, searches: list[str]) -> None:
    """Too many, too long, or no domains."""
    found = problems("spec/dnsConfig/searches", searches)
    assert len(found) == 1
    assert found[0].startswith("spec.dnsConfig.searches")


def test_process_namespace(changed: Changed) -> None:
    """A pod shares its own processes or the host's, not both."""
    pod = changed("spec/shareProcessNamespace", value=True)
    both = pod.evolve(spec=pod.spec.evolve(host_pid=True))
    assert validate_pod(pod) == []
    assert [str(error) for error in validate_pod(both)] == [
        (
            "spec.securityContext.shareProcessNamespace: Invalid value: true: "
            "ShareProcessNamespace and HostPID cannot both be enabled"
        )
    ]


def test_order() -> None:
    """All errors come at once, in the order in which the API looks at the fields."""
    broken = {
        "metadata": {"name": "A", "namespace": "B", "labels": {"a b": ""}, "annotations": {"c d": ""}},
        "spec": {
            "os": {"name": "x"},
            "tolerations": [{"effect": "x", "key": "a"}],
            "hostAliases": [{"ip": "x"}],
            "subdomain": "X",
            "hostname": "X",
            "activeDeadlineSeconds": 0,
            "nodeName": "X",
            "dnsConfig": {"options": [{}]},
            "securityContext": {"fsGroup": -1},
            "dnsPolicy": "x",
            "restartPolicy": "x",
            "initContainers": [{"name": "i", "image": ""}],
            "containers": [{"name": "c", "image": " x", "imagePullPolicy": "x", "ports": [{}]}],
            "volumes": [{"name": "X"}],
        },
    }
    pod, _ = decode_pod(broken)
    assert pod is not None
    assert [error.path for error in validate_pod(pod)] == [
        "metadata.name", "metadata.namespace", "metadata.labels", "metadata.annotations", "spec.volumes[0].name",
        "spec.containers[0].ports[0].containerPort", "spec.containers[0].imagePullPolicy", "spec.initContainers[0].image",
        "spec.restartPolicy", "spec.dnsPolicy", "spec.securityContext.fsGroup", "spec.dnsConfig.options[0]",
        "spec.nodeName", "spec.activeDeadlineSeconds", "spec.hostname", "spec.subdomain", "spec.tolerations[0].effect",
        "spec.hostAliases[0].ip", "spec.os", "spec.containers[0].image",
    ]  # fmt: skip
