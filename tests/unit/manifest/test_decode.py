"""Plain data to models: Go's rules, and every problem with its path."""

from datetime import UTC, datetime
from typing import Any

import pytest

from podsync.errors import FieldError
from podsync.manifest.decode import decode, decode_config_map, decode_pod, decode_secret, parse_base64, parse_time
from podsync.models import (
    ConfigMap,
    Container,
    ContainerPort,
    HTTPGetAction,
    ObjectMeta,
    Pod,
    PodSpec,
    PodStatus,
    Quantity,
    ResourceRequirements,
    Secret,
)


def pod(spec: dict[str, Any] | None = None, **metadata: Any) -> dict[str, Any]:
    """A Pod document."""
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", **metadata}, "spec": spec or {}}


def told(errors: list[FieldError], *, warnings: bool = False) -> list[tuple[str, str]]:
    """Path and message of each problem of one level."""
    return [(error.path, error.message) for error in errors if error.warning is warnings]


def test_reads_every_kind_of_value() -> None:
    """A pod with lists, maps, quantities, times, numbers, switches and null comes out as written."""
    document = pod(
        {
            "containers": [
                {
                    "name": "c",
                    "command": ["sh", "-c", "exit 0"],
                    "ports": [{"containerPort": 8080.0, "hostIP": "127.0.0.1"}],
                    "resources": {"limits": {"cpu": 0.5, "memory": "1Gi", "x/y": 3}},
                    "stdin": True,
                    "workingDir": None,
                }
            ],
            "terminationGracePeriodSeconds": 0,
            "hostPID": True,
        },
        labels={"a": "b"},
        creationTimestamp="2026-01-02T03:04:05+02:00",
    )

    found, errors = decode(Pod, document)

    assert errors == []
    assert found.metadata.labels == {"a": "b"}
    assert found.metadata.creation_timestamp == datetime(2026, 1, 2, 1, 4, 5, tzinfo=UTC)
    container = found.spec.containers[0]
    assert container.command == ("sh", "-c", "exit 0")
    assert container.ports == (ContainerPort(container_port=8080, host_ip="127.0.0.1"),)
    assert container.resources.limits == {"cpu": Quantity("500m"), "memory": Quantity("1Gi"), "x/y": Quantity(3)}
    assert (container.stdin, container.working_dir) == (True, "")
    assert (found.spec.termination_grace_period_seconds, found.spec.host_pid) == (0, True)


WRONG_TYPES = [
    ("name", 5, "must be a string, not a number; put it in quotes"),
    ("name", True, "must be a string, not a boolean; put it in quotes"),
    ("name", ["x"], "must be a string, not a list"),
    ("name", {}, "must be a string, not an object"),
    ("stdin", "true", "must be true or false, not a string"),
    ("stdin", 1, "must be true or false, not a number"),
    ("command", "sh", "must be a list, not a string"),
    ("command", {"0": "sh"}, "must be a list, not an object"),
    ("securityContext", "root", "must be an object, not a string"),
    ("securityContext", [], "must be an object, not a list"),
]


@pytest.mark.parametrize(("field", "value", "message"), WRONG_TYPES)
def test_a_wrong_type_is_an_error_with_its_path(field: str, value: Any, message: str) -> None:
    """No value is converted into another type; the message says what was there."""
    _, errors = decode(Pod, pod({"containers": [{"name": "c"}, {field: value}]}))

    assert told(errors) == [(f"spec.containers[1].{field}", f"Invalid value: {message}")]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("8080", "must be an integer, not a string"),
        (80.5, "must be an integer"),
        (float("nan"), "must be an integer"),
        (float("inf"), "must be an integer"),
        (True, "must be an integer, not a boolean"),
        (2**31, "must be between -2147483648 and 2147483647, inclusive"),
        (-(2**31) - 1, "must be between -2147483648 and 2147483647, inclusive"),
        (1e300, "must be between -2147483648 and 2147483647, inclusive"),
    ],
)
def test_a_32_bit_integer_is_checked(value: Any, message: str) -> None:
    """A whole float is an integer; a text never is, and the API's range holds."""
    _, errors = decode(Pod, pod({"containers": [{"ports": [{}, {"containerPort": value}]}]}))

    assert told(errors) == [("spec.containers[0].ports[1].containerPort", f"Invalid value: {message}")]


