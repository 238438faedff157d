"""Environment variables that come from elsewhere than the manifest."""

from __future__ import annotations

from dataclasses import dataclass

from podsync.models.base import Model
from podsync.models.quantity import Quantity
from podsync.models.wire import wire

__all__ = [
    "ConfigMapEnvSource",
    "ConfigMapKeySelector",
    "EnvFromSource",
    "EnvVarSource",
    "FileKeySelector",
    "ObjectFieldSelector",
    "ResourceFieldSelector",
    "SecretEnvSource",
    "SecretKeySelector",
]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class EnvFromSource(Model):
    """All keys of a ConfigMap or Secret as variables, their names prefixed."""

    prefix: str = ""
    config_map_ref: ConfigMapEnvSource | None = None
    secret_ref: SecretEnvSource | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ConfigMapEnvSource(Model):
    """The ConfigMap whose keys become variables."""

    name: str = ""
    optional: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SecretEnvSource(Model):
    """The Secret whose keys become variables."""

    name: str = ""
    optional: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class EnvVarSource(Model):
    """Where one variable's value comes from; exactly one field is set."""

    field_ref: ObjectFieldSelector | None = None
    resource_field_ref: ResourceFieldSelector | None = None
    config_map_key_ref: ConfigMapKeySelector | None = None
    secret_key_ref: SecretKeySelector | None = None
    file_key_ref: FileKeySelector | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ObjectFieldSelector(Model):
    """A field of the pod itself."""

    api_version: str = wire("", fill="v1")
    field_path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ResourceFieldSelector(Model):
    """A container's request or limit, divided and rounded up."""

    container_name: str = ""
    resource: str = ""
    divisor: Quantity | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ConfigMapKeySelector(Model):
    """One key of a ConfigMap."""

    name: str = ""
    key: str = ""
    optional: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SecretKeySelector(Model):
    """One key of a Secret."""

    name: str = ""
    key: str = ""
    optional: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class FileKeySelector(Model):
    """One key of an env file in an emptyDir volume."""

    volume_name: str = ""
    path: str = ""
    key: str = ""
    optional: bool | None = wire(None, fill=False)
