"""Says once which names of a directory are no manifests, so that nobody wonders in vain."""

from __future__ import annotations

import logging

from podsync.sources.files import shown

__all__ = ["Aside"]

_LOG = logging.getLogger(__name__)
_NAMED = 10  # names in one line; a home directory given by mistake has thousands


class Aside:
    """Collects names during one look, says the new ones at its end. Dot names are hidden on purpose: never said."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._said: frozenset[str] = frozenset()
        self._seen: set[str] = set()

    def see(self, name: str, *, directory: bool) -> None:
        """Note a name that is left aside."""
        if not name.startswith("."):
            self._seen.add(f"{name}/" if directory else name)

    def end(self) -> None:
        """The look is over: log what was not there in the last one."""
        new = sorted(self._seen - self._said)
        self._said, self._seen = frozenset(self._seen), set()
        if not new:
            return
        names = ", ".join(shown(name) for name in new[:_NAMED])
        more = f" and {len(new) - _NAMED} more" if len(new) > _NAMED else ""
        _LOG.info("%s: left aside: %s%s (read are *.yaml, *.yml and *.json, no sub-directories)",
                  self._source, names, more)  # fmt: skip
