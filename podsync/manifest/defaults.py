"""What the API fills in where a manifest says nothing.

Constants stand in the models (``fill``); here are the walk that puts them in, and the
defaults that depend on something else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeVar

from podsync.models import ConfigMap, EmptyDirVolumeSource, FrozenMap, Pod, Secret, Volume
from podsync.models.base import Model, slots_of
from podsync.models.frozen import EMPTY
from podsync.models.wire import Form, WireField, fields_of

if TYPE_CHECKING:
    from podsync.models import (
        Container,
        ImageVolumeSource,
        PodSpec,
        Quantity,
        ResourceRequirements,
        VolumeResourceRequirements,
    )

__all__ = ["DEFAULT_NAMESPACE", "pull_policy", "with_defaults"]

DEFAULT_NAMESPACE: Final = "default"

_T = TypeVar("_T", Pod, ConfigMap, Secret)
_Fill = Callable[[Any], Any]
_Changes = dict[str, Any]
_Rule = Callable[[Any], _Changes]
_NANOS_IN_MILLI: Final = 10**6
_SOURCES: Final = len(slots_of(Volume).position) - 1  # all its attributes but the name
_NEVER: Final = object()
_IMAGE_ID: Final = re.compile(r"[0-9a-f]{64}")


def with_defaults(item: _T) -> _T:
    """``item`` with every unset field that the API fills in; the same object when there is none.

    Filling in twice changes nothing. For a Secret ``stringData`` moves into ``data``.
    """
    if not item.metadata.namespace:
        item = item.evolve(metadata=item.metadata.evolve(namespace=DEFAULT_NAMESPACE))
    filled: _T = _fill(item)
    return filled


def pull_policy(image: str) -> str:
    """``imagePullPolicy`` of an image that names none: ``Always`` for the tag latest, written or meant.

    A digest without a tag, or a bare image id, names one content: ``IfNotPresent``.
    """
    return _pull_policy(image)


@lru_cache(maxsize=1024)
def _pull_policy(image: str) -> str:
    name, _, digest = image.partition("@")
    _, colon, tag = name.rpartition("/")[2].partition(":")
    if not colon and not digest and not _IMAGE_ID.fullmatch(name):
        tag = "latest"
    return "Always" if tag == "latest" else "IfNotPresent"


def _fill(model: Any) -> Any:
    """``model`` with the defaults its class has a rule for, then those of its fields and of all below."""
    kind = type(model)
    rule, steps = _PLANS.get(kind) or _plan(kind)
    if rule is None and not steps:
        return model
    slots = slots_of(kind)
    given: Sequence[Any] = slots.get(model)
    changed: list[Any] = []
    if rule is not None and (changes := rule(model)):
        given = changed = list(given)
        for attribute, value in changes.items():
            changed[slots.position[attribute]] = value
    for position, unset, constant, below in steps:
        value = given[position]
        if value is unset or (not value and value == unset):
            filled = constant
        elif below is not None:
            filled = below(value)
        else:
            continue
        if filled is not value:
            if not changed:
                given = changed = list(given)
            changed[position] = filled
    return slots.make(changed) if changed else model


_Step = tuple[int, Any, Any, _Fill | None]
_PLANS: dict[type[Model], tuple[_Rule | None, tuple[_Step, ...]]] = {}


def _plan(kind: type[Model]) -> tuple[_Rule | None, tuple[_Step, ...]]:
    """A model's rule, its fields with a constant to fill in, and those with models below."""
    position = slots_of(kind).position
    steps = tuple(
        (position[item.attribute], _unset(item), item.default if item.fill is None else item.fill, _below(item))
        for item in fields_of(kind)
        if item.fill is not None or isinstance(item.element, str)
    )
    _PLANS[kind] = plan = (_RULES.get(kind.__name__), steps)
    return plan


def _unset(item: WireField) -> Any:
    """The value that a constant replaces. A structure that is no pointer is always there to be filled in."""
    return _NEVER if isinstance(item.default, Model) else item.default


def _below(item: WireField) -> _Fill | None:
    if not isinstance(item.element, str):
        return None
    return _fill if item.form is Form.ONE else _fill_each


def _fill_each(models: tuple[Model, ...]) -> tuple[Model, ...]:
    filled = tuple(map(_fill, models))
    return models if all(map(_same, filled, models)) else filled


def _same(one: object, other: object) -> bool:
    return one is other


def _spec(spec: PodSpec) -> _Changes:
    """Overhead is rounded like any amount; on the host's network a container's port is the host's."""
    changes: _Changes = {"overhead": _rounded(spec.overhead)} if spec.overhead else {}
    if spec.host_network:
        changes["containers"] = tuple(map(_with_host_ports, spec.containers))
        changes["init_containers"] = tuple(map(_with_host_ports, spec.init_containers))
    return changes


def _with_host_ports(container: Container) -> Container:
    ports = (port if port.host_port else port.evolve(host_port=port.container_port) for port in container.ports)
    return container.evolve(ports=tuple(ports)) if container.ports else container


def _container(container: Container) -> _Changes:
    """A limit without a request is a request too."""
    changes = _ephemeral(container)
    resources = container.resources
    missing = {key: limit for key, limit in resources.limits.items() if key not in resources.requests}
    if missing:
        changes["resources"] = resources.evolve(requests=FrozenMap({**resources.requests, **missing}))
    return changes


def _ephemeral(container: Container) -> _Changes:
    return {} if container.image_pull_policy else {"image_pull_policy": pull_policy(container.image)}


def _image_volume(image: ImageVolumeSource) -> _Changes:
    return {} if image.pull_policy else {"pull_policy": pull_policy(image.reference)}


def _resources(resources: ResourceRequirements | VolumeResourceRequirements) -> _Changes:
    """Amounts finer than a thousandth are rounded up to one."""
    limits, requests = _rounded(resources.limits), _rounded(resources.requests)
    same = limits is resources.limits and requests is resources.requests
    return {} if same else {"limits": limits, "requests": requests}


def _rounded(amounts: Mapping[str, Quantity]) -> Mapping[str, Quantity]:
    for amount in amounts.values():
        if amount.nanos % _NANOS_IN_MILLI:
            return FrozenMap({key: each.rounded_to_milli() for key, each in amounts.items()})
    return amounts


def _volume(volume: Volume) -> _Changes:
    """A volume without any source is an empty directory."""
    bare = slots_of(Volume).get(volume).count(None) == _SOURCES
    return {"empty_dir": EmptyDirVolumeSource()} if bare else {}


def _secret(secret: Secret) -> _Changes:
    """``stringData`` is only a way to write ``data``, and wins over it."""
    if not secret.string_data:
        return {}
    written = {key: text.encode("utf-8", "surrogatepass") for key, text in secret.string_data.items()}
    return {"data": FrozenMap({**secret.data, **written}), "string_data": EMPTY}


_RULES: Final[Mapping[str, _Rule]] = {
    "Container": _container,
    "EphemeralContainer": _ephemeral,
    "ImageVolumeSource": _image_volume,
    "PodSpec": _spec,
    "ResourceRequirements": _resources,
    "Secret": _secret,
    "Volume": _volume,
    "VolumeResourceRequirements": _resources,
}
"""Defaults that are no constants, by the model's name (its module may not be loaded)."""
