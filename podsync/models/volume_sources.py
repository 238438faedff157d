"""Volume sources fed from other objects: configuration, claims, images."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from podsync.models.base import Model
from podsync.models.frozen import EMPTY
from podsync.models.meta import ObjectMeta
from podsync.models.quantity import Quantity
from podsync.models.wire import Int32, wire

if TYPE_CHECKING:
    from podsync.models.env import ObjectFieldSelector, ResourceFieldSelector
    from podsync.models.meta import LabelSelector

__all__ = [
    "ClusterTrustBundleProjection",
    "ConfigMapProjection",
    "ConfigMapVolumeSource",
    "DownwardAPIProjection",
    "DownwardAPIVolumeFile",
    "DownwardAPIVolumeSource",
    "EphemeralVolumeSource",
    "ImageVolumeSource",
    "KeyToPath",
    "PersistentVolumeClaimSpec",
    "PersistentVolumeClaimTemplate",
    "PersistentVolumeClaimVolumeSource",
    "PodCertificateProjection",
    "ProjectedVolumeSource",
    "SecretProjection",
    "SecretVolumeSource",
    "ServiceAccountTokenProjection",
    "TypedLocalObjectReference",
    "TypedObjectReference",
    "VolumeProjection",
    "VolumeResourceRequirements",
]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ConfigMapVolumeSource(Model):
    """A ConfigMap's keys as files."""

    name: str = ""
    items: tuple[KeyToPath, ...] = ()
    default_mode: Int32 | None = wire(None, fill=0o644)
    optional: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SecretVolumeSource(Model):
    """A Secret's keys as files."""

    secret_name: str = ""
    items: tuple[KeyToPath, ...] = ()
    default_mode: Int32 | None = wire(None, fill=0o644)
    optional: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class KeyToPath(Model):
    """One key and the relative path of its file."""

    key: str = ""
    path: str = ""
    mode: Int32 | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class DownwardAPIVolumeSource(Model):
    """Facts about the pod as files."""

    items: tuple[DownwardAPIVolumeFile, ...] = ()
    default_mode: Int32 | None = wire(None, fill=0o644)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class DownwardAPIVolumeFile(Model):
    """One fact about the pod and the relative path of its file."""

    path: str = ""
    field_ref: ObjectFieldSelector | None = None
    resource_field_ref: ResourceFieldSelector | None = None
    mode: Int32 | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ProjectedVolumeSource(Model):
    """Several sources in one directory."""

    sources: tuple[VolumeProjection, ...] = ()
    default_mode: Int32 | None = wire(None, fill=0o644)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class VolumeProjection(Model):
    """One source of a projected volume; exactly one field is set."""

    secret: SecretProjection | None = None
    downward_api: DownwardAPIProjection | None = wire(None, name="downwardAPI")
    config_map: ConfigMapProjection | None = None
    service_account_token: ServiceAccountTokenProjection | None = None
    cluster_trust_bundle: ClusterTrustBundleProjection | None = None
    pod_certificate: PodCertificateProjection | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ConfigMapProjection(Model):
    """A ConfigMap's keys in a projected volume."""

    name: str = ""
    items: tuple[KeyToPath, ...] = ()
    optional: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SecretProjection(Model):
    """A Secret's keys in a projected volume."""

    name: str = ""
    items: tuple[KeyToPath, ...] = ()
    optional: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class DownwardAPIProjection(Model):
    """Facts about the pod in a projected volume."""

    items: tuple[DownwardAPIVolumeFile, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ServiceAccountTokenProjection(Model):
    """A token of the pod's service account, renewed before it expires."""

    audience: str = ""
    expiration_seconds: int | None = wire(None, fill=3600)
    path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ClusterTrustBundleProjection(Model):
    """A cluster's trust anchors in one PEM file."""

    name: str | None = None
    signer_name: str | None = None
    label_selector: LabelSelector | None = None
    optional: bool | None = None
    path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PodCertificateProjection(Model):
    """A private key and a certificate issued for the pod."""

    signer_name: str = ""
    key_type: str = ""
    max_expiration_seconds: Int32 | None = None
    credential_bundle_path: str = ""
    key_path: str = ""
    certificate_chain_path: str = ""
    user_annotations: Mapping[str, str] = EMPTY


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ImageVolumeSource(Model):
    """An image's files, read-only."""

    reference: str = ""
    pull_policy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PersistentVolumeClaimVolumeSource(Model):
    """A claim's volume."""

    claim_name: str = ""
    read_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class EphemeralVolumeSource(Model):
    """A claim made for this pod and deleted with it."""

    volume_claim_template: PersistentVolumeClaimTemplate | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class VolumeResourceRequirements(Model):
    """The size a claim asks for."""

    limits: Mapping[str, Quantity] = EMPTY
    requests: Mapping[str, Quantity] = EMPTY


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PersistentVolumeClaimSpec(Model):
    """What a claim asks for."""

    access_modes: tuple[str, ...] = ()
    selector: LabelSelector | None = None
    resources: VolumeResourceRequirements = VolumeResourceRequirements()
    volume_name: str = ""
    storage_class_name: str | None = None
    volume_mode: str | None = wire(None, fill="Filesystem")
    data_source: TypedLocalObjectReference | None = None
    data_source_ref: TypedObjectReference | None = None
    volume_attributes_class_name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PersistentVolumeClaimTemplate(Model):
    """The claim to make."""

    metadata: ObjectMeta = wire(ObjectMeta())
    spec: PersistentVolumeClaimSpec = wire(PersistentVolumeClaimSpec())


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TypedLocalObjectReference(Model):
    """An object of a given kind in the same namespace."""

    api_group: str | None = None
    kind: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TypedObjectReference(Model):
    """An object of a given kind, perhaps of another namespace."""

    api_group: str | None = None
    kind: str = ""
    name: str = ""
    namespace: str | None = None
