"""Specs into libpod's creation bodies."""

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
from podsync.runtimes.podman import spec as bodies

NODE, POD, OWN = NamespaceMode.NODE, NamespaceMode.POD, NamespaceMode.CONTAINER
SANDBOX = SandboxSpec("k8s_POD", {"a": "b"}, hostname="web")
CONTAINER = ContainerSpec(name="k8s_c", labels={"a": "b"}, image="busybox", image_id="abc")
SHARED = {"nsmode": "container", "value": "BOX"}
PARITY = ["AUDIT_WRITE", "MKNOD", "NET_RAW"]


def sandbox(**changes: Any) -> dict[str, Any]:
    """The body of a sandbox that differs so from a plain one."""
    return bodies.sandbox_body(replace(SANDBOX, **changes), "pause-id")


def container(image_user: str = "", **changes: Any) -> dict[str, Any]:
    """The body of a container that differs so from a plain one."""
    return bodies.container_body("BOX", replace(CONTAINER, **changes), image_user=image_user)


def secured(image_user: str = "", **security: Any) -> dict[str, Any]:
    """The body of a container with that security."""
    return container(image_user, security=SecuritySpec(**security))


def test_a_plain_sandbox() -> None:
    """It holds namespaces to share, on the engine's default network, with the kubelet's settings."""
    body = sandbox()
    assert (body["name"], body["image"], body["hostname"], body["labels"]) == ("k8s_POD", "pause-id", "web", {"a": "b"})
    assert body["ipcns"] == {"nsmode": "shareable"}
    assert body["shm_size"] == 67108864
    assert {"netns", "utsns", "pidns", "portmappings", "sysctl", "entrypoint"}.isdisjoint(body)
    assert body["resource_limits"] == {"pids": {"limit": -1}, "cpu": {"shares": 2}}
    assert (body["oom_score_adj"], body["no_new_privileges"]) == (-998, True)
    assert "seccomp_profile_path" not in body


@pytest.mark.parametrize("body", [sandbox(), container()], ids=["sandbox", "container"])
def test_nothing_is_left_to_podmans_own_ways(body: dict[str, Any]) -> None:
    """No health checks, no systemd mode, a log that can be read and does not grow for ever."""
    assert body["healthconfig"] == {"Test": ["NONE"]}
    assert body["systemd"] == "false"
    assert body["image_volume_mode"] == "anonymous"
    assert body["log_configuration"] == {"driver": "k8s-file", "size": bodies.LOG_SIZE}
    assert body["resource_limits"]["pids"] == {"limit": -1}


def test_a_sandbox_on_the_hosts_namespaces() -> None:
    """It has the host's names and ports: none are given to it."""
    body = sandbox(network=NODE, ipc=NODE, pid=NODE, hostname="", ports=(PortMapping(80, 8080),))
    assert {body[key]["nsmode"] for key in ("netns", "utsns", "ipcns", "pidns")} == {"host"}
    assert {"portmappings", "hostname", "shm_size"}.isdisjoint(body)


def test_a_sandboxs_ports_and_sysctls() -> None:
    """Protocols are written small; an address is given where there is one."""
    ports = (PortMapping(80, 8080, "127.0.0.1"), PortMapping(53, 5353, protocol="UDP"))
    body = sandbox(ports=ports, sysctls={"net.core.somaxconn": "99"})
    assert body["portmappings"] == [
        {"container_port": 80, "host_port": 8080, "host_ip": "127.0.0.1", "protocol": "tcp"},
        {"container_port": 53, "host_port": 5353, "host_ip": "", "protocol": "udp"},
    ]
    assert body["sysctl"] == {"net.core.somaxconn": "99"}


