"""Whose process a number stands for.

An engine tells process ids as it sees them. They may mean something else here: when it
lives in a pid namespace of its own, or when a process has ended and its number was given
to another.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

__all__ = ["is_of_this_host", "runs_in"]


def runs_in(pid: int, container: str, proc: Path = Path("/proc")) -> bool:
    """Whether that process of this host is of that container: its cgroup, or its parent's command line, says so.

    Rootless Podman may have no cgroups; then conmon, the parent of a container's first
    process and of each command run in it, has the container's id among its arguments.
    """
    own = proc / str(pid)
    with suppress(OSError):
        if container in (own / "cgroup").read_text(encoding="utf-8", errors="replace"):
            return True
        parent = (own / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[1]
        return container in (proc / parent / "cmdline").read_text(encoding="utf-8", errors="replace")
    return False


def is_of_this_host(engine: int, proc: Path = Path("/proc")) -> bool:
    """Whether an engine's process numbers mean here what they mean to it.

    ``engine`` is the process that listens on its socket, 0 when it cannot be seen.
    """
    if engine <= 0:
        return False
    try:
        return (proc / str(engine) / "ns/pid").readlink() == (proc / "self/ns/pid").readlink()
    except OSError:
        return False
