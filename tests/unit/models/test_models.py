"""The models: complete, immutable, and written as the API writes them."""

import json
import subprocess
import sys
from dataclasses import FrozenInstanceError, replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

import podsync.models
from podsync.models import (
    ConfigMap,
    Container,
    ContainerState,
    ContainerStateTerminated,
    ContainerStatus,
    EmptyDirVolumeSource,
    EphemeralContainer,
    ObjectMeta,
    Pod,
    PodCondition,
    PodKey,
    PodSpec,
    PodStatus,
    Quantity,
    ResourceRequirements,
    Secret,
    SecurityContext,
    Volume,
)
from podsync.models.base import Model
from podsync.models.wire import Form, Scalar, fields_of, model_named

API = json.loads(Path(__file__).with_name("v1_fields.json").read_text())
"""Every type and field of the API's v1.36 that a Pod, ConfigMap or Secret can hold."""
MODELS = sorted(
    name
    for name in podsync.models.__all__
    if isinstance(getattr(podsync.models, name), type) and issubclass(getattr(podsync.models, name), Model)
)


def declared(name: str) -> dict[str, str]:
    """The fields of a model in the notation of v1_fields.json."""
    found = {}
    for item in fields_of(model_named(name)):
        element = item.element.value if isinstance(item.element, Scalar) else item.element
        shape = {Form.LIST: f"tuple[{element}, ...]", Form.MAP: f"Mapping[str, {element}]", Form.ONE: element}[
            item.form
        ]
        found[item.name] = f"{shape} | None" if item.optional else shape
    return found


@pytest.mark.parametrize("name", sorted(API))
def test_declares_every_field_of_the_api_with_its_type(name: str) -> None:
    """No field of v1 1.36 is unknown, and none is there that the API does not have."""
    assert declared(name) == API[name]


def test_declares_no_type_the_api_does_not_have() -> None:
    """Every model but the common base is a type of the API."""
    assert set(MODELS) - {"Model"} == set(API)


@pytest.mark.parametrize("name", sorted(API))
def test_a_model_without_anything_set_is_written_empty(name: str) -> None:
    """Zero values are left out, but for those that mean something."""
    model = model_named(name)
    always = {item.name for item in fields_of(model) if item.always}

    written = model().to_dict()

    assert set(written) - {"apiVersion", "kind"} == always
    assert ("kind" in written) == (name in ("Pod", "ConfigMap", "Secret"))


@pytest.mark.parametrize("name", sorted(API))
def test_a_model_is_a_hashable_value(name: str) -> None:
    """Two with the same content are equal, hash alike and cannot be changed."""
    model = model_named(name)
    field = fields_of(model)[0].attribute

    assert model() == model()
    assert hash(model()) == hash(model())
    with pytest.raises(FrozenInstanceError):
        setattr(model(), field, None)


def test_writes_every_kind_of_value() -> None:
    """Texts, numbers, switches, lists, maps, quantities, times and models take their wire form."""
    moment = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=timezone(timedelta(hours=2)))
    pod = Pod(
        metadata=ObjectMeta(name="web", namespace="x", labels={"a": "b"}, creation_timestamp=moment, generation=3),
        spec=PodSpec(
            host_pid=True,
            containers=(
                Container(
                    name="c",
                    command=("sh", "-c"),
                    resources=ResourceRequirements(limits={"memory": Quantity("1024Mi")}),
                    security_context=SecurityContext(privileged=False, run_as_user=0),
                ),
            ),
            volumes=(Volume(name="v", empty_dir=EmptyDirVolumeSource()),),
        ),
        source="file:/x",
    )

    assert pod.to_dict() == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "web",
            "namespace": "x",
            "labels": {"a": "b"},
            "creationTimestamp": "2026-01-02T01:04:05Z",
            "generation": 3,
        },
        "spec": {
            "hostPID": True,
            "volumes": [{"name": "v", "emptyDir": {}}],
            "containers": [
                {
                    "name": "c",
                    "command": ["sh", "-c"],
                    "resources": {"limits": {"memory": "1Gi"}},
                    "securityContext": {"privileged": False, "runAsUser": 0},
                }
            ],
        },
    }


