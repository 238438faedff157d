"""The table of fields: what podsync does with each field of a manifest, from the models.

``python -m podsync.manifest.fields > docs/fields.md`` writes the page.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Final, NamedTuple

from podsync.models import ConfigMap, Pod, Secret
from podsync.models.base import Model
from podsync.models.wire import Answer, Form, Support, fields_of, model_named

__all__ = ["Row", "markdown", "rows"]

_KINDS: Final = (Pod, ConfigMap, Secret)
_INTRODUCTION: Final = """\
# Fields

What podsync does with each field of the Kubernetes v1 Pod, and of the documents that may stand beside Pods.
This page is made from the models (`python -m podsync.manifest.fields > docs/fields.md`); do not edit it.

- **supported**: behaves as on a kubelet.
- **ignored**: read and checked for its type, without effect; the reason says why that does no harm.
- **refused**: a manifest that sets it is invalid, and the error names the field: nothing runs half as written.

A field that is ignored or refused stands for everything below it. `[]` is any entry of a list.
A field that is in no row does not exist in the API: it is a warning, and an error with `--strict`.
"""


class Row(NamedTuple):
    """One line of the table."""

    path: str
    """Field path with ``[]`` for every list (``spec.containers[].name``)."""
    support: Support | None
    """None: the model forgot to answer."""


def rows(model: type[Model], prefix: str = "") -> Iterator[Row]:
    """Every field of a model and below it, down to where one answer holds for all the rest."""
    for item in fields_of(model):
        path = f"{prefix}{item.name}" + ("[]" if item.form is Form.LIST else "")
        support = item.support
        if support is not None and support.answer is Answer.SUPPORTED and isinstance(item.element, str):
            yield from rows(model_named(item.element), f"{path}.")
        else:
            yield Row(path, support)


def markdown() -> str:
    """The whole page."""
    parts = [_INTRODUCTION]
    for kind in _KINDS:
        lines = [f"| `{path}` | {support.text if support else ''} |" for path, support in rows(kind)]
        parts.append("\n".join((f"## {kind.KIND}\n", "| field | answer |", "|---|---|", *lines)) + "\n")
    return "\n".join(parts)


if __name__ == "__main__":
    sys.stdout.write(markdown())