@pytest.mark.parametrize("value", [2**31 - 1, -(2**31), 1.0, -0.0])
def test_a_32_bit_integer_may_be_anything_in_range(value: Any) -> None:
    """The limits themselves are fine, and so are floats without a fraction."""
    found, errors = decode(ContainerPort, {"hostPort": value})

    assert (found.host_port, errors) == (int(value), [])


@pytest.mark.parametrize(
    ("value", "fine"), [(2**63 - 1, True), (2**63, False), (-(2**63), True), (-(2**63) - 1, False)]
)
def test_a_64_bit_integer_is_checked(value: Any, fine: bool) -> None:
    """Numbers of seconds and ids have 64 bits."""
    _, errors = decode(PodSpec, {"activeDeadlineSeconds": value})

    assert (errors == []) is fine


@pytest.mark.parametrize(("value", "wanted"), [("http", "http"), ("80", "80"), (80, 80), (80.0, 80)])
def test_a_port_may_be_a_number_or_a_name(value: Any, wanted: Any) -> None:
    """A text of digits stays a text."""
    found, errors = decode(HTTPGetAction, {"port": value})

    assert (found.port, errors) == (wanted, [])


def test_a_port_that_is_neither_is_an_error() -> None:
    """The message names both."""
    _, errors = decode(HTTPGetAction, {"port": True})

    assert told(errors) == [("port", "Invalid value: must be an integer or a string, not a boolean")]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("1K", """"1K": unable to parse quantity's suffix"""),
        ("", '"": quantities must match'),
        ("9" * 100, "quantities must be no more than 64 characters"),
        (True, "must be a quantity, not a boolean"),
        (["1"], "must be a quantity, not a list"),
        (float("nan"), "quantities must match"),
    ],
)
def test_a_bad_quantity_is_told_with_its_key(value: Any, message: str) -> None:
    """Map keys stand in brackets."""
    _, errors = decode(ResourceRequirements, {"limits": {"cpu": 1, "memory": value}})

    [(path, text)] = told(errors)
    assert path == "limits[memory]"
    assert text.startswith(f"Invalid value: {message}")


@pytest.mark.parametrize(
    ("key", "known"),
    [
        ("imagePullPolicY", "imagePullPolicy"),
        ("Image", "image"),
        ("image_pull_policy", "imagePullPolicy"),
        ("volumeMount", "volumeMounts"),
        ("commands", "command"),
        ("enviroment", "envFrom"),
        ("zzz", None),
        ("x" * 5000, None),
    ],
)
def test_an_unknown_field_is_a_warning_that_names_the_nearest(key: Any, known: str | None) -> None:
    """Names are exact; what was meant is guessed where it can be."""
    _, errors = decode(Pod, pod({"containers": [{"name": "c", key: 1}]}))

    hint = f'did you mean "{known}"?' if known else "Container has no such field"
    [(path, message)] = told(errors, warnings=True)
    assert message == f"Unknown field: {hint}"
    assert path.startswith(f"spec.containers[0].{key[:60]}" if len(key) < 60 else 'spec.containers[0]."xxx')
    assert told(errors) == []


def test_wrong_case_at_the_top_is_unknown_too() -> None:
    """``Spec`` is not ``spec``, as in the API."""
    found, errors = decode(Pod, {"apiVersion": "v1", "kind": "Pod", "Spec": {"hostNetwork": True}})

    assert told(errors, warnings=True) == [("Spec", 'Unknown field: did you mean "spec"?')]
    assert found.spec == PodSpec()


def test_many_unknown_fields_do_not_take_long() -> None:
    """Guessing stops after some problems, so that a hostile file cannot keep the reader busy."""
    _, errors = decode(ObjectMeta, {f"labelz{number}": 1 for number in range(20_000)})

    assert len(errors) == 1000
    assert errors[0].message == 'Unknown field: did you mean "labels"?'
    assert errors[-1].message == "Unknown field: ObjectMeta has no such field"


@pytest.mark.parametrize("key", [1, None, True, 1.5])
@pytest.mark.parametrize("place", ["metadata", "labels"])
def test_a_key_that_is_no_string_is_an_error(key: Any, place: str) -> None:
    """Readers of YAML turn keys into strings; data that did not come from one may not."""
    metadata = {key: "x"} if place == "metadata" else {"labels": {key: "x"}}

    _, errors = decode(Pod, {"metadata": metadata})

    path = f"metadata.{key}" if place == "metadata" else f"metadata.labels[{key}]"
    assert told(errors) == [(path, "Invalid value: a key must be a string")]


