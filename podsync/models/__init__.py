"""The Kubernetes v1 Pod and everything under it, as immutable values.

One declaration a field serves reading, writing, defaults, the JSON Schema and the table
of fields. Attributes are the API's names in snake case; lists are tuples and maps are
mappings, empty when missing; a string, number or switch that the API does not make a
pointer holds its zero value when missing, everything else None.

Modules load when a name of theirs is first used: most pods need few of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from podsync.models.base import Model
    from podsync.models.config import ConfigMap, Secret
    from podsync.models.container import (
        Container,
        ContainerPort,
        ContainerResizePolicy,
        ContainerRestartRule,
        ContainerRestartRuleOnExitCodes,
        EnvVar,
        EphemeralContainer,
        ResourceClaim,
        ResourceRequirements,
        VolumeDevice,
        VolumeMount,
    )
    from podsync.models.env import (
        ConfigMapEnvSource,
        ConfigMapKeySelector,
        EnvFromSource,
        EnvVarSource,
        FileKeySelector,
        ObjectFieldSelector,
        ResourceFieldSelector,
        SecretEnvSource,
        SecretKeySelector,
    )
    from podsync.models.frozen import FrozenMap
    from podsync.models.meta import (
        LabelSelector,
        LabelSelectorRequirement,
        LocalObjectReference,
        ManagedFieldsEntry,
        ObjectMeta,
        OwnerReference,
    )
    from podsync.models.pod import (
        HostAlias,
        Pod,
        PodDNSConfig,
        PodDNSConfigOption,
        PodKey,
        PodOS,
        PodReadinessGate,
        PodResourceClaim,
        PodSpec,
    )
    from podsync.models.probe import (
        ExecAction,
        GRPCAction,
        HTTPGetAction,
        HTTPHeader,
        Lifecycle,
        LifecycleHandler,
        Probe,
        SleepAction,
        TCPSocketAction,
    )
    from podsync.models.quantity import Quantity
    from podsync.models.scheduling import (
        Affinity,
        NodeAffinity,
        NodeSelector,
        NodeSelectorRequirement,
        NodeSelectorTerm,
        PodAffinity,
        PodAffinityTerm,
        PodAntiAffinity,
        PodSchedulingGate,
        PodSchedulingGroup,
        PreferredSchedulingTerm,
        Toleration,
        TopologySpreadConstraint,
        WeightedPodAffinityTerm,
    )
    from podsync.models.security import (
        AppArmorProfile,
        Capabilities,
        PodSecurityContext,
        SeccompProfile,
        SecurityContext,
        SELinuxOptions,
        Sysctl,
        WindowsSecurityContextOptions,
    )
    from podsync.models.status import (
        ContainerState,
        ContainerStateRunning,
        ContainerStateTerminated,
        ContainerStateWaiting,
        ContainerStatus,
        HostIP,
        PodCondition,
        PodIP,
        PodStatus,
        VolumeMountStatus,
    )
    from podsync.models.status_resources import (
        ContainerExtendedResourceRequest,
        ContainerUser,
        ImageVolumeStatus,
        LinuxContainerUser,
        NodeAllocatableResourceClaimStatus,
        PodExtendedResourceClaimStatus,
        PodResourceClaimStatus,
        ResourceHealth,
        ResourceStatus,
        VolumeStatus,
    )
    from podsync.models.support import refusals
    from podsync.models.volume import EmptyDirVolumeSource, HostPathVolumeSource, Volume
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
        ClusterTrustBundleProjection,
        ConfigMapProjection,
        ConfigMapVolumeSource,
        DownwardAPIProjection,
        DownwardAPIVolumeFile,
        DownwardAPIVolumeSource,
        EphemeralVolumeSource,
        ImageVolumeSource,
        KeyToPath,
        PersistentVolumeClaimSpec,
        PersistentVolumeClaimTemplate,
        PersistentVolumeClaimVolumeSource,
        PodCertificateProjection,
        ProjectedVolumeSource,
        SecretProjection,
        SecretVolumeSource,
        ServiceAccountTokenProjection,
        TypedLocalObjectReference,
        TypedObjectReference,
        VolumeProjection,
        VolumeResourceRequirements,
    )

__all__ = [
    "AWSElasticBlockStoreVolumeSource",
    "Affinity",
    "AppArmorProfile",
    "AzureDiskVolumeSource",
    "AzureFileVolumeSource",
    "CSIVolumeSource",
    "Capabilities",
    "CephFSVolumeSource",
    "CinderVolumeSource",
    "ClusterTrustBundleProjection",
    "ConfigMap",
    "ConfigMapEnvSource",
    "ConfigMapKeySelector",
    "ConfigMapProjection",
    "ConfigMapVolumeSource",
    "Container",
    "ContainerExtendedResourceRequest",
    "ContainerPort",
    "ContainerResizePolicy",
    "ContainerRestartRule",
    "ContainerRestartRuleOnExitCodes",
    "ContainerState",
    "ContainerStateRunning",
    "ContainerStateTerminated",
    "ContainerStateWaiting",
    "ContainerStatus",
    "ContainerUser",
    "DownwardAPIProjection",
    "DownwardAPIVolumeFile",
    "DownwardAPIVolumeSource",
    "EmptyDirVolumeSource",
    "EnvFromSource",
    "EnvVar",
    "EnvVarSource",
    "EphemeralContainer",
    "EphemeralVolumeSource",
    "ExecAction",
    "FCVolumeSource",
    "FileKeySelector",
    "FlexVolumeSource",
    "FlockerVolumeSource",
    "FrozenMap",
    "GCEPersistentDiskVolumeSource",
    "GRPCAction",
    "GitRepoVolumeSource",
    "GlusterfsVolumeSource",
    "HTTPGetAction",
    "HTTPHeader",
    "HostAlias",
    "HostIP",
    "HostPathVolumeSource",
    "ISCSIVolumeSource",
    "ImageVolumeSource",
    "ImageVolumeStatus",
    "KeyToPath",
    "LabelSelector",
    "LabelSelectorRequirement",
    "Lifecycle",
    "LifecycleHandler",
    "LinuxContainerUser",
    "LocalObjectReference",
    "ManagedFieldsEntry",
    "Model",
    "NFSVolumeSource",
    "NodeAffinity",
    "NodeAllocatableResourceClaimStatus",
    "NodeSelector",
    "NodeSelectorRequirement",
    "NodeSelectorTerm",
    "ObjectFieldSelector",
    "ObjectMeta",
    "OwnerReference",
    "PersistentVolumeClaimSpec",
    "PersistentVolumeClaimTemplate",
    "PersistentVolumeClaimVolumeSource",
    "PhotonPersistentDiskVolumeSource",
    "Pod",
    "PodAffinity",
    "PodAffinityTerm",
    "PodAntiAffinity",
    "PodCertificateProjection",
    "PodCondition",
    "PodDNSConfig",
    "PodDNSConfigOption",
    "PodExtendedResourceClaimStatus",
    "PodIP",
    "PodKey",
    "PodOS",
    "PodReadinessGate",
    "PodResourceClaim",
    "PodResourceClaimStatus",
    "PodSchedulingGate",
    "PodSchedulingGroup",
    "PodSecurityContext",
    "PodSpec",
    "PodStatus",
    "PortworxVolumeSource",
    "PreferredSchedulingTerm",
    "Probe",
    "ProjectedVolumeSource",
    "Quantity",
    "QuobyteVolumeSource",
    "RBDVolumeSource",
    "ResourceClaim",
    "ResourceFieldSelector",
    "ResourceHealth",
    "ResourceRequirements",
    "ResourceStatus",
    "SELinuxOptions",
    "ScaleIOVolumeSource",
    "SeccompProfile",
    "Secret",
    "SecretEnvSource",
    "SecretKeySelector",
    "SecretProjection",
    "SecretVolumeSource",
    "SecurityContext",
    "ServiceAccountTokenProjection",
    "SleepAction",
    "StorageOSVolumeSource",
    "Sysctl",
    "TCPSocketAction",
    "Toleration",
    "TopologySpreadConstraint",
    "TypedLocalObjectReference",
    "TypedObjectReference",
    "Volume",
    "VolumeDevice",
    "VolumeMount",
    "VolumeMountStatus",
    "VolumeProjection",
    "VolumeResourceRequirements",
    "VolumeStatus",
    "VsphereVirtualDiskVolumeSource",
    "WeightedPodAffinityTerm",
    "WindowsSecurityContextOptions",
    "refusals",
]

_MODULES = {
    "base": "Model",
    "config": "ConfigMap Secret",
    "container": (
        "Container ContainerPort ContainerResizePolicy ContainerRestartRule ContainerRestartRuleOnExitCodes EnvVar "
        "EphemeralContainer ResourceClaim ResourceRequirements VolumeDevice VolumeMount"
    ),
    "env": (
        "ConfigMapEnvSource ConfigMapKeySelector EnvFromSource EnvVarSource FileKeySelector ObjectFieldSelector "
        "ResourceFieldSelector SecretEnvSource SecretKeySelector"
    ),
    "frozen": "FrozenMap",
    "meta": "LabelSelector LabelSelectorRequirement LocalObjectReference ManagedFieldsEntry ObjectMeta OwnerReference",
    "pod": "HostAlias Pod PodDNSConfig PodDNSConfigOption PodKey PodOS PodReadinessGate PodResourceClaim PodSpec",
    "probe": (
        "ExecAction GRPCAction HTTPGetAction HTTPHeader Lifecycle LifecycleHandler Probe SleepAction TCPSocketAction"
    ),
    "quantity": "Quantity",
    "scheduling": (
        "Affinity NodeAffinity NodeSelector NodeSelectorRequirement NodeSelectorTerm PodAffinity PodAffinityTerm "
        "PodAntiAffinity PodSchedulingGate PodSchedulingGroup PreferredSchedulingTerm Toleration "
        "TopologySpreadConstraint WeightedPodAffinityTerm"
    ),
    "security": (
        "AppArmorProfile Capabilities PodSecurityContext SELinuxOptions SeccompProfile SecurityContext Sysctl "
        "WindowsSecurityContextOptions"
    ),
    "status": (
        "ContainerState ContainerStateRunning ContainerStateTerminated ContainerStateWaiting ContainerStatus "
        "HostIP PodCondition PodIP PodStatus VolumeMountStatus"
    ),
    "status_resources": (
        "ContainerExtendedResourceRequest ContainerUser ImageVolumeStatus LinuxContainerUser "
        "NodeAllocatableResourceClaimStatus PodExtendedResourceClaimStatus PodResourceClaimStatus ResourceHealth "
        "ResourceStatus VolumeStatus"
    ),
    "support": "refusals",
    "volume": "EmptyDirVolumeSource HostPathVolumeSource Volume",
    "volume_plugins": (
        "AWSElasticBlockStoreVolumeSource AzureDiskVolumeSource AzureFileVolumeSource CSIVolumeSource "
        "CephFSVolumeSource CinderVolumeSource FCVolumeSource FlexVolumeSource FlockerVolumeSource "
        "GCEPersistentDiskVolumeSource GitRepoVolumeSource GlusterfsVolumeSource ISCSIVolumeSource NFSVolumeSource "
        "PhotonPersistentDiskVolumeSource PortworxVolumeSource QuobyteVolumeSource RBDVolumeSource "
        "ScaleIOVolumeSource StorageOSVolumeSource VsphereVirtualDiskVolumeSource"
    ),
    "volume_sources": (
        "ClusterTrustBundleProjection ConfigMapProjection ConfigMapVolumeSource DownwardAPIProjection "
        "DownwardAPIVolumeFile DownwardAPIVolumeSource EphemeralVolumeSource ImageVolumeSource KeyToPath "
        "PersistentVolumeClaimSpec PersistentVolumeClaimTemplate PersistentVolumeClaimVolumeSource "
        "PodCertificateProjection ProjectedVolumeSource SecretProjection SecretVolumeSource "
        "ServiceAccountTokenProjection TypedLocalObjectReference TypedObjectReference VolumeProjection "
        "VolumeResourceRequirements"
    ),
}
"""Where each public name lives."""
_HOME = {name: module for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    module = _HOME.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
