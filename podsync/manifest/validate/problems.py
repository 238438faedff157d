"""The kinds of validation errors, worded as the Kubernetes API words them.

``<Kind>[: <bad value>][: <detail>]``: a string is shown quoted, numbers and booleans
plain, anything else as compact JSON. Values are cut short, so that a message stays a line.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from podsync.errors import FieldError

__all__ = ["duplicate", "forbidden", "invalid", "not_found", "required", "show", "too_long", "unsupported"]

_LONGEST_VALUE = 200  # characters of a bad value that are shown


def show(value: Any) -> str:
    """A bad value as a message shows it."""
    if isinstance(value, str) and len(value) > _LONGEST_VALUE:
        return json.dumps(value[:_LONGEST_VALUE], ensure_ascii=False) + f"… ({len(value)} characters)"
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    return text if isinstance(value, str) or len(text) <= _LONGEST_VALUE else text[:_LONGEST_VALUE] + "…"


def required(path: str, detail: str = "") -> FieldError:
    """Something must be written at ``path``."""
    return FieldError(path, f"Required value: {detail}" if detail else "Required value")


def invalid(path: str, value: Any, detail: str) -> FieldError:
    """The value at ``path`` breaks a rule."""
    return FieldError(path, f"Invalid value: {show(value)}: {detail}")


def unsupported(path: str, value: Any, supported: Iterable[str]) -> FieldError:
    """The value at ``path`` is none of those that are allowed there."""
    values = ", ".join(json.dumps(word) for word in supported)
    return FieldError(path, f"Unsupported value: {show(value)}: supported values: {values}")


def forbidden(path: str, detail: str) -> FieldError:
    """Nothing may be written at ``path``."""
    return FieldError(path, f"Forbidden: {detail}")


def duplicate(path: str, value: Any) -> FieldError:
    """What must be unique is there a second time."""
    return FieldError(path, f"Duplicate value: {show(value)}")


def not_found(path: str, value: Any) -> FieldError:
    """The value at ``path`` names something that is not there."""
    return FieldError(path, f"Not found: {show(value)}")


def too_long(path: str, limit: int) -> FieldError:
    """More than ``limit`` bytes."""
    return FieldError(path, f"Too long: may not be more than {limit} {'byte' if limit == 1 else 'bytes'}")
