"""YAML and JSON text to plain data, as kubectl and the kubelet read it.

Text that begins with ``{`` or ``[`` is tried as JSON first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from podsync.manifest.events import MAX_DEPTH, EventReader, NotReadableError, too_deep
from podsync.manifest.source import MAX_OBJECTS

__all__ = ["RawDocument", "Reading", "Unreadable", "read", "read_yaml"]

_MAX_PROBLEMS = 20  # after so many syntax errors the rest of a text is not looked at
_DOCUMENT_START = re.compile(r"^---(?=\s|\Z)", re.MULTILINE)
_NOT_YAML = re.compile("[^\t\n\r -~\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class RawDocument:
    """One document of a text: plain data that nobody may change, since aliases share it."""

    index: int
    """Its place in the text, from 1; empty documents count."""
    value: Any


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A place where the text is no YAML or JSON; the document there is lost."""

    document: int
    line: int
    message: str


@dataclass(slots=True)
class Reading:
    """What a text holds."""

    documents: list[RawDocument] = field(default_factory=list)
    """Those that could be read and are not empty."""
    problems: list[Unreadable] = field(default_factory=list)
    doubled: set[int] = field(default_factory=set)
    """Documents in which a key may stand twice in one mapping."""


def read(text: str) -> Reading:
    """Every document of ``text``; never raises, whatever the text."""
    if text.lstrip()[:1] in ("{", "["):
        reading = _read_json(text)
        if reading is not None:
            return reading
    reading = Reading()
    for index, value, doubled in read_yaml(text, EventReader, reading.problems):
        if value is not None:
            reading.documents.append(RawDocument(index, value))
            if doubled:
                reading.doubled.add(index)
        if len(reading.documents) > MAX_OBJECTS:
            break  # it is refused as a whole
    return reading


def read_yaml(
    text: str, reader_class: type[EventReader], problems: list[Unreadable]
) -> Iterator[tuple[int, Any, bool]]:
    """Index, value and "a key may stand twice" of each document, empty ones included.

    After a syntax error it goes on at the next ``---``, so that one bad document does
    not hide the mistakes of the others.
    """
    start, lines, index = 0, 0, 0
    while True:
        try:
            reader = reader_class(text[start:] if start else text, lines)
            try:
                for value in reader.documents():
                    index += 1
                    yield index, value, reader.doubled
            finally:
                reader.close()
        except (NotReadableError, yaml.YAMLError, UnicodeError, RecursionError) as error:
            index += 1
            line, at, message = _explain(error, text, start, lines)
            problems.append(Unreadable(index, line, message))
        else:
            return
        following = _DOCUMENT_START.search(text, max(start + at, start + 1))
        if following is None:
            return
        lines += text.count("\n", start, following.start())
        start = following.start()
        if len(problems) >= _MAX_PROBLEMS:
            problems.append(Unreadable(index + 1, lines + 1, "too many errors: the rest is not read"))
            return


def _explain(error: Exception, text: str, start: int, lines: int) -> tuple[int, int, str]:
    """Line, character (counted from ``start``, which has ``lines`` lines before it) and words of a reading error."""
    if isinstance(error, NotReadableError):
        return error.line, error.index, f"not valid YAML: {error}"
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        words = error.problem or error.context or "syntax error"
        if error.problem and error.context:
            words = f"{words} ({error.context})"
        line, at = (lines + mark.line + 1, mark.index) if mark else (0, 0)
        return line, at, f"not valid YAML: {words}"
    bad = _NOT_YAML.search(text, start)
    if bad is not None:
        line = text.count("\n", 0, bad.start()) + 1
        return line, bad.start() - start, f"not a text file: it holds the character U+{ord(bad.group()):04X}"
    return 0, 0, "not valid YAML"


def _read_json(text: str) -> Reading | None:
    """JSON values one after another; None when it is no JSON, and may be YAML."""
    reading = Reading()
    twice = False

    def pairs(entries: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal twice
        result = dict(entries)
        twice = twice or len(result) != len(entries)
        return result

    decoder = json.JSONDecoder(object_pairs_hook=pairs, parse_constant=_no_constant)
    at, index = len(text) - len(text.lstrip()), 0
    try:
        while at < len(text):
            twice = False
            value, at = decoder.raw_decode(text, at)
            value = _without_lone_surrogates(value) if "\\u" in text else value
            index += 1
            if too_deep(value):
                reading.problems.append(Unreadable(index, 0, f"not valid JSON: nested deeper than {MAX_DEPTH} levels"))
            elif value is not None:
                reading.documents.append(RawDocument(index, value))
            if twice:
                reading.doubled.add(index)
            while at < len(text) and text[at].isspace():
                at += 1
    except (ValueError, RecursionError):
        return None
    return reading


def _without_lone_surrogates(value: Any) -> Any:
    """As Go reads JSON: half of a surrogate pair, which no text can hold, is U+FFFD."""
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.loads(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
    return value


def _no_constant(name: str) -> None:
    """Python's json takes NaN and Infinity, JSON does not."""
    raise ValueError(name)
