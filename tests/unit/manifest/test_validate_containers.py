"""Rules of containers, with the API's paths and words."""

# ruff: noqa: E501 - the API's messages stand whole, so that they can be searched for

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from podsync.manifest.validate import validate_pod
from podsync.models import Pod

Problems = Callable[[str, Any], list[str]]
Changed = Callable[[str, Any], Pod]
LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
NAME_PART = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
IP = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
PORTS = "must be between 1 and 65535, inclusive"


PULL_POLICIES = 'supported values: "Always", "IfNotPresent", "Never"'
CONTAINERS: list[tuple[str, Any, list[str]]] = [
    ("name", "", [".name: Required value"]),
    ("name", "Main", [f'.name: Invalid value: "Main": {LABEL}']),
    ("name", "POD", [f'.name: Invalid value: "POD": {LABEL}']),
    ("name", "a_b", [f'.name: Invalid value: "a_b": {LABEL}']),
    ("name", "a" * 64, [f'.name: Invalid value: "{"a" * 64}": must be no more than 63 characters']),
    ("image", "", [".image: Required value"]),
    ("image", " a", ['.image: Invalid value: " a": must not have leading or trailing whitespace']),
    ("terminationMessagePolicy", "Files",
     ['.terminationMessagePolicy: Unsupported value: "Files": supported values: "File", "FallbackToLogsOnError"']),
    ("imagePullPolicy", "never", [f'.imagePullPolicy: Unsupported value: "never": {PULL_POLICIES}']),
    ("env/0/name", "", [".env[0].name: Required value"]),
    ("env/1/name", "a=b",
     [('.env[1].name: Invalid value: "a=b": a valid environment variable name must consist only of printable ASCII '
      "characters other than '='")]),
    ("env/1/name", "é",
     [('.env[1].name: Invalid value: "é": a valid environment variable name must consist only of printable ASCII '
      "characters other than '='")]),
    ("volumeMounts/0/name", "", [".volumeMounts[0].name: Required value", '.volumeMounts[0].name: Not found: ""']),
    ("volumeMounts/0/name", "data", ['.volumeMounts[0].name: Not found: "data"']),
    ("volumeMounts/0/mountPath", "", [".volumeMounts[0].mountPath: Required value"]),
    ("volumeMounts/1/mountPath", "/scratch", ['.volumeMounts[1].mountPath: Invalid value: "/scratch": must be unique']),
    ("volumeMounts/0/mountPropagation", "Both",
     ['.volumeMounts.mountPropagation: Unsupported value: "Both": supported values: "Bidirectional", "HostToContainer", "None"']),
    ("volumeMounts/0/mountPropagation", "HostToContainer", []),
    ("volumeMounts/0/mountPropagation", "Bidirectional",
     [".volumeMounts.mountPropagation: Forbidden: Bidirectional mount propagation is available only to privileged containers"]),
    ("volumeMounts/0/recursiveReadOnly", "Yes",
     ['.volumeMounts.recursiveReadOnly: Unsupported value: "Yes": supported values: "Disabled", "Enabled", "IfPossible"']),
    ("volumeMounts/0/recursiveReadOnly", "Disabled", []),
    ("volumeMounts/0/recursiveReadOnly", "Enabled",
     [".volumeMounts.recursiveReadOnly: Forbidden: may only be specified when readOnly is true"]),
    ("volumeMounts/1/mountPropagation", "HostToContainer",
     [".volumeMounts.recursiveReadOnly: Forbidden: may only be specified when mountPropagation is None or not specified"]),
    ("ports/0/name", "HTTP",
     ['.ports[0].name: Invalid value: "HTTP": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
      '.ports[0].name: Invalid value: "HTTP": must contain at least one letter (a-z)']),
    ("ports/0/name", "a" * 16, ['.ports[0].name: Invalid value: "aaaaaaaaaaaaaaaa": must be no more than 15 characters']),
    ("ports/0/name", "80", ['.ports[0].name: Invalid value: "80": must contain at least one letter (a-z)']),
    ("ports/0/name", "a--b", ['.ports[0].name: Invalid value: "a--b": must not contain consecutive hyphens']),
    ("ports/0/name", "a-", ['.ports[0].name: Invalid value: "a-": must not begin or end with a hyphen']),
    ("ports/0/name", "dns-u", ['.ports[1].name: Duplicate value: "dns-u"']),
    ("ports/0/containerPort", 0, [".ports[0].containerPort: Required value"]),
    ("ports/0/containerPort", 65536, [f".ports[0].containerPort: Invalid value: 65536: {PORTS}"]),
    ("ports/0/hostPort", -1, [f".ports[0].hostPort: Invalid value: -1: {PORTS}"]),
    ("ports/0/hostPort", 65536, [f".ports[0].hostPort: Invalid value: 65536: {PORTS}"]),
    ("ports/0/protocol", "udp",
     ['.ports[0].protocol: Unsupported value: "udp": supported values: "SCTP", "TCP", "UDP"']),
    ("ports/0/hostIP", "localhost", [f'.ports[0].hostIP: Invalid value: "localhost": {IP}']),
    ("ports/0/hostIP", "fe80::1%eth0", [f'.ports[0].hostIP: Invalid value: "fe80::1%eth0": {IP}']),
    ("ports/2/hostPort", 80, ['.ports[2].hostPort: Duplicate value: "TCP/127.0.0.1/80"']),
    ("ports/3/hostIP", "127.0.0.1", ['.ports[3].hostPort: Duplicate value: "TCP/127.0.0.1/81"']),
    ("ports/3/hostIP", "0.0.0.0", ['.ports[3].hostPort: Duplicate value: "TCP/0.0.0.0/81"']),
    ("ports/5", {"containerPort": 1, "hostPort": 80}, ['.ports[5].hostPort: Duplicate value: "TCP//80"']),
    ("ports/5", {"containerPort": 1, "hostPort": 81, "protocol": "UDP"}, []),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value", "expected"), CONTAINERS)
def test_containers(problems: Problems, path: str, value: Any, expected: list[str]) -> None:
    """One container by itself."""
    assert problems(f"spec/containers/0/{path}", value) == [f"spec.containers[0]{line}" for line in expected]


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("containers", [], ["spec.containers: Required value"]),
        ("containers", None, ["spec.containers: Required value"]),
        ("containers/1/name", "main", ['spec.containers[1].name: Duplicate value: "main"']),
        ("initContainers/0/name", "main", ['spec.initContainers[0].name: Duplicate value: "main"']),
        ("initContainers/1", {"name": "first", "image": "x"}, ['spec.initContainers[1].name: Duplicate value: "first"']),
        ("initContainers/0/name", "", ["spec.initContainers[0].name: Required value"]),
        ("initContainers/0/image", "", ["spec.initContainers[0].image: Required value"]),
        ("initContainers/0/image", "x\t", ['spec.initContainers[0].image: Invalid value: "x\\t": must not have leading or trailing whitespace']),
        ("containers/1/ports", [{"containerPort": 1, "hostPort": 80}], ['spec.containers[1].ports[0].hostPort: Duplicate value: "TCP//80"']),
        ("initContainers/1", {"name": "more", "image": "x", "ports": [{"containerPort": 1, "hostPort": 9}, {"containerPort": 2, "hostPort": 9}]},
         ['spec.initContainers[1].ports[1].hostPort: Duplicate value: "TCP//9"']),
        ("initContainers/0/volumeMounts", [{"name": "no", "mountPath": "/x"}], ['spec.initContainers[0].volumeMounts[0].name: Not found: "no"']),
    ],
)  # fmt: skip
def test_lists_of_containers(problems: Problems, path: str, value: Any, expected: list[str]) -> None:
    """Containers against each other, and init containers by the same rules."""
    assert problems(f"spec/{path}", value) == expected


