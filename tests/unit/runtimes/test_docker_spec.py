"""Specs into Docker's creation bodies."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from podsync.errors import Unsupported
from podsync.runtimes.base import (
    ContainerSpec,
    Mount,
    NamespaceMode,
    PortMapping,
    Resources,
    SandboxSpec,
    SecuritySpec,
)
from podsync.runtimes.common.limits import EngineLimits
from podsync.runtimes.docker import spec as bodies

OLD, NEW = (1, 41), (1, 56)
NODE, POD, OWN = NamespaceMode.NODE, NamespaceMode.POD, NamespaceMode.CONTAINER
SANDBOX = SandboxSpec("k8s_POD", {"a": "b"}, hostname="web")
CONTAINER = ContainerSpec(name="k8s_c", labels={"a": "b"}, image="busybox")
RICH = EngineLimits()
POOR = EngineLimits(0, frozenset({"SYS_RESOURCE"}))


def sandbox(api: tuple[int, int] = OLD, **changes: Any) -> dict[str, Any]:
    """The body of a sandbox that differs so from a plain one."""
    return bodies.sandbox_body(replace(SANDBOX, **changes), "sha256:1", api=api, limits=RICH)


def container(
    api: tuple[int, int] = OLD,
    limits: EngineLimits = RICH,
    profile: str = "",
    **changes: Any,
) -> dict[str, Any]:
    """The body of a container that differs so from a plain one."""
    return bodies.container_body(
        replace(CONTAINER, **changes), "BOX", "sha256:2", api=api, limits=limits, profile=profile
    )


def host(api: tuple[int, int] = OLD, limits: EngineLimits = RICH, **security: Any) -> dict[str, Any]:
    """The host part of a container with that security."""
    body = container(api, limits, security=SecuritySpec(**security))
    return dict(body["HostConfig"])


def test_a_plain_sandbox() -> None:
    """Its namespaces are there to be shared; nothing of an image's habits is left."""
    body = sandbox()
    assert body["Image"] == "sha256:1"
    assert (body["Hostname"], body["Labels"]) == ("web", {"a": "b"})
    assert body["Healthcheck"] == {"Test": ["NONE"]}
    assert "Entrypoint" not in body
    config = body["HostConfig"]
    assert (config["NetworkMode"], config["IpcMode"]) == ("default", "shareable")
    assert "PidMode" not in config
    assert (config["CpuShares"], config["OomScoreAdj"]) == (2, -998)
    assert config["SecurityOpt"] == ["no-new-privileges"]
    assert config["RestartPolicy"] == {"Name": "no"}


def test_a_sandbox_on_the_hosts_namespaces() -> None:
    """It publishes nothing: its processes bind the host's ports themselves."""
    ports = (PortMapping(80, 8080),)
    body = sandbox(network=NODE, ipc=NODE, pid=NODE, hostname="", ports=ports)
    config = body["HostConfig"]
    assert (config["NetworkMode"], config["IpcMode"], config["PidMode"]) == ("host", "host", "host")
    assert (body["ExposedPorts"], config["PortBindings"]) == ({}, {})
    assert "Hostname" not in body


def test_ports_are_published_by_the_sandbox() -> None:
    """By protocol and address, several for one container port, and never an empty list."""
    ports = (
        PortMapping(80, 8080),
        PortMapping(80, 8081, "127.0.0.1"),
        PortMapping(53, 53, protocol="UDP"),
    )
    body = sandbox(ports=ports)
    assert body["ExposedPorts"] == {"80/tcp": {}, "53/udp": {}}
    assert body["HostConfig"]["PortBindings"] == {
        "80/tcp": [{"HostIp": "", "HostPort": "8080"}, {"HostIp": "127.0.0.1", "HostPort": "8081"}],
        "53/udp": [{"HostIp": "", "HostPort": "53"}],
    }


