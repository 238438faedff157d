"""The engine's images: looked up, pulled, loaded."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from podsync.errors import ImageFault, RuntimeUnavailable
from podsync.runtimes.base import Auth, ImageRecord, PullProgress
from podsync.runtimes.common import faults, names
from podsync.runtimes.common.faults import Refusal
from podsync.runtimes.common.images import ImageCache
from podsync.runtimes.docker import records
from podsync.runtimes.docker.client import Api

__all__ = ["ImageStore"]

_LOAD = 120.0
_NO_PROGRESS = 300.0
"""Seconds a pull may go without a word."""


class ImageStore:
    """Looks up, pulls, and loads. What is known of names is in ``cache``."""

    def __init__(self, api: Api, cache: ImageCache) -> None:
        self._api = api
        self._cache = cache

    def image(self, name: str) -> ImageRecord | None:
        """The image of that name or id; None when the store lacks it. Raises ImageFault for a bad name."""
        names.check(name)
        return self._cache.find(name, lambda: self._look_up(name))

    def pull(
        self, image: str, auth: Auth | None = None, progress: Callable[[PullProgress], None] | None = None
    ) -> ImageRecord:
        """Fetch it, with the credentials given or those of ``docker login``. Raises ImageFault."""
        names.check(image)
        repository, version = names.split(image)
        query = {"fromImage": repository, "tag": version}
        headers = {"X-Registry-Auth": self._credentials(image, auth)}
        try:
            stream = self._api.open("POST", "/images/create", query=query, headers=headers, timeout=_NO_PROGRESS)
        except Refusal as refusal:
            raise faults.pull_fault(image, refusal.text) from refusal
        try:
            for line in _progress(stream.lines(_NO_PROGRESS)):
                if "error" in line:
                    raise faults.pull_fault(image, str(line["error"]))
                if progress is not None:
                    progress(_step(image, line))
        except TimeoutError as error:
            raise ImageFault(f'pulling image "{image}" made no progress for {_NO_PROGRESS:g} s') from error
        except OSError as error:
            raise RuntimeUnavailable("the engine broke the pull off") from error
        finally:
            stream.close()
            self._cache.changed()
        found = self.image(image)
        if found is None:
            raise ImageFault(f'image "{image}" was pulled, but the engine does not know it by that name')
        return found

    def load(self, archive: bytes) -> None:
        """Put the images of an archive into the store. Raises Refusal."""
        self._api.call("POST", "/images/load", query={"quiet": "1"}, data=archive, timeout=_LOAD)
        self._cache.changed()

    def _look_up(self, name: str) -> ImageRecord | None:
        """Ask for it."""
        try:
            return records.image(self._api.call("GET", f"/images/{name}/json"))
        except Refusal as refusal:
            if faults.is_image_absent(refusal):
                return None
            raise ImageFault(faults.clean(refusal.text), reason="ImageInspectError") from refusal

    def _credentials(self, image: str, auth: Auth | None) -> str:
        """The header Docker wants: JSON in URL-safe base64, an empty map for none."""
        fields: Mapping[str, str] = {}
        if auth is not None:
            fields = {"username": auth.username, "password": auth.password, "serveraddress": auth.server}
        else:
            fields = self._api.credentials(names.registry(image)) or {}
        return base64.urlsafe_b64encode(json.dumps(fields).encode()).decode()


def _progress(lines: Iterator[bytes]) -> Iterator[dict[str, Any]]:
    """The JSON objects among the lines."""
    for line in lines:
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value


def _step(image: str, line: Mapping[str, Any]) -> PullProgress:
    """One line of a pull's progress."""
    detail = line.get("progressDetail") or {}
    layer, status = line.get("id") or "", line.get("status") or ""
    words = f"{layer}: {status}" if layer else status
    return PullProgress(image, words, int(detail.get("current") or 0), int(detail.get("total") or 0))
