"""What a plain YAML scalar means to kubectl and the kubelet.

Both read YAML with go-yaml v2 and turn the tree into JSON, so the rules are YAML
1.1's with exceptions: ``y``, ``on`` and their kin are booleans, ``0777`` is octal,
but ``22:22`` is no base-60 number, ``2001-12-14`` no date and ``=`` no value key.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from decimal import Decimal

__all__ = ["BadScalarError", "Scalar", "key_text", "resolve_plain", "resolve_tagged"]

Scalar = str | int | float | bool | None

_TRUE = ("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON")
_FALSE = ("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF")
_NULL = ("", "~", "null", "Null", "NULL")
_INFINITE = tuple(sign + word for sign in ("", "+", "-") for word in (".inf", ".Inf", ".INF"))
_NOT_FINITE = (".nan", ".NaN", ".NAN", *_INFINITE)
_WORDS: dict[str, Scalar] = dict.fromkeys(_TRUE, True) | dict.fromkeys(_FALSE, False) | dict.fromkeys(_NULL)

_INTEGER = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_LONGEST_INTEGER = 100  # digits; no 64-bit number has more, in whatever base
_JSON_PLAIN_BELOW = 1e21  # Go writes larger floats with an exponent, so they are no integers any more
_TAGGED_TYPES: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "null": (type(None),),
}
_TAG = "tag:yaml.org,2002:"


class BadScalarError(ValueError):
    """A scalar that has no meaning in JSON, such as ``.nan`` or a null key."""


def resolve_plain(text: str) -> Scalar:
    """The value of an unquoted scalar. Raises BadScalarError for ``.inf`` and ``.nan``."""
    if text in _WORDS:
        return _WORDS[text]
    first = text[0]
    if first not in "0123456789+-.":
        return text
    if text in _NOT_FINITE:
        raise BadScalarError(f"{text} has no place in a manifest: numbers must be finite")
    if first == ".":
        return _float(text, text)
    digits = text.replace("_", "")
    match = _INTEGER.match(digits) if len(digits) <= _LONGEST_INTEGER else None
    if match:
        sign, base16, base2, base8, base10 = match.groups()
        number = int(base16, 16) if base16 else int(base2, 2) if base2 else int(base8, 8) if base8 else int(base10)
        if number < 2**63 or (not sign and number < 2**64) or (sign == "-" and number == 2**63):
            return -number if sign == "-" else number
    return _float(digits, text)


def _float(digits: str, text: str) -> Scalar:
    """``digits`` as a number, or ``text`` as it is when that is none (or too large to be one)."""
    if not _FLOAT.match(digits):
        return text
    number = float(digits)
    if math.isinf(number):
        return text
    if number.is_integer() and abs(number) < _JSON_PLAIN_BELOW:
        return int(Decimal(repr(number)))  # on its way through JSON 1e3 becomes 1000, an integer
    return number


def resolve_tagged(tag: str, text: str) -> Scalar:
    """The value of a scalar with an explicit tag; tags outside YAML's own leave the text alone.

    Raises BadScalarError when the text cannot be what the tag says.
    """
    if tag == "!":  # the tag of no type
        return resolve_plain(text)
    kind = tag.removeprefix(_TAG)
    if kind == "binary":
        try:
            return base64.b64decode("".join(text.split()), validate=True).decode("utf-8", "replace")
        except (binascii.Error, ValueError):
            raise BadScalarError("!!binary holds invalid base64") from None
    types = _TAGGED_TYPES.get(kind) if kind != tag else None
    if types is None:
        return text
    value = resolve_plain(text)
    if type(value) not in types:
        raise BadScalarError(f"the text does not read as !!{kind}")
    return value


def key_text(value: Scalar) -> str:
    """A scalar as the key of a mapping: JSON knows only strings. Raises BadScalarError for null."""
    if isinstance(value, str):
        return value
    if value is None:
        raise BadScalarError("a key must not be empty or null")
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)
