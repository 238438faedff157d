"""Plain data to models, by the rules of Go's JSON decoding as Kubernetes uses it.

A wrong type is an error with its path; so is a number out of range. Null is the same as
not written. Names are exact: an unknown one (``Containers``, ``imagePullPolicY``) is a
warning that names the nearest known field. All problems of a document are told at once.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

from podsync.errors import FieldError
from podsync.manifest.defaults import with_defaults
from podsync.models import ConfigMap, FrozenMap, Pod, Quantity, Secret, refusals
from podsync.models.base import Model, slots_of
from podsync.models.wire import Form, Scalar, WireField, fields_of, model_named

__all__ = ["decode", "decode_config_map", "decode_pod", "decode_secret", "parse_base64", "parse_time", "shown"]

_M = TypeVar("_M", bound=Model)
_Decode = Callable[[Any, list["_Problem"]], Any]

_SUGGESTED: Final = 50  # a document with more problems than this gets no further guesses at names
_MOST_WARNINGS: Final = 1000  # a document with more problems than this gets no further warnings
_ENOUGH: Final = 2000  # with more problems than this there are many errors: the rest of a list or map is not read
_MOST_ITEMS: Final = 10_000  # of a list inside an object
_SHOWN: Final = 64  # characters of a key or value that a message repeats
_INT32: Final = (-(2**31), 2**31 - 1)
_INT64: Final = (-(2**63), 2**63 - 1)
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", re.ASCII)
_HEADER: Final = ("apiVersion", "kind")


def decode_pod(document: Any) -> tuple[Pod | None, list[FieldError]]:
    """The v1 Pod of a document, as far as it can be read, with defaults, and every problem found.

    None when the document is no mapping. Fields that podsync refuses are among the
    problems; values are not validated. ``status`` is checked and dropped; ``apiVersion``
    and ``kind`` are for whoever chose to read a Pod.
    """
    pod, errors = decode(Pod, document)
    if pod is None:
        return None, errors
    if pod.status is not None:
        pod = pod.evolve(status=None)
    return with_defaults(pod), errors + refusals(pod)


def decode_config_map(document: Any) -> tuple[ConfigMap | None, list[FieldError]]:
    """The v1 ConfigMap of a document, as ``decode_pod`` reads a Pod."""
    config, errors = decode(ConfigMap, document)
    return (None if config is None else with_defaults(config)), errors


def decode_secret(document: Any) -> tuple[Secret | None, list[FieldError]]:
    """The v1 Secret of a document, as ``decode_pod`` reads a Pod; no message shows a value."""
    secret, errors = decode(Secret, document)
    return (None if secret is None else with_defaults(secret)), errors


def decode(model: type[_M], document: Any) -> tuple[_M | None, list[FieldError]]:
    """Read ``document`` as ``model`` and no more; what cannot be read is left unset and told.

    None, with an error, when the document is no mapping.
    """
    problems: list[_Problem] = []
    made: _M = (_DECODERS.get(model) or _decoder(model))(document, problems)
    errors = [FieldError(problem.path, problem.message, warning=problem.warning) for problem in problems]
    return (made if isinstance(document, dict) else None), errors


class _Problem:
    """A FieldError in the making: its path grows from the inside out."""

    __slots__ = ("message", "path", "warning")

    def __init__(self, message: str, path: str = "", *, warning: bool = False) -> None:
        self.message = message
        self.path = path
        self.warning = warning


_DECODERS: dict[type[Model], _Decode] = {}


def _decoder(model: type[_M]) -> _Decode:
    """The decoder of one model, put together on first use."""
    slots = slots_of(model)
    table = {
        item.name: (
            slots.position[item.attribute],
            _AS_IT_IS.get(item.element) if item.form is Form.ONE else None,
            _field_decoder(item),
        )
        for item in fields_of(model)
    }

    def decode_model(document: Any, problems: list[_Problem]) -> Any:
        values = list(slots.defaults)
        count = len(problems)
        if not isinstance(document, dict):
            problems.append(_wrong("an object", document))
            document = {}
        for key, raw in document.items():
            entry = table.get(key)
            if entry is None:
                _unknown(key, model, table, problems)
                count = len(problems)
                continue
            position, plain, decode_field = entry
            if type(raw) is plain:
                values[position] = raw
            elif raw is not None:
                values[position] = decode_field(raw, problems)
                if len(problems) != count:
                    _place(problems, count, key)
                    count = len(problems)
        return slots.make(values)

    _DECODERS[model] = decode_model
    return decode_model


def _place(problems: list[_Problem], since: int, step: str) -> None:
    """Put one more step before the paths of the newest problems."""
    for problem in problems[since:]:
        inner = problem.path
        problem.path = f"{step}.{inner}" if inner and not inner.startswith("[") else step + inner


def _field_decoder(item: WireField) -> _Decode:
    if isinstance(item.element, Scalar):
        one, nothing = _SCALARS[item.element]
    else:
        one, nothing = _by_name(item.element), None
    match item.form:
        case Form.ONE:
            return one
        case Form.LIST:
            return _list_decoder(one, nothing)
        case Form.MAP:
            return _map_decoder(one, nothing)


def _by_name(name: str) -> _Decode:
    """Decodes the model of that name, whose module is loaded when a document first has one."""
    found: list[_Decode] = []

    def decode_named(raw: Any, problems: list[_Problem]) -> Any:
        if not found:
            model = model_named(name)
            found.append(_DECODERS.get(model) or _decoder(model))
        return found[0](raw, problems)

    return decode_named


def _list_decoder(one: _Decode, nothing: Any) -> _Decode:
    def decode_list(raw: Any, problems: list[_Problem]) -> tuple[Any, ...]:
        if not isinstance(raw, list):
            problems.append(_wrong("a list", raw))
            return ()
        if len(raw) > _MOST_ITEMS:
            problems.append(_Problem(f"Too many: {len(raw)}: must have at most {_MOST_ITEMS} items"))
            return ()
        made = []
        count = len(problems)
        for element in raw:
            made.append(one(element, problems) if element is not None else _zero(one, nothing))
            if len(problems) != count:
                _place(problems, count, f"[{len(made) - 1}]")
                count = len(problems)
                if count > _ENOUGH:
                    break
        return tuple(made)

    return decode_list


def _map_decoder(one: _Decode, nothing: Any) -> _Decode:
    def decode_map(raw: Any, problems: list[_Problem]) -> FrozenMap[Any]:
        if not isinstance(raw, dict):
            problems.append(_wrong("an object", raw))
            return FrozenMap()
        made = {}
        for key, element in raw.items():
            before = len(problems)
            if not isinstance(key, str):
                problems.append(_Problem("Invalid value: a key must be a string"))
            else:
                made[key] = one(element, problems) if element is not None else _zero(one, nothing)
            if len(problems) > before:
                _place(problems, before, f"[{shown(str(key))}]")
                if len(problems) > _ENOUGH:
                    break
        return FrozenMap(made)

    return decode_map


def _zero(one: _Decode, nothing: Any) -> Any:
    """What null stands for inside a list or map: the zero value, as Go leaves it."""
    return one({}, []) if nothing is None else nothing


def _unknown(key: Any, model: type[Model], known: Mapping[str, Any], problems: list[_Problem]) -> None:
    if not isinstance(key, str):
        problems.append(_Problem("Invalid value: a key must be a string", shown(str(key))))
        return
    if len(problems) >= _MOST_WARNINGS or (model.KIND and key in _HEADER):
        return
    nearest = _nearest(key, known) if len(problems) < _SUGGESTED else None
    hint = f'did you mean "{nearest}"?' if nearest else f"{model.__name__} has no such field"
    problems.append(_Problem(f"Unknown field: {hint}", shown(key), warning=True))


def _nearest(key: str, known: Mapping[str, Any]) -> str | None:
    folded = key.replace("_", "").replace("-", "").casefold()
    for name in known:
        if name.casefold() == folded:
            return name
    if len(key) > _SHOWN:
        return None
    import difflib  # 2 ms, and only misspelt manifests need it

    close = difflib.get_close_matches(key, known, n=1)
    return close[0] if close else None


def shown(text: str) -> str:
    """A key as paths show it: as it is, or quoted where it is empty, long or would break the line."""
    if text and text.isprintable() and len(text) <= _SHOWN:
        return text
    return json.dumps(text if len(text) <= _SHOWN else text[:_SHOWN] + "…", ensure_ascii=not text.isprintable())


def _wrong(wanted: str, value: Any) -> _Problem:
    return _Problem(f"Invalid value: must be {wanted}, not {_kind(value)}")


def _kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "a list"
        case dict():
            return "an object"
        case _:
            return f"a {type(value).__name__}"


def _string(raw: Any, problems: list[_Problem]) -> str:
    if isinstance(raw, str):
        return raw
    wrong = _wrong("a string", raw)
    if isinstance(raw, int | float):
        wrong.message += "; put it in quotes"
    problems.append(wrong)
    return ""


def _bool(raw: Any, problems: list[_Problem]) -> bool:
    if raw is True or raw is False:
        return raw
    problems.append(_wrong("true or false", raw))
    return False


def _integer(low: int, high: int, wanted: str = "an integer") -> _Decode:
    def decode_integer(raw: Any, problems: list[_Problem]) -> int:
        value = int(raw) if isinstance(raw, float) and raw.is_integer() else raw
        if type(value) is not int:
            problems.append(
                _wrong(wanted, raw) if type(raw) is not float else _Problem(f"Invalid value: must be {wanted}")
            )
        elif low <= value <= high:
            return value
        else:
            problems.append(_Problem(f"Invalid value: must be between {low} and {high}, inclusive"))
        return 0

    return decode_integer


_INTEGER_OR_NAME: Final = _integer(*_INT32, "an integer or a string")


def _int_or_string(raw: Any, problems: list[_Problem]) -> int | str:
    return raw if isinstance(raw, str) else _INTEGER_OR_NAME(raw, problems)


def _quantity(raw: Any, problems: list[_Problem]) -> Quantity:
    try:
        if isinstance(raw, str):
            return Quantity(raw)
        if isinstance(raw, int | float) and not isinstance(raw, bool):
            return Quantity(repr(raw))
    except ValueError as error:
        value = f"{json.dumps(raw)}: " if isinstance(raw, str) and len(raw) <= _SHOWN else ""
        problems.append(_Problem(f"Invalid value: {value}{error}"))
    else:
        problems.append(_wrong("a quantity", raw))
    return _NOTHING


def _time(raw: Any, problems: list[_Problem]) -> datetime | None:
    moment = parse_time(raw) if isinstance(raw, str) else None
    if moment is None:
        problems.append(_Problem("Invalid value: must be a time such as 2006-01-02T15:04:05Z"))
    return moment


def parse_time(text: str) -> datetime | None:
    """The moment that an RFC 3339 text names, in UTC; None for any other text."""
    if _TIME.fullmatch(text) is None:
        return None
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):  # such as a month 13, or the year 0
        return None


def _bytes(raw: Any, problems: list[_Problem]) -> bytes:
    data = parse_base64(raw) if isinstance(raw, str) else None
    if data is None:
        problems.append(_Problem("Invalid value: must be a base64 string"))
        return b""
    return data


def parse_base64(text: str) -> bytes | None:
    """The bytes of a standard base64 text, line breaks allowed; None for any other text."""
    try:
        return base64.b64decode(text.replace("\n", "").replace("\r", ""), validate=True)
    except (binascii.Error, ValueError):
        return None


def _any(raw: Any, _: list[_Problem]) -> Any:
    return raw


_NOTHING: Final = Quantity(0)
_AS_IT_IS: Final[Mapping[Scalar | str, type]] = {Scalar.STRING: str, Scalar.BOOL: bool}
"""The quick way: what has exactly this type already needs no decoder."""
_SCALARS: Final[Mapping[Scalar, tuple[_Decode, Any]]] = {
    Scalar.STRING: (_string, ""),
    Scalar.BOOL: (_bool, False),
    Scalar.INT32: (_integer(*_INT32), 0),
    Scalar.INT64: (_integer(*_INT64), 0),
    Scalar.INT_OR_STRING: (_int_or_string, 0),
    Scalar.QUANTITY: (_quantity, _NOTHING),
    Scalar.TIME: (_time, None),
    Scalar.BYTES: (_bytes, b""),
    Scalar.ANY: (_any, None),
}
"""How to read each scalar, and what null stands for inside a list or map."""
