"""The options of one source: strings from a command line or a caller, checked by name and kind.

Three keys are the program's own and known to every kind: ``spec`` (what follows ``KIND:``),
``root`` (where last good versions are kept; empty for nowhere) and ``read_only`` (``"true"``
for a command that only looks). The rest belongs to the kind. Dashes in keys mean underscores.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence

from podsync.errors import ConfigError
from podsync.sources.lastgood import LastGood

__all__ = ["Options"]

_OWN = ("spec", "root", "read_only")


class Options:
    """Options of a ``kind`` that knows the keys ``known``. Raises ConfigError for any other key."""

    def __init__(self, kind: str, options: Mapping[str, str], known: Sequence[str]) -> None:
        self._kind = kind
        self._values = {key.replace("-", "_"): value for key, value in options.items()}
        for key in self._values:
            if key in _OWN or key in known:
                continue
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"; did you mean {near[0]}?" if near else f"; it knows {', '.join(known) or 'none'}"
            raise ConfigError(f"source kind {kind} has no option {key!r}{hint}")

    @property
    def spec(self) -> str:
        """What follows ``KIND:``."""
        return self._values.get("spec", "")

    def text(self, key: str) -> str | None:
        """The option as it is; None when not given or empty."""
        return self._values.get(key) or None

    def seconds(self, key: str) -> float | None:
        """The option as a positive number of seconds, a trailing ``s`` allowed. Raises ConfigError."""
        value = self.text(key)
        if value is None:
            return None
        try:
            number = float(value.removesuffix("s"))
        except ValueError:
            number = math.nan
        if not (math.isfinite(number) and number > 0):
            raise ConfigError(f"source kind {self._kind}: {key} must be a number of seconds above 0, not {value!r}")
        return number

    def store(self, source: str) -> LastGood:
        """Where this source's last good versions are kept."""
        return LastGood(self.text("root"), source, read_only=self._values.get("read_only") == "true")
