"""From a field path to the line it stands on.

Lines are looked up only once something is wrong with a text: it is then read a second
time, which costs less than keeping the place of every field of every good manifest.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import yaml

from podsync.manifest.events import EventReader, is_merge
from podsync.manifest.reader import read_yaml

__all__ = ["Doubled", "Place", "places"]

_STEP = re.compile(r"\[([^\]]*)\]|([^.\[\]]+)")


@dataclass(frozen=True, slots=True)
class Doubled:
    """A key that stands more than once in one mapping."""

    path: str
    key: str
    first: int
    again: int


@dataclass(slots=True)
class Place:
    """Where a list or mapping of a document stands, with the places of what it holds."""

    line: int
    is_list: bool = False
    below: dict[str, Place | int] = field(default_factory=dict)
    """By key, or by index written as text; a scalar has only its line."""
    doubled: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Of this mapping's keys that stand twice: the lines of the first and of the last."""

    def line_of(self, path: str) -> int:
        """The line of ``path`` (``spec.containers[0].name``), or of its nearest parent that is written."""
        place = self
        for match in _STEP.finditer(path):
            following = place.below.get(match[2] if match[1] is None else match[1])
            if following is None:
                break
            if isinstance(following, int):
                return following
            place = following
        return place.line

    def all_doubled(self, path: str = "") -> list[Doubled]:
        """Every key that stands twice, with its path, in the order of the text."""
        found = [Doubled(_join(path, key), key, first, again) for key, (first, again) in self.doubled.items()]
        for key, place in self.below.items():
            if isinstance(place, Place):
                found += place.all_doubled(f"{path}[{key}]" if self.is_list else _join(path, key))
        return found


def places(text: str) -> dict[int, Place]:
    """The place of each document of ``text``, by its index; never raises."""
    found = read_yaml(text, _PlaceReader, [])
    return {index: Place(place) if isinstance(place, int) else place for index, place, _ in found}


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


class _PlaceReader(EventReader):
    """Builds places instead of values; what an alias or a merge brings has its own line elsewhere."""

    def _scalar(self, event: Any) -> Any:
        super()._scalar(event)  # so that the same texts are refused
        return self.line(event)

    def _alias(self, event: Any) -> Any:
        super()._alias(event)
        return self.line(event)

    def _sequence(self, start: Any, depth: int) -> Any:
        place = Place(self.line(start), is_list=True)
        while type(event := self._get()) is not yaml.SequenceEndEvent:
            place.below[str(len(place.below))] = self._node(event, depth)
        return place

    def _mapping(self, start: Any, depth: int) -> Any:
        place = Place(self.line(start))
        lines: dict[str, int] = {}
        while type(event := self._get()) is not yaml.MappingEndEvent:
            if is_merge(event):
                self._node(self._get(), depth)
                continue
            key, line = self._key(event), self.line(event)
            below = self._node(self._get(), depth)
            if type(event) is yaml.AliasEvent:
                continue
            if key in lines:
                place.doubled[key] = lines[key], line
            lines.setdefault(key, line)
            if isinstance(below, Place):
                below.line = line  # a field begins with its name
            place.below[key] = below if isinstance(below, Place) else line
        return place

    def _key(self, event: Any) -> str:
        return "" if type(event) is yaml.AliasEvent else super()._key(event)
