"""Texts to pods: documents, lists, lines, and every way in which a text can be wrong."""

# ruff: noqa: E501 - the API's messages stand whole, so that they can be searched for

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from podsync.errors import ManifestError
from podsync.manifest import MAX_BYTES, Parsed, load, parse
from podsync.models import ConfigMap, PodKey, Secret

POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: web
  labels: {app: web}
spec:
  containers:
  - name: main
    image: busybox
    ports:
    - containerPort: 80
    command: ["sleep", "60"]
"""
SUPPORTED = 'supported values: "ConfigMap", "List", "Pod", "PodList", "Secret"'
BAD_QUANTITY = (
    'f:10: document 1: spec.containers[0].resources.limits[memory]: Invalid value: "1x": '
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {a: b}\n"
LIST = "apiVersion: v1\nkind: List\nitems:\n- "
SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: hidden}\nstringData: {a: b}\n"


def pod(name: str, **spec: Any) -> dict[str, Any]:
    """A pod as plain data."""
    containers = [{"name": "main", "image": "busybox"}]
    metadata = {"name": name}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": containers, **spec}}


def lines(parsed: Parsed, *, strict: bool = False) -> list[str]:
    """The problems as a person reads them."""
    return [str(problem) for problem in parsed.problems(strict=strict)]


def test_a_pod() -> None:
    """A good document becomes a pod, decoded and with defaults, and nothing is said."""
    parsed = parse(POD, "web.yaml")
    (document,) = parsed.documents
    assert (document.index, document.kind, document.item) == (1, "Pod", "")
    assert document.raw["metadata"]["name"] == "web"
    assert (document.errors, document.warnings, parsed.warnings) == ((), (), ())
    (web,) = parsed.pods
    assert document.pod is web
    assert web.key == document.key == PodKey("default", "web")
    assert web.spec.restart_policy == "Always"
    assert web.spec.containers[0].ports[0].protocol == "TCP"
    assert web.spec.containers[0].image_pull_policy == "Always"


@pytest.mark.parametrize(
    "write",
    [
        yaml.safe_dump,
        json.dumps,
        lambda data: json.dumps(data, indent=1),
        lambda data: "\ufeff" + yaml.safe_dump(data),
        lambda data: yaml.safe_dump(data).encode(),
        lambda data: b"\xef\xbb\xbf" + yaml.safe_dump(data).encode(),
        lambda data: yaml.safe_dump(data).encode("utf-16"),
        lambda data: b"\xfe\xff" + yaml.safe_dump(data).encode("utf-16-be"),
        lambda data: yaml.safe_dump(data).replace("\n", "\r\n"),
        lambda data: "# a comment\n---\n" + yaml.safe_dump(data) + "---\n# another\n",
        lambda data: yaml.safe_dump(data, default_flow_style=True),
    ],
)
def test_every_form_gives_the_same_pod(write: Callable[[dict[str, Any]], str | bytes]) -> None:
    """YAML or JSON, with or without byte order marks, separators and carriage returns: the pod is the same."""
    parsed = parse(write(pod("web")))
    assert parsed.problems(strict=True) == ()
    assert parsed.pods == parse(json.dumps(pod("web"))).pods


def test_several_documents() -> None:
    """Pods, ConfigMaps and Secrets stand side by side; empty documents only count."""
    parsed = parse(f"{POD}---\n---\n{CONFIG_MAP}---\n{SECRET}---\n{json.dumps(pod('other'))}\n")
    assert lines(parsed, strict=True) == []
    assert [(document.index, document.kind) for document in parsed.documents] == [
        (1, "Pod"), (3, "ConfigMap"), (4, "Secret"), (5, "Pod"),
    ]  # fmt: skip
    assert [one.key.name for one in parsed.pods] == ["web", "other"]
    assert isinstance(parsed.documents[1].config, ConfigMap)
    secret = parsed.documents[2].config
    assert isinstance(secret, Secret)
    assert secret.data == {"a": b"b"}


@pytest.mark.parametrize(
    ("kind", "items", "places"),
    [
        ("List", [pod("a"), pod("b")], ["items[0]", "items[1]"]),
        (
            "PodList",
            [pod("a"), {k: v for k, v in pod("b").items() if k in ("metadata", "spec")}],
            ["items[0]", "items[1]"],
        ),
        (
            "List",
            [{"apiVersion": "v1", "kind": "PodList", "items": [pod("a")]}, pod("b")],
            ["items[0].items[0]", "items[1]"],
        ),
    ],
)
def test_lists(kind: str, items: list[Any], places: list[str]) -> None:
    """The items of a list are objects of their own, which keep their place; lists may hold lists."""
    parsed = parse(json.dumps({"apiVersion": "v1", "kind": kind, "metadata": {}, "items": items}))
    assert lines(parsed, strict=True) == []
    assert [(document.index, document.item) for document in parsed.documents] == [(1, place) for place in places]
    assert [one.key.name for one in parsed.pods] == ["a", "b"]


@pytest.mark.parametrize(
    "text", ["", "\n\n", "# nothing\n", "---\n---\n", "kind: List\napiVersion: v1\nitems: []\n", b""]
)
def test_nothing(text: str | bytes) -> None:
    """An empty text is an empty set and a warning, and an error only under strict."""
    parsed = parse(text, "none.yaml")
    assert (parsed.documents, parsed.errors) == ((), ())
    assert [str(warning) for warning in parsed.warnings] == [
        "none.yaml: warning: no documents: nothing but comments, blanks and empty lists"
    ]
    assert load(text if isinstance(text, bytes) else text + "\n") == ()
    with pytest.raises(ManifestError, match="no documents"):
        load(b"", strict=True)


@pytest.mark.parametrize(
    ("text", "errors"),
    [
        ("a: [\n", ["f:2: document 1: not valid YAML: did not find expected node content (while parsing a flow node)"]),
        ("- a\n", ["f:1: document 1: Invalid value: must be a mapping with apiVersion and kind, not a list"]),
        ("hello\n", ["f:1: document 1: Invalid value: must be a mapping with apiVersion and kind, not a single value"]),
        ("a: b\n", ["f:1: document 1: kind: Required value", "f:1: document 1: apiVersion: Required value"]),
        ("apiVersion: apps/v1\nkind: Deployment\n",
         [f'f:2: document 1: kind: Unsupported value: "Deployment": {SUPPORTED}']),
        ("apiVersion: v1\nkind: [Pod]\n",
         [f'f:2: document 1: kind: Unsupported value: ["Pod"]: {SUPPORTED}']),
        (POD.replace("v1", "v2"), ['f:1: document 1: apiVersion: Unsupported value: "v2": supported values: "v1"']),
        (POD.replace("apiVersion: v1\n", ""), ["f:1: document 1: apiVersion: Required value"]),
        ("kind: List\nitems: []\n", ["f:1: document 1: apiVersion: Required value"]),
        ("apiVersion: v1\nkind: List\nitems: {a: b}\n", ["f:3: document 1: items: Invalid value: must be a list"]),
        ("apiVersion: v1\nkind: List\nitems:\n- x\n",
         ["f:4: document 1: items[0]: Invalid value: must be a mapping with apiVersion and kind, not a single value"]),
        (POD.replace("  name: web\n", "  generateName: web-\n"),
         ["f:3: document 1: metadata.name: Required value: name is needed for the pod"]),
        (POD.replace("80", "x"),
         ["f:11: document 1: spec.containers[0].ports[0].containerPort: Invalid value: must be an integer, not a string"]),
        (POD.replace("busybox", "busybox\n    resources: {limits: {memory: 1x}}"),
         [BAD_QUANTITY]),
        (POD.replace("    image: busybox\n", ""), ["f:8: document 1: spec.containers[0].image: Required value"]),
        (POD.replace("    command", "    stdin: maybe\n    command"),
         ["f:12: document 1: spec.containers[0].stdin: Invalid value: must be true or false, not a string"]),
        (POD.replace("    command", "    env: [{name: A, value: 5}]\n    command"),
         [("f:12: document 1: spec.containers[0].env[0].value: "
          "Invalid value: must be a string, not a number; put it in quotes")]),
        (POD + "---\n" + POD,
         [('f:17: document 2: metadata.name: Duplicate value: "web": '
          "document 1 has a pod of that name in namespace default")]),
    ],
)  # fmt: skip
def test_errors(text: str, errors: list[str]) -> None:
    """Each mistake is one line: file, line, document, field path, kind and reason."""
    assert lines(parse(text, "f")) == errors


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"kind: Pod\nmetadata: {name: \xff}\n", "f:2: not a text file: byte 0xFF is no UTF-8"),
        (b"\x7fELF\x02\x01\x01\x00\x00", "f:1: document 1: not a text file: it holds the character U+007F"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "f:1: not a text file: it holds zero bytes"),
        (b"kind: Pod\nmetadata: {name: 'a\x00b'}\n", "f:2: document 1: not a text file: it holds the character U+0000"),
        (b"\xff\xfe\x00", "f:1: not a text file: it holds zero bytes"),
        (b"\xff\xfe\x00\xd8", "f:1: not a text file: it holds zero bytes"),
        (b"#" * (MAX_BYTES + 1), "f: larger than 10 MiB"),
    ],
)
def test_not_a_text(data: bytes, error: str) -> None:
    """Binary data, other encodings and files without end are refused in one line."""
    assert lines(parse(data, "f")) == [error]


def test_size_limit() -> None:
    """10 MiB are read, one byte more is not."""
    assert parse("#" * MAX_BYTES).errors == ()
    assert [error.message for error in parse("#" * (MAX_BYTES + 1)).errors] == ["larger than 10 MiB"]


def test_long_values_are_cut() -> None:
    """A name of a megabyte, a key of a megabyte and a line of a megabyte give lines of bounded length."""
    text = "x" * 2**20
    for bad in (
        POD.replace("web\n", f"{text}\n"),
        POD.replace("app:", f"? {text}\n    :").replace("{", "").replace("}", ""),
        POD.replace("    image: busybox\n", f"    resources: {{limits: {{? {text} : 1}}}}\n"),
        POD.replace("kind: Pod", f"kind: {text}"),
        POD.replace("80", f'"{text}"'),
        f"{text}: [",
        POD.replace("  labels", f'  "a\\n{text}": 1\n  labels'),
        POD.replace("  labels", f'  "a\\n{text}": 1\n  "a\\n{text}": 1\n  labels'),
    ):
        found = lines(parse(bad, "f"), strict=True)
        assert found
        assert all(len(line) < 3000 and "\n" not in line for line in found)


def test_many_errors_are_cut() -> None:
    """Of one object a thousand problems are told, and how many there are besides."""
    text = POD + "    env:\n" + "    - {}\n" * 3000
    found = lines(parse(text, "f"))
    assert len(found) == 1001
    assert found[-1] == "f:1: document 1: and 2000 more problems"


def test_all_errors_at_once() -> None:
    """Mistakes of reading, decoding, support and validation are told together, each document's with its own."""
    text = """\
apiVersion: v1
kind: Pod
metadata: {name: Web}
spec:
  hostNetwork: yess
  restartPolicy: Sometimes
  containers:
  - name: main
    image: busybox
    livenessProbe: {exec: {command: ["true"]}}
---
a: b: c
---
kind: Service
apiVersion: v1
"""
    found = [(error.document, error.line, error.path) for error in parse(text, "f").errors]
    assert found == [
        (1, 5, "spec.hostNetwork"),
        (1, 10, "spec.containers[0].livenessProbe"),
        (1, 3, "metadata.name"),
        (1, 6, "spec.restartPolicy"),
        (2, 12, ""),
        (3, 14, "kind"),
    ]


