"""Object metadata and what several parts of the API share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from podsync.models.base import Model
from podsync.models.frozen import EMPTY
from podsync.models.wire import SUPPORTED, ignored, wire

__all__ = [
    "LabelSelector",
    "LabelSelectorRequirement",
    "LocalObjectReference",
    "ManagedFieldsEntry",
    "ObjectMeta",
    "OwnerReference",
]

_BOOK_KEEPING = ignored("it is an API server's book-keeping")
_DELETION = ignored("a pod is deleted by taking it out of its source")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ObjectMeta(Model):
    """Who an object is (v1 ObjectMeta)."""

    name: str = wire("", SUPPORTED)
    generate_name: str = wire("", ignored("nothing makes up names; a pod needs metadata.name"))
    namespace: str = wire("", SUPPORTED)
    self_link: str = wire("", _BOOK_KEEPING)
    uid: str = wire("", SUPPORTED)
    resource_version: str = wire("", _BOOK_KEEPING)
    generation: int = wire(0, _BOOK_KEEPING)
    creation_timestamp: datetime | None = wire(None, _BOOK_KEEPING)
    deletion_timestamp: datetime | None = wire(None, _DELETION)
    deletion_grace_period_seconds: int | None = wire(None, _DELETION)
    labels: Mapping[str, str] = wire(EMPTY, SUPPORTED)
    annotations: Mapping[str, str] = wire(EMPTY, SUPPORTED)
    owner_references: tuple[OwnerReference, ...] = wire((), ignored("an API server's garbage collection goes by it"))
    finalizers: tuple[str, ...] = wire((), ignored("an API server's deletion waits for them"))
    managed_fields: tuple[ManagedFieldsEntry, ...] = wire((), _BOOK_KEEPING)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class OwnerReference(Model):
    """The object that owns this one, for an API server's garbage collection."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ManagedFieldsEntry(Model):
    """Which client set which fields: server-side apply's book-keeping."""

    manager: str = ""
    operation: str = ""
    api_version: str = ""
    time: datetime | None = None
    fields_type: str = ""
    fields_v1: Any | None = None
    subresource: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LabelSelector(Model):
    """Picks objects by labels: all of both lists must hold."""

    match_labels: Mapping[str, str] = EMPTY
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LabelSelectorRequirement(Model):
    """One condition on a label."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LocalObjectReference(Model):
    """The name of an object in the same namespace."""

    name: str = ""
