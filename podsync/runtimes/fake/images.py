"""The fake engine's image store and the registry behind it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from podsync.errors import ImageFault
from podsync.runtimes.base import ImageRecord

__all__ = ["ImageStore", "Pullable"]


@dataclass(frozen=True, slots=True)
class Pullable:
    """One image in the registry: how many seconds a pull takes and how it fails, if it does."""

    delay: float = 0.0
    fault: ImageFault | None = None


def full_name(image: str) -> str:
    """The name with registry and tag written out, as engines compare them."""
    name, _, digest = image.partition("@")
    first, slash, _ = name.partition("/")
    if not slash:
        name = f"docker.io/library/{name}"
    elif "." not in first and ":" not in first and first != "localhost":
        name = f"docker.io/{name}"
    if digest:
        return f"{name}@{digest}"
    return name if ":" in name.rpartition("/")[2] else f"{name}:latest"


def _record(name: str) -> ImageRecord:
    digest = f"sha256:{hashlib.sha256(name.encode()).hexdigest()}"
    repository = name.partition("@")[0]
    if ":" in repository.rpartition("/")[2]:
        repository = repository.rpartition(":")[0]
    return ImageRecord(id=digest, digests=(f"{repository}@{digest}",), size=1_000_000)


class ImageStore:
    """Images by name and id.

    Without a list of present ones every image is there at once, which is what a unit
    test usually wants. ``registry`` names what can be pulled; without it everything can.
    """

    def __init__(self, present: Iterable[str] | None = None, registry: Mapping[str, Pullable] | None = None) -> None:
        """``present`` and ``registry`` as image names, in any form."""
        self._all = present is None
        self._gone: set[str] = set()
        self._by_name = {full_name(name): _record(full_name(name)) for name in present or ()}
        self._registry = None if registry is None else {full_name(n): pullable for n, pullable in registry.items()}

    def find(self, image: str) -> ImageRecord | None:
        """The image of that name or id, or None."""
        by_id = next(
            (r for r in self._by_name.values() if r.id.removeprefix("sha256:") == image.removeprefix("sha256:")), None
        )
        if by_id is not None:
            return by_id
        name = full_name(image)
        if self._all and name not in self._gone and not image.startswith("sha256:"):
            self._by_name.setdefault(name, _record(name))
        return self._by_name.get(name)

    def offer(self, image: str) -> Pullable:
        """What the registry says; an unknown name is refused there."""
        if self._registry is None:
            return Pullable()
        refused = ImageFault(f"pull access denied for {image}, repository does not exist or may require authorization")
        return self._registry.get(full_name(image), Pullable(fault=refused))

    def add(self, image: str) -> ImageRecord:
        """Put it in the store."""
        name = full_name(image)
        self._gone.discard(name)
        return self._by_name.setdefault(name, _record(name))

    def remove(self, image: str) -> None:
        """Take it out of the store, as an image garbage collection would."""
        name = full_name(image)
        self._by_name.pop(name, None)
        self._gone.add(name)
