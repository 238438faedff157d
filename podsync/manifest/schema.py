"""The JSON Schema of what a document of a manifest may be, derived from the models.

It says the same as the decoder: for editors, and for whoever checks documents without
podsync. Field names are closed (an unknown one is a mistake here, as under ``--strict``);
null stands for "not written", as it does for the API. What the API demands beyond types
is the business of validation.

``python -m podsync.manifest.schema`` prints it; the package ships that text as
``podsync/manifest/pod.schema.json``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from podsync.errors import FieldError
from podsync.manifest.decode import parse_base64, parse_time, shown
from podsync.models import ConfigMap, Pod, Secret
from podsync.models.base import Model
from podsync.models.quantity import MAX_LENGTH, PATTERN
from podsync.models.wire import Answer, Form, Scalar, WireField, fields_of, model_named

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator, ValidationError

__all__ = ["check", "schema", "text"]

_KINDS: Final = (Pod, ConfigMap, Secret)
_LISTS: Final = ("List", "PodList")
_INT32: Final = {"minimum": -(2**31), "maximum": 2**31 - 1}
_INT64: Final = {"minimum": -(2**63), "maximum": 2**63 - 1}

_SCALARS: Final[Mapping[Scalar, Mapping[str, Any]]] = {
    Scalar.STRING: {"type": ["string", "null"]},
    Scalar.BOOL: {"type": ["boolean", "null"]},
    Scalar.INT32: {"type": ["integer", "null"], **_INT32},
    Scalar.INT64: {"type": ["integer", "null"], **_INT64},
    Scalar.INT_OR_STRING: {"type": ["integer", "string", "null"], **_INT32},
    Scalar.QUANTITY: {"type": ["string", "number", "null"], "pattern": f"^{PATTERN}$", "maxLength": MAX_LENGTH},
    Scalar.TIME: {"type": ["string", "null"], "format": "date-time"},
    Scalar.BYTES: {"type": ["string", "null"], "format": "byte", "contentEncoding": "base64"},
    Scalar.ANY: {},
}


def schema() -> dict[str, Any]:
    """Give the schema (draft 2020-12) of one document: a Pod, ConfigMap, Secret, List or PodList."""
    definitions: dict[str, Any] = {}
    for kind in _KINDS:
        _define(kind, definitions)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A document of a podsync manifest",
        "type": "object",
        "properties": {"apiVersion": {"const": "v1"}, "kind": {"enum": sorted([*(k.KIND for k in _KINDS), *_LISTS])}},
        "required": ["apiVersion", "kind"],
        "allOf": [
            *(_when(kind.KIND, {"$ref": f"#/$defs/{kind.KIND}"}) for kind in _KINDS),
            _when("List", _list_of({"$ref": "#"})),
            _when("PodList", _list_of({"$ref": "#/$defs/Pod"})),
        ],
        "$defs": dict(sorted(definitions.items())),
    }


def text() -> str:
    """Give the schema as the text of a file."""
    return json.dumps(schema(), indent=1) + "\n"


def check(document: Any) -> list[FieldError]:
    """Apply the schema to one document; unknown fields are warnings, as in decoding.

    No message shows a value. Loads jsonschema on first use, which takes a while.
    """
    found = (problem for error in _validator().iter_errors(document) for problem in _problems(error))
    return list(dict.fromkeys(found))  # a header is asked for twice: of the document and of its kind


def _when(kind: str, then: Mapping[str, Any]) -> dict[str, Any]:
    chosen = {"type": "object", "properties": {"kind": {"const": kind}}, "required": ["kind"]}
    return {"if": chosen, "then": then}


def _list_of(item: Mapping[str, Any]) -> dict[str, Any]:
    properties = {"apiVersion": {}, "kind": {}, "metadata": {"type": ["object", "null"]}}
    return {
        "properties": {**properties, "items": {"type": ["array", "null"], "items": item}},
        "additionalProperties": False,
    }


def _define(model: type[Model], definitions: dict[str, Any]) -> None:
    """Add the definition of a model and of all below it."""
    if model.__name__ in definitions:
        return
    properties: dict[str, Any] = {"apiVersion": {"const": "v1"}, "kind": {"const": model.KIND}} if model.KIND else {}
    definitions[model.__name__] = {
        "type": ["object", "null"],
        "description": (model.__doc__ or "").split("\n", 1)[0],
        "properties": properties,
        "additionalProperties": False,
    }
    for item in fields_of(model):
        properties[item.name] = _property(item)
        if isinstance(item.element, str):
            _define(model_named(item.element), definitions)


def _property(item: WireField) -> dict[str, Any]:
    if isinstance(item.element, Scalar):
        one: dict[str, Any] = dict(_SCALARS[item.element])
    else:
        one = {"$ref": f"#/$defs/{item.element}"}
    match item.form:
        case Form.LIST:
            one = {"type": ["array", "null"], "items": one}
        case Form.MAP:
            one = {"type": ["object", "null"], "additionalProperties": one}
        case Form.ONE:
            pass
    if item.fill is not None:
        one["default"] = item.fill.to_dict() if isinstance(item.fill, Model) else item.fill
    if item.support is not None and item.support.answer is not Answer.SUPPORTED:
        one["description"] = f"podsync: {item.support.text}"
    return one


@cache
def _validator() -> Draft202012Validator:
    from jsonschema import Draft202012Validator, FormatChecker  # 0.2 s

    formats = FormatChecker(formats=())
    formats.checks("date-time")(lambda value: not isinstance(value, str) or parse_time(value) is not None)
    formats.checks("byte")(lambda value: not isinstance(value, str) or parse_base64(value) is not None)
    return Draft202012Validator(schema(), format_checker=formats)


def _problems(error: ValidationError) -> Iterator[FieldError]:
    path = _path(error.absolute_schema_path, error.absolute_path)
    instance: Any = error.instance
    rules: Any = error.schema
    wanted: Any = error.validator_value
    match error.validator:
        case "additionalProperties":
            for name in (name for name in instance if name not in rules["properties"]):
                yield FieldError(f"{path}.{shown(name)}".lstrip("."), "Unknown field", warning=True)
        case "required":
            for name in (name for name in wanted if name not in instance):
                yield FieldError(f"{path}.{name}".lstrip("."), "Required value")
        case "enum" | "const":
            values = wanted if isinstance(wanted, list) else [wanted]
            yield FieldError(path, "Unsupported value: supported values: " + ", ".join(map(json.dumps, values)))
        case "minimum" | "maximum":
            yield FieldError(
                path, f"Invalid value: must be between {rules['minimum']} and {rules['maximum']}, inclusive"
            )
        case _:
            yield FieldError(path, f"Invalid value: must be {_wanted(rules)}")


def _wanted(rules: Mapping[str, Any]) -> str:
    """Say in words what a scalar's rules ask for."""
    if "pattern" in rules:
        return "a quantity such as 500m or 1.5Gi"
    if "format" in rules:
        return "a base64 string" if rules["format"] == "byte" else "a time such as 2006-01-02T15:04:05Z"
    kinds = rules["type"] if isinstance(rules["type"], list) else [rules["type"]]
    return "of type " + " or ".join(kind for kind in kinds if kind != "null")


def _path(rules: Iterable[Any], steps: Iterable[Any]) -> str:
    """Write a field path: the rules passed tell a field from a map's key."""
    path, remaining, passed = "", iter(steps), iter(rules)
    for rule in passed:
        if rule == "properties":
            next(passed)  # the name, which is the next step too
            path += f".{next(remaining)}"
        elif rule in ("items", "additionalProperties"):
            step = next(remaining, None)
            path += "" if step is None else f"[{step if isinstance(step, int) else shown(step)}]"
    return path.lstrip(".")


if __name__ == "__main__":
    sys.stdout.write(text())
