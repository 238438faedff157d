"""What new sandboxes and containers look like."""

from __future__ import annotations

from typing import Any

import pytest

from podsync import identity, labels, podpaths
from podsync.models import (
    Capabilities,
    Container,
    ContainerPort,
    EmptyDirVolumeSource,
    EnvVar,
    HostPathVolumeSource,
    Pod,
    PodSecurityContext,
    Quantity,
    ResourceRequirements,
    SeccompProfile,
    SecurityContext,
    Volume,
    VolumeMount,
)
from podsync.reconciler import NodeSettings
from podsync.reconciler.build import Origin, container_spec, hostname_problem, sandbox_spec
from podsync.runtimes.base import ContainerSpec, Mount, NamespaceMode, PortMapping, SandboxSpec
from tests.unit.reconciler.world import START, a_pod, container

SETTINGS = NodeSettings(node_name="n1", root="/root", memory_bytes=1000, pause_image="my/pause")
ORIGIN = Origin(sandbox_attempt=2, attempt=3, start_time=START, delay=20.0)
MESSAGE = podpaths.termination_file("/root", "uid1", "a", 3)


def sandbox(pod: Pod, attempt: int = 0, delay: float | None = None) -> SandboxSpec:
    """The pod's sandbox."""
    return sandbox_spec(SETTINGS, pod, attempt, START, delay)


def built(made: Container | None = None, origin: Origin = ORIGIN, **spec: Any) -> ContainerSpec:
    """One container of a pod."""
    made = made or container("a")
    return container_spec(SETTINGS, a_pod(made, **spec), made, origin)


