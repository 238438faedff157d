"""Docker's JSON into records: pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from podsync import labels as keys
from podsync.runtimes.base import EMPTY, ContainerState, ImageRecord, RuntimeHint
from podsync.runtimes.common import faults
from podsync.runtimes.common.execs import ExecState
from podsync.runtimes.common.records import Detail, Row, parse_time

__all__ = ["NEWS", "addresses", "capabilities", "detail", "event_name", "exec_state", "hint", "image", "row", "version"]

Json = Mapping[str, Any]

_STATES = {
    "created": ContainerState.CREATED,
    "running": ContainerState.RUNNING,
    "paused": ContainerState.RUNNING,
    "restarting": ContainerState.RUNNING,
    "exited": ContainerState.EXITED,
    "removing": ContainerState.EXITED,
    "dead": ContainerState.EXITED,
}
_OOM_EXIT = 137
_CAPABILITY_SINCE = {
    "recursive-read-only": (1, 44),
    "volume-subpath": (1, 45),
    "image-volumes": (1, 48),
}
"""API version that brought each; before it Docker ignores the setting or refuses it."""
NEWS = ("die", "destroy")
"""Events that change what a look would show and that nobody here need have asked for."""


def version(text: str) -> tuple[int, int]:
    """An API version such as ``1.41`` as numbers. Raises ValueError for anything else."""
    major, _, minor = text.partition(".")
    return int(major), int(minor)


def capabilities(api: tuple[int, int], info: Json) -> frozenset[str]:
    """What this engine can do, from its API version and ``GET /info``."""
    options = " ".join(info.get("SecurityOptions") or ())
    words = {word for word, since in _CAPABILITY_SINCE.items() if api >= since}
    words |= {word for word in ("seccomp", "apparmor", "selinux", "rootless", "userns") if f"name={word}" in options}
    words.add(f"cgroup-v{info.get('CgroupVersion') or 1}")
    return frozenset(words)


def row(entry: Json) -> Row:
    """One entry of ``GET /containers/json``."""
    created = entry.get("Created")
    return Row(
        id=entry["Id"],
        name=_own_name(entry.get("Names") or ()),
        state=_STATES.get(entry.get("State") or "", ContainerState.UNKNOWN),
        labels=entry.get("Labels") or EMPTY,
        created_at=datetime.fromtimestamp(created, UTC) if created else None,
        image_id=entry.get("ImageID") or "",
        ips=addresses(entry),
    )


def detail(entry: Json) -> Detail:
    """What ``GET /containers/{id}/json`` adds.

    A start that failed leaves the state ``created`` with an exit code: that instance has
    ended for us. A very short run may have a start later than its end; the later counts.
    """
    state: Json = entry.get("State") or {}
    config: Json = entry.get("Config") or {}
    found = _STATES.get(state.get("Status") or "", ContainerState.UNKNOWN)
    exit_code = state.get("ExitCode") or 0
    started, finished = parse_time(state.get("StartedAt")), parse_time(state.get("FinishedAt"))
    if found is ContainerState.CREATED and (exit_code or state.get("Error")):
        found, started, finished = ContainerState.EXITED, None, finished or parse_time(entry.get("Created"))
    ended = found is ContainerState.EXITED
    if ended and started is not None and finished is not None:
        finished = max(started, finished)
    return Detail(
        id=entry["Id"],
        state=found,
        started_at=started,
        finished_at=finished if ended else None,
        exit_code=exit_code if ended else None,
        oom_killed=ended and bool(state.get("OOMKilled")) and exit_code == _OOM_EXIT,
        message=faults.clean(state.get("Error") or ""),
        pid=state.get("Pid") or 0,
        ips=addresses(entry),
        stop_signal=config.get("StopSignal") or "",
        image_id=entry.get("Image") or "",
        tty=bool(config.get("Tty")),
    )


def addresses(entry: Json) -> tuple[str, ...]:
    """IPv4, then IPv6 addresses of a list's or an inspection's networks."""
    networks = ((entry.get("NetworkSettings") or {}).get("Networks") or {}).values()
    found = [network.get(key) for key in ("IPAddress", "GlobalIPv6Address") for network in networks if network]
    return tuple(dict.fromkeys(address for address in found if address))


def image(entry: Json) -> ImageRecord:
    """``GET /images/{name}/json``. Keys that are not set are left out from API 1.52 on."""
    return ImageRecord(
        id=entry["Id"],
        digests=tuple(entry.get("RepoDigests") or ()),
        user=(entry.get("Config") or {}).get("User") or "",
        size=entry.get("Size") or 0,
    )


def exec_state(entry: Json) -> ExecState:
    """``GET /exec/{id}/json``."""
    return ExecState(running=bool(entry.get("Running")), exit_code=entry.get("ExitCode"), pid=entry.get("Pid") or 0)


def hint(event: Json, node: str) -> RuntimeHint | None:
    """A container's event of ``GET /events`` as a hint; None for one that is not ours, or no news."""
    actor: Json = event.get("Actor") or {}
    attributes: Json = actor.get("Attributes") or {}
    if event.get("Type") != "container" or event.get("Action") not in NEWS or attributes.get(keys.NODE) != node:
        return None
    return RuntimeHint(uid=attributes.get(keys.POD_UID) or "", container=actor.get("ID") or "")


def event_name(event: Json) -> str:
    """Name of the object an event of ``GET /events`` is about."""
    return str(((event.get("Actor") or {}).get("Attributes") or {}).get("name") or "")


def _own_name(names: Sequence[str]) -> str:
    """The container's own name: the list also gives links' names, which hold a second slash."""
    own = [name for name in names if "/" not in name.removeprefix("/")]
    return (own or names or [""])[0].removeprefix("/")