def test_one_bad_document_leaves_the_others() -> None:
    """The good pods of a text with mistakes are there, and the bad one says who it is."""
    parsed = parse(f"{POD}---\n{POD.replace('web', 'bad').replace('80', '0')}---\n{json.dumps(pod('last'))}\n")
    assert [one.key.name for one in parsed.pods] == ["web", "last"]
    bad = parsed.documents[1]
    assert bad.pod is None
    assert bad.key == PodKey("default", "bad")
    assert len(bad.errors) == 1


@pytest.mark.parametrize(
    ("raw", "key"),
    [
        ("metadata: {name: a, namespace: b}", PodKey("b", "a")),
        ("metadata: {name: a, namespace: ''}", PodKey("default", "a")),
        ("metadata: {name: a, namespace: [1]}", PodKey("default", "a")),
        ("metadata: {name: 5}", None),
        ("metadata: {}", None),
        ("metadata: x", None),
        ("spec: {}", None),
    ],
)
def test_key_of_a_bad_pod(raw: str, key: PodKey | None) -> None:
    """Which pod a faulty document means is known as soon as its name can be read."""
    (document,) = parse(f"apiVersion: v1\nkind: Pod\n{raw}\n").documents
    assert document.errors
    assert document.key == key


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        (POD.replace("    image", "    imag: x\n    image"),
         'f:9: document 1: warning: spec.containers[0].imag: Unknown field: did you mean "image"?'),
        (POD.replace("  name: web\n", "  name: old\n  name: web\n"),
         'f:5: document 1: warning: metadata.name: Duplicate value: "name": lines 4 and 5; the last one counts'),
        ('{"kind": "Pod", ' + json.dumps(pod("web"))[1:],
         'f:1: document 1: warning: kind: Duplicate value: "kind": lines 1 and 1; the last one counts'),
        (LIST + POD.replace("\n", "\n  ").replace("    image", "    image: x\n      image"),
         ('f:13: document 1: warning: items[0].spec.containers[0].image: Duplicate value: "image": '
         "lines 12 and 13; the last one counts")),
        ("apiVersion: v1\nkind: List\nkind: List\nitems:\n- " + json.dumps(pod("a")) + "\n- " + json.dumps(pod("b")),
         'f:3: document 1: warning: kind: Duplicate value: "kind": lines 2 and 3; the last one counts'),
    ],
)  # fmt: skip
def test_warnings(text: str, warning: str) -> None:
    """An unknown field and a doubled key are told with their lines, and are errors only under strict."""
    parsed = parse(text, "f")
    assert [str(found) for document in parsed.documents for found in document.warnings] == [warning]
    assert parsed.errors == ()
    assert parsed.pods
    assert lines(parsed, strict=True) == [warning.replace("warning: ", "")]
    assert load(text) == parsed.pods
    with pytest.raises(ManifestError):
        load(text, strict=True)