def test_a_plain_container() -> None:
    """It joins its sandbox, keeps the image's command, and is made from the image's id."""
    body = container()
    assert (body["name"], body["image"]) == ("k8s_c", "abc")
    assert (body["netns"], body["utsns"], body["ipcns"]) == (SHARED, SHARED, SHARED)
    assert body["pidns"] == {"nsmode": "private"}
    assert body["create_working_dir"] is True
    assert body["seccomp_profile_path"] == "unconfined"
    assert {"entrypoint", "command", "env", "mounts", "user", "terminal", "stdin", "work_dir"}.isdisjoint(body)


@pytest.mark.parametrize(
    ("command", "args", "expected"),
    [
        ((), (), {}),
        (("a", "b"), (), {"entrypoint": ["a", "b"]}),
        ((), ("c",), {"command": ["c"]}),
        (("a",), ("c", ""), {"entrypoint": ["a"], "command": ["c", ""]}),
    ],
)
def test_command_and_args(command: tuple[str, ...], args: tuple[str, ...], expected: dict[str, Any]) -> None:
    """A command takes the entrypoint's place, args the command's."""
    body = container(command=command, args=args)
    assert {key: body[key] for key in ("entrypoint", "command") if key in body} == expected


@pytest.mark.parametrize(
    ("modes", "expected"),
    [
        ({"pid": POD}, {"pidns": SHARED}),
        ({"pid": NODE}, {"pidns": {"nsmode": "host"}}),
        ({"ipc": NODE}, {"ipcns": {"nsmode": "host"}}),
        ({"ipc": OWN}, {"ipcns": {"nsmode": "private"}}),
        ({"network": NODE}, {"netns": {"nsmode": "host"}, "utsns": {"nsmode": "host"}}),
    ],
)
def test_a_containers_namespaces(modes: dict[str, NamespaceMode], expected: dict[str, Any]) -> None:
    """The sandbox's, the host's or one of its own; with the host's network goes its name."""
    body = container(**modes)
    assert {key: body[key] for key in expected} == expected


def test_environment_directory_and_streams() -> None:
    """As they are given; of a name given twice the later value counts."""
    env = (("A", "1"), ("B", ""), ("A", "2"))
    body = container(env=env, working_dir="/w", tty=True, stdin=True, cgroup_parent="/pods/x")
    assert body["env"] == {"A": "2", "B": ""}
    assert (body["work_dir"], body["terminal"], body["stdin"], body["cgroup_parent"]) == ("/w", True, True, "/pods/x")


def test_resources() -> None:
    """Limits go to the cgroup; swap is limited to the memory, as on a kubelet."""
    resources = Resources(512, 50000, 100000, 64 << 20, 500)
    assert container(resources=resources)["resource_limits"] == {
        "pids": {"limit": -1},
        "cpu": {"shares": 512, "quota": 50000, "period": 100000},
        "memory": {"limit": 64 << 20, "swap": 64 << 20},
    }
    assert container(resources=resources)["oom_score_adj"] == 500
    assert "oom_score_adj" not in container(resources=Resources())
    assert container(resources=Resources(oom_score_adj=0))["oom_score_adj"] == 0


def test_mounts() -> None:
    """Binds with all that is mounted below, in the propagation asked for."""
    mounts = (Mount("/h", "/c"), Mount("/h/f", "/f", read_only=True, propagation="rslave"))
    assert container(mounts=mounts)["mounts"] == [
        {"type": "bind", "source": "/h", "destination": "/c", "options": ["rbind", "rw", "rprivate"]},
        {"type": "bind", "source": "/h/f", "destination": "/f", "options": ["rbind", "ro", "rslave"]},
    ]


def test_a_recursively_read_only_mount_is_refused() -> None:
    """Podman would mount it writable below, so it says that it cannot."""
    with pytest.raises(Unsupported) as caught:
        container(mounts=(Mount("/h", "/c", read_only=True, recursive_read_only=True),))
    assert caught.value.capability == "recursive-read-only"


