"""The JSON Schema: valid, current, and of one mind with the decoder."""

import copy
import json
from collections.abc import Iterator
from importlib import resources
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from podsync.errors import FieldError
from podsync.manifest.decode import decode
from podsync.manifest.schema import check, schema, text
from podsync.models import ConfigMap, Pod, Secret
from podsync.models.wire import Form, Scalar, fields_of, model_named

KINDS = {"Pod": Pod, "ConfigMap": ConfigMap, "Secret": Secret}

SCALARS = {
    Scalar.STRING: st.text(max_size=5),
    Scalar.BOOL: st.booleans(),
    Scalar.INT32: st.integers(-(2**31), 2**31 - 1) | st.sampled_from([0.0, 8080.0]),
    Scalar.INT64: st.integers(-(2**63), 2**63 - 1),
    Scalar.INT_OR_STRING: st.integers(0, 65535) | st.text(max_size=5),
    Scalar.QUANTITY: st.sampled_from(["1", "500m", "1.5Gi", "-2e3", " 1 ", "1.", 0.5, 3, 1e22]),
    Scalar.TIME: st.sampled_from(["2026-01-02T03:04:05Z", "2026-01-02T03:04:05.678+01:00"]),
    Scalar.BYTES: st.sampled_from(["", "YQ==", "YWJj\n"]),
    Scalar.ANY: st.sampled_from([None, 1, "x", [1], {"a": {}}]),
}
ODD = st.sampled_from(
    [
        None, True, 0, -1, 1.5, 8080.0, 2**31, 2**63, 1e300, "", "yes", "1", "1K", "500m", "e3", "1e1000", "9" * 65,
        "2026-01-02T03:04:05Z", "2026-02-30T00:00:00Z", "2026-01-02", "YQ==", "YQ", "\u00e9", [], ["x"], [None],
        [1], {}, {"a": "b"}, {"name": 1}, [[]], [{}],
    ]
)  # fmt: skip
"""Values that are right in some places and wrong in most."""
NAMES = st.sampled_from(["name", "Name", "spec", "kind", "items", "metadata", "nonsense", "", "a\nb", "$ref"])