def test_lines_of_json() -> None:
    """Errors in JSON have lines too."""
    text = json.dumps(pod("web", restartPolicy="Sometimes"), indent=2)
    number = next(number for number, line in enumerate(text.splitlines(), 1) if "Sometimes" in line)
    assert [(error.line, error.path) for error in parse(text).errors] == [(number, "spec.restartPolicy")]


def test_lines_after_aliases_and_merges() -> None:
    """What an alias brings is told where the alias stands; a merged field where its mapping begins."""
    text = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - &one
    name: main
    image: busybox
    ports: &ports
    - {containerPort: 0}
  - <<: *one
    name: other
    ports: *ports
  - <<: *one
    ports: []
"""
    assert [(error.line, error.path) for error in parse(text).errors] == [
        (10, "spec.containers[0].ports[0].containerPort"),
        (13, "spec.containers[1].ports[0].containerPort"),
        (14, "spec.containers[2].name"),
    ]


def test_escapes_of_json() -> None:
    """A surrogate pair is one character, and half of one, which no text can hold, becomes U+FFFD."""
    escaped = json.dumps(pod("web")).replace("busybox", r"\ud83d\ude00\ud800\\ud800")
    (one,) = load(escaped)
    assert one.spec.containers[0].image == "\U0001f600\ufffd\\ud800"
