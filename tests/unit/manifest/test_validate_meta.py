"""Rules of a pod's metadata and volumes, with the API's paths and words."""

# ruff: noqa: E501 - the API's messages stand whole, so that they can be searched for

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

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


def test_valid(problems: Problems) -> None:
    """A pod that uses every supported field well is left alone."""
    assert problems("metadata/name", "web") == []


METADATA: list[tuple[str, Any, list[str]]] = [
    ("name", None, ["name: Required value: name is needed for the pod"]),
    ("name", "", ["name: Required value: name is needed for the pod"]),
    ("name", "My_Pod", [f'name: Invalid value: "My_Pod": {SUBDOMAIN}']),
    ("name", "-a", [f'name: Invalid value: "-a": {SUBDOMAIN}']),
    ("name", "a..b", [f'name: Invalid value: "a..b": {SUBDOMAIN}']),
    ("name", "a\n", [f'name: Invalid value: "a\\n": {SUBDOMAIN}']),
    ("name", "a" * 253, []),
    ("name", "a" * 254, ['name: Invalid value: "' + "a" * 200 + '"… (254 characters): must be no more than 253 characters']),
    ("namespace", "", []),
    ("namespace", "a.b", ['namespace: Invalid value: "a.b": must not contain dots']),
    ("namespace", "A", [f'namespace: Invalid value: "A": {LABEL}']),
    ("namespace", "a" * 64, [f'namespace: Invalid value: "{"a" * 64}": must be no more than 63 characters']),
    ("labels", {"a b": "c"}, [f'labels: Invalid value: "a b": {NAME_PART}']),
    ("labels", {"": "c"}, ['labels: Invalid value: "": name part must be non-empty', f'labels: Invalid value: "": {NAME_PART}']),
    ("labels", {"/a": "c"}, ['labels: Invalid value: "/a": prefix part must be non-empty']),
    ("labels", {"B/a": "c"}, [f'labels: Invalid value: "B/a": prefix part {SUBDOMAIN}']),
    ("labels", {"a": "b c"}, [f'labels: Invalid value: "b c": {LABEL_VALUE}']),
    ("labels", {"a": "b" * 64}, [f'labels: Invalid value: "{"b" * 64}": must be no more than 63 characters']),
    ("labels", {"a" * 64: ""}, [f'labels: Invalid value: "{"a" * 64}": name part must be no more than 63 characters']),
    ("annotations", {"a b": ""}, [f'annotations: Invalid value: "a b": {NAME_PART}']),
    ("annotations", {"a": "x" * 262143}, []),
    ("annotations", {"a": "x" * 262142 + "é"}, ["annotations: Too long: may not be more than 262144 bytes"]),
    ("annotations", {"kubernetes.io/config.mirror": "x"}, []),
    ("annotations", {"container.apparmor.security.beta.kubernetes.io/main": "runtime/default"}, []),
    ("annotations", {"container.apparmor.security.beta.kubernetes.io/first": "runtime/default"}, []),
    ("annotations", {"container.apparmor.security.beta.kubernetes.io/none": ""},
     ['annotations[container.apparmor.security.beta.kubernetes.io/none]: Invalid value: "none": container not found']),
    ("annotations", {"container.apparmor.security.beta.kubernetes.io/main": "x"},
     ['annotations[container.apparmor.security.beta.kubernetes.io/main]: Invalid value: "x": invalid AppArmor profile name: "x"']),
    ("annotations", {"container.apparmor.security.beta.kubernetes.io/main": "unconfined"},
     [("annotations[container.apparmor.security.beta.kubernetes.io/main]: Forbidden: "
      "not supported: profiles are left to the engine (runtime/default is allowed)")]),
    ("annotations", {"seccomp.security.alpha.kubernetes.io/pod": "localhost/a"}, []),
    ("annotations", {"seccomp.security.alpha.kubernetes.io/pod": "x"},
     ['annotations[seccomp.security.alpha.kubernetes.io/pod]: Invalid value: "x": must be a valid seccomp profile']),
    ("annotations", {"container.seccomp.security.alpha.kubernetes.io/main": "localhost/../a"},
     [('annotations[container.seccomp.security.alpha.kubernetes.io/main]: Invalid value: "localhost/../a": '
      "must be a valid seccomp profile")]),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value", "expected"), METADATA)
def test_metadata(problems: Problems, path: str, value: Any, expected: list[str]) -> None:
    """Names, labels and annotations."""
    assert problems(f"metadata/{path}", value) == [f"metadata.{line}" for line in expected]


@pytest.mark.parametrize("uid", ["../x", "a/b", "a_b", "-a", "a" * 64, "é", "a b", ".", ".."])
def test_uid(problems: Problems, uid: str) -> None:
    """A uid that could not be a part of an engine's name and of a path is refused."""
    (line,) = problems("metadata/uid", uid)
    assert line.startswith("metadata.uid: Invalid value: ")


def test_mirror_annotation(changed: Changed) -> None:
    """A mirror pod must say its node."""
    pod = changed("metadata/annotations", {"kubernetes.io/config.mirror": "x"})
    bare = pod.evolve(spec=pod.spec.evolve(node_name=""))
    assert [str(error) for error in validate_pod(bare)] == [
        (
            'metadata.annotations[kubernetes.io/config.mirror]: Invalid value: "x": '
            "must set spec.nodeName if mirror pod annotation is set"
        )
    ]


@pytest.mark.parametrize("key", ["a/b/c", "//", "a//b"])
def test_keys_with_two_slashes(problems: Problems, key: str) -> None:
    """A key has at most one prefix."""
    (line,) = problems("metadata/labels", {key: ""})
    assert line.startswith(f'metadata.labels: Invalid value: "{key}": a qualified name must consist of')


VOLUMES: list[tuple[str, Any, list[str]]] = [
    ("0/name", "", ["[0].name: Required value"]),
    ("0/name", "a.b", ['[0].name: Invalid value: "a.b": must not contain dots']),
    ("2", {"name": "host", "emptyDir": {}}, ['[2].name: Duplicate value: "host"']),
    ("2", {"name": "more"}, []),
    ("2", {"name": "more", "emptyDir": {}, "hostPath": {"path": ""}},
     ["[2].hostPath: Forbidden: may not specify more than 1 volume type"]),
    ("0/emptyDir/sizeLimit", "-1", ["[0].emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity"]),
    ("0/emptyDir/medium", "Disk", ['[0].emptyDir.medium: Unsupported value: "Disk": supported values: "", "Memory"']),
    ("1/hostPath/path", "", ["[1].hostPath.path: Required value"]),
    ("1/hostPath/path", "/a/../b", ['[1].hostPath.path: Invalid value: "/a/../b": must not contain \'..\'']),
    ("1/hostPath/path", "..", ["[1].hostPath.path: Invalid value: \"..\": must not contain '..'"]),
    ("1/hostPath/path", "/a/..b/c..", []),
    ("1/hostPath/path", "a/b", ['[1].hostPath.path: Invalid value: "a/b": must be an absolute path']),
    ("1/hostPath/type", "", []),
    ("1/hostPath/type", "directory",
     [('[1].hostPath.type: Unsupported value: "directory": supported values: "", "BlockDevice", "CharDevice", "Directory", '
      '"DirectoryOrCreate", "File", "FileOrCreate", "Socket"')]),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value", "expected"), VOLUMES)
def test_volumes(problems: Problems, path: str, value: Any, expected: list[str]) -> None:
    """Volumes and their sources; mounts of a renamed volume are another matter."""
    found = [line for line in problems(f"spec/volumes/{path}", value) if not line.startswith("spec.containers")]
    assert found == [f"spec.volumes{line}" for line in expected]
