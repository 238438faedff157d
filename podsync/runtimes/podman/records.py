"""libpod's list entries and inspections into records: pure."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from podsync import labels
from podsync.runtimes.base import EMPTY, ContainerState, ImageRecord, RuntimeHint
from podsync.runtimes.common.execs import ExecState
from podsync.runtimes.common.faults import clean, start_exit_code
from podsync.runtimes.common.records import Detail, Row, parse_time

__all__ = ["LOG_PATH", "SANDBOX", "addresses", "detail", "exec_state", "hint", "image", "numbers", "row", "state"]

LOG_PATH = "log-path"
"""Key of ``Detail.extra``: the file a container's log is written to."""
SANDBOX = "sandbox"
"""Key of ``Detail.extra``: id of the sandbox whose namespaces a container joins."""
Json = Mapping[str, Any]

_OOM_FLAG_SINCE = (5, 0)
_KILLED = 128 + signal.SIGKILL

# ``stopped`` is an ended process whose mounts and network are still being taken down;
# ``stopping`` may be left behind by a stop that the service did not live to finish.
_STATES = {
    "created": ContainerState.CREATED,
    "configured": ContainerState.CREATED,
    "initialized": ContainerState.CREATED,
    "running": ContainerState.RUNNING,
    "stopping": ContainerState.RUNNING,
    "paused": ContainerState.RUNNING,
    "stopped": ContainerState.EXITED,
    "exited": ContainerState.EXITED,
    "removing": ContainerState.EXITED,
}


def state(word: str) -> ContainerState:
    """The CRI's state for libpod's word."""
    return _STATES.get(word.lower(), ContainerState.UNKNOWN)


def row(entry: Json) -> Row:
    """One entry of ``GET /containers/json``."""
    names = entry.get("Names") or [""]
    return Row(
        id=entry["Id"],
        name=names[0],
        state=state(entry.get("State") or ""),
        labels=entry.get("Labels") or EMPTY,
        created_at=parse_time(entry.get("Created")),
        image_id=entry.get("ImageID") or "",
    )


def detail(inspection: Json, version: Sequence[int], failure: str = "") -> Detail:
    """What ``GET /containers/{id}/json`` tells. ``version`` is the engine's, as numbers.

    A start that failed leaves the state ``created`` and no exit code: that instance has
    ended for us, with the code its text stands for. The text is kept from 5.0 on;
    ``failure`` is what the start itself said. Before 5.0 the out-of-memory flag is never
    set: a container that was killed and has a memory limit is taken for one that met it.
    A very short run may have a start later than its end; the later counts.
    """
    current: Json = inspection["State"]
    now = state(current.get("Status") or "")
    text = clean(current.get("Error") or failure)
    exit_code = current.get("ExitCode") or 0
    started, finished = parse_time(current.get("StartedAt")), parse_time(current.get("FinishedAt"))
    if now is ContainerState.CREATED and text:
        now, exit_code = ContainerState.EXITED, start_exit_code(text)
        started, finished = None, parse_time(inspection.get("Created"))
    ended = now is ContainerState.EXITED
    if ended and started is not None and finished is not None:
        finished = max(started, finished)
    host: Json = inspection.get("HostConfig") or {}
    config: Json = inspection.get("Config") or {}
    out_of_memory = bool(host.get("Memory")) if tuple(version) < _OOM_FLAG_SINCE else bool(current.get("OOMKilled"))
    return Detail(
        id=inspection["Id"],
        state=now,
        started_at=started,
        finished_at=finished if ended else None,
        exit_code=exit_code if ended else None,
        oom_killed=ended and exit_code == _KILLED and out_of_memory,
        message=text,
        pid=current.get("Pid") or 0 if now is ContainerState.RUNNING else 0,
        ips=addresses(inspection),
        stop_signal=_signal(config.get("StopSignal")),
        image_id=inspection.get("Image") or "",
        tty=bool(config.get("Tty")),
        extra={
            LOG_PATH: (host.get("LogConfig") or {}).get("Path") or "",
            SANDBOX: next(iter(inspection.get("Dependencies") or ()), ""),
        },
    )


def addresses(inspection: Json) -> tuple[str, ...]:
    """Addresses of the container's own networks, each one's IPv4 before its IPv6."""
    settings = inspection.get("NetworkSettings") or {}
    networks = [settings, *(settings.get("Networks") or {}).values()]
    found = (network.get(key) for network in networks for key in ("IPAddress", "GlobalIPv6Address"))
    return tuple(dict.fromkeys(address for address in found if address))


def _signal(value: int | str | None) -> str:
    """The stop signal's name; empty for SIGTERM, which is also what none given means."""
    if value in (None, "", 0):
        return ""
    try:
        name = signal.Signals(value).name if isinstance(value, int) else signal.Signals[str(value).upper()].name
    except (ValueError, KeyError):
        return str(value)  # a real-time signal: the engine knows its number or name
    return "" if name == "SIGTERM" else name


def image(inspection: Json) -> ImageRecord:
    """What ``GET /images/{name}/json`` tells.

    Podman invents digests under ``localhost/`` for images that never saw a registry; as
    nobody can pull those, they are left out.
    """
    digests = tuple(item for item in inspection.get("RepoDigests") or () if not item.startswith("localhost/"))
    return ImageRecord(
        id=inspection["Id"],
        digests=digests,
        user=(inspection.get("Config") or {}).get("User") or inspection.get("User") or "",
        size=inspection.get("Size") or 0,
    )


def exec_state(inspection: Json) -> ExecState:
    """What ``GET /exec/{id}/json`` tells; the exit code is 0, not absent, while the command runs."""
    running = bool(inspection.get("Running"))
    return ExecState(
        running=running,
        exit_code=None if running else inspection.get("ExitCode"),
        pid=inspection.get("Pid") or 0,
    )


def hint(event: Json, node: str) -> RuntimeHint | None:
    """A container's event as a hint; None for one that is not ours. Labels are among its attributes."""
    actor: Json = event.get("Actor") or {}
    attributes: Json = actor.get("Attributes") or {}
    if attributes.get(labels.NODE) != node:
        return None
    return RuntimeHint(uid=attributes.get(labels.POD_UID) or "", container=actor.get("ID") or "")


def numbers(version: str) -> tuple[int, ...]:
    """A version such as ``4.3.1`` or ``5.8.0-dev`` as numbers, as far as they go."""
    found = []
    for part in version.split("."):
        digits = "".join(takewhile(str.isdigit, part))
        if not digits:
            break
        found.append(int(digits))
    return tuple(found)
