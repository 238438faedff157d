"""What the API fills in, and nothing else."""

from typing import Any

import pytest

from podsync.manifest.decode import decode
from podsync.manifest.defaults import pull_policy, with_defaults
from podsync.models import (
    ConfigMap,
    Container,
    ContainerPort,
    EmptyDirVolumeSource,
    ObjectMeta,
    Pod,
    PodSecurityContext,
    PodSpec,
    Quantity,
    ResourceRequirements,
    Secret,
    Volume,
)
from podsync.models.wire import fields_of, model_named


def filled(spec: dict[str, Any]) -> dict[str, Any]:
    """The spec of a pod with defaults, as a document."""
    pod, problems = decode(Pod, {"spec": spec})
    assert problems == []
    return with_defaults(pod).to_dict()["spec"]


def filled_container(**fields: Any) -> dict[str, Any]:
    """One container with defaults."""
    [container] = filled({"containers": [{"name": "c", "image": "i:1", **fields}]})["containers"]
    return container


def filled_volume(**source: Any) -> dict[str, Any]:
    """One volume with defaults."""
    [volume] = filled({"volumes": [{"name": "v", **source}]})["volumes"]
    return volume


def test_an_empty_pod() -> None:
    """A namespace and the pod-wide settings."""
    assert with_defaults(Pod()) == Pod(
        metadata=ObjectMeta(namespace="default"),
        spec=PodSpec(
            restart_policy="Always",
            dns_policy="ClusterFirst",
            termination_grace_period_seconds=30,
            scheduler_name="default-scheduler",
            enable_service_links=True,
            security_context=PodSecurityContext(),
        ),
    )


@pytest.mark.parametrize("place", ["containers", "initContainers"])
def test_a_plain_container(place: str) -> None:
    """Termination message, pull policy and the protocol of a port, in both kinds of containers."""
    spec = filled({place: [{"name": "c", "image": "busybox", "ports": [{"containerPort": 80}]}]})

    assert spec[place] == [
        {
            "name": "c",
            "image": "busybox",
            "ports": [{"containerPort": 80, "protocol": "TCP"}],
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
            "imagePullPolicy": "Always",
        }
    ]


def test_what_is_written_stays() -> None:
    """No default replaces a value, not even one that reads like nothing."""
    spec = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 0,
        "dnsPolicy": "None",
        "enableServiceLinks": False,
        "schedulerName": "mine",
        "securityContext": {"runAsUser": 0},
        "containers": [
            {
                "name": "c",
                "image": "i",
                "imagePullPolicy": "Never",
                "terminationMessagePath": "/x",
                "terminationMessagePolicy": "FallbackToLogsOnError",
                "ports": [{"containerPort": 1, "protocol": "UDP"}],
                "resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "0"}},
            }
        ],
        "volumes": [{"name": "v", "hostPath": {"path": "/", "type": "File"}}],
    }

    assert filled(spec) == spec


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("busybox", "Always"),
        ("busybox:latest", "Always"),
        ("busybox:1.36", "IfNotPresent"),
        ("localhost:5000/busybox", "Always"),
        ("localhost:5000/busybox:latest", "Always"),
        ("localhost:5000/a/busybox:1", "IfNotPresent"),
        ("busybox@sha256:" + "0" * 64, "IfNotPresent"),
        ("busybox:latest@sha256:" + "0" * 64, "Always"),
        ("busybox:1@sha256:" + "0" * 64, "IfNotPresent"),
        ("host:1/busybox@sha256:" + "0" * 64, "IfNotPresent"),
        ("sha256:" + "0" * 64, "IfNotPresent"),
        ("0" * 64, "IfNotPresent"),
    ],
)
def test_pull_policy_goes_by_the_tag(image: str, policy: str) -> None:
    """Latest, written or meant, is pulled at each start; a digest or another tag is not."""
    assert pull_policy(image) == policy


def test_a_limit_is_a_request_too() -> None:
    """Each limited resource without a request of its own; requests alone imply no limit."""
    resources = filled_container(
        resources={"limits": {"cpu": 1, "memory": "1Gi"}, "requests": {"cpu": "100m", "a/b": 1}}
    )["resources"]

    assert resources == {
        "limits": {"cpu": "1", "memory": "1Gi"},
        "requests": {"cpu": "100m", "a/b": "1", "memory": "1Gi"},
    }


def test_amounts_are_rounded_up_to_thousandths() -> None:
    """Limits, the requests they imply, and overhead."""
    spec = filled(
        {"containers": [{"image": "i:1", "resources": {"limits": {"cpu": "1.0001"}}}], "overhead": {"cpu": "1u"}}
    )

    assert spec["containers"][0]["resources"] == {"limits": {"cpu": "1001m"}, "requests": {"cpu": "1001m"}}
    assert spec["overhead"] == {"cpu": "1m"}


@pytest.mark.parametrize(("host_network", "host_ports"), [(True, [80, 8443]), (False, [None, 8443])])
def test_ports_on_the_hosts_network_are_the_hosts(host_network: bool, host_ports: list[int | None]) -> None:
    """Only there, in both kinds of containers, and a written host port stays."""
    container = {"image": "i:1", "ports": [{"containerPort": 80}, {"containerPort": 443, "hostPort": 8443}]}
    spec = filled({"hostNetwork": host_network, "containers": [container], "initContainers": [container]})

    for place in ("containers", "initContainers"):
        assert [port.get("hostPort") for port in spec[place][0]["ports"]] == host_ports
        assert [port["protocol"] for port in spec[place][0]["ports"]] == ["TCP", "TCP"]


