"""Parts of a status that only tell of devices, users and image volumes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from podsync.models.base import Model
from podsync.models.frozen import EMPTY
from podsync.models.quantity import Quantity
from podsync.models.wire import wire

__all__ = [
    "ContainerExtendedResourceRequest",
    "ContainerUser",
    "ImageVolumeStatus",
    "LinuxContainerUser",
    "NodeAllocatableResourceClaimStatus",
    "PodExtendedResourceClaimStatus",
    "PodResourceClaimStatus",
    "ResourceHealth",
    "ResourceStatus",
    "VolumeStatus",
]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class VolumeStatus(Model):
    """What a volume was made from."""

    image: ImageVolumeStatus | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ImageVolumeStatus(Model):
    """The image behind an image volume."""

    image_ref: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ContainerUser(Model):
    """Who a container's first process runs as."""

    linux: LinuxContainerUser | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LinuxContainerUser(Model):
    """User and groups by number."""

    uid: int = wire(0, always=True)
    gid: int = wire(0, always=True)
    supplemental_groups: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ResourceStatus(Model):
    """Health of the devices a container was given."""

    name: str = ""
    resources: tuple[ResourceHealth, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ResourceHealth(Model):
    """Health of one device."""

    resource_id: str = wire("", name="resourceID")
    health: str = ""
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PodResourceClaimStatus(Model):
    """The claim object made for one of the pod's claims."""

    name: str = ""
    resource_claim_name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PodExtendedResourceClaimStatus(Model):
    """The claim made for extended resources."""

    request_mappings: tuple[ContainerExtendedResourceRequest, ...] = ()
    resource_claim_name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ContainerExtendedResourceRequest(Model):
    """Which request of that claim serves which container."""

    container_name: str = ""
    resource_name: str = ""
    request_name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class NodeAllocatableResourceClaimStatus(Model):
    """What a claim takes of the node's own resources."""

    resource_claim_name: str = ""
    containers: tuple[str, ...] = ()
    resources: Mapping[str, Quantity] = EMPTY
