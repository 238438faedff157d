"""The agent's root directory: its lock, the status and event files, and who may have it.

Files other programs read (``status.json``, ``events.json``, ``agent.json``) are replaced
by atomic rename, and not rewritten when nothing changed.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from podsync.atomic import write_whole
from podsync.errors import ConfigError

if TYPE_CHECKING:
    from podsync.models import Pod

__all__ = [
    "AGENT",
    "EVENTS",
    "LOCK",
    "NODE",
    "STATUS",
    "RootStore",
    "agent_pid",
    "default_root",
    "read_json",
    "remembered_pods",
]

STATUS = "status.json"
"""A v1 PodList: every pod with spec and status."""
EVENTS = "events.json"
"""A v1 EventList."""
AGENT = "agent.json"
"""The running agent: pid, node, runtime, sources and what is wrong with it."""
LOCK = "agent.lock"
NODE = "node"
"""The node name whose pods are kept under this root."""


def default_root() -> str:
    """``PODSYNC_ROOT``, else ``/var/lib/podsync`` for root, else below ``$XDG_STATE_HOME``."""
    given = os.environ.get("PODSYNC_ROOT")
    if given:
        return given
    if os.geteuid() == 0:
        return "/var/lib/podsync"
    return str(Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state") / "podsync")


class RootStore:
    """One agent's root directory, locked for as long as the object lives or until ``close``."""

    def __init__(self, root: str) -> None:
        """Make the directory and take the lock.

        Raises ConfigError when it cannot be made or written, or when another agent has it.
        """
        self.path = Path(root).absolute()
        self._written: dict[str, str] = {}
        try:
            self.path.mkdir(mode=0o755, parents=True, exist_ok=True)
            self._lock = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            self._folder = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise ConfigError(
                f"the root directory {self.path} cannot be used: {error.strerror}; choose another with --root"
            ) from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # the file may be removed behind our back, the folder with our pods in it not so easily
            fcntl.flock(self._folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self.close()
            pid = agent_pid(root) or "unknown"
            raise ConfigError(
                f"another podsync agent (pid {pid}) uses the root directory {self.path}; "
                "stop it, or give this one a --root and a --node-name of its own"
            ) from error
        try:
            os.ftruncate(self._lock, 0)
            os.pwrite(self._lock, f"{os.getpid()}\n".encode(), 0)
        except OSError as error:
            self.close()
            raise ConfigError(f"the root directory {self.path} cannot be written: {error.strerror}") from error

    def write(self, name: str, text: str, mode: int = 0o644) -> bool:
        """Replace a file as a whole unless it has this text already; true if written. Raises OSError."""
        if self._written.get(name) == text and (self.path / name).exists():
            return False
        write_whole(self.path / name, text, mode)
        self._written[name] = text
        return True

    def claim(self, node: str) -> None:
        """Note whose pods are kept here. Raises ConfigError when they are another node's.

        A host that was renamed would otherwise make every pod anew, beside the old ones.
        """
        path = self.path / NODE
        try:
            before = path.read_text(encoding="utf-8").strip()
        except (OSError, ValueError):
            before = ""
        if before and before != node and any((self.path / "pods").glob("*")):
            raise ConfigError(
                f'the root directory {self.path} holds pods of the node "{before}", not of "{node}"; '
                f"give --node-name {before}, or another --root"
            )
        if before != node:
            try:
                write_whole(path, f"{node}\n", 0o644)
            except OSError as error:
                raise ConfigError(f"the root directory {self.path} cannot be written: {error.strerror}") from error

    def missing(self) -> frozenset[str]:
        """Files that were written and have been removed by somebody else."""
        return frozenset(name for name in self._written if not (self.path / name).exists())

    def close(self) -> None:
        """Give the lock back."""
        for descriptor in (self._lock, self._folder):
            with contextlib.suppress(OSError):
                os.close(descriptor)


def agent_pid(root: str) -> int | None:
    """Process id of the agent that holds the root's lock; None when none does."""
    try:
        descriptor = os.open(Path(root) / LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        with contextlib.suppress(OSError, ValueError):
            return int(os.pread(descriptor, 32, 0))
        return None
    finally:
        os.close(descriptor)
    return None


def read_json(root: str, name: str) -> Any:
    """The content of one of the root's files; None when it is not there.

    Raises ConfigError when it cannot be read.
    """
    path = Path(root) / name
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path} cannot be read: {error}; remove it, and a running agent writes it anew") from error


def remembered_pods(root: str) -> dict[str, Pod]:
    """Pods by uid as the status file last told them, for those whose manifest is gone meanwhile.

    An unreadable file is as good as none: it only serves reports.
    """
    from podsync.manifest.decode import decode_pod

    try:
        document = read_json(root, STATUS)
    except ConfigError:
        return {}
    items = document.get("items") if isinstance(document, dict) else None
    found: dict[str, Pod] = {}
    for item in items if isinstance(items, list) else ():
        if isinstance(item, dict):
            pod, _ = decode_pod({key: value for key, value in item.items() if key != "status"})
            if pod is not None and pod.metadata.uid:
                found[pod.metadata.uid] = pod
    return found
