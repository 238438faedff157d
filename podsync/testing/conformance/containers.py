"""Containers: their life from creation to removal."""

from __future__ import annotations

from datetime import timedelta

import pytest

from podsync.clock import SystemClock
from podsync.errors import Conflict, ImageAbsent, StartFault
from podsync.runtimes.base import ContainerId, ContainerState
from podsync.testing.conformance.suite import Suite
from podsync.testing.programs import DEAF, MISSING, RUN, exit_with

__all__ = ["ContainerConformance"]

ABSENT = ContainerId("0" * 64)


class ContainerConformance(Suite):
    """The verbs of ``Containers``."""

    def test_created_container_is_listed_but_does_not_run(self) -> None:
        """Its record tells names, attempt, labels, image and the moment."""
        box = self.box()
        container = self.create(box, name="web", attempt=4)
        record = self.now(container)
        assert (record.state, record.container_name, record.attempt) == (ContainerState.CREATED, "web", 4)
        assert record.name == box.pod.ref("web", 4)
        given = box.pod.container(self.image, "web", 4).labels
        assert {key: record.labels.get(key) for key in given} == given
        assert (record.started_at, record.finished_at) == (None, None)
        assert record.image_id

    def test_container_name_is_unique(self) -> None:
        """A taken name is a Conflict."""
        box = self.box()
        self.create(box)
        with pytest.raises(Conflict):
            self.create(box)

    def test_absent_image_is_told_apart(self) -> None:
        """Creating from an image the store lacks raises ImageAbsent and creates nothing."""
        box = self.box()
        with pytest.raises(ImageAbsent):
            self.runtime.create_container(box.id, box.pod.container(self.absent_image))
        assert self.listed(box).containers == ()

    def test_container_may_be_created_from_the_images_id(self) -> None:
        """As podsync does: the name is only for people then."""
        box = self.box()
        image = self.runtime.image(self.image)
        assert image is not None
        spec = box.pod.container(self.image, command=RUN[:1], args=RUN[1:], image_id=image.id)
        container = self.runtime.create_container(box.id, spec)
        self.runtime.start_container(container)
        assert self.state(container) is ContainerState.RUNNING

    def test_container_is_created_before_its_sandbox_runs(self) -> None:
        """By the sandbox's name; it starts once that runs."""
        box = self.box(start=False)
        spec = box.pod.container(self.image, command=RUN[:1], args=RUN[1:])
        container = self.runtime.create_container(box.name, spec)
        self.runtime.start_sandbox(box.name)
        self.runtime.start_container(spec.name)
        assert self.state(container) is ContainerState.RUNNING

    def test_started_container_runs(self) -> None:
        """It is running at once, with its moment; starting it again changes nothing."""
        container = self.run(self.box())
        first = self.now(container)
        self.runtime.start_container(container)
        assert first.state is ContainerState.RUNNING
        assert first.started_at is not None
        assert self.now(container).started_at == first.started_at
        assert (first.finished_at, first.exit_code) == (None, None)

    @pytest.mark.parametrize("code", [0, 1, 42, 137])
    def test_ended_container_tells_its_exit_code(self, code: int) -> None:
        """Exactly as the program gave it."""
        record = self.run_to_end(self.box(), exit_with(code))
        assert (record.state, record.exit_code, record.oom_killed) == (ContainerState.EXITED, code, False)
        assert record.pid == 0

    def test_moments_are_wall_time_in_order(self) -> None:
        """Created, started, ended: aware, in that order give or take a second, and now."""
        record = self.run_to_end(self.box(), exit_with(0))
        moments = [record.created_at, record.started_at, record.finished_at]
        known = [moment for moment in moments if moment is not None]
        slack = timedelta(seconds=1)
        assert len(known) == len(moments)
        assert known[0] <= known[1] + slack
        assert known[1] <= known[2] + slack
        assert abs(SystemClock().now() - known[2]) < timedelta(seconds=60)

    def test_ended_container_does_not_start_again(self) -> None:
        """A new attempt is a new container: starting an ended one is a Conflict."""
        record = self.run_to_end(self.box(), exit_with(0))
        with pytest.raises(Conflict):
            self.runtime.start_container(record.id)
        assert self.now(record.id).finished_at == record.finished_at

    def test_term_is_delivered(self) -> None:
        """A program that answers SIGTERM ends as it likes."""
        container = self.run(self.box())
        self.settle()
        self.runtime.signal_container(container, "SIGTERM")
        assert self.ended(container).exit_code == 143

    def test_only_kill_ends_a_deaf_program(self) -> None:
        """SIGTERM returns at once and may be ignored; SIGKILL gives 137."""
        container = self.run(self.box(), DEAF)
        self.settle()
        self.runtime.signal_container(container, "SIGTERM")
        self.settle()
        assert self.state(container) is ContainerState.RUNNING
        self.runtime.signal_container(container, "SIGKILL")
        assert self.ended(container).exit_code == 137

    def test_signal_to_what_does_not_run_succeeds(self) -> None:
        """Ended, absent or never started: there is nothing left to end."""
        box = self.box()
        ended = self.run_to_end(box, exit_with(0))
        created = self.create(box, name="created")
        for signal in ("SIGTERM", "SIGKILL"):
            for ref in (ended.id, created, ABSENT, box.pod.ref("never")):
                self.runtime.signal_container(ref, signal)
        assert self.state(created) is ContainerState.CREATED

    def test_running_container_is_not_removed(self) -> None:
        """It is a Conflict, and the container runs on."""
        container = self.run(self.box())
        with pytest.raises(Conflict):
            self.runtime.remove_container(container)
        assert self.state(container) is ContainerState.RUNNING

    def test_removing_what_does_not_run(self) -> None:
        """Created and ended ones are removed; absent ones, by id or name, are fine."""
        box = self.box()
        created, ended = self.create(box, name="created"), self.run_to_end(box, exit_with(1), "ended")
        for ref in (created, ended.id, created, ended.name, ABSENT):
            self.runtime.remove_container(ref)
        assert self.listed(box).containers == ()

    def test_removed_name_is_free(self) -> None:
        """A new container may take it at once."""
        box = self.box()
        self.runtime.remove_container(self.run_to_end(box, exit_with(0)).id)
        assert self.state(self.create(box)) is ContainerState.CREATED

    def test_missing_command_is_a_start_fault(self) -> None:
        """The error has the engine's words; the container does not run and can be removed."""
        box = self.box()
        container = self.create(box, MISSING)
        with pytest.raises(StartFault) as caught:
            self.runtime.start_container(container)
        assert MISSING[0] in str(caught.value)
        record = self.now(container)
        assert record.state is not ContainerState.RUNNING
        assert record.exit_code in {126, 127, 128} or record.message
        self.runtime.remove_container(container)
        assert self.listed(box).containers == ()

    def test_failure_of_one_leaves_the_others(self) -> None:
        """A container that cannot start does not disturb its neighbour."""
        box = self.box()
        well, ill = self.run(box, name="well"), self.create(box, MISSING, name="ill")
        with pytest.raises(StartFault):
            self.runtime.start_container(ill)
        assert self.state(well) is ContainerState.RUNNING
        assert self.listed(box).ready

    def settle(self) -> None:
        """Give a program the moment it takes to install its signal handler."""
        if self.processes:
            self.pause(0.3)
