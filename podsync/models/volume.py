"""Volumes, and the sources that need nothing but the host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from podsync.models.base import Model
from podsync.models.quantity import Quantity
from podsync.models.when import is_huge_pages
from podsync.models.wire import SUPPORTED, refused, wire

if TYPE_CHECKING:
    from podsync.models.volume_plugins import (
        AWSElasticBlockStoreVolumeSource,
        AzureDiskVolumeSource,
        AzureFileVolumeSource,
        CephFSVolumeSource,
        CinderVolumeSource,
        CSIVolumeSource,
        FCVolumeSource,
        FlexVolumeSource,
        FlockerVolumeSource,
        GCEPersistentDiskVolumeSource,
        GitRepoVolumeSource,
        GlusterfsVolumeSource,
        ISCSIVolumeSource,
        NFSVolumeSource,
        PhotonPersistentDiskVolumeSource,
        PortworxVolumeSource,
        QuobyteVolumeSource,
        RBDVolumeSource,
        ScaleIOVolumeSource,
        StorageOSVolumeSource,
        VsphereVirtualDiskVolumeSource,
    )
    from podsync.models.volume_sources import (
        ConfigMapVolumeSource,
        DownwardAPIVolumeSource,
        EphemeralVolumeSource,
        ImageVolumeSource,
        PersistentVolumeClaimVolumeSource,
        ProjectedVolumeSource,
        SecretVolumeSource,
    )

__all__ = [
    "EmptyDirVolumeSource",
    "HostPathVolumeSource",
    "Volume",
]

_CLOUD = refused("a cloud attaches it; attach and mount it on the host and use hostPath", later=False)
_NETWORK = refused("podsync mounts no network storage; mount it on the host and use hostPath", later=False)
_DRIVER = refused("it needs a storage driver; mount it on the host and use hostPath", later=False)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Volume(Model):
    """A named volume; at most one of its sources is set (none means ``empty_dir``)."""

    name: str = wire("", SUPPORTED)
    host_path: HostPathVolumeSource | None = wire(None, SUPPORTED)
    empty_dir: EmptyDirVolumeSource | None = wire(None, SUPPORTED)
    gce_persistent_disk: GCEPersistentDiskVolumeSource | None = wire(None, _CLOUD)
    aws_elastic_block_store: AWSElasticBlockStoreVolumeSource | None = wire(None, _CLOUD)
    git_repo: GitRepoVolumeSource | None = wire(
        None, refused("the API has given it up; clone in an init container", later=False)
    )
    secret: SecretVolumeSource | None = wire(None, refused("Secrets do not reach containers"))
    nfs: NFSVolumeSource | None = wire(None, refused("exports are not mounted; mount it on the host and use hostPath"))
    iscsi: ISCSIVolumeSource | None = wire(None, _NETWORK)
    glusterfs: GlusterfsVolumeSource | None = wire(None, _NETWORK)
    persistent_volume_claim: PersistentVolumeClaimVolumeSource | None = wire(
        None, refused("there are no claims; use hostPath")
    )
    rbd: RBDVolumeSource | None = wire(None, _NETWORK)
    flex_volume: FlexVolumeSource | None = wire(None, _DRIVER)
    cinder: CinderVolumeSource | None = wire(None, _CLOUD)
    cephfs: CephFSVolumeSource | None = wire(None, _NETWORK)
    flocker: FlockerVolumeSource | None = wire(None, _DRIVER)
    downward_api: DownwardAPIVolumeSource | None = wire(
        None, refused("facts about the pod do not reach containers"), name="downwardAPI"
    )
    fc: FCVolumeSource | None = wire(None, _NETWORK)
    azure_file: AzureFileVolumeSource | None = wire(None, _CLOUD)
    config_map: ConfigMapVolumeSource | None = wire(None, refused("ConfigMaps do not reach containers; use hostPath"))
    vsphere_volume: VsphereVirtualDiskVolumeSource | None = wire(None, _CLOUD)
    quobyte: QuobyteVolumeSource | None = wire(None, _DRIVER)
    azure_disk: AzureDiskVolumeSource | None = wire(None, _CLOUD)
    photon_persistent_disk: PhotonPersistentDiskVolumeSource | None = wire(None, _CLOUD)
    projected: ProjectedVolumeSource | None = wire(None, refused("its sources do not reach containers"))
    portworx_volume: PortworxVolumeSource | None = wire(None, _DRIVER)
    scale_io: ScaleIOVolumeSource | None = wire(None, _DRIVER, name="scaleIO")
    storageos: StorageOSVolumeSource | None = wire(None, _DRIVER)
    csi: CSIVolumeSource | None = wire(None, _DRIVER)
    ephemeral: EphemeralVolumeSource | None = wire(None, refused("there are no claims; use emptyDir"))
    image: ImageVolumeSource | None = wire(None, refused("images are not mounted"))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class EmptyDirVolumeSource(Model):
    """An empty directory that lives as long as the pod."""

    medium: str = wire("", refused("huge pages are not mounted", when=is_huge_pages, only="the disk, and Memory"))
    size_limit: Quantity | None = wire(None, SUPPORTED)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class HostPathVolumeSource(Model):
    """A path of the host."""

    path: str = wire("", SUPPORTED)
    type: str | None = wire(None, SUPPORTED, fill="")