@pytest.mark.parametrize(
    ("given", "add", "drop"),
    [
        ({}, PARITY, []),
        ({"cap_add": ("NET_ADMIN",)}, ["AUDIT_WRITE", "MKNOD", "NET_ADMIN", "NET_RAW"], []),
        ({"cap_add": ("CAP_NET_RAW", "net_raw")}, PARITY, []),
        ({"cap_drop": ("NET_RAW",)}, ["AUDIT_WRITE", "MKNOD"], ["NET_RAW"]),
        ({"cap_add": ("CHOWN",), "cap_drop": ("CHOWN",)}, PARITY, ["CHOWN"]),
        ({"cap_drop": ("ALL",)}, [], ["ALL"]),
        ({"cap_drop": ("ALL",), "cap_add": ("NET_RAW",)}, ["NET_RAW"], ["ALL"]),
        ({"cap_drop": ("ALL",), "cap_add": ("ALL", "CHOWN")}, ["CHOWN"], ["ALL"]),
        ({"cap_add": ("ALL",), "cap_drop": ("SYS_TIME",)}, ["ALL"], ["SYS_TIME"]),
    ],
)
def test_capabilities_of_root(given: dict[str, tuple[str, ...]], add: list[str], drop: list[str]) -> None:
    """What other engines would grant: three more than Podman does, then what is added less what is dropped."""
    assert bodies.capabilities(SecuritySpec(**given), root=True) == (add, drop)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("user", "image_user", "root"),
    [
        ("", "", True),
        ("0", "", True),
        ("0:0", "1000", True),
        ("root", "", True),
        ("1000", "", False),
        ("1000:0", "", False),
        ("", "1000", False),
        ("", "nginx", False),
        ("", "root:root", True),
    ],
)
def test_capabilities_follow_the_user(user: str, image_user: str, root: bool) -> None:
    """Podman makes what is added to an ordinary user ambient: such a one is given nothing unasked."""
    body = secured(image_user, user=user)
    assert body.get("cap_add", []) == (PARITY if root else [])
    more = secured(image_user, user=user, cap_add=("CHOWN",))
    assert more["cap_add"] == sorted(["CHOWN", *(PARITY if root else [])])


def test_privileged() -> None:
    """All capabilities and no profile come with the word itself."""
    body = secured(privileged=True, cap_add=("CHOWN",), seccomp="RuntimeDefault")
    assert body["privileged"] is True
    assert {"cap_add", "cap_drop", "seccomp_profile_path"}.isdisjoint(body)


@pytest.mark.parametrize(
    ("profile", "expected"),
    [("Unconfined", "unconfined"), ("RuntimeDefault", None), ("Localhost:/p/a.json", "/p/a.json")],
)
def test_seccomp(profile: str, expected: str | None) -> None:
    """Podman reads a profile's file by itself."""
    assert secured(seccomp=profile).get("seccomp_profile_path") == expected


@pytest.mark.parametrize(
    ("given", "key", "expected"),
    [
        ({"user": "1:2"}, "user", "1:2"),
        ({"groups": (3, 4)}, "groups", ["3", "4"]),
        ({"read_only_root": True}, "read_only_filesystem", True),
        ({"no_new_privileges": True}, "no_new_privileges", True),
        ({"unmask_proc": True}, "unmask", ["ALL"]),
        ({"apparmor": "unconfined"}, "apparmor_profile", "unconfined"),
        ({"selinux": (("type", "t"), ("level", "s0"))}, "selinux_opts", ["type:t", "level:s0"]),
    ],
)
def test_other_security(given: dict[str, Any], key: str, expected: object) -> None:
    """Set where asked for, absent otherwise."""
    assert secured(**given)[key] == expected
    assert key not in secured()


def test_a_body_is_fitted_to_an_engine() -> None:
    """Limits it cannot set are left out, limits of processes it cannot raise are asked for lower."""
    body = {"name": "a", "resource_limits": {"pids": {"limit": -1}}}
    assert bodies.fitted(body, rlimits=(), limited=True) == body
    assert bodies.fitted(body, rlimits=(("nofile", 9),), limited=False) == {
        "name": "a",
        "r_limits": [{"type": "nofile", "hard": 9, "soft": 9}],
    }
