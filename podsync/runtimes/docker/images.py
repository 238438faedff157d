"""The engine's images: looked up, pulled, and the sandbox's own."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from podsync.errors import ImageAbsent, ImageFault, RuntimeFault, RuntimeUnavailable
from podsync.runtimes.base import Auth, ImageRecord, PullProgress
from podsync.runtimes.common import faults, names, pause
from podsync.runtimes.common.faults import Refusal
from podsync.runtimes.docker import records
from podsync.runtimes.docker.connect import Api

__all__ = ["ImageStore"]

_LOAD = 120.0
_NO_PROGRESS = 300.0
"""Seconds a pull may go without a word."""


class ImageStore:
    """Looks images up, once each as long as the engine's events are being heard.

    Looking one up takes 20 ms on some releases. An event about any image, and a break in
    the events, empties what is remembered.
    """

    def __init__(self, api: Api, pause_image: str) -> None:
        self._api = api
        self._pause_image = pause_image
        self._lock = threading.Lock()
        self._heard = False
        self._era = 0
        self._known: dict[str, ImageRecord] = {}
        self._pause_lock = threading.Lock()
        self._pause_id = ""

    def changed(self, *, heard: bool) -> None:
        """Some image changed, or the engine's events began or ceased to be heard."""
        with self._lock:
            self._heard = heard
            self._era += 1
            self._known.clear()

    def image(self, name: str) -> ImageRecord | None:
        """The image of that name or id; None when the store lacks it. Raises ImageFault for a bad name."""
        names.check(name)
        with self._lock:
            known, era = self._known.get(name), self._era
        if known is not None:
            return known
        try:
            found = records.image(self._api.call("GET", f"/images/{name}/json"))
        except Refusal as refusal:
            if faults.is_image_absent(refusal):
                return None
            raise ImageFault(faults.clean(refusal.text), reason="ImageInspectError") from refusal
        with self._lock:
            if self._heard and self._era == era:
                self._known[name] = found
        return found

    def forget(self, name: str) -> None:
        """The engine says that it lacks an image it had."""
        with self._lock:
            self._known.pop(name, None)

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
        self.forget(image)
        found = self.image(image)
        if found is None:
            raise ImageFault(f'image "{image}" was pulled, but the engine does not know it by that name')
        return found

    def pause_id(self) -> str:
        """Id of the sandbox's image, which is loaded or pulled if the store lacks it. Raises RuntimeFault."""
        with self._pause_lock:
            if not self._pause_id:
                self._pause_id = self.named_pause(self._pause_image) if self._pause_image else self._built_in()
            return self._pause_id

    def named_pause(self, name: str) -> str:
        """Id of a sandbox image other than the built-in one."""
        return (self.image(name) or self.pull(name)).id

    def forget_pause(self) -> None:
        """The sandbox's image is gone from the store."""
        with self._pause_lock:
            self._pause_id = ""

    def _built_in(self) -> str:
        """Id of the built-in image; the lock is held."""
        built_in = pause.image(str(self._api.offer.get("Arch") or ""))
        found = self.image(built_in.reference)
        if found is None:
            try:
                self._api.call("POST", "/images/load", query={"quiet": "1"}, data=built_in.archive, timeout=_LOAD)
            except Refusal as refusal:
                raise RuntimeFault(f"the pause image cannot be loaded: {faults.clean(refusal.text)}") from refusal
            found = self.image(built_in.reference)
        if found is None:
            raise ImageAbsent(built_in.reference)
        return found.id

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
