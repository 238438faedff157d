"""What plain and tagged scalars mean: the cases in which YAML readers differ."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podsync.manifest.scalars import BadScalarError, key_text, resolve_plain, resolve_tagged

TAG = "tag:yaml.org,2002:"


def same(value: Any, expected: Any) -> bool:
    """Equal and of the same type: True is not 1 here, nor 1.0."""
    return type(value) is type(expected) and value == expected


@pytest.mark.parametrize("word", ["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"])
def test_true(word: str) -> None:
    """Every spelling of YAML 1.1's true is a boolean, also the one-letter ones."""
    assert resolve_plain(word) is True


@pytest.mark.parametrize("word", ["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"])
def test_false(word: str) -> None:
    """Every spelling of YAML 1.1's false is a boolean."""
    assert resolve_plain(word) is False


@pytest.mark.parametrize("word", ["", "~", "null", "Null", "NULL"])
def test_null(word: str) -> None:
    """An absent value, a tilde and null are null."""
    assert resolve_plain(word) is None


@pytest.mark.parametrize(
    "text",
    [
        "yEs", "oN", "nULL", "tRUE", "nope", "yesterday",  # other spellings are words
        "22:22", "190:20:30", "1:30:00.5",  # no base 60
        "2001-12-14", "2001-12-14t21:59:43.10-05:00",  # no dates
        "=", "-", "+", ".", "..", "...", "--", "1.2.3", "1.2.3.4", "10.0.0.1/8",
        "0x", "0xg", "0b", "0b102", "0o", "0o8", "0x1p-2", "_1", "._5", "1e", "e3", ".e3", "1e400", "-1e400",
        "128Mi", "100m", "0.5m", "1,000", "١٢٣", "true ", "<<", "inf", "nan", "infinity", ".infinity",
    ],
)  # fmt: skip
def test_strings(text: str) -> None:
    """What other readers take for numbers, dates or values stays the text it is."""
    assert resolve_plain(text) == text


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0), ("-0", 0), ("00", 0), ("7", 7), ("-7", -7), ("+7", 7), ("80", 80),
        ("0777", 511), ("0o777", 511), ("0O777", 511), ("-0777", -511), ("0644", 420), ("0400", 256),
        ("0b101", 5), ("0B101", 5), ("-0b101", -5), ("0x1F", 31), ("0X1f", 31), ("+0x1f", 31),
        ("1_000", 1000), ("1__0_", 10), ("0_7", 7), ("0x1_F", 31),
        ("08", 8), ("0899", 899), ("09", 9), ("-08", -8),
        ("1e3", 1000), ("12e6", 12000000), ("1E3", 1000), ("1.", 1), ("1.0", 1), ("1e+2", 100), ("0.0", 0),
        ("9223372036854775807", 2**63 - 1), ("-9223372036854775808", -(2**63)), ("18446744073709551615", 2**64 - 1),
        ("18446744073709551616", 18446744073709552000), ("1e20", 10**20),
    ],
)  # fmt: skip
def test_integers(text: str, number: int) -> None:
    """Integers in every base, with underscores, and floats that JSON writes as integers."""
    assert same(resolve_plain(text), number)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1.5", 1.5),
        (".5", 0.5),
        ("-.5", -0.5),
        ("+1.5", 1.5),
        ("1_0.5", 10.5),
        ("1e-3", 0.001),
        ("1e21", 1e21),
        ("09.5", 9.5),
    ],
)
def test_floats(text: str, number: float) -> None:
    """Numbers with a fraction, or too large to be written without an exponent."""
    assert same(resolve_plain(text), number)


@pytest.mark.parametrize("text", [".inf", "-.inf", "+.INF", ".Inf", ".nan", ".NaN", ".NAN"])
def test_not_finite(text: str) -> None:
    """Infinity and not-a-number have no JSON and are refused."""
    with pytest.raises(BadScalarError, match="finite"):
        resolve_plain(text)


@given(st.text())
def test_never_raises_otherwise(text: str) -> None:
    """Any text has a meaning or is refused with the one error."""
    try:
        value = resolve_plain(text)
    except BadScalarError:
        return
    assert value is None or isinstance(value, str | int | float)


@pytest.mark.parametrize("text", ["9" * 5000, "0x" + "f" * 5000, "1" * 5000 + ".5", "1e99999999999", "." + "9" * 5000])
def test_long_numbers(text: str) -> None:
    """Digits without end cost nothing and end as text or as a number, never as an error."""
    assert resolve_plain(text) in (text, 1)


@given(st.integers(-(2**63), 2**64 - 1))
def test_integers_round_trip(number: int) -> None:
    """Every 64-bit integer is read back exactly from its decimal and hexadecimal forms."""
    assert resolve_plain(str(number)) == number
    assert resolve_plain(hex(number)) == number


@pytest.mark.parametrize(
    ("tag", "text", "value"),
    [
        (TAG + "str", "5", "5"), (TAG + "str", "yes", "yes"), (TAG + "int", "5", 5), (TAG + "int", "0x10", 16),
        (TAG + "float", "1.5", 1.5), (TAG + "float", "3", 3), (TAG + "bool", "on", True), (TAG + "null", "~", None),
        (TAG + "binary", "aGVsbG8=", "hello"), (TAG + "binary", "aGVs\n bG8=", "hello"),
        (TAG + "binary", "/w==", "\ufffd"), (TAG + "timestamp", "2001-12-14", "2001-12-14"), ("!foo", "5", "5"),
        (TAG + "unheard-of", "yes", "yes"), ("int", "x", "x"), ("!", "12", 12),
    ],
)  # fmt: skip
def test_tags(tag: str, text: str, value: Any) -> None:
    """YAML's own tags are obeyed, any other is ignored and the text stays a string."""
    assert same(resolve_tagged(tag, text), value)


@pytest.mark.parametrize(
    ("tag", "text"),
    [
        ("int", "x"),
        ("int", "1.5"),
        ("int", "yes"),
        ("float", "x"),
        ("bool", "1"),
        ("null", "x"),
        ("binary", "@@"),
        ("float", ".inf"),
    ],
)
def test_wrong_tags(tag: str, text: str) -> None:
    """A text that is not what its tag says is refused."""
    with pytest.raises(BadScalarError):
        resolve_tagged(TAG + tag, text)


@pytest.mark.parametrize(
    ("value", "key"), [("a", "a"), (1, "1"), (True, "true"), (False, "false"), (1.5, "1.5"), (-3, "-3")]
)
def test_keys(value: Any, key: str) -> None:
    """Keys become the strings that JSON has for them."""
    assert key_text(value) == key


def test_null_key() -> None:
    """A null key is refused."""
    with pytest.raises(BadScalarError, match="key"):
        key_text(None)
