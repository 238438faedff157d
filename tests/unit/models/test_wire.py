"""The declaration of models: what is understood and what is a mistake."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from podsync.models.base import Model
from podsync.models.wire import SUPPORTED, Form, Int32, Scalar, fields_of, off_wire, wire


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Sample(Model):
    """A model with the parts a declaration can have."""

    host_ips: tuple[str, ...] = wire((), SUPPORTED, name="hostIPs")
    exit_code: Int32 | None = wire(None, always=True, fill=7)
    plain: bool = False
    ours: str = off_wire("")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Nested(Model):
    """An annotation outside the grammar."""

    deep: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Required(Model):
    """A field without a zero value."""

    name: str


def test_reads_a_declaration() -> None:
    """Names, forms, types and the rest come from one line a field; what is not on the wire is left out."""
    ips, code, plain = fields_of(Sample)

    assert (ips.name, ips.form, ips.element, ips.optional, ips.support) == (
        "hostIPs",
        Form.LIST,
        Scalar.STRING,
        False,
        SUPPORTED,
    )
    assert (code.name, code.element, code.optional, code.always, code.fill) == ("exitCode", Scalar.INT32, True, True, 7)
    assert (plain.name, plain.attribute, plain.support, plain.fill) == ("plain", "plain", None, None)


@pytest.mark.parametrize(("model", "field"), [(Nested, "Nested.deep"), (Required, "Required.name")])
def test_a_mistake_in_a_declaration_names_the_field(model: type[Model], field: str) -> None:
    """It shows at first use, as a TypeError."""
    with pytest.raises(TypeError, match=field):
        fields_of(model)


def test_a_model_of_one_field_works_like_any_other() -> None:
    """Reading one attribute at once gives a bare value in Python; models do not care."""

    @dataclass(frozen=True, slots=True, kw_only=True, repr=False)
    class One(Model):
        """A single field."""

        name: str = ""

    assert One(name="x").to_dict() == {"name": "x"}
    assert One(name="x").evolve(name="y") == One(name="y")
