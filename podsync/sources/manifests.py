"""The text of one origin to pods and refusals, with the rule of the last good version.

Good documents of a text count at once. If any document of it is bad, the pods this origin
named before and that no good document names now stay as they were: the bad document is
probably one of them. Deleting the origin, or a text that is good as a whole, ends them.
A text without any document is bad: an editor truncates before it writes. An explicit empty
list (``kind: List`` with ``items: []``) is how a text says that it wants no pod.

ConfigMaps and Secrets are checked and, so far, of no further use.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from podsync.errors import FieldError
from podsync.manifest.load import MAX_BYTES, parse
from podsync.manifest.reader import read
from podsync.sources.base import Refusal, Snapshot

if TYPE_CHECKING:
    from podsync.manifest.load import Document
    from podsync.models import Pod, PodKey

__all__ = ["MAX_BYTES", "Reading", "merge", "read_manifest", "read_stored", "unreadable"]

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Reading:
    """What one origin stands for: pods of its text and last good ones, and what was refused."""

    pods: tuple[Pod, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    hopeless: bool = False
    """The text holds nothing good and nothing that even names a pod: it is no manifest."""


def read_manifest(content: bytes, origin: str, last: Sequence[Pod]) -> Reading:
    """Read a text; ``last`` is what the origin stood for before. Warnings go to the log."""
    try:
        parsed = parse(content, origin)
    except Exception as error:  # noqa: BLE001 - a fault of ours in one text must not reach the others
        _LOG.exception("reading a manifest failed unexpectedly", extra={"origin": origin})
        return unreadable(origin, f"reading it failed unexpectedly: {type(error).__name__}: {error}", last)
    documents = parsed.documents
    if not documents:
        if _wants_nothing(content):
            return Reading()
        return unreadable(origin, "holds no document (an empty `kind: List` would say that no pod is wanted)", last)
    for warning in (warning for document in documents for warning in document.warnings):
        _LOG.warning("%s", warning)
    good = parsed.pods
    bad = [document for document in documents if document.errors]
    if not bad:
        return Reading(pods=good)
    named = {pod.key for pod in good}
    uids = {pod.metadata.uid for pod in good} - {""}  # a pod that was only renamed
    kept = tuple(pod for pod in last if pod.key not in named and pod.metadata.uid not in uids)
    keys = frozenset(pod.key for pod in kept)
    refusals = tuple(Refusal(origin, document.errors, document.key, _kept(document, keys)) for document in bad)
    hopeless = len(bad) == len(documents) and all(document.key is None for document in bad)
    return Reading(pods=(*good, *kept), refusals=refusals, hopeless=hopeless)


def unreadable(origin: str, why: str, last: Sequence[Pod]) -> Reading:
    """An origin that is there and cannot be used at all: everything it stood for stays."""
    error = FieldError("", why, file=origin)
    return Reading(pods=tuple(last), refusals=(Refusal(origin, (error,), kept=bool(last)),), hopeless=True)


def read_stored(text: str, path: str) -> tuple[Pod, ...]:
    """Pods from our own store. What this version does not accept any more is logged and left out."""
    parsed = parse(text, path)
    for error in parsed.errors:
        _LOG.warning("a stored pod is not used: %s", error)
    return parsed.pods


def merge(origins: Iterable[tuple[str, Reading, bool]]) -> Snapshot:
    """One source's set. The first origin to name a pod, or a uid, has it, the others' is refused.

    The flag says whether an origin is there; one about to go yields without a word.
    """
    pods: list[Pod] = []
    refusals: list[Refusal] = []
    owners: dict[PodKey, str] = {}
    uids: dict[str, tuple[str, PodKey]] = {}
    for origin, reading, there in origins:
        if there:
            refusals += reading.refusals
        for pod in reading.pods:
            uid = pod.metadata.uid
            first = owners.get(pod.key, origin)
            holder, other = uids.get(uid, (origin, pod.key))
            if first != origin:
                path, message = "metadata.name", f'"{pod.key}": {first} names this pod too and comes first'
            elif other != pod.key:
                path, message = "metadata.uid", f'"{uid}": {holder} gives it to pod {other} and comes first'
            else:
                owners[pod.key] = origin
                if uid:
                    uids[uid] = origin, pod.key
                pods.append(pod)
                continue
            if there:
                error = FieldError(path, f"Duplicate value: {message}", file=origin)
                refusals.append(Refusal(origin, (error,), pod.key))
    return Snapshot(tuple(pods), tuple(refusals))


def _kept(document: Document, kept: frozenset[PodKey]) -> bool:
    return document.key in kept if document.key is not None else bool(kept)


def _wants_nothing(content: bytes) -> bool:
    """Whether a text without objects holds lists that are empty on purpose, not merely unfinished (``items:``)."""
    found = [document.value for document in read(content.decode("utf-8-sig", "replace")).documents]
    return bool(found) and all(isinstance(value, dict) and isinstance(value.get("items"), list) for value in found)
