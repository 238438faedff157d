"""What a container's process sees: skipped where programs are scripted."""

from __future__ import annotations

from pathlib import Path

import pytest

from podsync.runtimes.base import Mount, NamespaceMode, Resources, SecuritySpec
from podsync.testing.conformance.suite import Suite
from podsync.testing.programs import RUN, shell

__all__ = ["ProcessConformance"]


class ProcessConformance(Suite):
    """The fields of ``SandboxSpec`` and ``ContainerSpec``, seen from inside."""

    @pytest.fixture(autouse=True)
    def _only_processes(self, request: pytest.FixtureRequest) -> None:
        if getattr(ProcessConformance, request.function.__name__, None) is not None:
            self.needs_processes()

    def test_args_alone_replace_the_images_command(self) -> None:
        """Without a command the entrypoint stays: this image has none."""
        record = self.run_to_end(self.box(), (), args=("sh", "-c", "exit 7"))
        assert record.exit_code == 7

    def test_command_alone_drops_the_images_arguments(self) -> None:
        """The image's own command is not appended to ours."""
        command = ("sh", "-c", "exit $#", "zero")
        assert self.run_to_end(self.box(), (), command=command).exit_code == 0

    def test_environment(self) -> None:
        """Values arrive as they are, blanks, quotes and dollars too."""
        value = "a b'c\"d$HOME=e\tf"
        assert self.output(self.box(), 'echo "[$WORD]"', env=(("WORD", value), ("EMPTY", ""))) == f"[{value}]"

    def test_working_directory(self) -> None:
        """It is entered, and made if the image lacks it."""
        box = self.box()
        assert self.output(box, "pwd", "there", working_dir="/etc") == "/etc"
        assert self.output(box, "pwd", "new", working_dir="/made/for/this") == "/made/for/this"

    def test_user_and_groups(self) -> None:
        """Numeric ids, with supplementary groups."""
        security = SecuritySpec(user="1234:2345", groups=(3456,))
        out = self.output(self.box(), "id -u; id -g; id -G", security=security).split("\n")
        assert out[:2] == ["1234", "2345"]
        assert set(out[2].split()) == {"2345", "3456"}

    def test_mounts(self, tmp_path: Path) -> None:
        """A path of the host, to read and to write."""
        (tmp_path / "in").write_text("hello")
        mounts = (Mount(str(tmp_path), "/data"),)
        assert self.output(self.box(), "cat /data/in; echo done > /data/out", mounts=mounts) == "hello"
        assert (tmp_path / "out").read_text() == "done\n"

    def test_read_only_mounts(self, tmp_path: Path) -> None:
        """Writing to one fails, for root as well."""
        mounts = (Mount(str(tmp_path), "/data", read_only=True),)
        record = self.run_to_end(self.box(), shell("echo x > /data/out || exit 9"), mounts=mounts)
        assert record.exit_code == 9
        assert list(tmp_path.iterdir()) == []

    def test_single_files_are_mounted(self, tmp_path: Path) -> None:
        """As podsync does with /etc/hosts and termination messages."""
        (tmp_path / "hosts").write_text("127.0.0.1 here\n")
        mounts = (Mount(str(tmp_path / "hosts"), "/etc/hosts"),)
        assert self.output(self.box(), "cat /etc/hosts", mounts=mounts) == "127.0.0.1 here"

    def test_read_only_root(self) -> None:
        """Nothing can be written to the image's own files."""
        security = SecuritySpec(read_only_root=True)
        record = self.run_to_end(self.box(), shell("echo x > /etc/new || exit 9"), security=security)
        assert record.exit_code == 9

    def test_capabilities(self) -> None:
        """Dropping all leaves none but those added."""
        script = "grep CapEff /proc/self/status"
        box = self.box()
        none = self.output(box, script, "none", security=SecuritySpec(cap_drop=("ALL",)))
        one = self.output(box, script, "one", security=SecuritySpec(cap_drop=("ALL",), cap_add=("CHOWN",)))
        assert int(none.split()[1], 16) == 0
        assert int(one.split()[1], 16) == 1

    def test_no_new_privileges(self) -> None:
        """Set only where asked for."""
        script = "grep NoNewPrivs /proc/self/status"
        box = self.box()
        assert self.output(box, script, "with", security=SecuritySpec(no_new_privileges=True)).split()[1] == "1"
        assert self.output(box, script, "without").split()[1] == "0"

    def test_memory_limit(self) -> None:
        """The process's cgroup carries it."""
        script = "cat /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null || cat /sys/fs/cgroup/memory.max"
        resources = Resources(memory_limit=67108864)
        assert self.output(self.box(), script, resources=resources) == "67108864"

    def test_out_of_memory(self) -> None:
        """A program that takes more than it may is ended with 137."""
        script = "x=aaaaaaaaaaaaaaaa; while :; do x=$x$x; done"
        record = self.run_to_end(self.box(), shell(script), resources=Resources(memory_limit=16777216))
        assert record.exit_code == 137

    def test_network_is_the_sandboxs(self) -> None:
        """Two containers of one sandbox meet on the loopback interface; another sandbox is away."""
        box = self.box()
        self.run(box, shell("while :; do echo hello | nc -l -p 8080; done"), "server")
        client = "for i in 1 2 3 4 5 6 7 8 9; do nc -w 1 127.0.0.1 8080 </dev/null && exit; sleep 0.2; done; exit 1"
        assert self.output(box, client, "client") == "hello"
        assert "alone" in self.output(self.box(), "nc -w 1 127.0.0.1 8080 </dev/null || echo alone").split("\n")

    def test_members_have_the_sandboxs_address(self) -> None:
        """A container sees the address the sandbox is listed with."""
        box = self.box()
        assert self.listed(box).ips[0] in self.output(box, "ip addr || ifconfig")

    def test_hostname_is_the_sandboxs(self) -> None:
        """Every member answers with it."""
        assert self.output(self.box(hostname="web-0"), "hostname") == "web-0"

    def test_processes_are_a_containers_own(self) -> None:
        """A member is process 1 and does not see its neighbours."""
        box = self.box()
        self.run(box, RUN, "neighbour")
        assert "sleep 3600" not in self.output(box, "ps")

    def test_shared_processes(self) -> None:
        """With a pod-wide process namespace members see each other below the sandbox's process."""
        box = self.box(pid=NamespaceMode.POD)
        self.run(box, RUN, "neighbour", pid=NamespaceMode.POD)
        self.pause(0.3)
        out = self.output(box, "echo $$; ps", pid=NamespaceMode.POD)
        assert "sleep 3600" in out
        assert out.split("\n")[0] != "1"

    def test_terminal(self) -> None:
        """A container with a tty has one."""
        out = self.output(self.box(), "test -t 1 && echo yes", tty=True)
        assert out.strip() == "yes"