def test_host_network_ports(changed: Changed) -> None:
    """On the host's network a port of a container is the same port of the host."""
    pod = changed("spec/hostNetwork", value=True)
    assert [str(error) for error in validate_pod(pod)] == [
        f"spec.containers[0].ports[{index}].hostPort: Invalid value: {port}: must match `containerPort` when `hostNetwork` is true"
        for index, port in ((1, 80), (2, 81), (3, 81), (4, 81))
    ]


EXTENDED = "example.com/gpu"
RESOURCES: list[tuple[dict[str, Any], list[str]]] = [
    ({"limits": {"gpu": 1}, "requests": {"gpu": 1}},
     ['.limits[gpu]: Invalid value: "gpu": must be a standard resource for containers',
      '.requests[gpu]: Invalid value: "gpu": must be a standard resource for containers']),
    ({"requests": {"a b": 1}}, [f'.requests[a b]: Invalid value: "a b": {NAME_PART}']),
    ({"limits": {"cpu": "-1"}, "requests": {"cpu": "-1"}},
     ['.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0',
      '.requests[cpu]: Invalid value: "-1": must be greater than or equal to 0']),
    ({"limits": {"memory": "64Mi"}, "requests": {"memory": "128Mi"}},
     ['.requests: Invalid value: "128Mi": must be less than or equal to memory limit of 64Mi']),
    ({"limits": {"memory": "1Gi"}, "requests": {"memory": "1024Mi"}}, []),
    ({"limits": {EXTENDED: 2}, "requests": {EXTENDED: 1}},
     [f'.requests: Invalid value: "1": must be equal to {EXTENDED} limit of 2']),
    ({"requests": {EXTENDED: 1}}, [".limits: Required value: Limit must be set for non overcommitable resources"]),
    ({"limits": {EXTENDED: "1.5"}},
     [f'.limits[{EXTENDED}]: Invalid value: "1500m": must be an integer',
      f'.requests[{EXTENDED}]: Invalid value: "1500m": must be an integer']),
    ({"limits": {"requests.example.com/a": 1}},
     ['.limits[requests.example.com/a]: Invalid value: "requests.example.com/a": doesn\'t follow extended resource name standard',
      '.requests[requests.example.com/a]: Invalid value: "requests.example.com/a": doesn\'t follow extended resource name standard']),
    ({"limits": {"hugepages-2Mi": "2Mi"}}, [": Forbidden: HugePages require cpu or memory"]),
    ({"limits": {"hugepages-2Mi": "2Mi", "cpu": 1}}, []),
    ({"limits": {"hugepages-2Mi": "3Mi", "cpu": 1}},
     ['.limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi',
      '.requests[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi']),
    ({"limits": {"hugepages-x": "3Mi", "cpu": 1}},
     ['.limits[hugepages-x]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-x',
      '.requests[hugepages-x]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-x']),
]  # fmt: skip


@pytest.mark.parametrize(("resources", "expected"), RESOURCES)
def test_resources(problems: Problems, resources: dict[str, Any], expected: list[str]) -> None:
    """Names and amounts, and requests against limits."""
    assert problems("spec/containers/0/resources", resources) == [
        f"spec.containers[0].resources{line}" for line in expected
    ]


@pytest.mark.parametrize(
    "path",
    [
        "containers/0/image",
        "containers/0/workingDir",
        "containers/0/terminationMessagePath",
        "containers/0/command/0",
        "containers/0/args/0",
        "containers/0/env/0/value",
        "containers/0/volumeMounts/0/mountPath",
        "volumes/1/hostPath/path",
    ],
)
def test_nul(problems: Problems, path: str) -> None:
    """What the kernel would cut off at a NUL is refused."""
    parent, _, last = path.rpartition("/")
    value: Any = "/a\0b"
    if parent.endswith(("command", "args")):
        path, value = parent, [value]
    field = re.sub(r"/(\d+)", r"[\1]", f"{parent}/{last}").replace("/", ".")
    assert problems(f"spec/{path}", value) == [
        f'spec.{field}: Invalid value: "/a\\u0000b": must not contain the character U+0000'
    ]