def test_a_status_says_zero_where_zero_means_something() -> None:
    """Readiness, restart count, image, exit code and the two states are always written."""
    status = PodStatus(
        phase="Running",
        pod_ip="10.0.0.2",
        conditions=(PodCondition(type="Ready", status="True"),),
        container_statuses=(
            ContainerStatus(
                name="c",
                started=False,
                state=ContainerState(terminated=ContainerStateTerminated(finished_at=datetime(2026, 1, 1, tzinfo=UTC))),
            ),
        ),
    )

    assert status.to_dict() == {
        "phase": "Running",
        "podIP": "10.0.0.2",
        "conditions": [{"type": "Ready", "status": "True"}],
        "containerStatuses": [
            {
                "name": "c",
                "state": {"terminated": {"exitCode": 0, "finishedAt": "2026-01-01T00:00:00Z"}},
                "lastState": {},
                "ready": False,
                "restartCount": 0,
                "image": "",
                "imageID": "",
                "started": False,
            }
        ],
    }


def test_bytes_are_written_as_base64() -> None:
    """ConfigMap and Secret hold bytes; documents hold base64."""
    assert ConfigMap(binary_data={"k": b"\xff\x00"}).to_dict()["binaryData"] == {"k": "/wA="}
    assert Secret(data={"k": b"pw"}, type="Opaque").to_dict() == {
        "apiVersion": "v1",
        "kind": "Secret",
        "data": {"k": "cHc="},
        "type": "Opaque",
    }


def test_a_pod_has_a_key_and_a_uid() -> None:
    """The key prints as namespace/name and sorts by it; the source is no part of the document."""
    pod = Pod(metadata=ObjectMeta(name="n", namespace="s", uid="u"), source="dir:/x")

    assert (pod.key, str(pod.key), pod.uid) == (PodKey("s", "n"), "s/n", "u")
    assert PodKey("a", "z") < PodKey("b", "a")
    assert "source" not in pod.to_dict()


def test_evolve_is_a_quick_replace() -> None:
    """A copy with changes, the original untouched; an unknown name is an error."""
    container = Container(name="a", image="x")

    changed = container.evolve(image="y")

    assert changed == replace(container, image="y")
    assert container.image == "x"
    with pytest.raises(KeyError):
        container.evolve(colour="red")


def test_evolve_works_on_a_subclass_and_keeps_its_type() -> None:
    """An ephemeral container is a container and stays one of its own kind."""
    changed = EphemeralContainer(name="a", target_container_name="b").evolve(name="c")

    assert changed == EphemeralContainer(name="c", target_container_name="b")


def test_repr_shows_only_what_is_set() -> None:
    """A pod on a test's failure page fits on it."""
    assert repr(Container(name="a", tty=True)) == "Container(name='a', tty=True)"


def test_loads_a_module_only_when_a_name_of_it_is_used() -> None:
    """Importing the package is cheap, and a plain pod does not load rare volume sources."""
    code = (
        "import sys, podsync.models; before = {m for m in sys.modules if m.startswith('podsync.models.')}\n"
        "from podsync.models import Pod; Pod().to_dict()\n"
        "print(before, 'podsync.models.volume_plugins' in sys.modules)"
    )

    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert result.stdout.split() == ["set()", "False"]


def test_names_of_the_package_are_complete_and_sorted() -> None:
    """Every public name can be had, the list is sorted, and any other name is an AttributeError."""
    assert podsync.models.__all__ == sorted(podsync.models.__all__)
    assert dir(podsync.models) == podsync.models.__all__
    for name in podsync.models.__all__:
        assert getattr(podsync.models, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        _ = podsync.models.Nonsense