def test_null_is_the_same_as_not_written() -> None:
    """Fields, list entries and map values may be null: zero values stand for them."""
    found, errors = decode(
        Pod,
        {
            "metadata": {"name": None, "labels": {"a": None}, "finalizers": [None], "ownerReferences": None},
            "spec": {"containers": [None], "overhead": {"cpu": None}, "hostNetwork": None},
        },
    )

    assert errors == []
    assert found.metadata == ObjectMeta(labels={"a": ""}, finalizers=("",))
    assert len(found.spec.containers) == 1
    assert found.spec.overhead == {"cpu": Quantity(0)}


def test_tells_every_problem_at_once_in_the_order_of_the_document() -> None:
    """One bad field hides no other."""
    _, errors = decode(
        Pod,
        pod(
            {
                "containers": [{"name": 1, "ports": [{"containerPort": "x"}, {"hostPort": "y"}]}, "c"],
                "volumes": [{"emptyDir": {"sizeLimit": "big"}, "hostPath": {"path": []}}],
                "nodeSelector": {"a": 1, "b": "fine", "c": None, "d": {}},
            },
            uid=3,
        ),
    )

    assert [path for path, _ in told(errors)] == [
        "metadata.uid",
        "spec.containers[0].name",
        "spec.containers[0].ports[0].containerPort",
        "spec.containers[0].ports[1].hostPort",
        "spec.containers[1]",
        "spec.volumes[0].emptyDir.sizeLimit",
        "spec.volumes[0].hostPath.path",
        "spec.nodeSelector[a]",
        "spec.nodeSelector[d]",
    ]


@pytest.mark.parametrize("document", [None, [], "Pod", 1, True])
@pytest.mark.parametrize("read", [decode_pod, decode_config_map, decode_secret])
def test_a_document_that_is_no_mapping_gives_nothing(read: Any, document: Any) -> None:
    """There is an error for the document as a whole, and no object."""
    found, [error] = read(document)

    assert found is None
    assert (error.path, error.warning) == ("", False)


def test_decode_pod_gives_the_readable_rest_of_a_faulty_pod() -> None:
    """So that validation can tell its problems too."""
    found, errors = decode_pod(pod({"containers": [{"name": 5, "image": "i"}]}))

    assert found.spec.containers[0].image == "i"
    assert [error.path for error in errors] == ["spec.containers[0].name"]


def test_decode_pod_fills_in_defaults_and_names_refused_fields() -> None:
    """One call gives a pod ready for validation."""
    found, errors = decode_pod(pod({"containers": [{"name": "c", "image": "i", "livenessProbe": {}}]}))

    assert found.metadata.namespace == "default"
    assert found.spec.restart_policy == "Always"
    assert [error.path for error in errors] == ["spec.containers[0].livenessProbe"]


def test_decode_pod_checks_and_drops_a_status() -> None:
    """A pod written out by ``get`` can be read again: what it is now does not count."""
    document = pod() | {"status": {"phase": "Running", "podIP": "10.0.0.1"}}

    assert decode_pod(document) == decode_pod(pod())
    assert decode(Pod, document)[0].status == PodStatus(phase="Running", pod_ip="10.0.0.1")
    assert [error.path for error in decode_pod(pod() | {"status": {"phase": 1}})[1]] == ["status.phase"]


def test_what_was_written_reads_back_as_the_same_pod() -> None:
    """``to_dict`` and ``decode_pod`` are each other's inverse."""
    found, errors = decode_pod(
        pod(
            {
                "containers": [
                    {"name": "c", "image": "i", "resources": {"limits": {"cpu": "0.5"}}, "env": [{"name": "A"}]}
                ],
                "volumes": [{"name": "v"}, {"name": "w", "hostPath": {"path": "/", "type": "Directory"}}],
                "hostAliases": [{"ip": "1.1.1.1", "hostnames": ["a"]}],
            },
            creationTimestamp="2026-01-02T03:04:05Z",
        )
    )

    again, more = decode_pod(found.to_dict())

    assert (errors, more) == ([], [])
    assert again == found
    assert again.to_dict() == found.to_dict()