def test_sysctls_and_the_cgroups_parent() -> None:
    """They are the sandbox's."""
    config = sandbox(sysctls={"net.core.somaxconn": "9"}, cgroup_parent="/pods/x")["HostConfig"]
    assert (config["Sysctls"], config["CgroupParent"]) == ({"net.core.somaxconn": "9"}, "/pods/x")


@pytest.mark.parametrize(
    ("network", "ipc", "pid", "expected"),
    [
        (POD, POD, OWN, ("container:BOX", "container:BOX", None, None)),
        (POD, POD, POD, ("container:BOX", "container:BOX", "container:BOX", None)),
        (NODE, NODE, NODE, ("host", "host", "host", "host")),
        (POD, OWN, NODE, ("container:BOX", "private", "host", None)),
    ],
)
def test_namespaces_of_a_container(
    network: NamespaceMode, ipc: NamespaceMode, pid: NamespaceMode, expected: tuple[str | None, ...]
) -> None:
    """The sandbox's, the host's or its own; nothing about a hostname, which Docker would refuse."""
    body = container(network=network, ipc=ipc, pid=pid)
    config = body["HostConfig"]
    assert tuple(config.get(key) for key in ("NetworkMode", "IpcMode", "PidMode", "UTSMode")) == expected
    assert "Hostname" not in body


@pytest.mark.parametrize(
    ("command", "args", "entrypoint", "cmd"),
    [
        ((), (), None, None),
        (("a", "b"), (), ["a", "b"], None),
        ((), ("c",), None, ["c"]),
        (("a",), ("c", "d"), ["a"], ["c", "d"]),
    ],
)
def test_command_and_args(
    command: tuple[str, ...], args: tuple[str, ...], entrypoint: list[str] | None, cmd: list[str] | None
) -> None:
    """What is not given is not sent, so the image's own stands; with an entrypoint its CMD does not."""
    body = container(command=command, args=args)
    assert (body.get("Entrypoint"), body.get("Cmd")) == (entrypoint, cmd)


def test_a_containers_plain_fields() -> None:
    """By the image's id, with environment, directory, terminal and input."""
    body = container(env=(("A", "1=2"), ("B", "")), working_dir="/w", tty=True, stdin=True, stdin_once=True)
    assert body["Image"] == "sha256:2"
    assert body["Env"] == ["A=1=2", "B="]
    assert (body["WorkingDir"], body["Tty"], body["OpenStdin"], body["StdinOnce"]) == ("/w", True, True, True)
    assert body["HostConfig"]["LogConfig"]["Type"] == "json-file"


def test_resources() -> None:
    """Swap is none; what is not given is the engine's default; a score of 0 is given."""
    given = Resources(cpu_shares=512, cpu_quota=50000, cpu_period=100000, memory_limit=1 << 26, oom_score_adj=0)
    config = container(resources=given)["HostConfig"]
    assert (config["CpuShares"], config["CpuQuota"], config["CpuPeriod"]) == (512, 50000, 100000)
    assert (config["Memory"], config["MemorySwap"], config["OomScoreAdj"]) == (1 << 26, 1 << 26, 0)
    plain = container()["HostConfig"]
    assert not {"CpuShares", "CpuQuota", "Memory", "MemorySwap", "OomScoreAdj"} & plain.keys()


@pytest.mark.parametrize(
    ("mount", "api", "options"),
    [
        ({}, OLD, {"Propagation": "rprivate"}),
        ({"propagation": "rslave"}, NEW, {"Propagation": "rslave"}),
        ({"read_only": True}, OLD, {"Propagation": "rprivate"}),
        ({"read_only": True}, NEW, {"Propagation": "rprivate", "ReadOnlyNonRecursive": True}),
        (
            {"read_only": True, "recursive_read_only": True},
            NEW,
            {"Propagation": "rprivate", "ReadOnlyForceRecursive": True},
        ),
    ],
)
def test_mounts(mount: dict[str, Any], api: tuple[int, int], options: dict[str, Any]) -> None:
    """Read-only means the mount alone, as in Kubernetes, whatever the engine's own habit."""
    (found,) = container(api, mounts=(Mount("/src", "/dst", **mount),))["HostConfig"]["Mounts"]
    assert found == {
        "Type": "bind",
        "Source": "/src",
        "Target": "/dst",
        "ReadOnly": mount.get("read_only", False),
        "BindOptions": options,
    }


