"""Documents a manifest may hold beside pods: ConfigMap and Secret."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from podsync.models.base import Model
from podsync.models.frozen import EMPTY
from podsync.models.meta import ObjectMeta
from podsync.models.wire import ignored, wire

__all__ = [
    "ConfigMap",
    "Secret",
]

_UNUSED = ignored("no supported field of a pod refers to it")
_IMMUTABLE = ignored("a document changes when its source does")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ConfigMap(Model):
    """Configuration as text and bytes (v1 ConfigMap)."""

    KIND: ClassVar[str] = "ConfigMap"

    metadata: ObjectMeta = wire(ObjectMeta(), _UNUSED)
    immutable: bool | None = wire(None, _IMMUTABLE)
    data: Mapping[str, str] = wire(EMPTY, _UNUSED)
    binary_data: Mapping[str, bytes] = wire(EMPTY, _UNUSED)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Secret(Model):
    """Configuration that must not be shown (v1 Secret)."""

    KIND: ClassVar[str] = "Secret"

    metadata: ObjectMeta = wire(ObjectMeta(), _UNUSED)
    immutable: bool | None = wire(None, _IMMUTABLE)
    data: Mapping[str, bytes] = wire(EMPTY, _UNUSED)
    string_data: Mapping[str, str] = wire(EMPTY, _UNUSED)
    type: str = wire("", _UNUSED, fill="Opaque")
