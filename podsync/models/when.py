"""Which values of a field are refused: the predicates of ``refused(…, when=…)``.

Each gets the value (for a map: one key) and the model it stands in. A predicate's name
completes the sentence "refused when it …".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from podsync.models.base import Model
    from podsync.models.container import ResourceRequirements
    from podsync.models.security import AppArmorProfile

__all__ = [
    "is_false",
    "is_huge_pages",
    "is_strict",
    "is_true",
    "is_unmasked",
    "names_a_profile",
    "says_anything",
    "would_not_be_counted",
    "would_not_be_limited",
]


def is_true(value: bool, _: Model) -> bool:
    """A switch that only works turned off."""
    return value


def is_false(value: bool, _: Model) -> bool:
    """A switch that only works turned on."""
    return not value


def is_strict(policy: str, _: Model) -> bool:
    """``supplementalGroupsPolicy``: the image's own groups would have to go."""
    return policy == "Strict"


def is_unmasked(mount: str, _: Model) -> bool:
    """``procMount``: /proc would have to show what engines hide."""
    return mount == "Unmasked"


def is_huge_pages(medium: str, _: Model) -> bool:
    """``emptyDir.medium``: ``HugePages`` or ``HugePages-<size>``."""
    return medium.startswith("HugePages")


def names_a_profile(profile: AppArmorProfile, _: Model) -> bool:
    """An AppArmor profile other than the engine's own."""
    return profile.type not in ("", "RuntimeDefault")


def says_anything(options: Model, _: Model) -> bool:
    """A structure with at least one field set."""
    return bool(options.to_dict())


def would_not_be_limited(resource: str, _: Model) -> bool:
    """A limit that no cgroup setting of ours keeps."""
    return resource == "ephemeral-storage" or would_not_be_found(resource)


def would_not_be_counted(resource: str, owner: ResourceRequirements) -> bool:
    """A request that matters to more than a scheduler; one that a limit implies is told there."""
    return resource not in owner.limits and would_not_be_found(resource)


def would_not_be_found(resource: str) -> bool:
    """Huge pages, and extended resources such as ``nvidia.com/gpu``."""
    return "/" in resource or resource.startswith("hugepages-")
