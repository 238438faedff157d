"""Maps inside models."""

import copy
from collections.abc import Callable

import pytest

from podsync.models import FrozenMap
from podsync.models.frozen import EMPTY

CHANGES = {
    "set": lambda items: items.__setitem__("a", 2),
    "delete": lambda items: items.__delitem__("a"),
    "clear": lambda items: items.clear(),
    "pop": lambda items: items.pop("a"),
    "popitem": lambda items: items.popitem(),
    "setdefault": lambda items: items.setdefault("b", 1),
    "update": lambda items: items.update(b=1),
    "or": lambda items: items.__ior__({"b": 1}),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_refuses_every_change(change: Callable[[FrozenMap[int]], object]) -> None:
    """Each way a dict can change is a TypeError and changes nothing."""
    items = FrozenMap({"a": 1})

    with pytest.raises(TypeError, match="does not change"):
        change(items)

    assert items == {"a": 1}


def test_reads_compares_and_hashes_as_a_value() -> None:
    """Equal content is an equal map with an equal hash, in any order; copies are equal."""
    one, other = FrozenMap({"a": 1, "b": 2}), FrozenMap({"b": 2, "a": 1})

    assert one == other == {"a": 1, "b": 2}
    assert hash(one) == hash(other)
    assert copy.deepcopy(one) == one
    assert EMPTY == {}
