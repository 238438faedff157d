"""Deaths of containers' first processes, told by the kernel.

Podman writes its event of a death 130 to 250 ms late, once a container is cleaned up.
A pidfd becomes readable in the moment itself, so with an engine of this host nothing
has to wait for the event, and nothing has to poll.
"""

from __future__ import annotations

import logging
import os
import resource
import select
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from podsync.runtimes.common.whose import runs_in

__all__ = ["PidWatch"]

_log = logging.getLogger(__name__)

_SHARE = 2
"""Part of the descriptors this process may open that is not used for watching: one in so many."""


@dataclass(slots=True)
class _Watched:
    """One process; ``handle`` is closed once it has died and -1 then."""

    container: str
    uid: str
    pid: int
    handle: int


class PidWatch:
    """Watches processes; ``died(container, uid)`` is called on a thread of its own for each death."""

    def __init__(self, died: Callable[[str, str], None], proc: Path = Path("/proc")) -> None:
        self._died = died
        self._proc = proc
        self._lock = threading.Lock()
        self._watched: dict[str, _Watched] = {}
        self._handles: dict[int, _Watched] = {}
        self._epoll = select.epoll()
        self._wake_read, self._wake_write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._epoll.register(self._wake_read, select.EPOLLIN)
        self._limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0] // _SHARE
        self._thread: threading.Thread | None = None
        self._closed = False

    def watch(self, container: str, uid: str, pid: int) -> None:
        """Watch the first process of a container; known already, or no process of this host: does nothing.

        One that is dead by now is reported as any other.
        """
        with self._lock:
            known = self._watched.get(container)
            if self._closed or pid <= 0 or (known is not None and known.pid == pid):
                return
            self._drop(known)
            if len(self._handles) >= self._limit:
                return  # the engine's event will tell
            try:
                handle = os.pidfd_open(pid)
            except ProcessLookupError:
                handle = -1
            except OSError as error:
                _log.debug("cannot watch process %d: %s", pid, error)
                return
            # One that is not the container's has ended since, which its handle knows, or has only its number.
            if handle >= 0 and not runs_in(pid, container, self._proc) and not _is_dead(handle):
                os.close(handle)
                return
            item = _Watched(container, uid, pid, handle)
            self._watched[container] = item
            if handle >= 0:
                self._handles[handle] = item
                self._epoll.register(handle, select.EPOLLIN)
                self._begin()
        if handle < 0:
            self._died(container, uid)

    def alive(self, container: str, pid: int = 0) -> bool | None:
        """Whether its process lives at this moment; None when it, or that very process of it, is not watched."""
        with self._lock:
            item = self._watched.get(container)
            if item is None or (pid and pid != item.pid):
                return None
            return item.handle >= 0 and not _is_dead(item.handle)

    def keep(self, containers: set[str]) -> None:
        """Forget all others: they are gone."""
        with self._lock:
            for container in self._watched.keys() - containers:
                self._drop(self._watched[container])

    def forget(self, container: str) -> None:
        """Watch it no longer."""
        with self._lock:
            self._drop(self._watched.get(container))

    def close(self) -> None:
        """End the thread and free every descriptor; twice is fine."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            thread = self._thread
        with suppress(OSError):
            os.write(self._wake_write, b"x")
        if thread is not None and thread is not threading.current_thread():
            thread.join()
        with self._lock:
            for container in list(self._watched):
                self._drop(self._watched[container])
        self._epoll.close()
        os.close(self._wake_read)
        os.close(self._wake_write)

    def _begin(self) -> None:
        """Start the thread with the first process; the lock is held."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="podsync-pidwatch", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        """Wait for deaths until closed."""
        while True:
            ready = [handle for handle, _ in self._epoll.poll()]
            with self._lock:
                if self._closed:
                    return
                dead = [item for handle in ready if (item := self._handles.get(handle)) is not None]
                for item in dead:
                    self._release(item)
            for item in dead:
                self._died(item.container, item.uid)

    def _release(self, item: _Watched) -> None:
        """Close a dead process's handle; the lock is held."""
        if item.handle >= 0:
            del self._handles[item.handle]
            self._epoll.unregister(item.handle)
            os.close(item.handle)
            item.handle = -1

    def _drop(self, item: _Watched | None) -> None:
        """Forget one; the lock is held."""
        if item is not None:
            self._release(item)
            del self._watched[item.container]


def _is_dead(handle: int) -> bool:
    """Whether the process of a pidfd has ended."""
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    return bool(poll.poll(0))
