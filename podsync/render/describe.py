"""``describe pod``: one pod with everything known of it, close to kubectl's layout."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from podsync.render.columns import parse_time, table
from podsync.render.events import event_age
from podsync.render.pods import state_of
from podsync.render.printable import printable

__all__ = ["describe_pod"]

Doc = Mapping[str, Any]
_NONE = "<none>"
_POD_WIDTH = 18
_CONTAINER_WIDTH = 16
_CONDITION_NOTES = ("reason", "message")


def _when(text: object) -> str:
    moment = parse_time(text)
    return moment.strftime("%a, %d %b %Y %H:%M:%S %z") if moment is not None else ""


def _field(indent: int, label: str, value: object, width: int = _CONTAINER_WIDTH) -> str:
    return f"{' ' * indent}{printable(label) + ':':<{width}}{printable(value)}".rstrip()


def _pairs(indent: int, label: str, pairs: Mapping[str, Any] | None, joint: str, width: int) -> Iterator[str]:
    """``label: key=value`` with one line for each further key below the first."""
    lines = [f"{key}{joint}{value}" for key, value in sorted((pairs or {}).items())] or [_NONE]
    yield _field(indent, label, lines[0], width)
    for line in lines[1:]:
        yield f"{' ' * (indent + width)}{printable(line)}"


def _state(label: str, status: Doc, field: str) -> Iterator[str]:
    kind, body = state_of(status, field)
    if not kind:
        if field == "state":
            yield _field(4, label, "Waiting")
        return
    yield _field(4, label, kind.capitalize())
    if body.get("reason"):
        yield _field(6, "Reason", body["reason"], _CONTAINER_WIDTH - 2)
    if body.get("message"):
        yield _field(6, "Message", " ".join(str(body["message"]).split()), _CONTAINER_WIDTH - 2)
    if kind == "terminated":
        yield _field(6, "Exit Code", body.get("exitCode", 0), _CONTAINER_WIDTH - 2)
    if kind != "waiting":
        yield _field(6, "Started", _when(body.get("startedAt")), _CONTAINER_WIDTH - 2)
    if kind == "terminated":
        yield _field(6, "Finished", _when(body.get("finishedAt")), _CONTAINER_WIDTH - 2)


def _block(label: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield f"    {label}:"
        yield from (f"      {printable(line)}" for line in lines)


def _mounts(container: Doc) -> list[str]:
    lines = []
    for mount in sorted(container.get("volumeMounts") or (), key=lambda m: str(m.get("mountPath", ""))):
        flags = "ro" if mount.get("readOnly") else "rw"
        path = f',path="{mount["subPath"]}"' if mount.get("subPath") else ""
        lines.append(f"{mount.get('mountPath')} from {mount.get('name')} ({flags}{path})")
    return lines


def _environment(container: Doc) -> list[str]:
    env = container.get("env") or ()
    width = max((len(e.get("name", "")) for e in env), default=0) + 3
    return [f"{e.get('name', '') + ':':<{width}}{e.get('value', '')}".rstrip() for e in env]


def _container(container: Doc, status: Doc) -> Iterator[str]:
    ports = container.get("ports") or ()
    yield f"  {printable(container.get('name'))}:"
    yield _field(4, "Container ID", status.get("containerID", ""))
    yield _field(4, "Image", container.get("image", ""))
    yield _field(4, "Image ID", status.get("imageID", ""))
    label, host = ("Ports", "Host Ports") if len(ports) > 1 else ("Port", "Host Port")
    shown = [f"{p.get('containerPort')}/{p.get('protocol', 'TCP')}" for p in ports]
    hosts = [f"{p.get('hostPort', 0)}/{p.get('protocol', 'TCP')}" for p in ports]
    yield _field(4, label, ", ".join(shown) or _NONE)
    yield _field(4, host, ", ".join(hosts) or _NONE)
    for label, key in (("Command", "command"), ("Args", "args")):
        yield from _block(label, [line for word in container.get(key) or () for line in str(word).splitlines() or [""]])
    yield from _state("State", status, "state")
    yield from _state("Last State", status, "lastState")
    yield _field(4, "Ready", bool(status.get("ready")))
    yield _field(4, "Restart Count", status.get("restartCount", 0))
    for label, key in (("Limits", "limits"), ("Requests", "requests")):
        values = (container.get("resources") or {}).get(key) or {}
        width = max((len(name) for name in values), default=0) + 3
        yield from _block(label, [f"{name + ':':<{width}}{value}" for name, value in sorted(values.items())])
    environment = _environment(container)
    yield from _block("Environment", environment) if environment else (_field(4, "Environment", _NONE),)
    mounts = _mounts(container)
    yield from _block("Mounts", mounts) if mounts else (_field(4, "Mounts", _NONE),)


def _containers(pod: Doc) -> Iterator[str]:
    status = pod.get("status") or {}
    groups = (
        ("Init Containers", "initContainers", "initContainerStatuses"),
        ("Containers", "containers", "containerStatuses"),
    )
    for title, field, statuses in groups:
        containers = (pod.get("spec") or {}).get(field) or ()
        known = {s.get("name"): s for s in status.get(statuses) or ()}
        if containers:
            yield f"{title}:"
        for container in containers:
            yield from _container(container, known.get(container.get("name"), {}))


def _conditions(status: Doc) -> Iterator[str]:
    conditions = status.get("conditions") or ()
    if not conditions:
        return
    rows = []
    for condition in conditions:
        note = ": ".join(str(condition[key]) for key in _CONDITION_NOTES if condition.get(key))
        rows.append([f"  {condition.get('type')}", str(condition.get("status")), note])
    noted = any(row[2] for row in rows)
    yield "Conditions:"
    header = ["  Type", "Status", "Reason"] if noted else ["  Type", "Status"]
    yield table(header, rows if noted else [row[:2] for row in rows])


def _volumes(spec: Doc) -> Iterator[str]:
    volumes = spec.get("volumes") or ()
    if not volumes:
        return
    yield "Volumes:"
    for volume in volumes:
        yield f"  {printable(volume.get('name'))}:"
        for kind, body in volume.items():
            if kind == "name":
                continue
            yield _field(4, "Type", kind[:1].upper() + kind[1:], 12)
            for key, value in (body or {}).items():
                yield _field(4, key[:1].upper() + key[1:], value, 12)


def _events(events: Sequence[Doc], now: datetime) -> Iterator[str]:
    if not events:
        yield _field(0, "Events", _NONE, _POD_WIDTH)
        return
    yield "Events:"
    rows = [
        [
            f"  {event.get('type', '')}",
            event.get("reason", ""),
            event_age(event, now),
            (event.get("source") or {}).get("component", ""),
            " ".join(str(event.get("message", "")).split()),
        ]
        for event in events
    ]
    yield table(["  Type", "Reason", "Age", "From", "Message"], rows)


def _head(pod: Doc) -> Iterator[str]:
    meta, spec, status = pod.get("metadata") or {}, pod.get("spec") or {}, pod.get("status") or {}
    node = "/".join(part for part in (spec.get("nodeName"), status.get("hostIP")) if part)
    yield _field(0, "Name", meta.get("name", ""), _POD_WIDTH)
    yield _field(0, "Namespace", meta.get("namespace", "default"), _POD_WIDTH)
    yield _field(0, "UID", meta.get("uid", ""), _POD_WIDTH)
    yield _field(0, "Node", node or _NONE, _POD_WIDTH)
    yield _field(0, "Start Time", _when(status.get("startTime")), _POD_WIDTH)
    yield from _pairs(0, "Labels", meta.get("labels"), "=", _POD_WIDTH)
    yield from _pairs(0, "Annotations", meta.get("annotations"), ": ", _POD_WIDTH)
    deleted = meta.get("deletionTimestamp")
    if deleted:
        yield _field(0, "Status", f"Terminating (since {_when(deleted)})", _POD_WIDTH)
        yield _field(0, "Grace Period", f"{spec.get('terminationGracePeriodSeconds', 30)}s", _POD_WIDTH)
    else:
        yield _field(0, "Status", status.get("phase", ""), _POD_WIDTH)
    for label, key in (("Reason", "reason"), ("Message", "message")):
        if status.get(key):
            yield _field(0, label, status[key], _POD_WIDTH)
    yield _field(0, "IP", status.get("podIP", ""), _POD_WIDTH)
    addresses = [str(entry.get("ip")) for entry in status.get("podIPs") or ()]
    if addresses:
        yield "IPs:"
        yield from (_field(2, "IP", address, 5) for address in addresses)
    else:
        yield _field(0, "IPs", _NONE, _POD_WIDTH)


def describe_pod(pod: Doc, events: Sequence[Doc], now: datetime) -> str:
    """The pod, its containers with their states, its conditions, volumes and ``events``."""
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    lines = [*_head(pod), *_containers(pod), *_conditions(status), *_volumes(spec)]
    lines.append(_field(0, "QoS Class", status.get("qosClass", ""), _POD_WIDTH))
    lines.append(_field(0, "Restart Policy", spec.get("restartPolicy", "Always"), _POD_WIDTH))
    lines.extend(_events(events, now))
    return "\n".join(lines)
