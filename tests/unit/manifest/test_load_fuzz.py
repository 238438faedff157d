"""Whatever is read: pods, or a ManifestError. Nothing else is raised, and nothing hangs."""

from __future__ import annotations

import contextlib
import copy
import json
from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from podsync.errors import ManifestError
from podsync.manifest import load, parse

FULL: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "namespace": "prod", "labels": {"a": "b"}, "annotations": {"c": "d"}},
    "spec": {
        "restartPolicy": "Always",
        "hostNetwork": False,
        "activeDeadlineSeconds": 60,
        "dnsConfig": {"nameservers": ["1.1.1.1"], "searches": ["a.b"], "options": [{"name": "ndots", "value": "1"}]},
        "hostAliases": [{"ip": "127.0.0.1", "hostnames": ["a"]}],
        "securityContext": {"runAsUser": 1, "supplementalGroups": [1], "seccompProfile": {"type": "Unconfined"}},
        "tolerations": [{"key": "a", "operator": "Exists"}],
        "volumes": [{"name": "v", "emptyDir": {"sizeLimit": "1Mi"}}, {"name": "h", "hostPath": {"path": "/x"}}],
        "initContainers": [{"name": "i", "image": "x"}],
        "containers": [
            {
                "name": "c",
                "image": "x",
                "command": ["a", "b"],
                "env": [{"name": "A", "value": "B"}],
                "ports": [{"name": "p", "containerPort": 80, "hostPort": 80}],
                "resources": {"limits": {"cpu": 1, "memory": "1Gi"}, "requests": {"cpu": "500m"}},
                "securityContext": {"capabilities": {"add": ["NET_ADMIN"]}, "privileged": False},
                "volumeMounts": [{"name": "v", "mountPath": "/v"}],
                "livenessProbe": {"httpGet": {"port": "p"}},
            }
        ],
    },
}
LONE_SURROGATE = "\ud800"
ODD = st.sampled_from(
    [
        *(None, True, 0, -1, 2**31, 2**63, 1.5, 1e30),
        *("", "x", "..", "1e9999", "é\n", LONE_SURROGATE, "\0", "a" * 5000),
        *([], {}, [None], {"": None}, [[]]),
    ]
)
SNIPPETS = st.sampled_from(
    [
        *(b"\x00", b"\xff", b"\t", b"\r", b"\n---\n", b"\xef\xbb\xbf"),
        *(b"&a ", b"*a", b"<<: ", b"[", b"}", b": ", b"- ", b"'", b'"', b"|\n", b"!!int ", b"# ", b"%A\n"),
    ]
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of everything in plain data."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, below in inner for place in places(below, (*path, key)))]


ALL_PLACES = places(FULL)[1:]


@st.composite
def mutated(draw: st.DrawFn) -> dict[str, Any]:
    """A pod with some of its parts replaced, renamed or taken away."""
    data = copy.deepcopy(FULL)
    for *parents, last in draw(st.lists(st.sampled_from(ALL_PLACES), min_size=1, max_size=4)):
        inner: Any = data
        try:
            for step in parents:
                inner = inner[step]
            value = draw(ODD)
            match draw(st.integers(0, 2)):
                case 0:
                    inner[last] = value
                case 1 if isinstance(inner, dict):
                    inner[str(last) + "x"] = inner.pop(last)
                case _:
                    del inner[last]
        except (KeyError, IndexError, TypeError):
            continue  # an earlier change took the place away
    return data


def survives(data: bytes | str) -> None:
    """Load the data and look at what is said of it."""
    parsed = parse(data)
    with contextlib.suppress(ManifestError):
        assert load(data) == parsed.pods
    for problem in parsed.problems(strict=True):
        line = str(problem)
        assert line.splitlines() == [line]
        assert len(line.encode()) < 5000
    for document in parsed.documents:
        assert (document.pod is None) or not document.errors
        _ = document.key


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    """Arbitrary bytes."""
    survives(data)


@settings(max_examples=50, deadline=None)
@given(mutated(), st.sampled_from(["json", "yaml", "list"]))
def test_mutated_pods(data: dict[str, Any], form: str) -> None:
    """A pod with wrong types, unknown names, missing and odd values, written in several ways."""
    if form == "list":
        data = {"apiVersion": "v1", "kind": "List", "items": [data, FULL]}
    text = yaml.safe_dump(data, allow_unicode=False) if form == "yaml" else json.dumps(data)
    survives(text + "\n")


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 20), SNIPPETS), min_size=1, max_size=4), st.booleans())
def test_mutated_texts(edits: list[tuple[int, int, bytes]], as_json: bool) -> None:
    """A good text with bytes overwritten."""
    data = bytearray(json.dumps(FULL, indent=1).encode() if as_json else yaml.safe_dump(FULL).encode())
    for at, length, snippet in edits:
        at %= len(data) + 1
        data[at : at + length] = snippet
    survives(bytes(data))


@settings(max_examples=50, deadline=None)
@given(mutated())
def test_yaml_and_json_agree(data: dict[str, Any]) -> None:
    """The same data gives the same pods and the same complaints in both notations.

    But for half a surrogate pair, which JSON replaces and YAML refuses, as in Go.
    """
    data = json.loads(json.dumps(data).replace(r"\ud800", "x"))
    by_json, by_yaml = parse(json.dumps(data) + "\n"), parse("---\n" + json.dumps(data) + "\n")
    assert by_json.pods == by_yaml.pods
    assert [(error.path, error.message) for error in by_json.errors] == [
        (error.path, error.message) for error in by_yaml.errors
    ]
