"""How a model says what its fields are on the wire and what podsync does with them.

A model is a frozen, slotted dataclass. Its annotations are the wire types, its defaults
the zero values, and ``wire(…)`` adds the rest. ``fields_of`` reads that declaration once
a class; decoding, encoding, the JSON Schema and the table of fields all go by it.

Annotations keep to one small grammar, so that a class is looked up only when a document
needs it: ``T``, ``T | None``, ``tuple[T, ...]`` or ``Mapping[str, T]``, where ``T`` is one
of the scalars below or a model's name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from enum import Enum, StrEnum
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

if TYPE_CHECKING:
    from podsync.models.base import Model

__all__ = [
    "SUPPORTED",
    "Answer",
    "Form",
    "Int32",
    "IntOrString",
    "Scalar",
    "Support",
    "WireField",
    "declared",
    "fields_of",
    "ignored",
    "model_named",
    "off_wire",
    "refused",
    "wire",
]

Int32: TypeAlias = Annotated[int, "int32"]
"""A signed 32-bit integer of the API; a plain ``int`` annotation is the API's int64."""
IntOrString: TypeAlias = int | str
"""The API's IntOrString: a 32-bit integer or a name."""


class Scalar(Enum):
    """Leaf types of the API; the value is the word an annotation uses."""

    STRING = "str"
    BOOL = "bool"
    INT32 = "Int32"
    INT64 = "int"
    INT_OR_STRING = "IntOrString"
    QUANTITY = "Quantity"
    TIME = "datetime"
    BYTES = "bytes"
    ANY = "Any"


class Form(Enum):
    """How a field holds its element."""

    ONE = "one"
    LIST = "list"
    MAP = "map"


class Answer(StrEnum):
    """What podsync does with a field."""

    SUPPORTED = "supported"
    IGNORED = "ignored"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Support:
    """The answer for one field, and why.

    ``when`` narrows a refusal to some values: it is called with the value (for a map: with
    each key) and the model it stands in. Without it every value that is set is refused.
    ``only`` names what is honoured then. ``later`` is false for what is not meant to come.
    """

    answer: Answer
    because: str = ""
    when: Callable[..., bool] | None = None
    only: str = ""
    later: bool = True

    @property
    def text(self) -> str:
        """``supported``, ``ignored because …`` or ``refused because …``."""
        if self.answer is Answer.SUPPORTED:
            return str(self.answer)
        honoured = f"supported: {self.only}; else " if self.only else ""
        return f"{honoured}{self.answer} because {self.because}"


SUPPORTED = Support(Answer.SUPPORTED)


def ignored(because: str) -> Support:
    """The field is read and has no effect, and that is harmless: ``because`` says why."""
    return Support(Answer.IGNORED, because)


def refused(because: str, *, when: Callable[..., bool] | None = None, only: str = "", later: bool = True) -> Support:
    """The field, or the values ``when`` picks, make a manifest invalid: running it without would be wrong."""
    return Support(Answer.REFUSED, because, when, only, later)


def wire(
    default: Any, support: Support | None = None, *, name: str = "", always: bool = False, fill: Any = None
) -> Any:
    """A field of a model: its zero value, podsync's answer, and what its wire form has of its own.

    ``name`` is given where the wire name is not the attribute in camel case; ``always``
    writes the field even when it holds its zero value, as the API does for fields whose
    zero means something (``exitCode``). ``fill`` is the constant that defaulting puts in
    place of an unset field. Without ``support`` the field takes its parent's answer.
    """
    return field(default=default, metadata={"support": support, "name": name, "always": always, "fill": fill})


def off_wire(default: Any) -> Any:
    """A field of ours that no document can hold."""
    return field(default=default, metadata={"off": True})


@dataclass(frozen=True, slots=True)
class WireField:
    """One field of a model as the declaration states it."""

    attribute: str
    name: str
    """The key in a document."""
    form: Form
    element: Scalar | str
    """A scalar, or the name of a model (``model_named`` gives its class)."""
    optional: bool
    """A pointer in the API: None and the zero value are different things."""
    default: Any
    always: bool
    fill: Any
    """What defaulting puts where nothing is set; None for nothing."""
    support: Support | None


_SCALARS: Mapping[str, Scalar] = {scalar.value: scalar for scalar in Scalar}
_ANNOTATION = re.compile(
    r"(?:tuple\[(?P<list>\w+), \.\.\.\]|Mapping\[str, (?P<map>\w+)\]|(?P<one>\w+))(?P<none> \| None)?"
)
_CACHE: dict[type[Model], tuple[WireField, ...]] = {}


def model_named(name: str) -> type[Model]:
    """The model class of that name; its module is loaded when it is asked for first."""
    model: type[Model] = getattr(import_module("podsync.models"), name)
    return model


def declared(model: type[Model]) -> tuple[Field[Any], ...]:
    """The dataclass fields of a model, those that are not on the wire included."""
    return fields(model)  # type: ignore[arg-type]  # every model is a dataclass; their base is not


def fields_of(model: type[Model]) -> tuple[WireField, ...]:
    """The wire fields of a model in declaration order, read once.

    Raises ``TypeError`` for an annotation outside the grammar: a mistake in a model.
    """
    found = _CACHE.get(model)
    if found is None:
        found = tuple(_read(model, item) for item in declared(model) if "off" not in item.metadata)
        _CACHE[model] = found
    return found


def _read(model: type[Model], item: Field[Any]) -> WireField:
    match = _ANNOTATION.fullmatch(str(item.type))
    if match is None or item.default is MISSING:
        raise TypeError(f"{model.__name__}.{item.name}: {item.type} is not an annotation of a wire field")
    form = Form.LIST if match["list"] else Form.MAP if match["map"] else Form.ONE
    element = match["list"] or match["map"] or match["one"]
    return WireField(
        attribute=item.name,
        name=item.metadata.get("name") or _camel(item.name),
        form=form,
        element=_SCALARS.get(element, element),
        optional=match["none"] is not None,
        default=item.default,
        always=item.metadata.get("always", False),
        fill=item.metadata.get("fill"),
        support=item.metadata.get("support"),
    )


def _camel(attribute: str) -> str:
    first, *rest = attribute.split("_")
    return first + "".join(word.capitalize() for word in rest)
