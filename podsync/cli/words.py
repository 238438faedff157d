"""Small languages of the command line: durations, label selectors, field paths."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import click

__all__ = ["DURATION", "SELECTOR", "Selector", "parse_duration", "parse_selector", "value_at"]

_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(h|ms|m|s|us|µs|ns)")


def parse_duration(text: str) -> timedelta:
    """A duration as Go writes it: ``30s``, ``1h30m``, ``0``. Raises ValueError."""
    if text == "0":
        return timedelta(0)
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        msg = f"{text!r} is no duration; write 30s, 5m or 1h30m"
        raise ValueError(msg)
    return timedelta(seconds=sum(float(number) * _UNITS[unit] for number, unit in parts))


class _Duration(click.ParamType[timedelta]):
    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:
        if isinstance(value, timedelta):
            return value
        try:
            return parse_duration(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Selector:
    """A label selector as kubectl's ``-l`` takes it; all its requirements must hold."""

    def __init__(self, requirements: tuple[tuple[str, str, frozenset[str]], ...] = ()) -> None:
        """Each requirement is (key, ``in`` | ``notin`` | ``exists`` | ``absent``, values)."""
        self._requirements = requirements

    def matches(self, labels: Mapping[str, str] | None) -> bool:
        """Whether these labels fulfil the selector."""
        found = labels or {}
        for key, operator, values in self._requirements:
            value = found.get(key)
            holds = {
                "in": value in values,
                "notin": value not in values,
                "exists": key in found,
                "absent": key not in found,
            }[operator]
            if not holds:
                return False
        return True


_REQUIREMENT = re.compile(
    r"""\s*(?:
        !\s*(?P<absent>[\w./-]+)
      | (?P<set>[\w./-]+)\s+(?P<operator>in|notin)\s*\((?P<values>[^()]*)\)
      | (?P<key>[\w./-]+)\s*(?:(?P<sign>==|=|!=)\s*(?P<value>[\w.-]*))?
    )\s*(?:,|$)""",
    re.VERBOSE,
)


def parse_selector(text: str) -> Selector:
    """``a=b,c!=d,e,!f,g in (x, y),h notin (z)``. Raises ValueError."""
    found: list[tuple[str, str, frozenset[str]]] = []
    position = 0
    while position < len(text):
        match = _REQUIREMENT.match(text, position)
        if match is None:
            msg = f"unable to parse requirement: {text[position:]!r}"
            raise ValueError(msg)
        position = match.end()
        part = match.groupdict()
        if part["absent"]:
            found.append((part["absent"], "absent", frozenset()))
        elif part["set"]:
            values = frozenset(value.strip() for value in part["values"].split(","))
            found.append((part["set"], part["operator"], values))
        elif part["sign"]:
            operator = "notin" if part["sign"] == "!=" else "in"
            found.append((part["key"], operator, frozenset({part["value"]})))
        else:
            found.append((part["key"], "exists", frozenset()))
    return Selector(tuple(found))


class _SelectorType(click.ParamType[Selector]):
    name = "selector"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Selector:
        if isinstance(value, Selector):
            return value
        try:
            return parse_selector(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


DURATION = _Duration()
SELECTOR = _SelectorType()

_STEP = re.compile(r"\.([\w-]+)|\[(\d+)\]")


def value_at(document: Any, path: str) -> Any:
    """What stands at a simple JSONPath (``{.status.phase}``, ``.status.podIPs[0].ip``); None when nothing does.

    Raises ValueError for a path beyond names and indices.
    """
    inner = path.strip().removeprefix("{").removesuffix("}")
    steps = _STEP.findall(inner)
    if not steps or "".join(f".{name}" if name else f"[{index}]" for name, index in steps) != inner:
        msg = f"{path!r} is not a path of names and indices such as {{.status.phase}}"
        raise ValueError(msg)
    for name, index in steps:
        if name and isinstance(document, Mapping):
            document = document.get(name)
        elif index and isinstance(document, list) and int(index) < len(document):
            document = document[int(index)]
        else:
            return None
    return document