class TestSandbox:
    """CreateSandbox's spec."""

    def test_name_labels_and_image(self) -> None:
        """Everything that is read back from the engine later."""
        spec = sandbox(a_pod("a", grace=12), attempt=1, delay=2.0)
        assert spec.name == "k8s_POD_p_default_uid1_1"
        assert spec.image == "my/pause"
        assert dict(spec.labels) == {
            labels.NODE: "n1",
            labels.POD_NAME: "p",
            labels.POD_NAMESPACE: "default",
            labels.POD_UID: "uid1",
            labels.CONTAINER_NAME: "POD",
            labels.KIND: "sandbox",
            labels.ATTEMPT: "1",
            labels.GRACE: "12",
            labels.SOURCE: "test",
            labels.ROOT: SETTINGS.root,
            labels.START_TIME: "2030-01-01T12:00:00+00:00",
            labels.BACKOFF: "2",
        }

    def test_first_sandbox_has_no_back_off(self) -> None:
        """The label says what preceded it, and nothing did."""
        assert labels.BACKOFF not in sandbox(a_pod("a")).labels

    @pytest.mark.parametrize(
        ("fields", "expected"),
        [
            ({}, "p"),
            ({"hostname": "h"}, "h"),
            ({"hostname": "h", "subdomain": "s"}, "h"),
            ({"hostname": "h", "subdomain": "s", "set_hostname_as_fqdn": True}, "h.s.default.svc"),
            ({"set_hostname_as_fqdn": True}, "p"),
            ({"name": "x" * 62 + "-y"}, "x" * 62),
            ({"host_network": True}, ""),
        ],
    )
    def test_hostname(self, fields: dict[str, Any], expected: str) -> None:
        """hostname, else the pod's name cut to 63; none on the host's network."""
        assert sandbox(a_pod("a", **fields)).hostname == expected

    @pytest.mark.parametrize(("length", "fits"), [(37, True), (38, False)])
    def test_long_fqdn(self, length: int, fits: bool) -> None:
        """64 characters are the most a kernel takes."""
        pod = a_pod("a", hostname="h" * 14, subdomain="s" * length, set_hostname_as_fqdn=True)
        assert (hostname_problem(pod) == "") is fits
        assert hostname_problem(a_pod("a", hostname="h" * 99, host_network=True)) == ""

    @pytest.mark.parametrize(
        ("fields", "network", "ipc", "pid"),
        [
            ({}, "pod", "pod", "container"),
            ({"host_network": True}, "node", "pod", "container"),
            ({"host_ipc": True}, "pod", "node", "container"),
            ({"host_pid": True}, "pod", "pod", "node"),
            ({"share_process_namespace": True}, "pod", "pod", "pod"),
        ],
    )
    def test_namespaces(self, fields: dict[str, Any], network: str, ipc: str, pid: str) -> None:
        """Sandbox and containers agree on whose namespaces they use."""
        expected = (NamespaceMode(network), NamespaceMode(ipc), NamespaceMode(pid))
        spec, member = sandbox(a_pod("a", **fields)), built(**fields)
        assert (spec.network, spec.ipc, spec.pid) == expected
        assert (member.network, member.ipc, member.pid) == expected

    def test_ports(self) -> None:
        """Host ports of regular containers, each once; a port without one is only a note."""
        ports = (
            ContainerPort(container_port=80, host_port=8080),
            ContainerPort(container_port=81),
            ContainerPort(container_port=53, host_port=53, protocol="UDP", host_ip="127.0.0.1"),
        )
        pod = a_pod(container("a", ports=ports), container("b", ports=ports[:1]), init=[container("i", ports=ports)])
        assert sandbox(pod).ports == (PortMapping(80, 8080), PortMapping(53, 53, "127.0.0.1", "UDP"))

    def test_no_ports_on_the_hosts_network(self) -> None:
        """There the process binds them itself."""
        pod = a_pod(container("a", ports=(ContainerPort(container_port=80, host_port=80),)), host_network=True)
        assert sandbox(pod).ports == ()

    def test_security(self) -> None:
        """The pause process runs as the pod's user, confined."""
        context = PodSecurityContext(run_as_user=5, run_as_group=6, fs_group=7, supplemental_groups=(8, 7))
        spec = sandbox(a_pod("a", security_context=context)).security
        assert (spec.user, spec.groups, spec.privileged) == ("5:6", (8, 7), False)
        assert (spec.seccomp, spec.no_new_privileges) == ("RuntimeDefault", True)

    def test_privileged_container_makes_the_sandbox_privileged(self) -> None:
        """Any container, an init container too."""
        made = container("i", security_context=SecurityContext(privileged=True))
        spec = sandbox(a_pod("a", init=[made])).security
        assert (spec.privileged, spec.seccomp, spec.apparmor) == (True, "Unconfined", "unconfined")
        assert spec.no_new_privileges is False


