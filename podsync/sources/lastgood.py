"""What was good when it was last read, kept under the root across restarts of the agent.

One file an origin (a manifest file, a URL) below ``<root>/sources/<hash of the source's name>/``,
holding the pods as a v1 List: the pods rather than the text they came from, since after a
half-good edit they may stem from two versions of it. Environment values can be secrets, so
only the owner may read them (0700, 0600).

Losing this store costs nothing while the manifests are good. So trouble with it (disk full,
read-only) is said once in the log and never stops a pod, and nothing is synced to the disk:
a file torn by a power cut does not parse and counts as absent.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from podsync.atomic import write_whole
from podsync.sources.manifests import read_stored

if TYPE_CHECKING:
    from podsync.models import Pod

__all__ = ["LastGood"]

_LOG = logging.getLogger(__name__)


class LastGood:
    """The last good pods of one source's origins. ``root`` None keeps nothing; ``read_only`` changes nothing."""

    def __init__(self, root: str | os.PathLike[str] | None, source: str, *, read_only: bool = False) -> None:
        self._source = source
        self._folder = None if root is None else Path(root) / "sources" / _hash(source)
        self._read_only = read_only
        self.problem: str | None = None
        """What keeps it from storing; None while it works."""

    def load(self) -> Mapping[str, tuple[Pod, ...]]:
        """The stored pods by origin. What cannot be read is left out and logged."""
        stored: dict[str, tuple[Pod, ...]] = {}
        for path in self._paths():
            try:
                record: dict[str, Any] = json.loads(path.read_bytes())
                if record["source"] != self._source:
                    raise ValueError("it belongs to another source")
                stored[record["origin"]] = read_stored(json.dumps(record["pods"]), str(path))
            except (OSError, ValueError, KeyError, TypeError) as error:
                _LOG.warning("a last good version is unreadable", extra={"path": str(path), "error": str(error)})
        return stored

    def save(self, origin: str, pods: Sequence[Pod]) -> None:
        """Replace what is stored for ``origin``; no pods means to forget it."""
        if not pods:
            self.forget(origin)
            return
        record = {
            "source": self._source,
            "origin": origin,
            "pods": {"apiVersion": "v1", "kind": "List", "items": [pod.to_dict() for pod in pods]},
        }
        self._write(f"{_hash(origin)}.json", json.dumps(record))

    def forget(self, origin: str) -> None:
        """Remove what is stored for ``origin``, if anything is."""
        if self._folder is None or self._read_only:
            return
        try:
            (self._folder / f"{_hash(origin)}.json").unlink(missing_ok=True)
        except OSError as error:
            self._trouble(error)

    def note(self, key: str, value: Any) -> None:
        """Keep one fact about the source itself, any JSON value."""
        self._write(f"{key}.note", json.dumps(value))

    def noted(self, key: str) -> Any:
        """The fact kept under ``key``; None when there is none."""
        if self._folder is None:
            return None
        try:
            return json.loads((self._folder / f"{key}.note").read_bytes())
        except (OSError, ValueError):
            return None

    def _paths(self) -> list[Path]:
        if self._folder is None:
            return []
        try:
            return sorted(self._folder.glob("*.json"))
        except OSError as error:
            self._trouble(error)
            return []

    def _write(self, name: str, text: str) -> None:
        if self._folder is None or self._read_only:
            return
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_whole(self._folder / name, text, 0o600)
        except OSError as error:
            self._trouble(error)
        else:
            if self.problem is not None:
                _LOG.info("last good versions are stored again", extra={"source": self._source})
            self.problem = None

    def _trouble(self, error: OSError) -> None:
        text = f"last good versions cannot be stored in {self._folder}: {error.strerror or error}"
        if text != self.problem:
            _LOG.warning("%s; a manifest that turns bad will not survive a restart", text)
        self.problem = text


def _hash(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
