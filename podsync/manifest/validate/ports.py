"""Rules of container ports and of the node's ports they take."""

from __future__ import annotations

from collections.abc import Sequence

from podsync.errors import FieldError
from podsync.manifest.validate.names import ip_address, port_name, port_number
from podsync.manifest.validate.problems import duplicate, invalid, required, unsupported
from podsync.models import Container, ContainerPort, PodSpec

__all__ = ["validate_host_network_ports", "validate_host_ports", "validate_ports"]

_ANY_ADDRESS = ("0.0.0.0", "::")  # noqa: S104 - compared with, not bound to
_PROTOCOLS = ("SCTP", "TCP", "UDP")


def validate_ports(ports: Sequence[ContainerPort], path: str, errors: list[FieldError]) -> None:
    """Each port of one container."""
    names: set[str] = set()
    for index, port in enumerate(ports):
        if port.name:
            errors += [invalid(f"{path}[{index}].name", port.name, words) for words in port_name(port.name)]
            if port.name in names:
                errors.append(duplicate(f"{path}[{index}].name", port.name))
            names.add(port.name)
        number = port.container_port
        if number == 0:
            errors.append(required(f"{path}[{index}].containerPort"))
        else:
            errors += [invalid(f"{path}[{index}].containerPort", number, words) for words in port_number(number)]
        if port.host_port != 0:
            errors += [invalid(f"{path}[{index}].hostPort", port.host_port, w) for w in port_number(port.host_port)]
        if port.protocol not in _PROTOCOLS:
            errors.append(unsupported(f"{path}[{index}].protocol", port.protocol, _PROTOCOLS))
        if port.host_ip:
            # The API leaves this to the engine, which would refuse the pod again and again.
            errors += [invalid(f"{path}[{index}].hostIP", port.host_ip, words) for words in ip_address(port.host_ip)]


def validate_host_ports(
    containers: Sequence[Container], path: str, errors: list[FieldError], *, first: int = 0
) -> None:
    """No port of the node twice. ``first`` is the index of the first container in its list."""
    taken: dict[tuple[str, int], list[str]] = {}
    for index, container in enumerate(containers, first):
        for number, port in enumerate(container.ports):
            if port.host_port == 0:
                continue
            others = taken.setdefault((port.protocol, port.host_port), [])
            if any(_overlap(port.host_ip, other) for other in others):
                claim = f"{port.protocol}/{port.host_ip}/{port.host_port}"
                errors.append(duplicate(f"{path}[{index}].ports[{number}].hostPort", claim))
            others.append(port.host_ip)


def _overlap(one: str, other: str) -> bool:
    """Whether two hostIPs claim the same address.

    The API compares texts only; the kernel would then refuse the second of ``0.0.0.0``
    and ``127.0.0.1``.
    """
    if one == other or "" in (one, other):
        return True
    return (":" in one) == (":" in other) and not {one, other}.isdisjoint(_ANY_ADDRESS)


def validate_host_network_ports(spec: PodSpec, errors: list[FieldError]) -> None:
    """On the node's network a container's port is the node's."""
    for field, containers in (("containers", spec.containers), ("initContainers", spec.init_containers)):
        for index, container in enumerate(containers):
            for number, port in enumerate(container.ports):
                if port.host_port != port.container_port:
                    errors.append(
                        invalid(
                            f"spec.{field}[{index}].ports[{number}].hostPort",
                            port.host_port,
                            "must match `containerPort` when `hostNetwork` is true",
                        )
                    )
