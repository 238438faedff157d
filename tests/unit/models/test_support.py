"""Refused fields: each is named with its path, and nothing else is."""

from typing import Any

import pytest

from podsync.manifest.decode import decode
from podsync.models import Pod, refusals
from podsync.models.wire import Answer, Form, Scalar, Support, WireField, fields_of, ignored, model_named, refused

CONTAINER = {"name": "c", "image": "i"}


def refused_paths(spec: dict[str, Any]) -> list[tuple[str, str]]:
    """Path and message of each refusal of a pod with that spec."""
    pod, problems = decode(Pod, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec})
    assert problems == []
    return [(error.path, error.message) for error in refusals(pod)]


def container(**fields: Any) -> dict[str, Any]:
    """A spec with one container of those fields."""
    return {"containers": [{**CONTAINER, **fields}]}


def pod_security(**fields: Any) -> dict[str, Any]:
    """A spec with those pod-wide security settings."""
    return {"securityContext": fields, "containers": [CONTAINER]}


def refused_outright(model: str) -> list[WireField]:
    """Fields of a model that are refused whatever they hold."""
    answered = [(item, item.support) for item in fields_of(model_named(model)) if item.support is not None]
    return [item for item, support in answered if support.answer is Answer.REFUSED and support.when is None]


def a_value(item: WireField) -> Any:
    """Something to put in a field."""
    samples = {Scalar.STRING: "x", Scalar.BOOL: True, Scalar.INT32: 1, Scalar.INT64: 1}
    one = samples[item.element] if isinstance(item.element, Scalar) else {}
    return {Form.ONE: one, Form.LIST: [one], Form.MAP: {"k": one}}[item.form]


@pytest.mark.parametrize("item", refused_outright("PodSpec"), ids=lambda item: item.name)
def test_names_a_refused_field_of_a_pod(item: WireField) -> None:
    """Setting the field gives one error with its path and the reason in its declaration."""
    [(path, message)] = refused_paths({item.name: a_value(item), "containers": [CONTAINER]})

    assert path == f"spec.{item.name}"
    assert message == f"Forbidden: podsync does not support {item.name} yet: {item.support.because}"


@pytest.mark.parametrize("place", ["containers", "initContainers"])
@pytest.mark.parametrize("item", refused_outright("Container"), ids=lambda item: item.name)
def test_names_a_refused_field_of_a_container(item: WireField, place: str) -> None:
    """The path counts the container, main or init."""
    [(path, message)] = refused_paths({place: [CONTAINER, {**CONTAINER, item.name: a_value(item)}]})

    assert path == f"spec.{place}[1].{item.name}"
    assert message.startswith(f"Forbidden: podsync does not support {item.name} yet: ")


@pytest.mark.parametrize("item", refused_outright("Volume"), ids=lambda item: item.name)
def test_names_a_refused_volume_source(item: WireField) -> None:
    """A source that is not meant to come is refused without promising it."""
    [(path, message)] = refused_paths({"volumes": [{"name": "v", item.name: {}}]})

    assert path == f"spec.volumes[0].{item.name}"
    yet = " yet" if item.support.later else ""
    assert message == f"Forbidden: podsync does not support {item.name}{yet}: {item.support.because}"