def test_reads_a_config_map() -> None:
    """Text and bytes, defaults filled in."""
    found, errors = decode_config_map({"metadata": {"name": "m"}, "data": {"a": "b"}, "binaryData": {"k": "AAE="}})

    assert errors == []
    assert found == ConfigMap(
        metadata=ObjectMeta(name="m", namespace="default"), data={"a": "b"}, binary_data={"k": b"\0\1"}
    )


def test_reads_a_secret_and_never_shows_what_is_in_it() -> None:
    """``stringData`` becomes data; a message about a bad value does not repeat it."""
    found, errors = decode_secret({"metadata": {"name": "s"}, "data": {"a": "YQ=="}, "stringData": {"b": "é"}})

    assert errors == []
    assert found == Secret(
        metadata=ObjectMeta(name="s", namespace="default"), data={"a": b"a", "b": "é".encode()}, type="Opaque"
    )
    _, errors = decode_secret({"data": {"a": "hunter2!", "b": 12345}, "stringData": {"c": 67890}})
    assert told(errors) == [
        ("data[a]", "Invalid value: must be a base64 string"),
        ("data[b]", "Invalid value: must be a base64 string"),
        ("stringData[c]", "Invalid value: must be a string, not a number; put it in quotes"),
    ]


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-01-02T03:04:05Z", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("2026-01-02T03:04:05.5-01:00", datetime(2026, 1, 2, 4, 4, 5, 500_000, tzinfo=UTC)),
        ("2026-01-02T03:04:05.123456789Z", datetime(2026, 1, 2, 3, 4, 5, 123_456, tzinfo=UTC)),
        ("2026-01-02 03:04:05Z", None),
        ("2026-01-02T03:04:05", None),
        ("2026-13-02T03:04:05Z", None),
        ("0001-01-01T00:00:00+10:00", None),
        ("20260102T030405Z", None),
        ("2026-01-02T03:04:05Z\n", None),
        ("", None),
    ],
)
def test_times_are_rfc_3339(text: str, moment: datetime | None) -> None:
    """Any other form of a date is none."""
    assert parse_time(text) == moment
    assert bool(decode(ObjectMeta, {"creationTimestamp": text})[1]) is (moment is None)


@pytest.mark.parametrize(
    ("text", "data"),
    [("", b""), ("YQ==", b"a"), ("YW\nJj\r\n", b"abc"), ("YQ", None), ("YQ= =", None), ("Y_==", None), ("é", None)],
)
def test_bytes_are_standard_base64(text: str, data: bytes | None) -> None:
    """Padding is wanted, line breaks are let through, nothing else is."""
    assert parse_base64(text) == data


def test_a_key_that_is_no_plain_text_is_shown_in_one_short_line() -> None:
    """Line breaks in a key cannot fake a second message."""
    _, errors = decode(ObjectMeta, {"a\nb": 1, "labels": {"c\nd" + "x" * 500: 1}})

    assert next(error.path for error in errors) == '"a\\nb"'
    assert all("\n" not in error.path and len(error.path) < 100 for error in errors)


def test_any_data_is_let_through_where_the_api_holds_raw_json() -> None:
    """``fieldsV1`` is nobody's business but the API server's."""
    found, errors = decode(ObjectMeta, {"managedFields": [{"fieldsV1": {"f:spec": {".": {}}}}]})

    assert errors == []
    assert found.managed_fields[0].fields_v1 == {"f:spec": {".": {}}}
    assert found.to_dict() == {"managedFields": [{"fieldsV1": {"f:spec": {".": {}}}}]}


@pytest.mark.parametrize("field", ["env", "ports", "command", "args", "volumeMounts"])
def test_a_list_has_at_most_ten_thousand_items(field: str) -> None:
    """A longer list inside an object is one error, whatever it holds."""
    _, errors = decode(Container, {field: [{}] * 10_001})
    assert [(error.path, error.message) for error in errors] == [
        (field, "Too many: 10001: must have at most 10000 items")
    ]


def test_reading_ends_after_many_problems() -> None:
    """Lists in lists cannot multiply the problems that are kept."""
    _, errors = decode(PodSpec, {"containers": [{"ports": [1] * 1000}] * 1000})
    assert 1000 <= len(errors) <= 4000
