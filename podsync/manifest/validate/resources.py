"""Rules of a container's resource limits and requests."""

from __future__ import annotations

from podsync.errors import FieldError
from podsync.manifest.validate.names import qualified_name
from podsync.manifest.validate.problems import forbidden, invalid, required
from podsync.models import Quantity, ResourceRequirements

__all__ = ["validate_resources"]

_STANDARD = frozenset({"cpu", "memory", "ephemeral-storage"})
_HUGE_PAGES = "hugepages-"
_WHOLE = 10**9  # billionths in one


def validate_resources(resources: ResourceRequirements, path: str, errors: list[FieldError]) -> None:
    """Names and amounts, and requests against limits."""
    limits, requests = resources.limits, resources.requests
    for name, limit in limits.items():
        _amount(name, limit, f"{path}.limits[{name}]", errors)
    for name, request in requests.items():
        _amount(name, request, f"{path}.requests[{name}]", errors)
        bound = limits.get(name)
        if bound is None:
            if not _overcommitted(name):
                errors.append(required(f"{path}.limits", "Limit must be set for non overcommitable resources"))
        elif not _overcommitted(name) and request != bound:
            errors.append(invalid(f"{path}.requests", str(request), f"must be equal to {name} limit of {bound}"))
        elif request > bound:
            errors.append(
                invalid(f"{path}.requests", str(request), f"must be less than or equal to {name} limit of {bound}")
            )
    named = limits.keys() | requests.keys()
    if any(name.startswith(_HUGE_PAGES) for name in named) and named.isdisjoint({"cpu", "memory"}):
        errors.append(forbidden(path, "HugePages require cpu or memory"))


def _amount(name: str, amount: Quantity, path: str, errors: list[FieldError]) -> None:
    if name not in _STANDARD:
        _name(name, path, errors)
    if amount.nanos < 0:
        errors.append(invalid(path, str(amount), "must be greater than or equal to 0"))
    if not _is_native(name) and amount.nanos % _WHOLE:
        errors.append(invalid(path, str(amount), "must be an integer"))
    if name.startswith(_HUGE_PAGES) and not _is_multiple(amount, name.removeprefix(_HUGE_PAGES)):
        errors.append(invalid(path, str(amount), f"{amount} is not positive integer multiple of {name}"))


def _name(name: str, path: str, errors: list[FieldError]) -> None:
    complaints = qualified_name(name)
    if complaints:
        errors += [invalid(path, name, words) for words in complaints]
    elif "/" not in name and not name.startswith(_HUGE_PAGES):
        errors.append(invalid(path, name, "must be a standard resource for containers"))
    elif not _is_native(name) and (name.startswith("requests.") or qualified_name(f"requests.{name}")):
        errors.append(invalid(path, name, "doesn't follow extended resource name standard"))


def _is_native(name: str) -> bool:
    """Kubernetes' own resources have no prefix, or its own."""
    return "/" not in name or "kubernetes.io/" in name


def _overcommitted(name: str) -> bool:
    return _is_native(name) and not name.startswith(_HUGE_PAGES)


def _is_multiple(amount: Quantity, page: str) -> bool:
    """Whether an amount is whole pages; a page size that is no quantity is another complaint."""
    try:
        size = Quantity(page).nanos
    except ValueError:
        return False
    return size > 0 and amount.nanos > 0 and amount.nanos % size == 0