class TestContainer:
    """CreateContainer's spec."""

    def test_name_and_labels(self) -> None:
        """Everything that is read back from the engine later."""
        made = container("a", "nginx:1", termination_message_path="/dev/log", termination_message_policy="File")
        spec = built(made)
        assert (spec.name, spec.image, spec.image_id) == ("k8s_a_p_default_uid1_3", "nginx:1", "")
        assert dict(spec.labels) == {
            labels.NODE: "n1",
            labels.POD_NAME: "p",
            labels.POD_NAMESPACE: "default",
            labels.POD_UID: "uid1",
            labels.CONTAINER_NAME: "a",
            labels.KIND: "container",
            labels.ATTEMPT: "3",
            labels.SANDBOX_ATTEMPT: "2",
            labels.BACKOFF: "20",
            labels.HASH: identity.container_hash(made),
            labels.GRACE: "30",
            labels.SOURCE: "test",
            labels.ROOT: SETTINGS.root,
            labels.START_TIME: "2030-01-01T12:00:00+00:00",
            labels.IMAGE: "nginx:1",
            labels.TERMINATION_MESSAGE_FILE: MESSAGE,
            labels.TERMINATION_MESSAGE_POLICY: "File",
        }

    def test_init_container_without_message_path(self) -> None:
        """Kind and the absence of what is not asked for."""
        spec = built(origin=Origin(sandbox_attempt=0, attempt=0, start_time=START, init=True))
        assert spec.labels[labels.KIND] == "init"
        assert labels.TERMINATION_MESSAGE_FILE not in spec.labels
        assert labels.BACKOFF not in spec.labels

    def test_grace_of_a_pod_without_one(self) -> None:
        """Nothing said means 30 s."""
        assert built(grace=None).labels[labels.GRACE] == "30"

    @pytest.mark.parametrize(("grace", "label"), [(-5, "0"), (2**31 - 1, "2147483647"), (2**63 - 1, "2147483647")])
    def test_grace_is_written_as_it_is_read(self, grace: int, label: str) -> None:
        """A grace period that no label is believed is brought to the nearest that is."""
        made = built(grace=grace).labels
        assert made[labels.GRACE] == label
        assert labels.integer(made, labels.GRACE, 30) == int(label)

    def test_env_command_and_args(self) -> None:
        """Each variable sees those before it; command and args see all."""
        made = container(
            "a",
            env=(EnvVar(name="A", value="1"), EnvVar(name="B", value="$(A)$(C)"), EnvVar(name="C", value="3")),
            command=("run", "$(C)"),
            args=("$(B)", "$$(A)"),
        )
        spec = built(made)
        assert spec.env == (("A", "1"), ("B", "1$(C)"), ("C", "3"))
        assert (spec.command, spec.args) == (("run", "3"), ("1$(C)", "$(A)"))

    def test_plain_fields(self) -> None:
        """What is passed on as it is."""
        spec = built(container("a", working_dir="/w", tty=True, stdin=True, stdin_once=True))
        assert (spec.working_dir, spec.tty, spec.stdin, spec.stdin_once) == ("/w", True, True, True)

    def test_resources(self) -> None:
        """Requests and limits become cgroup settings and an OOM score."""
        resources = ResourceRequirements(
            requests={"cpu": Quantity("250m"), "memory": Quantity("100")}, limits={"cpu": Quantity("1")}
        )
        found = built(container("a", resources=resources)).resources
        assert (found.cpu_shares, found.cpu_quota, found.cpu_period) == (256, 100000, 100000)
        assert (found.memory_limit, found.oom_score_adj) == (None, 900)

    def test_mounts(self) -> None:
        """Volumes in order, then the files a kubelet adds."""
        volumes = (
            Volume(name="e", empty_dir=EmptyDirVolumeSource()),
            Volume(name="h", host_path=HostPathVolumeSource(path="/srv")),
        )
        mounts = (
            VolumeMount(name="h", mount_path="/h", read_only=True, mount_propagation="HostToContainer"),
            VolumeMount(name="e", mount_path="e", mount_propagation="Bidirectional"),
            VolumeMount(name="h", mount_path="/r", read_only=True, recursive_read_only="Enabled"),
            VolumeMount(name="h", mount_path="/p", read_only=True, recursive_read_only="IfPossible"),
        )
        made = container("a", volume_mounts=mounts, termination_message_path="/dev/log")
        assert built(made, volumes=volumes).mounts == (
            Mount("/srv", "/h", read_only=True, propagation="rslave"),
            Mount("/root/pods/uid1/volumes/kubernetes.io~empty-dir/e", "/e", propagation="rshared"),
            Mount("/srv", "/r", read_only=True, recursive_read_only=True),
            Mount("/srv", "/p", read_only=True),
            Mount("/root/pods/uid1/etc-hosts", "/etc/hosts"),
            Mount("/root/pods/uid1/resolv.conf", "/etc/resolv.conf"),
            Mount(MESSAGE, "/dev/log"),
        )

    @pytest.mark.parametrize("path", ["/etc/hosts", "/etc/resolv.conf", "/dev/log"])
    def test_manifests_own_mount_wins(self, path: str) -> None:
        """A volume at one of our paths is what the container sees there."""
        volumes = (Volume(name="h", host_path=HostPathVolumeSource(path="/mine")),)
        made = container(
            "a", volume_mounts=(VolumeMount(name="h", mount_path=path),), termination_message_path="/dev/log"
        )
        found = {mount.target: mount.source for mount in built(made, volumes=volumes).mounts}
        assert found[path] == "/mine"
        assert len(found) == 3