@pytest.mark.parametrize(
    ("spec", "path", "what"),
    [
        ({"hostUsers": False}, "spec.hostUsers", "hostUsers: false yet"),
        ({"automountServiceAccountToken": True}, "spec.automountServiceAccountToken", "automountServiceAccountToken: "),
        (
            container(resources={"limits": {"nvidia.com/gpu": 1}}),
            "spec.containers[0].resources.limits[nvidia.com/gpu]",
            "nvidia.com/gpu yet",
        ),
        (
            container(resources={"limits": {"ephemeral-storage": "1Gi"}}),
            "spec.containers[0].resources.limits[ephemeral-storage]",
            "ephemeral-storage yet",
        ),
        (
            container(resources={"requests": {"hugepages-2Mi": "4Mi"}}),
            "spec.containers[0].resources.requests[hugepages-2Mi]",
            "hugepages-2Mi yet",
        ),
        (
            container(securityContext={"procMount": "Unmasked"}),
            "spec.containers[0].securityContext.procMount",
            "procMount: Unmasked yet",
        ),
        (
            container(securityContext={"appArmorProfile": {"type": "Unconfined"}}),
            "spec.containers[0].securityContext.appArmorProfile",
            "appArmorProfile yet",
        ),
        (
            container(securityContext={"seLinuxOptions": {"level": "s0"}}),
            "spec.containers[0].securityContext.seLinuxOptions",
            "seLinuxOptions yet",
        ),
        (
            pod_security(supplementalGroupsPolicy="Strict"),
            "spec.securityContext.supplementalGroupsPolicy",
            "supplementalGroupsPolicy: Strict yet",
        ),
        (pod_security(sysctls=[{"name": "a", "value": "b"}]), "spec.securityContext.sysctls", "sysctls yet"),
        (
            {"volumes": [{"name": "v", "emptyDir": {"medium": "HugePages-2Mi"}}]},
            "spec.volumes[0].emptyDir.medium",
            "medium: HugePages-2Mi yet",
        ),
        (
            container(volumeMounts=[{"name": "v", "mountPath": "/v", "subPath": "x"}]),
            "spec.containers[0].volumeMounts[0].subPath",
            "subPath yet",
        ),
        (container(env=[{"name": "A", "valueFrom": {}}]), "spec.containers[0].env[0].valueFrom", "valueFrom yet"),
    ],
)
def test_names_a_refused_value(spec: dict[str, Any], path: str, what: str) -> None:
    """Where only some values are refused, the message shows which."""
    [(found, message)] = refused_paths(spec)

    assert found == path
    assert message.startswith(f"Forbidden: podsync does not support {what}")


@pytest.mark.parametrize(
    "spec",
    [
        {"hostUsers": True},
        {"automountServiceAccountToken": False},
        {"serviceAccountName": "default", "tolerations": [{"operator": "Exists"}], "affinity": {"podAffinity": {}}},
        container(resources={"limits": {"cpu": 1, "memory": "1Gi"}, "requests": {"ephemeral-storage": "1Gi"}}),
        container(securityContext={"procMount": "Default", "appArmorProfile": {"type": "RuntimeDefault"}}),
        container(securityContext={"seLinuxOptions": {}, "windowsOptions": {"hostProcess": True}}),
        container(securityContext={"seccompProfile": {"type": "Localhost", "localhostProfile": "a.json"}}),
        container(livenessProbe=None, envFrom=[], restartPolicy=None),
        pod_security(supplementalGroupsPolicy="Merge", fsGroup=1, fsGroupChangePolicy="OnRootMismatch"),
        {"volumes": [{"name": "v", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}}]},
        {"volumes": [{"name": "v", "hostPath": {"path": "/x", "type": "Socket"}}]},
    ],
)
def test_lets_the_other_values_pass(spec: dict[str, Any]) -> None:
    """Supported values, ignored fields and fields left empty are no refusals."""
    assert refused_paths(spec) == []


def test_tells_every_refusal_once() -> None:
    """All refusals of a pod come together; a limit's implied request is not told again."""
    spec = container(
        livenessProbe={"exec": {}}, lifecycle={}, resources={"limits": {"a.b/c": 1}, "requests": {"a.b/c": 1}}
    )

    assert [path for path, _ in refused_paths(spec | {"hostnameOverride": "x"})] == [
        "spec.containers[0].resources.limits[a.b/c]",
        "spec.containers[0].livenessProbe",
        "spec.containers[0].lifecycle",
        "spec.hostnameOverride",
    ]


def test_a_path_may_go_before() -> None:
    """Refusals of a part are told with the place it stands in."""
    pod, _ = decode(Pod, {"spec": {"hostUsers": False}})

    assert [error.path for error in refusals(pod, "items[2]")] == ["items[2].spec.hostUsers"]


@pytest.mark.parametrize(
    ("support", "text"),
    [
        (Support(Answer.SUPPORTED), "supported"),
        (ignored("of this"), "ignored because of this"),
        (refused("of that"), "refused because of that"),
        (refused("of that", when=bool, only="x"), "supported: x; else refused because of that"),
    ],
)
def test_an_answer_reads_as_a_sentence(support: Support, text: str) -> None:
    """The table of fields and the schema show this text."""
    assert support.text == text
