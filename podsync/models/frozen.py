"""A map that does not change, so that models are values all the way down."""

from __future__ import annotations

from typing import Any, Final, NoReturn, TypeVar

__all__ = ["EMPTY", "FrozenMap"]

_V = TypeVar("_V")


class FrozenMap(dict[str, _V]):
    """A dict that can be hashed and refuses every change with ``TypeError``."""

    __slots__ = ()

    def __hash__(self) -> int:  # type: ignore[override]  # a dict has none: it may change
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[object, ...]:
        return FrozenMap, (dict(self),)

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("a FrozenMap does not change")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse


EMPTY: Final[FrozenMap[Any]] = FrozenMap()
"""The one empty map, default of every map field."""
