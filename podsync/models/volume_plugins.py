"""Volume sources that stand for storage systems outside the host."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from podsync.models.base import Model
from podsync.models.frozen import EMPTY
from podsync.models.wire import Int32, wire

if TYPE_CHECKING:
    from podsync.models.meta import LocalObjectReference

__all__ = [
    "AWSElasticBlockStoreVolumeSource",
    "AzureDiskVolumeSource",
    "AzureFileVolumeSource",
    "CSIVolumeSource",
    "CephFSVolumeSource",
    "CinderVolumeSource",
    "FCVolumeSource",
    "FlexVolumeSource",
    "FlockerVolumeSource",
    "GCEPersistentDiskVolumeSource",
    "GitRepoVolumeSource",
    "GlusterfsVolumeSource",
    "ISCSIVolumeSource",
    "NFSVolumeSource",
    "PhotonPersistentDiskVolumeSource",
    "PortworxVolumeSource",
    "QuobyteVolumeSource",
    "RBDVolumeSource",
    "ScaleIOVolumeSource",
    "StorageOSVolumeSource",
    "VsphereVirtualDiskVolumeSource",
]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AWSElasticBlockStoreVolumeSource(Model):
    """A disk of Amazon's cloud."""

    volume_id: str = wire("", name="volumeID")
    fs_type: str = ""
    partition: Int32 = 0
    read_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AzureDiskVolumeSource(Model):
    """A disk of Microsoft's cloud."""

    disk_name: str = ""
    disk_uri: str = wire("", name="diskURI")
    caching_mode: str | None = wire(None, fill="ReadWrite")
    fs_type: str | None = wire(None, fill="ext4")
    read_only: bool | None = wire(None, fill=False)
    kind: str | None = wire(None, fill="Shared")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AzureFileVolumeSource(Model):
    """A share of Microsoft's cloud."""

    secret_name: str = ""
    share_name: str = ""
    read_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CephFSVolumeSource(Model):
    """A Ceph file system."""

    monitors: tuple[str, ...] = ()
    path: str = ""
    user: str = ""
    secret_file: str = ""
    secret_ref: LocalObjectReference | None = None
    read_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CinderVolumeSource(Model):
    """A disk of an OpenStack cloud."""

    volume_id: str = wire("", name="volumeID")
    fs_type: str = ""
    read_only: bool = False
    secret_ref: LocalObjectReference | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CSIVolumeSource(Model):
    """A volume served by a CSI driver."""

    driver: str = ""
    read_only: bool | None = None
    fs_type: str | None = None
    volume_attributes: Mapping[str, str] = EMPTY
    node_publish_secret_ref: LocalObjectReference | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class FCVolumeSource(Model):
    """A Fibre Channel disk."""

    target_wwns: tuple[str, ...] = wire((), name="targetWWNs")
    lun: Int32 | None = None
    fs_type: str = ""
    read_only: bool = False
    wwids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class FlexVolumeSource(Model):
    """A volume served by a FlexVolume driver."""

    driver: str = ""
    fs_type: str = ""
    secret_ref: LocalObjectReference | None = None
    read_only: bool = False
    options: Mapping[str, str] = EMPTY


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class FlockerVolumeSource(Model):
    """A Flocker dataset."""

    dataset_name: str = ""
    dataset_uuid: str = wire("", name="datasetUUID")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class GCEPersistentDiskVolumeSource(Model):
    """A disk of Google's cloud."""

    pd_name: str = ""
    fs_type: str = ""
    partition: Int32 = 0
    read_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class GitRepoVolumeSource(Model):
    """A clone of a git repository."""

    repository: str = ""
    revision: str = ""
    directory: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class GlusterfsVolumeSource(Model):
    """A Gluster volume."""

    endpoints: str = ""
    path: str = ""
    read_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ISCSIVolumeSource(Model):
    """An iSCSI disk."""

    target_portal: str = ""
    iqn: str = ""
    lun: Int32 = wire(0, always=True)
    iscsi_interface: str = wire("", fill="default")
    fs_type: str = ""
    read_only: bool = False
    portals: tuple[str, ...] = ()
    chap_auth_discovery: bool = False
    chap_auth_session: bool = False
    secret_ref: LocalObjectReference | None = None
    initiator_name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class NFSVolumeSource(Model):
    """An NFS export."""

    server: str = ""
    path: str = ""
    read_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PhotonPersistentDiskVolumeSource(Model):
    """A Photon controller's disk."""

    pd_id: str = wire("", name="pdID")
    fs_type: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PortworxVolumeSource(Model):
    """A Portworx volume."""

    volume_id: str = wire("", name="volumeID")
    fs_type: str = ""
    read_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class QuobyteVolumeSource(Model):
    """A Quobyte volume."""

    registry: str = ""
    volume: str = ""
    read_only: bool = False
    user: str = ""
    group: str = ""
    tenant: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RBDVolumeSource(Model):
    """A Ceph block device."""

    monitors: tuple[str, ...] = ()
    image: str = ""
    fs_type: str = ""
    pool: str = wire("", fill="rbd")
    user: str = wire("", fill="admin")
    keyring: str = wire("", fill="/etc/ceph/keyring")
    secret_ref: LocalObjectReference | None = None
    read_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ScaleIOVolumeSource(Model):
    """A ScaleIO volume."""

    gateway: str = ""
    system: str = ""
    secret_ref: LocalObjectReference | None = None
    ssl_enabled: bool = False
    protection_domain: str = ""
    storage_pool: str = ""
    storage_mode: str = wire("", fill="ThinProvisioned")
    volume_name: str = ""
    fs_type: str = wire("", fill="xfs")
    read_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class StorageOSVolumeSource(Model):
    """A StorageOS volume."""

    volume_name: str = ""
    volume_namespace: str = ""
    fs_type: str = ""
    read_only: bool = False
    secret_ref: LocalObjectReference | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class VsphereVirtualDiskVolumeSource(Model):
    """A vSphere disk."""

    volume_path: str = ""
    fs_type: str = ""
    storage_policy_name: str = ""
    storage_policy_id: str = wire("", name="storagePolicyID")
