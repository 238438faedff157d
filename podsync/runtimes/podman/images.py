"""The engine's image store."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from typing import Final

from podsync.errors import ImageFault, RuntimeUnavailable
from podsync.runtimes.base import Auth, ImageRecord, PullProgress
from podsync.runtimes.common import faults, names
from podsync.runtimes.common.faults import Refusal
from podsync.runtimes.common.images import ImageCache
from podsync.runtimes.podman import records
from podsync.runtimes.podman.client import LOOK_TIMEOUT, Client, segment

__all__ = ["ImageStore", "auth_header", "pull_outcome"]

_PULL_TIMEOUT: Final = 3600.0
"""Seconds a pull may go on without a word."""
_MOST_USERS: Final = 1000
_ID: Final = re.compile(r"(?:sha256:)?[0-9a-f]{64}")


class ImageStore:
    """Looks up, pulls, and loads. What is known of names is in ``cache``."""

    def __init__(self, client: Client, cache: ImageCache) -> None:
        self._client = client
        self._cache = cache
        self._users: dict[str, str] = {}

    def image(self, image: str) -> ImageRecord | None:
        """The image of that name or id; None when the store lacks it.

        A short name means Docker Hub's, as on other engines; only then one built here.
        """
        return self._cache.find(image, lambda: self._look_up(image))

    def user(self, image_id: str) -> str:
        """The USER of an image that was looked up here; empty for any other."""
        return self._users.get(image_id, "")

    def pull(
        self, image: str, auth: Auth | None = None, progress: Callable[[PullProgress], None] | None = None
    ) -> ImageRecord:
        """Fetch it. Raises ImageFault with the engine's words."""
        names.check(image)
        params: dict[str, str | int] = {"reference": names.normal(image), "policy": "always", "retry": 0}
        headers = {"X-Registry-Auth": auth_header(auth)} if auth else None
        try:
            stream = self._client.stream("POST", "/images/pull", params=params, headers=headers, timeout=_PULL_TIMEOUT)
        except Refusal as refusal:
            raise faults.pull_fault(image, refusal.text) from refusal
        failure: str | None = "the engine gave no answer"
        try:
            for line in stream.lines(_PULL_TIMEOUT):
                text, failure = pull_outcome(line, failure)
                if text and progress is not None:
                    progress(PullProgress(image, text))
        except OSError as error:
            raise RuntimeUnavailable(f"Podman broke the pull of {image} off: {error}") from error
        finally:
            stream.close()
            self._cache.changed()
        if failure is not None:
            raise faults.pull_fault(image, failure)
        record = self.image(image)
        if record is None:
            raise ImageFault(f'image "{image}" was pulled and is gone again')
        return record

    def load(self, archive: bytes) -> None:
        """Put the images of an archive into the store. Raises Refusal."""
        self._client.call("POST", "/images/load", data=archive)
        self._cache.changed()

    def _look_up(self, image: str) -> ImageRecord | None:
        """Ask for it."""
        for name in dict.fromkeys((self._full(image), image)):
            try:
                answer = self._client.call("GET", f"/images/{segment(name)}/json", timeout=LOOK_TIMEOUT)
            except Refusal as refusal:
                if faults.is_image_absent(refusal) or refusal.status in {400, 404}:
                    continue
                raise faults.verb_fault(refusal) from refusal
            record = records.image(answer.json())
            if len(self._users) > _MOST_USERS:
                self._users.clear()
            self._users[record.id] = record.user
            return record
        return None

    def _full(self, image: str) -> str:
        """The name in full; ids and names that are none stay as they are."""
        try:
            names.check(image)
        except ImageFault:
            return image
        return image if _ID.fullmatch(image) else names.normal(image)


def auth_header(auth: Auth) -> str:
    """Credentials as the engine takes them."""
    told = {"username": auth.username, "password": auth.password, "serveraddress": auth.server}
    return base64.urlsafe_b64encode(json.dumps(told).encode()).decode()


def pull_outcome(line: bytes, failure: str | None) -> tuple[str, str | None]:
    """(text for people, how the pull stands) after one line of its answer.

    The last line names the image's id and settles it; before that a pull counts as
    failed, with the last error told. Newer engines mix Docker's lines with libpod's own.
    """
    try:
        told = json.loads(line)
    except ValueError:
        return "", failure
    if not isinstance(told, dict):
        return "", failure
    if error := told.get("error"):
        return "", str(error)
    if told.get("id") or told.get("images"):
        return "", None
    return str(told.get("stream") or told.get("status") or "").strip(), failure
