"""Rules of metadata, the same for pods, ConfigMaps and Secrets."""

from __future__ import annotations

import re
from collections.abc import Mapping

from podsync.errors import FieldError
from podsync.manifest.validate.names import dns_label, dns_subdomain, label_value, qualified_name
from podsync.manifest.validate.problems import invalid, required, too_long
from podsync.models import ObjectMeta

__all__ = ["validate_labels", "validate_metadata"]

_ANNOTATIONS_MAX = 262144
_uid_match = re.compile(r"[A-Za-z0-9](?:[-.A-Za-z0-9]{0,61}[A-Za-z0-9])?").fullmatch


def validate_metadata(meta: ObjectMeta, kind: str, errors: list[FieldError]) -> None:
    """Name, namespace, uid, labels and annotations. ``kind`` is said where the name is missing."""
    if not meta.name:
        errors.append(required("metadata.name", f"name is needed for the {kind}"))
    elif complaints := dns_subdomain(meta.name):
        errors += [invalid("metadata.name", meta.name, words) for words in complaints]
    if not meta.namespace:
        errors.append(required("metadata.namespace"))
    elif complaints := dns_label(meta.namespace):
        errors += [invalid("metadata.namespace", meta.namespace, words) for words in complaints]
    if meta.uid and not _uid_match(meta.uid):
        # Any text will do for the API. Here it is a part of containers' names and a directory's name.
        errors.append(
            invalid(
                "metadata.uid",
                meta.uid,
                "must be no more than 63 characters, consist of alphanumeric characters, '-' or '.', "
                "and start and end with an alphanumeric character",
            )
        )
    if meta.labels:
        validate_labels(meta.labels, "metadata.labels", errors)
    if meta.annotations:
        _annotations(meta.annotations, errors)


def validate_labels(labels: Mapping[str, str], path: str, errors: list[FieldError]) -> None:
    """Keys and values of labels, or of what is compared with labels."""
    for key, value in labels.items():
        errors += [invalid(path, key, words) for words in qualified_name(key)]
        errors += [invalid(path, value, words) for words in label_value(value)]


def _annotations(annotations: Mapping[str, str], errors: list[FieldError]) -> None:
    size = 0
    for key, value in annotations.items():
        errors += [invalid("metadata.annotations", key, words) for words in qualified_name(key.lower())]
        size += len(key.encode("utf-8", "replace")) + len(value.encode("utf-8", "replace"))
    if size > _ANNOTATIONS_MAX:
        errors.append(too_long("metadata.annotations", _ANNOTATIONS_MAX))
