"""Exact resource quantities: ``500m``, ``1.5Gi``, ``12e6`` (the API's resource.Quantity)."""

from __future__ import annotations

import re
from functools import lru_cache, total_ordering
from typing import Final, NoReturn, Self

__all__ = ["MAX_LENGTH", "PATTERN", "Quantity"]

MAX_LENGTH: Final = 64
"""Longer texts are refused before any arithmetic; so are exponents of three digits and more."""

PATTERN: Final = (
    r"[ \t\r\n]*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[numkMGTPE]|[KMGTPE]i|[eE][+-]?0*[0-9]{1,2})?[ \t\r\n]*"
)
"""The grammar as a regular expression (to be matched in full); blanks around are dropped, as the API does."""

_NANO: Final = 10**9
_LARGEST_BINARY: Final = (2**63 - 1) * _NANO
_PARTS: Final = re.compile(r"([+-]?)([0-9]*)\.?([0-9]*)(.*)")
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_EXA: Final = 18
_DECIMAL_SUFFIX: Final = {power: suffix for suffix, power in _DECIMAL.items()}
_BINARY_SUFFIX: Final = {power: suffix for suffix, power in _BINARY.items()}


@total_ordering
class Quantity:
    """A number of cores, bytes or things, exact to a billionth.

    Finer values are rounded away from zero. ``str()`` gives the API's canonical form: no
    fraction, the largest suffix that loses nothing, and the kind of suffix it was read
    with. Two quantities are equal when their values are. Raises ``ValueError``, with the
    API's text, for what is not a quantity.
    """

    __slots__ = ("form", "nanos")

    nanos: int
    """The value in billionths."""
    form: str
    """How it was written, and prints: ``decimal``, ``binary`` or ``exponent``."""

    def __init__(self, text: str | int) -> None:
        nanos, form = _parse(text) if isinstance(text, str) else (text * _NANO, "decimal")
        object.__setattr__(self, "nanos", nanos)
        object.__setattr__(self, "form", form)

    @classmethod
    def from_nanos(cls, nanos: int, form: str = "decimal") -> Self:
        """The quantity of that many billionths."""
        quantity = object.__new__(cls)
        object.__setattr__(quantity, "nanos", nanos)
        object.__setattr__(quantity, "form", form)
        return quantity

    @property
    def value(self) -> int:
        """In whole units (bytes, cores), rounded up."""
        return -(-self.nanos // _NANO)

    @property
    def milli(self) -> int:
        """In thousandths, rounded up."""
        return -(-self.nanos // 10**6)

    def rounded_to_milli(self) -> Quantity:
        """Itself, or the next higher multiple of a thousandth."""
        return Quantity.from_nanos(self.milli * 10**6, self.form) if self.nanos % 10**6 else self

    def __add__(self, other: Quantity) -> Quantity:
        return Quantity.from_nanos(self.nanos + other.nanos, self.form if self.nanos else other.form)

    def __eq__(self, other: object) -> bool:
        return self.nanos == other.nanos if isinstance(other, Quantity) else NotImplemented

    def __lt__(self, other: object) -> bool:
        return self.nanos < other.nanos if isinstance(other, Quantity) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.nanos)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"cannot assign to {name}: a Quantity does not change")

    def __reduce__(self) -> tuple[object, ...]:
        return Quantity.from_nanos, (self.nanos, self.form)

    def __repr__(self) -> str:
        return f"Quantity({str(self)!r})"

    def __str__(self) -> str:
        return _canonical(self.nanos, self.form)


@lru_cache(maxsize=4096)
def _parse(text: str) -> tuple[int, str]:
    if len(text) > MAX_LENGTH:
        raise ValueError(f"quantities must be no more than {MAX_LENGTH} characters")
    if re.fullmatch(PATTERN, text) is None:
        raise ValueError(_complaint(text.strip(" \t\r\n")))
    match = _PARTS.fullmatch(text.strip(" \t\r\n"))
    assert match is not None  # what PATTERN lets through has these parts
    sign, whole, fraction, suffix = match.groups()
    digits = int(whole + fraction)
    if suffix in _BINARY:
        form, power, scale = "binary", 0, 2 ** _BINARY[suffix]
    else:
        form, scale = "decimal" if suffix in _DECIMAL else "exponent", 1
        power = _DECIMAL[suffix] if form == "decimal" else int(suffix[1:])
    power += 9 - len(fraction)
    scaled = digits * scale
    nanos = scaled * 10**power if power >= 0 else -(-scaled // 10**-power)
    if form == "binary":
        nanos = min(nanos, _LARGEST_BINARY)
    return (-nanos if sign == "-" else nanos), form


def _complaint(text: str) -> str:
    """Which of the API's three texts tells why this is no quantity."""
    match = re.fullmatch(r"[+-]?[0-9.]+([eEinumkKMGTP]*[-+]?[0-9]*)", text)
    if match is None or text.count(".") > 1:
        return "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    suffix = match[1]
    if suffix not in _DECIMAL and suffix not in _BINARY:
        return "unable to parse quantity's suffix"
    return "unable to parse numeric part of quantity"


@lru_cache(maxsize=4096)
def _canonical(nanos: int, form: str) -> str:
    if nanos == 0:
        return "0"
    if form == "binary" and nanos % _NANO == 0 and abs(nanos) >= 1024 * _NANO:
        units, power = nanos // _NANO, 0
        while units % 1024 == 0:
            units, power = units // 1024, power + 10
        return f"{units}{_BINARY_SUFFIX.get(power, '')}"
    number, power = nanos, -9
    while number % 1000 == 0 and (power < _EXA or form == "exponent"):
        number, power = number // 1000, power + 3
    if form == "exponent":
        return f"{number}e{power}" if power else str(number)
    return f"{number}{_DECIMAL_SUFFIX[power]}"
