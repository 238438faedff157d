"""What every model can do."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple, Self

from podsync.models.wire import Form, Scalar, WireField, declared, fields_of

__all__ = ["Model", "Slots", "format_time", "slots_of"]

_NEVER = object()
"""Equals no value: the field is always written."""


class Model:
    """Base of all models: a value with a wire form.

    ``KIND`` is set on what can stand alone in a document; its wire form then carries
    ``apiVersion: v1`` and ``kind``.
    """

    __slots__ = ()
    KIND: ClassVar[str] = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain data with wire names, fit for JSON; what is unset is left out."""
        model = type(self)
        out: dict[str, Any] = {"apiVersion": "v1", "kind": model.KIND} if model.KIND else {}
        writer = _WRITERS.get(model) or _writer(model)
        for value, unset, row in zip(writer.get(self), writer.unset, writer.rows):  # noqa: B905 - strict costs time
            if value is unset:  # nearly always: zero values are shared
                continue
            name, encode = row
            if unset is None or value != unset:
                out[name] = value if encode is None else encode(value)
        return out

    def __repr__(self) -> str:
        slots = slots_of(type(self))
        told = zip(slots.position, slots.get(self), slots.defaults, strict=True)
        return f"{type(self).__name__}({', '.join(f'{name}={v!r}' for name, v, unset in told if v != unset)})"

    def evolve(self, **changes: Any) -> Self:
        """A copy with some attributes changed; a quick ``dataclasses.replace``.

        Raises ``KeyError`` for a name the model does not have.
        """
        slots = slots_of(type(self))
        values = list(slots.get(self))
        for name, value in changes.items():
            values[slots.position[name]] = value
        copy: Self = slots.make(values)
        return copy


class Slots(NamedTuple):
    """Quick access to all attributes of one model, in declaration order."""

    get: Callable[[Any], tuple[Any, ...]]
    """All values at once."""
    make: Callable[[Iterable[Any]], Any]
    """A new object from all values: half the time of ``__init__``."""
    defaults: tuple[Any, ...]
    position: Mapping[str, int]
    """Where an attribute stands in the three others."""


class _Writer(NamedTuple):
    get: Callable[[Any], tuple[Any, ...]]
    unset: tuple[Any, ...]
    """The values to leave out."""
    rows: tuple[tuple[str, Callable[[Any], Any] | None], ...]
    """Wire name, and how to write a value (None: as it is)."""


_SLOTS: dict[type[Model], Slots] = {}
_WRITERS: dict[type[Model], _Writer] = {}


def slots_of(model: type[Model]) -> Slots:
    """Access to the attributes of ``model``, worked out on first use."""
    slots = _SLOTS.get(model)
    if slots is None:
        items = declared(model)
        slots = Slots(
            get=_getter([item.name for item in items]),
            make=_maker(model, [item.name for item in items]),
            defaults=tuple(item.default for item in items),
            position={item.name: index for index, item in enumerate(items)},
        )
        _SLOTS[model] = slots
    return slots


def _maker(model: type[Model], names: list[str]) -> Callable[[Iterable[Any]], Any]:
    """Sets the slots directly: a frozen class has no quicker way in."""
    setters = [getattr(model, name).__set__ for name in names]
    new = object.__new__

    def make(values: Iterable[Any]) -> Any:
        made = new(model)
        for put, value in zip(setters, values):  # noqa: B905 - strict costs time
            put(made, value)
        return made

    return make


def _getter(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    if len(names) == 1:  # attrgetter gives a bare value for a single name
        single = attrgetter(names[0])
        return lambda model: (single(model),)
    return attrgetter(*names)


def _writer(model: type[Model]) -> _Writer:
    wired = fields_of(model)
    writer = _Writer(
        get=_getter([item.attribute for item in wired]),
        unset=tuple(_NEVER if item.always else item.default for item in wired),
        rows=tuple((item.name, _encoder(item)) for item in wired),
    )
    _WRITERS[model] = writer
    return writer


def _encoder(item: WireField) -> Callable[[Any], Any] | None:
    one = _SCALAR_ENCODERS.get(item.element) if isinstance(item.element, Scalar) else Model.to_dict
    match item.form:
        case Form.ONE:
            return one
        case Form.LIST:
            return list if one is None else lambda values: [one(value) for value in values]
        case Form.MAP:
            return dict if one is None else lambda values: {key: one(value) for key, value in values.items()}


def format_time(moment: datetime) -> str:
    """A moment as the API writes it: UTC, RFC 3339, whole seconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


_SCALAR_ENCODERS: dict[Scalar, Callable[[Any], Any]] = {
    Scalar.QUANTITY: str,
    Scalar.TIME: format_time,
    Scalar.BYTES: _base64,
}