class TestSecurity:
    """securityContext of pod and container, merged."""

    def spec(self, pod: PodSecurityContext | None, own: SecurityContext | None) -> ContainerSpec:
        """A container with those contexts."""
        return built(container("a", security_context=own), security_context=pod)

    @pytest.mark.parametrize(
        ("pod", "own", "user"),
        [
            ((None, None), (None, None), ""),
            ((1, 2), (None, None), "1:2"),
            ((1, 2), (3, None), "3:2"),
            ((1, 2), (None, 4), "1:4"),
            ((1, None), (0, 0), "0:0"),
            ((None, None), (None, 4), ":4"),
        ],
    )
    def test_user(self, pod: tuple[int | None, ...], own: tuple[int | None, ...], user: str) -> None:
        """The container's user and group win, each by itself."""
        whole = PodSecurityContext(run_as_user=pod[0], run_as_group=pod[1])
        assert self.spec(whole, SecurityContext(run_as_user=own[0], run_as_group=own[1])).security.user == user

    @pytest.mark.parametrize(
        ("pod", "own", "expected"),
        [(None, None, False), (True, None, True), (True, False, False), (False, True, True), (None, True, True)],
    )
    def test_run_as_non_root(self, pod: bool | None, own: bool | None, expected: bool) -> None:
        """The container's word wins."""
        spec = self.spec(PodSecurityContext(run_as_non_root=pod), SecurityContext(run_as_non_root=own))
        assert spec.run_as_non_root is expected

    def test_nothing_said(self) -> None:
        """A kubelet's defaults: nothing dropped, nothing filtered."""
        spec = self.spec(None, None)
        assert spec.security.seccomp == "Unconfined"
        assert (spec.security.user, spec.security.groups, spec.security.no_new_privileges) == ("", (), False)
        assert spec.run_as_non_root is False

    def test_switches(self) -> None:
        """Each field of the container has its effect."""
        own = SecurityContext(
            read_only_root_filesystem=True,
            allow_privilege_escalation=False,
            capabilities=Capabilities(add=("NET_ADMIN", "CAP_SYS_TIME"), drop=("ALL",)),
        )
        found = self.spec(PodSecurityContext(fs_group=9), own).security
        assert (found.read_only_root, found.no_new_privileges) == (True, True)
        assert (found.cap_add, found.cap_drop, found.groups) == (("NET_ADMIN", "SYS_TIME"), ("ALL",), (9,))

    @pytest.mark.parametrize(
        ("pod", "own", "expected"),
        [
            (None, None, "Unconfined"),
            ("RuntimeDefault", None, "RuntimeDefault"),
            ("RuntimeDefault", "Unconfined", "Unconfined"),
            ("Unconfined", "Localhost", "Localhost:/root/seccomp/my.json"),
        ],
    )
    def test_seccomp(self, pod: str | None, own: str | None, expected: str) -> None:
        """The container's profile wins; Localhost is a file under the root."""

        def profile(kind: str | None) -> SeccompProfile | None:
            return None if kind is None else SeccompProfile(type=kind, localhost_profile="my.json")

        spec = self.spec(
            PodSecurityContext(seccomp_profile=profile(pod)), SecurityContext(seccomp_profile=profile(own))
        )
        assert spec.security.seccomp == expected

    def test_privileged_is_unconfined(self) -> None:
        """Whatever else is asked for."""
        own = SecurityContext(privileged=True, seccomp_profile=SeccompProfile(type="RuntimeDefault"))
        found = self.spec(None, own).security
        assert (found.privileged, found.seccomp, found.apparmor) == (True, "Unconfined", "unconfined")