def test_a_volume_without_a_source_is_an_empty_directory() -> None:
    """And only such a volume."""
    assert filled_volume() == {"name": "v", "emptyDir": {}}
    assert filled_volume(nfs={}) == {"name": "v", "nfs": {}}


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ({"hostPath": {"path": "/"}}, {"hostPath": {"path": "/", "type": ""}}),
        ({"secret": {}}, {"secret": {"defaultMode": 420}}),
        ({"secret": {"defaultMode": 0}}, {"secret": {"defaultMode": 0}}),
        ({"configMap": {}}, {"configMap": {"defaultMode": 420}}),
        (
            {"downwardAPI": {"items": [{"path": "p", "fieldRef": {"fieldPath": "metadata.name"}}]}},
            {
                "downwardAPI": {
                    "items": [{"path": "p", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}],
                    "defaultMode": 420,
                }
            },
        ),
        (
            {"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
            {
                "projected": {
                    "sources": [{"serviceAccountToken": {"expirationSeconds": 3600, "path": "t"}}],
                    "defaultMode": 420,
                }
            },
        ),
        ({"image": {"reference": "a:1"}}, {"image": {"reference": "a:1", "pullPolicy": "IfNotPresent"}}),
        ({"image": {"reference": "a"}}, {"image": {"reference": "a", "pullPolicy": "Always"}}),
        ({"iscsi": {"lun": 1}}, {"iscsi": {"lun": 1, "iscsiInterface": "default"}}),
        ({"rbd": {}}, {"rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"}}),
        (
            {"azureDisk": {}},
            {"azureDisk": {"cachingMode": "ReadWrite", "fsType": "ext4", "readOnly": False, "kind": "Shared"}},
        ),
        ({"scaleIO": {}}, {"scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"}}),
        (
            {"ephemeral": {"volumeClaimTemplate": {"spec": {"resources": {"requests": {"storage": "1.0001"}}}}}},
            {
                "ephemeral": {
                    "volumeClaimTemplate": {
                        "spec": {"resources": {"requests": {"storage": "1001m"}}, "volumeMode": "Filesystem"}
                    }
                }
            },
        ),
    ],
)
def test_volume_sources(source: dict[str, Any], wanted: Any) -> None:
    """Modes, types and names that a source leaves open."""
    assert filled_volume(**source) == {"name": "v", **wanted}


@pytest.mark.parametrize("kind", ["livenessProbe", "readinessProbe", "startupProbe"])
def test_probes(kind: str) -> None:
    """Times and thresholds, where an explicit zero is the same as none, and the parts of a handler."""
    assert filled_container(**{kind: {"httpGet": {"port": 80}, "periodSeconds": 0, "failureThreshold": 7}})[kind] == {
        "httpGet": {"path": "/", "port": 80, "scheme": "HTTP"},
        "timeoutSeconds": 1,
        "periodSeconds": 10,
        "successThreshold": 1,
        "failureThreshold": 7,
    }
    assert filled_container(**{kind: {"grpc": {"port": 1}}})[kind]["grpc"] == {"port": 1, "service": ""}


def test_hooks_and_variables() -> None:
    """The same handler parts in hooks; the version of a fieldRef; the optional of a file key."""
    container = filled_container(
        lifecycle={"preStop": {"httpGet": {"port": "web"}}},
        env=[
            {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "B", "valueFrom": {"fileKeyRef": {"key": "k"}}},
        ],
    )

    assert container["lifecycle"] == {"preStop": {"httpGet": {"path": "/", "port": "web", "scheme": "HTTP"}}}
    assert container["env"][0]["valueFrom"]["fieldRef"]["apiVersion"] == "v1"
    assert container["env"][1]["valueFrom"]["fileKeyRef"]["optional"] is False


def test_ephemeral_containers_get_no_requests() -> None:
    """They take no resources of their own."""
    [container] = filled({"ephemeralContainers": [{"image": "i", "resources": {"limits": {"cpu": 1}}}]})[
        "ephemeralContainers"
    ]

    assert container["resources"] == {"limits": {"cpu": "1"}}
    assert container["imagePullPolicy"] == "Always"


def test_config_map_and_secret() -> None:
    """A namespace, a type, and write-only texts moved to where they are read."""
    assert with_defaults(ConfigMap()) == ConfigMap(metadata=ObjectMeta(namespace="default"))
    assert with_defaults(Secret(data={"a": b"1", "b": b"2"}, string_data={"b": "3"})) == Secret(
        metadata=ObjectMeta(namespace="default"), data={"a": b"1", "b": b"3"}, type="Opaque"
    )
    assert with_defaults(Secret(metadata=ObjectMeta(namespace="n"), type="t")).type == "t"


def test_filling_in_twice_changes_nothing() -> None:
    """A pod with its defaults is given back as the same object, and the first one is left as it was."""
    pod = Pod(
        spec=PodSpec(
            host_network=True,
            containers=(
                Container(
                    image="i",
                    ports=(ContainerPort(container_port=1),),
                    resources=ResourceRequirements(limits={"cpu": Quantity("1.0001")}),
                ),
            ),
            volumes=(Volume(name="v"), Volume(name="w", empty_dir=EmptyDirVolumeSource())),
        )
    )
    before = pod.to_dict()

    once = with_defaults(pod)

    assert with_defaults(once) == once
    assert pod.to_dict() == before


@pytest.mark.parametrize("name", ["PodSpec", "Container", "ContainerPort", "Probe", "HTTPGetAction", "Secret"])
def test_a_constant_default_has_its_fields_type(name: str) -> None:
    """A mistake in a declaration would surface far away."""
    for item in fields_of(model_named(name)):
        if item.fill is not None and not item.optional:
            assert type(item.fill) is type(item.default)
