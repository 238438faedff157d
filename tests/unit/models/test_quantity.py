"""Quantities: the API's grammar, exact values and canonical text."""

import pickle
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podsync.models import Quantity

MULTIPLIERS = {
    "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "": Fraction(1),
    "k": Fraction(10**3), "M": Fraction(10**6), "G": Fraction(10**9), "T": Fraction(10**12),
    "Ki": Fraction(2**10), "Mi": Fraction(2**20), "Gi": Fraction(2**30), "e3": Fraction(1000),
    "E-2": Fraction(1, 100), "e+5": Fraction(10**5),
}  # fmt: skip
WRONG_FORM = r"quantities must match the regular expression '\^\(\[\+-\]\?\[0-9\.\]\+\)"
WRONG_SUFFIX = "unable to parse quantity's suffix"


def numbers() -> st.SearchStrategy[str]:
    """Signed decimal numbers as people write them, with or without either side of the point."""
    whole = st.integers(0, 10**9).map(str)
    fraction = st.integers(0, 10**9).map(lambda digits: f".{digits}")
    body = st.one_of(whole, fraction, st.tuples(whole, fraction).map("".join), whole.map(lambda digits: f"{digits}."))
    return st.tuples(st.sampled_from(["", "-", "+"]), body).map("".join)


@pytest.mark.parametrize(
    ("text", "canonical", "value", "milli"),
    [
        ("0", "0", 0, 0),
        ("0Gi", "0", 0, 0),
        ("0.5", "500m", 1, 500),
        ("1500m", "1500m", 2, 1500),
        ("1000m", "1", 1, 1000),
        ("0.1m", "100u", 1, 1),
        ("129e6", "129e6", 129 * 10**6, 129 * 10**9),
        ("12e2", "1200", 1200, 1_200_000),
        ("12E-2", "120e-3", 1, 120),
        ("1e+5", "100e3", 10**5, 10**8),
        ("1E", "1E", 10**18, 10**21),
        ("1E3", "1e3", 1000, 10**6),
        ("1000E", "1000E", 10**21, 10**24),
        ("1000000", "1M", 10**6, 10**9),
        ("1001k", "1001k", 1_001_000, 1_001_000_000),
        ("1.5Gi", "1536Mi", 1_610_612_736, 1_610_612_736_000),
        ("1024Mi", "1Gi", 2**30, 2**30 * 1000),
        ("1000Ki", "1000Ki", 1_024_000, 1_024_000_000),
        ("0.5Ki", "512", 512, 512_000),
        ("1.1Ki", "1126400m", 1127, 1_126_400),
        ("1.Mi", "1Mi", 2**20, 2**20 * 1000),
        (".5", "500m", 1, 500),
        ("+5", "5", 5, 5000),
        (" 1 ", "1", 1, 1000),
        ("-1.5", "-1500m", -1, -1500),
        ("-1.5Gi", "-1536Mi", -1_610_612_736, -1_610_612_736_000),
        ("0.1n", "1n", 1, 1),
        ("-0.1n", "-1n", 0, 0),
        ("100Ei", "9223372036854775807", 2**63 - 1, (2**63 - 1) * 1000),
        ("1e30", "1e30", 10**30, 10**33),
    ],
)
def test_reads_and_prints_as_the_api_does(text: str, canonical: str, value: int, milli: int) -> None:
    """The canonical text has no fraction and the largest lossless suffix; values round up."""
    quantity = Quantity(text)

    assert (str(quantity), quantity.value, quantity.milli) == (canonical, value, milli)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", WRONG_FORM),
        ("K", WRONG_FORM),
        ("1 Gi", WRONG_FORM),
        ("1_000", WRONG_FORM),
        ("NaN", WRONG_FORM),
        ("Infinity", WRONG_FORM),
        ("1..2", WRONG_FORM),
        ("1.5.5", WRONG_FORM),
        ("1Zi", WRONG_FORM),
        ("--1", WRONG_FORM),
        ("\u0661", WRONG_FORM),
        ("1\x00", WRONG_FORM),
        ("1K", WRONG_SUFFIX),
        ("1i", WRONG_SUFFIX),
        ("1e", WRONG_SUFFIX),
        ("1e+", WRONG_SUFFIX),
        ("1mm", WRONG_SUFFIX),
        ("1e1000000", WRONG_SUFFIX),
        (".", "unable to parse numeric part"),
        ("1" * 65, "no more than 64 characters"),
    ],
)
def test_refuses_what_is_no_quantity_in_the_apis_words(text: str, message: str) -> None:
    """Anything outside the grammar is a ValueError that says what is wrong."""
    with pytest.raises(ValueError, match=message):
        Quantity(text)


@given(number=numbers(), suffix=st.sampled_from(sorted(MULTIPLIERS)))
def test_value_is_exact_to_a_billionth(number: str, suffix: str) -> None:
    """The value is the written number times its suffix, rounded away from zero at the ninth decimal."""
    exact = Fraction(number.removesuffix(".")) * MULTIPLIERS[suffix]

    nanos = Quantity(number + suffix).nanos

    assert abs(nanos) >= abs(exact) * 10**9 > abs(nanos) - 1
    assert nanos * exact >= 0


@given(number=numbers(), suffix=st.sampled_from(sorted(MULTIPLIERS)))
def test_canonical_text_keeps_the_value_and_is_its_own_canonical_text(number: str, suffix: str) -> None:
    """Printing loses nothing and printing again changes nothing."""
    quantity = Quantity(number + suffix)

    again = Quantity(str(quantity))

    assert again == quantity
    assert str(again) == str(quantity)
    assert "." not in str(quantity)


@given(st.text(max_size=80))
def test_any_text_is_a_quantity_or_a_value_error(text: str) -> None:
    """No text makes anything else happen, and no short text takes long."""
    try:
        quantity = Quantity(text)
    except ValueError:
        return
    assert Quantity(str(quantity)) == quantity


@given(left=st.integers(-(10**20), 10**20), right=st.integers(-(10**20), 10**20))
def test_order_sum_and_hash_follow_the_value(left: int, right: int) -> None:
    """Quantities compare, add and hash by value, whatever their suffix."""
    one, other = Quantity.from_nanos(left), Quantity.from_nanos(right, "binary")

    assert (one < other, one >= other, one == other) == (left < right, left >= right, left == right)
    assert (one + other).nanos == left + right
    assert hash(Quantity("1Ki")) == hash(Quantity("1024"))


def test_an_integer_is_a_quantity_of_units() -> None:
    """Bare numbers of a manifest need no text form."""
    assert Quantity(3) == Quantity("3000m")


def test_rounds_up_to_thousandths() -> None:
    """Resource amounts keep at most three decimals, rounded up."""
    assert str(Quantity("1.0001").rounded_to_milli()) == "1001m"
    assert Quantity("1.5").rounded_to_milli() == Quantity("1.5")


def test_does_not_change_and_survives_a_pickle() -> None:
    """A quantity is a value."""
    quantity = Quantity("1Gi")

    with pytest.raises(AttributeError, match="does not change"):
        quantity.nanos = 0
    assert str(pickle.loads(pickle.dumps(quantity))) == "1Gi"
    assert repr(quantity) == "Quantity('1Gi')"


def test_is_not_equal_to_other_types() -> None:
    """A number is not the quantity of that many."""
    assert Quantity(1) != 1
    with pytest.raises(TypeError):
        assert Quantity(1) < 2