@st.composite
def models(draw: st.DrawFn, name: str, depth: int = 0) -> dict[str, Any]:
    """A document of one model with some of its fields."""
    document = {}
    fields = fields_of(model_named(name))
    chosen = draw(st.sets(st.sampled_from(fields), max_size=4 if depth < 4 else 1)) if fields else ()
    for item in sorted(chosen, key=lambda item: item.name):
        if isinstance(item.element, Scalar):
            one = SCALARS[item.element]
        elif depth < 5:
            one = models(item.element, depth + 1)
        else:
            one = st.just({})
        match item.form:
            case Form.LIST:
                one = st.lists(one, max_size=2)
            case Form.MAP:
                one = st.dictionaries(st.text(max_size=3), one, max_size=2)
        document[item.name] = draw(one | st.none())
    return document


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """A Pod, ConfigMap or Secret with a header."""
    kind = draw(st.sampled_from([*KINDS, "Pod", "Pod"]))
    return {"apiVersion": "v1", "kind": kind, **draw(models(kind))}


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every (container, key) inside a document, its header left out."""
    if isinstance(value, dict):
        for key in value:
            if key not in ("apiVersion", "kind"):
                yield value, key
            yield from places(value[key])
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield value, index
            yield from places(inner)


def verdict(problems: list[FieldError]) -> tuple[set[str], set[str]]:
    """(paths of errors, paths of warnings), each once."""
    return {error.path for error in problems if not error.warning}, {error.path for error in problems if error.warning}


def assert_agreed(document: Any) -> None:
    """Decoder and schema find the same errors and the same unknown fields."""
    _, decoded = decode(KINDS[document["kind"]], document)
    checked = check(document)
    assert verdict(checked) == verdict(decoded)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(documents())
def test_accepts_what_the_decoder_accepts(document: Any) -> None:
    """Any fields of any depth with right types: neither finds fault."""
    _, problems = decode(KINDS[document["kind"]], document)

    assert problems == []
    assert check(document) == []


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(document=documents(), data=st.data())
def test_agrees_with_the_decoder_on_any_fault(document: Any, data: st.DataObject) -> None:
    """After some values are replaced by odd ones and some fields misnamed, both say the same of each path."""
    document = copy.deepcopy(document)
    for _ in range(data.draw(st.integers(1, 3))):
        spots = list(places(document))
        if spots and data.draw(st.booleans()):
            holder, key = data.draw(st.sampled_from(spots))
            holder[key] = copy.deepcopy(data.draw(ODD))  # it may be changed in turn
        else:
            holders = [document, *(inner[key] for inner, key in spots if isinstance(inner[key], dict))]
            holder, name = data.draw(st.sampled_from(holders)), data.draw(NAMES)
            if holder is not document or name != "kind":
                holder[name] = copy.deepcopy(data.draw(ODD))  # it may be changed in turn

    assert_agreed(document)


@pytest.mark.parametrize(
    ("document", "path", "message"),
    [
        ([], "", "Invalid value: must be of type object"),
        ({"apiVersion": "v1"}, "kind", "Required value"),
        ({"kind": "Pod"}, "apiVersion", "Required value"),
        ({"apiVersion": "v2", "kind": "Pod"}, "apiVersion", 'Unsupported value: supported values: "v1"'),
        (
            {"apiVersion": "v1", "kind": "Job"},
            "kind",
            'Unsupported value: supported values: "ConfigMap", "List", "Pod", "PodList", "Secret"',
        ),
        (
            {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"ports": [{"containerPort": "x"}]}]}},
            "spec.containers[0].ports[0].containerPort",
            "Invalid value: must be of type integer",
        ),
        (
            {"apiVersion": "v1", "kind": "Pod", "spec": {"priority": 2**31}},
            "spec.priority",
            "Invalid value: must be between -2147483648 and 2147483647, inclusive",
        ),
        (
            {"apiVersion": "v1", "kind": "Pod", "spec": {"overhead": {"cpu": "1K"}}},
            "spec.overhead[cpu]",
            "Invalid value: must be a quantity such as 500m or 1.5Gi",
        ),
        (
            {"apiVersion": "v1", "kind": "Secret", "data": {"a": "*"}},
            "data[a]",
            "Invalid value: must be a base64 string",
        ),
        (
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"creationTimestamp": "now"}},
            "metadata.creationTimestamp",
            "Invalid value: must be a time such as 2006-01-02T15:04:05Z",
        ),
        (
            {"apiVersion": "v1", "kind": "PodList", "items": [{}, {"spec": {"hostname": 1}}]},
            "items[1].spec.hostname",
            "Invalid value: must be of type string",
        ),
        (
            {"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "Secret", "type": 1}]},
            "items[0].type",
            "Invalid value: must be of type string",
        ),
    ],
)
def test_tells_a_fault_with_its_path_and_no_value(document: Any, path: str, message: str) -> None:
    """Messages are field errors like all others."""
    [error] = check(document)

    assert (error.path, error.message, error.warning) == (path, message, False)


def test_an_unknown_field_is_a_warning() -> None:
    """As in decoding; under --strict whoever asked makes it an error."""
    [error] = check({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"imagePullPolicY": "Always"}]}})

    assert (error.path, error.warning) == ("spec.containers[0].imagePullPolicY", True)


@pytest.mark.parametrize("kind", ["List", "PodList"])
def test_a_list_holds_documents(kind: str) -> None:
    """Nothing, several kinds in a List, and lists in lists."""
    pod = {"apiVersion": "v1", "kind": "Pod"}

    assert check({"apiVersion": "v1", "kind": kind, "items": None}) == []
    assert check({"apiVersion": "v1", "kind": kind, "metadata": {"resourceVersion": "1"}, "items": [pod]}) == []
    inner = {"apiVersion": "v1", "kind": "List", "items": [pod]}
    assert (check({"apiVersion": "v1", "kind": kind, "items": [inner]}) == []) is (kind == "List")


def test_is_a_valid_schema_that_tells_defaults_and_answers() -> None:
    """Editors show what a field defaults to and what podsync does with it."""
    Draft202012Validator.check_schema(schema())
    spec = schema()["$defs"]["PodSpec"]["properties"]

    assert spec["restartPolicy"] == {"type": ["string", "null"], "default": "Always"}
    assert spec["securityContext"] == {"$ref": "#/$defs/PodSecurityContext", "default": {}}
    assert spec["affinity"]["description"].startswith("podsync: ignored because ")


def test_the_shipped_schema_is_current() -> None:
    """Run ``python -m podsync.manifest.schema > podsync/manifest/pod.schema.json`` after a change of the models."""
    shipped = resources.files("podsync.manifest").joinpath("pod.schema.json").read_text()

    assert shipped == text()
    assert json.loads(shipped) == schema()
