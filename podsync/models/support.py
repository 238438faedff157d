"""Which fields of a pod this release cannot honour."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from podsync.errors import FieldError
from podsync.models.base import Model, slots_of
from podsync.models.wire import Answer, Form, Scalar, Support, WireField, fields_of

__all__ = ["refusals"]

_Check = Callable[[Any, Model, str, list[FieldError]], None]
_CHECKS: dict[type[Model], tuple[tuple[int, str, Any, _Check], ...]] = {}


def refusals(model: Model, path: str = "") -> list[FieldError]:
    """One error for each field that is set and refused (``refused`` in its declaration).

    Ask before defaults are filled in or after: the answer is the same. What stands below
    a refused or ignored field is not looked at.
    """
    found: list[FieldError] = []
    _collect(model, f"{path}." if path else "", found)
    return found


def _collect(model: Model, prefix: str, found: list[FieldError]) -> None:
    kind = type(model)
    checks = _CHECKS.get(kind)
    if checks is None:
        checks = _CHECKS[kind] = tuple(_checks(kind))
    if not checks:
        return
    values = slots_of(kind).get(model)
    for position, name, unset, check in checks:
        value = values[position]
        if value is not unset and value != unset:
            check(value, model, prefix + name, found)


def _checks(kind: type[Model]) -> Iterator[tuple[int, str, Any, _Check]]:
    position = slots_of(kind).position
    for item in fields_of(kind):
        support = item.support
        if support is not None and support.answer is Answer.REFUSED:
            yield position[item.attribute], item.name, item.default, _refuser(item, support)
        elif isinstance(item.element, str) and (support is None or support.answer is Answer.SUPPORTED):
            check = _below if item.form is Form.ONE else _below_each
            yield position[item.attribute], item.name, item.default, check


def _below(value: Any, _: Model, path: str, found: list[FieldError]) -> None:
    _collect(value, f"{path}.", found)


def _below_each(values: Any, _: Model, path: str, found: list[FieldError]) -> None:
    for index, value in enumerate(values):
        _collect(value, f"{path}[{index}].", found)


def _refuser(item: WireField, support: Support) -> _Check:
    when = support.when

    def refuse(value: Any, owner: Model, path: str, found: list[FieldError]) -> None:
        if when is None:
            found.append(FieldError(path, _message(item.name, support)))
        elif when(value, owner):
            shown = f"{item.name}: {_text(value)}" if isinstance(item.element, Scalar) else item.name
            found.append(FieldError(path, _message(shown, support)))

    def refuse_entries(entries: Any, owner: Model, path: str, found: list[FieldError]) -> None:
        found += [
            FieldError(f"{path}[{key}]", _message(key, support)) for key in entries if when is None or when(key, owner)
        ]

    return refuse_entries if item.form is Form.MAP else refuse


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _message(what: str, support: Support) -> str:
    return f"Forbidden: podsync does not support {what}{' yet' if support.later else ''}: {support.because}"
