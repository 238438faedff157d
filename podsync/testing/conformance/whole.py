"""The runtime as a whole: who it is, looks, hints, many threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from podsync.errors import Conflict
from podsync.runtimes.base import API_VERSION, ContainerId, ContainerState, Runtime, RuntimeHint
from podsync.testing.builders import PodNames
from podsync.testing.conformance.suite import Box, Suite
from podsync.testing.programs import exit_with

__all__ = ["WholeConformance"]


class _Listener:
    """Collects a runtime's hints on a thread of its own."""

    def __init__(self, runtime: Runtime) -> None:
        self.stop = threading.Event()
        self.hints: list[RuntimeHint] = []
        self.connected = threading.Event()
        self._runtime = runtime
        self.thread = threading.Thread(target=self._listen, daemon=True)
        self.thread.start()

    def _listen(self) -> None:
        for hint in self._runtime.hints(self.stop):
            self.hints.append(hint)
            if hint.connected:
                self.connected.set()

    def join(self, timeout: float) -> bool:
        self.thread.join(timeout)
        return not self.thread.is_alive()


class WholeConformance(Suite):
    """``Runtime``."""

    def test_info(self) -> None:
        """It says who it is, for which node it was made and for which version of the port it was written."""
        assert self.runtime.node == self.node
        info = self.runtime.info()
        assert info.name.isalnum()
        assert info.port == API_VERSION

    def test_observation_is_a_list_with_its_time(self) -> None:
        """The moment is aware; the records are those a list gives."""
        box = self.box()
        self.run_to_end(box, exit_with(1))
        seen = self.runtime.observe()
        assert seen.observed_at.tzinfo is not None
        assert seen.sandboxes == tuple(self.runtime.list_sandboxes())

    def test_connected_hints_begin_with_one(self) -> None:
        """Whoever listens is told at once to look."""
        listener = _Listener(self.runtime)
        assert listener.connected.wait(self.patience)
        assert listener.hints[0] == RuntimeHint()
        listener.stop.set()
        assert listener.join(self.hint_patience)

    def test_death_of_a_container_is_hinted_at(self) -> None:
        """In time, with the pod's uid if any; a list made then knows of it."""
        box = self.box()
        container = self.run(box)
        self._told_of_death(box, lambda: self.runtime.signal_container(container, "SIGKILL"))
        self.until(lambda: self.state(container) is ContainerState.EXITED, "the list to know", self.hint_patience)

    def test_death_of_a_sandbox_is_hinted_at(self) -> None:
        """A pause process that ends is news as well."""
        box = self.box()
        self._told_of_death(box, lambda: self.runtime.signal_container(box.id, "SIGKILL"))
        self.until(lambda: not self.listed(box).ready, "the list to know", self.hint_patience)

    def _told_of_death(self, box: Box, cause: Callable[[], None]) -> None:
        listener = _Listener(self.runtime)
        assert listener.connected.wait(self.patience)
        before = len(listener.hints)
        cause()
        told = lambda: any(hint.uid in {"", box.pod.uid} for hint in listener.hints[before:])  # noqa: E731
        self.until(told, "a hint", self.hint_patience)
        listener.stop.set()
        assert listener.join(self.hint_patience)

    def test_hints_end_when_closed(self) -> None:
        """Closing the runtime frees whoever listens."""
        other = self.make_runtime(self.node)
        listener = _Listener(other)
        assert listener.connected.wait(self.patience)
        other.close()
        assert listener.join(self.hint_patience)
        listener.stop.set()

    def test_closing_leaves_containers_running(self) -> None:
        """A runtime is a connection, not the containers' owner; closing twice is fine."""
        box = self.box()
        container = self.run(box)
        other = self.make_runtime(self.node)
        assert list(other.list_sandboxes(box.pod.uid))
        other.close()
        other.close()
        assert self.state(container) is ContainerState.RUNNING

    def test_many_threads_at_once(self) -> None:
        """Twenty pods are made, looked at and removed side by side."""

        def one(number: int) -> tuple[ContainerId, bool]:
            box = self.box(pod=PodNames(self.node, name=f"pod-{number}"))
            container = self.run(box)
            ready = self.listed(box).ready
            self.runtime.signal_container(container, "SIGKILL")
            self.ended(container)
            self.runtime.remove_container(container)
            return container, ready

        with ThreadPoolExecutor(20) as pool:
            results = list(pool.map(one, range(20)))
        assert len({container for container, _ in results}) == 20
        assert all(ready for _, ready in results)
        assert [s.containers for s in self.runtime.list_sandboxes()] == [()] * 20

    def test_one_name_is_taken_once(self) -> None:
        """Of many that create the same name at once, one succeeds."""
        pod = PodNames(self.node)

        def attempt(_: int) -> bool:
            try:
                self.runtime.create_sandbox(pod.sandbox())
            except Conflict:
                return False
            return True

        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(attempt, range(8))) == 1
        assert len(self.runtime.list_sandboxes()) == 1
