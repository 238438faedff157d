"""The events of one YAML text to plain data.

PyYAML's own constructors follow other rules than kubectl's (see ``scalars``), load alias
bombs, and take three times as long; so the tree is built here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import yaml

from podsync.manifest.scalars import BadScalarError, key_text, resolve_plain, resolve_tagged

__all__ = ["MAX_DEPTH", "EventReader", "NotReadableError", "is_merge", "too_deep"]

MAX_DEPTH = 100
"""Levels of nesting a document may have; a Pod has fewer than fifteen."""
_MAX_ALIASED = 400_000  # nodes that aliases may stand for in one document
_FREE_ALIASED = 10_000  # up to here their share of the document does not matter
_MAX_ALIASED_SHARE = 0.99
_CACHED_SCALARS = 4096
_LONGEST_NAME = 40
_MERGE_TAG = "tag:yaml.org,2002:merge"

_LOADER: Callable[[str], Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml may be absent
_Scalar, _Alias = yaml.ScalarEvent, yaml.AliasEvent
_MappingStart, _MappingEnd, _SequenceEnd = yaml.MappingStartEvent, yaml.MappingEndEvent, yaml.SequenceEndEvent


class NotReadableError(Exception):
    """Ends the reading of one document at ``line`` (from 1) and character ``index``."""

    def __init__(self, message: str, line: int, index: int) -> None:
        super().__init__(message)
        self.line = line
        self.index = index


class _Cache(dict[str, Any]):
    """Resolved scalars by their text: a manifest says the same few words over and over."""

    def __init__(self, resolve: Callable[[str], Any]) -> None:
        self._resolve = resolve

    def __missing__(self, text: str) -> Any:
        value = self._resolve(text)
        if len(self) < _CACHED_SCALARS:
            self[text] = value
        return value


class EventReader:
    """Builds the values of one YAML stream; what is built for a node is open to a subclass.

    ``depth`` counts collections around a node. Anchors end with their document.
    """

    def __init__(self, text: str, lines_before: int = 0) -> None:
        """Start at the beginning of ``text``, the rest of one with ``lines_before`` lines ahead of it."""
        self._lines_before = lines_before
        self._loader = _LOADER(text)
        self._get: Callable[[], Any] = self._loader.get_event
        self._plain = _Cache(resolve_plain)
        self._keys = _Cache(lambda text: key_text(resolve_plain(text)))
        self._start_document()

    def _start_document(self) -> None:
        self._anchors: dict[str, tuple[Any, int] | None] = {}
        self._nodes = 0
        self._aliased = 0
        self.doubled = False

    def documents(self) -> Iterator[Any]:
        """Each document's value. Raises NotReadableError and yaml.YAMLError."""
        self._get()  # the stream's start
        while type(self._get()) is yaml.DocumentStartEvent:
            self._start_document()
            root = self._get()
            value = self._node(root, 0)
            self._get()  # the document's end
            if self._aliased and too_deep(value):
                raise self._at(root, f"nested deeper than {MAX_DEPTH} levels")
            yield value

    def close(self) -> None:
        """Free the parser."""
        self._loader.dispose()

    def line(self, event: Any) -> int:
        """Where an event begins, from 1, in the whole text."""
        return int(event.start_mark.line) + 1 + self._lines_before

    def _at(self, event: Any, message: str) -> NotReadableError:
        return NotReadableError(message, self.line(event), event.start_mark.index)

    def _node(self, event: Any, depth: int) -> Any:
        """The value of the node that begins with ``event``."""
        kind = type(event)
        if kind is _Scalar:
            return self._scalar(event)
        if kind is _Alias:
            return self._alias(event)
        if depth >= MAX_DEPTH:
            raise self._at(event, f"nested deeper than {MAX_DEPTH} levels")
        anchor = event.anchor
        before = self._nodes
        if anchor:
            self._anchors[anchor] = None  # not finished: an alias to it would hold itself
        value = self._mapping(event, depth + 1) if kind is _MappingStart else self._sequence(event, depth + 1)
        if anchor:
            self._anchors[anchor] = value, self._nodes - before + 1
        return value

    def _scalar(self, event: Any) -> Any:
        tag, text = event.tag, event.value
        try:
            value = resolve_tagged(tag, text) if tag else text if event.style else self._plain[text]
        except BadScalarError as bad:
            raise self._at(event, str(bad)) from None
        if event.anchor:
            self._anchors[event.anchor] = value, 1
        return value

    def _alias(self, event: Any) -> Any:
        try:
            known = self._anchors[event.anchor]
        except KeyError:
            raise self._at(event, f"unknown anchor {_short(event.anchor)}") from None
        if known is None:
            raise self._at(event, f"anchor {_short(event.anchor)} holds itself")
        value, size = known
        self._spread(event, size)
        return value

    def _spread(self, event: Any, size: int) -> None:
        """Count nodes that stand in the document more often than in the text."""
        self._aliased += size
        self._nodes += size
        share = self._aliased / (self._nodes + 1)
        if self._aliased > _MAX_ALIASED or (self._aliased > _FREE_ALIASED and share > _MAX_ALIASED_SHARE):
            raise self._at(event, "excessive aliasing: the anchors stand for far more than the text holds")

    def _sequence(self, _start: Any, depth: int) -> Any:
        get, node = self._get, self._node
        items: list[Any] = []
        while type(event := get()) is not _SequenceEnd:
            items.append(node(event, depth))
        self._nodes += len(items)
        return items

    def _mapping(self, _start: Any, depth: int) -> Any:
        get, plain, keys = self._get, self._plain, self._keys
        result: dict[str, Any] = {}
        while type(event := get()) is not _MappingEnd:
            key = keys.get(event.value) if type(event) is _Scalar and not (event.style or event.tag) else None
            if key is None or key == "<<":
                if is_merge(event):
                    self._merge(result, depth)
                    continue
                key = self._key(event)
            value = get()
            # The common case of _scalar, without its call: half the time of a large file goes by here.
            if type(value) is _Scalar and not (value.style or value.tag or value.anchor) and value.value in plain:
                value = plain[value.value]
            else:
                value = self._node(value, depth)
            if key in result:
                self.doubled = True
            result[key] = value
        self._nodes += len(result)
        return result

    def _key(self, event: Any) -> str:
        """The key that ``event`` stands for; one that is no scalar has no place in JSON."""
        kind = type(event)
        try:
            if kind is _Scalar and not (event.style or event.tag or event.anchor):
                return str(self._keys[event.value])
            # Not self._scalar: whatever a subclass makes of values, keys are text.
            value: Any = []
            if kind is _Scalar:
                value = EventReader._scalar(self, event)
            elif kind is _Alias:
                value = self._alias(event)
            if isinstance(value, dict | list):
                raise BadScalarError("a key must be a string, not a list or a mapping")
            return key_text(value)
        except BadScalarError as bad:
            raise self._at(event, str(bad)) from None

    def _merge(self, result: dict[str, Any], depth: int) -> None:
        """Take over the entries of ``<<``.

        As in go-yaml v2 the order decides: a merge overrides the keys above it and is
        overridden by those below. Of a list of mappings the earlier ones win.
        """
        event = self._get()
        value = self._node(event, depth)
        mappings = [value] if type(event) is _Alias or not isinstance(value, list) else value
        for mapping in reversed(mappings):
            if not isinstance(mapping, Mapping):
                raise self._at(event, "a merge (<<) needs a mapping or a list of mappings")
            self._spread(event, len(mapping))
            result.update(mapping)


def too_deep(value: Any) -> bool:
    """Whether collections are nested deeper than MAX_DEPTH, found level by level."""
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            return True
        level = [
            child
            for node in level
            for child in (node.values() if type(node) is dict else node if type(node) is list else ())
            if type(child) is dict or type(child) is list
        ]
    return False


def is_merge(event: Any) -> bool:
    """Whether a key is ``<<`` written plainly, or tagged as a merge."""
    if type(event) is not _Scalar or event.value != "<<":
        return False
    return event.tag == _MERGE_TAG if event.tag else not event.style


def _short(name: str) -> str:
    """A name from the text, bounded."""
    return repr(name if len(name) <= _LONGEST_NAME else name[:_LONGEST_NAME] + "…")
