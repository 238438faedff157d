"""Sandboxes: what is created, started, listed and removed."""

from __future__ import annotations

import pytest

from podsync.errors import Conflict, StartFault
from podsync.runtimes.base import ContainerState, NamespaceMode, PortMapping
from podsync.testing.builders import PodNames
from podsync.testing.conformance.suite import Suite
from podsync.testing.programs import RUN

__all__ = ["SandboxConformance"]

PORT = 18471  # below the ephemeral range, registered to nobody


class SandboxConformance(Suite):
    """The verbs of ``Sandboxes``."""

    def test_created_sandbox_is_listed_but_does_not_run(self) -> None:
        """Creating a sandbox starts nothing."""
        sandbox = self.listed(self.box(start=False))
        assert (sandbox.ready, sandbox.started, sandbox.ips) == (False, False, ())

    def test_sandbox_record_tells_whose_it_is(self) -> None:
        """Names, attempt and labels come back as they were given."""
        box = self.box(3)
        sandbox = self.listed(box)
        assert (sandbox.id, sandbox.name, sandbox.attempt) == (box.id, box.name, 3)
        assert (sandbox.pod_name, sandbox.namespace, sandbox.uid) == ("pod", "default", box.pod.uid)
        given = box.pod.sandbox(3).labels
        assert {key: sandbox.labels.get(key) for key in given} == given
        assert sandbox.created_at is not None
        assert sandbox.created_at.tzinfo is not None

    def test_started_sandbox_is_ready_and_has_the_addresses_it_returned(self) -> None:
        """Starting returns the pod's addresses."""
        box = self.box(start=False)
        ips = self.runtime.start_sandbox(box.name)
        sandbox = self.listed(box)
        assert ips
        assert (sandbox.ready, sandbox.started, sandbox.ips) == (True, True, ips)

    def test_starting_a_running_sandbox_changes_nothing(self) -> None:
        """A second start succeeds and tells the same addresses."""
        box = self.box(start=False)
        assert self.runtime.start_sandbox(box.id) == self.runtime.start_sandbox(box.id)

    def test_sandbox_name_is_unique(self) -> None:
        """A taken name is a Conflict and leaves the first one alone."""
        box = self.box()
        with pytest.raises(Conflict):
            self.runtime.create_sandbox(box.pod.sandbox())
        assert self.listed(box).ready

    def test_removing_a_sandbox_takes_the_containers_named(self) -> None:
        """Running ones end at once, without grace, and everything is gone."""
        box = self.box()
        running, created = self.run(box), self.create(box, name="other")
        self.runtime.remove_sandbox(box.id, [running, created])
        assert self.sandbox(box) is None

    def test_removing_an_absent_sandbox_succeeds(self) -> None:
        """Also twice, by name and by id, with containers that are gone as well."""
        box = self.box()
        container = self.run(box)
        for ref in (box.name, box.id, box.name):
            self.runtime.remove_sandbox(ref, [container])
        assert self.sandbox(box) is None

    def test_removing_a_created_sandbox(self) -> None:
        """One that never ran is removed as well."""
        box = self.box(start=False)
        self.runtime.remove_sandbox(box.name)
        assert self.sandbox(box) is None

    def test_containers_without_their_sandbox_are_listed_under_a_stand_in(self) -> None:
        """The record in its place is not ready, has no id, and the sandbox's attempt."""
        if not self.orphans:
            pytest.skip("this engine removes a sandbox only together with its containers")
        box = self.box(2)
        container = self.run(box)
        self.runtime.remove_sandbox(box.id)
        sandbox = self.listed(box)
        assert (sandbox.id, sandbox.ready, sandbox.attempt, sandbox.ips) == ("", False, 2, ())
        assert (sandbox.pod_name, sandbox.namespace) == ("pod", "default")
        assert [c.id for c in sandbox.containers] == [container]

    def test_a_sandbox_ends_on_a_signal_and_its_containers_live_on(self) -> None:
        """SIGTERM ends the sandbox's process; it stays listed, not ready, without addresses."""
        box = self.box()
        container = self.run(box)
        self.runtime.signal_container(box.id, "SIGTERM")
        self.until(lambda: not self.listed(box).ready, "the sandbox to end")
        sandbox = self.listed(box)
        assert (sandbox.id, sandbox.started, sandbox.ips) == (box.id, True, ())
        assert self.state(container) is ContainerState.RUNNING

    def test_containers_are_listed_under_their_own_sandbox(self) -> None:
        """Two sandboxes of one pod keep their containers apart."""
        old = self.box(0)
        new = self.box(1, pod=old.pod)
        first, second = self.run(old, attempt=0), self.run(new, attempt=1)
        assert [c.id for c in self.listed(old).containers] == [first]
        assert [c.id for c in self.listed(new).containers] == [second]

    def test_newest_instance_of_a_name_comes_last(self) -> None:
        """Containers are sorted by name, then by attempt as a number."""
        box = self.box()
        for attempt in (10, 9, 11):
            self.create(box, name="web", attempt=attempt)
        self.create(box, name="app")
        found = [(c.container_name, c.attempt) for c in self.listed(box).containers]
        assert found == [("app", 0), ("web", 9), ("web", 10), ("web", 11)]

    def test_list_of_one_pod(self) -> None:
        """A uid limits the look; an unknown one finds nothing."""
        one, other = self.box(), self.box(pod=PodNames(self.node, name="other"))
        assert [s.id for s in self.runtime.list_sandboxes(one.pod.uid)] == [one.id]
        assert {s.id for s in self.runtime.list_sandboxes()} == {one.id, other.id}
        assert list(self.runtime.list_sandboxes("0" * 32)) == []

    def test_other_nodes_are_invisible(self) -> None:
        """What carries another node's name is not listed, not even by its uid."""
        box = self.box()
        self.run(box, RUN)
        stranger = self.make_runtime(f"{self.node}-other")
        try:
            assert list(stranger.list_sandboxes()) == []
            assert list(stranger.list_sandboxes(box.pod.uid)) == []
            assert stranger.observe().sandboxes == ()
        finally:
            stranger.close()
        assert self.listed(box).ready

    def test_sandbox_on_the_hosts_network_has_no_address_of_its_own(self) -> None:
        """Its pod shows the host's, which the engine does not know."""
        box = self.box(start=False, network=NamespaceMode.NODE)
        assert self.runtime.start_sandbox(box.id) == ()
        assert self.listed(box).ready
        assert self.listed(box).ips == ()

    def test_taken_host_port_is_a_start_fault(self) -> None:
        """And is free again once its holder is removed."""
        ports = (PortMapping(container_port=80, host_port=PORT, host_ip="127.0.0.1"),)
        holder = self.box(ports=ports)
        late = self.box(start=False, ports=ports)
        with pytest.raises(StartFault) as caught:
            self.runtime.start_sandbox(late.id)
        assert str(PORT) in str(caught.value) or "address" in str(caught.value)
        assert not self.listed(late).ready
        self.runtime.remove_sandbox(late.id)
        self.runtime.remove_sandbox(holder.id)
        assert self.listed(self.box(ports=ports)).ready