def test_recursive_read_only_is_never_half_done() -> None:
    """An engine that cannot do it is not asked to do less."""
    with pytest.raises(Unsupported) as caught:
        container((1, 43), mounts=(Mount("/s", "/d", read_only=True, recursive_read_only=True),))
    assert caught.value.capability == "recursive-read-only"


@pytest.mark.parametrize(
    ("security", "options"),
    [
        ({}, ["seccomp=unconfined"]),
        ({"seccomp": "RuntimeDefault"}, []),
        ({"seccomp": "RuntimeDefault", "apparmor": "mine"}, ["apparmor=mine"]),
        ({"seccomp": "RuntimeDefault", "apparmor": "unconfined"}, ["apparmor=unconfined"]),
        ({"seccomp": "RuntimeDefault", "selinux": (("level", "s0:c1"),)}, ["label=level:s0:c1"]),
        ({"seccomp": "RuntimeDefault", "no_new_privileges": True}, ["no-new-privileges"]),
    ],
)
def test_security_options(security: dict[str, Any], options: list[str]) -> None:
    """Docker's own seccomp profile is what it uses when none is named."""
    assert host(**security)["SecurityOpt"] == options


def test_a_seccomp_profile_is_sent_as_its_text() -> None:
    """Docker takes no path."""
    security = SecuritySpec(seccomp="Localhost:/profiles/a.json")
    assert container(profile='{"x":1}', security=security)["HostConfig"]["SecurityOpt"] == ['seccomp={"x":1}']


def test_users_groups_capabilities_and_root() -> None:
    """As they are given."""
    security = SecuritySpec(user="1:2", groups=(3, 4), read_only_root=True, cap_add=("NET_ADMIN",), cap_drop=("ALL",))
    body = container(security=security)
    config = body["HostConfig"]
    assert (body["User"], config["GroupAdd"], config["ReadonlyRootfs"]) == ("1:2", ["3", "4"], True)
    assert (config["CapAdd"], config["CapDrop"]) == (["NET_ADMIN"], ["ALL"])


def test_proc_is_masked_unless_it_shall_not_be() -> None:
    """An empty list says so; saying nothing leaves Docker's own."""
    assert (host(unmask_proc=True)["MaskedPaths"], host(unmask_proc=True)["ReadonlyPaths"]) == ([], [])
    assert "MaskedPaths" not in host()


@pytest.mark.parametrize(
    ("api", "limits", "whole"), [(OLD, EngineLimits(), True), (NEW, POOR, True), (OLD, POOR, False)]
)
def test_privileged_is_made_of_its_parts_where_the_whole_would_fail(
    api: tuple[int, int], limits: EngineLimits, *, whole: bool
) -> None:
    """An old engine that lacks a capability refuses; a newer one leaves it out by itself."""
    config = host(api, limits, privileged=True)
    assert config.get("Privileged", False) is whole
    assert ("SYS_ADMIN" in config["CapAdd"]) is not whole
    assert "SYS_RESOURCE" not in config["CapAdd"]
    if not whole:
        assert "seccomp=unconfined" in config["SecurityOpt"]
        assert config["MaskedPaths"] == []


def test_all_capabilities_are_named_where_one_is_not_to_be_had() -> None:
    """And asked for as a whole elsewhere."""
    assert host(cap_add=("ALL",))["CapAdd"] == ["ALL"]
    named = host(OLD, POOR, cap_add=("ALL",))["CapAdd"]
    assert "NET_ADMIN" in named
    assert not {"ALL", "SYS_RESOURCE", "BPF"} & set(named)
