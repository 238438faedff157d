"""Rules of ConfigMaps and Secrets."""

from __future__ import annotations

from collections.abc import Iterable

from podsync.errors import FieldError
from podsync.manifest.validate.metadata import validate_metadata
from podsync.manifest.validate.names import config_key
from podsync.manifest.validate.problems import invalid, required, too_long
from podsync.models import ConfigMap, Secret

__all__ = ["validate_config_map", "validate_secret"]

_SIZE_MAX = 1048576
_TYPES = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}
"""Keys that a Secret of a given type must hold."""


def validate_config_map(config_map: ConfigMap) -> list[FieldError]:
    """Every problem of a decoded ConfigMap, in the API's order."""
    errors: list[FieldError] = []
    validate_metadata(config_map.metadata, config_map.KIND, errors)
    _keys(config_map.data, "data", errors)
    errors += [
        invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
        for key in config_map.data
        if key in config_map.binary_data
    ]
    _keys(config_map.binary_data, "binaryData", errors)
    size = sum(len(text.encode("utf-8", "replace")) for text in config_map.data.values())
    _size(size + sum(len(value) for value in config_map.binary_data.values()), errors)
    return errors


def validate_secret(secret: Secret) -> list[FieldError]:
    """Every problem of a decoded Secret, in the API's order."""
    errors: list[FieldError] = []
    validate_metadata(secret.metadata, secret.KIND, errors)
    _keys(secret.data, "data", errors)
    _keys(secret.string_data, "stringData", errors)
    # stringData is written over data before anything else is looked at.
    texts = {key: text.encode("utf-8", "replace") for key, text in secret.string_data.items()}
    merged = {**secret.data, **texts}
    _size(sum(len(value) for value in merged.values()), errors)
    errors += [required(f"data[{key}]") for key in _TYPES.get(secret.type, ()) if key not in merged]
    return errors


def _keys(keys: Iterable[str], field: str, errors: list[FieldError]) -> None:
    for key in keys:
        errors += [invalid(f"{field}[{key}]", key, words) for words in config_key(key)]


def _size(size: int, errors: list[FieldError]) -> None:
    if size > _SIZE_MAX:
        errors.append(too_long("data", _SIZE_MAX))
