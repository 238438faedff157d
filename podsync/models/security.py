"""Security settings of pods and containers."""

from __future__ import annotations

from dataclasses import dataclass

from podsync.models.base import Model
from podsync.models.when import is_strict, is_unmasked, names_a_profile, says_anything
from podsync.models.wire import SUPPORTED, ignored, refused, wire

__all__ = [
    "AppArmorProfile",
    "Capabilities",
    "PodSecurityContext",
    "SELinuxOptions",
    "SeccompProfile",
    "SecurityContext",
    "Sysctl",
    "WindowsSecurityContextOptions",
]

_LABELS = refused("labels are left to the engine", when=says_anything, only="{}")
_PROFILES = refused("profiles are left to the engine", when=names_a_profile, only="RuntimeDefault")
_WINDOWS = ignored("containers run on Linux")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PodSecurityContext(Model):
    """Security settings for all containers of a pod, and for its volumes."""

    se_linux_options: SELinuxOptions | None = wire(None, _LABELS)
    windows_options: WindowsSecurityContextOptions | None = wire(None, _WINDOWS)
    run_as_user: int | None = wire(None, SUPPORTED)
    run_as_group: int | None = wire(None, SUPPORTED)
    run_as_non_root: bool | None = wire(None, SUPPORTED)
    supplemental_groups: tuple[int, ...] = wire((), SUPPORTED)
    supplemental_groups_policy: str | None = wire(
        None, refused("groups of the image are kept", when=is_strict, only="Merge")
    )
    fs_group: int | None = wire(None, SUPPORTED)
    sysctls: tuple[Sysctl, ...] = wire((), refused("kernel parameters are left as they are"))
    fs_group_change_policy: str | None = wire(None, SUPPORTED)
    seccomp_profile: SeccompProfile | None = wire(None, SUPPORTED)
    app_armor_profile: AppArmorProfile | None = wire(None, _PROFILES)
    se_linux_change_policy: str | None = wire(None, ignored("volumes are not relabelled"))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SecurityContext(Model):
    """Security settings of one container; they win over the pod's."""

    capabilities: Capabilities | None = wire(None, SUPPORTED)
    privileged: bool | None = wire(None, SUPPORTED)
    se_linux_options: SELinuxOptions | None = wire(None, _LABELS)
    windows_options: WindowsSecurityContextOptions | None = wire(None, _WINDOWS)
    run_as_user: int | None = wire(None, SUPPORTED)
    run_as_group: int | None = wire(None, SUPPORTED)
    run_as_non_root: bool | None = wire(None, SUPPORTED)
    read_only_root_filesystem: bool | None = wire(None, SUPPORTED)
    allow_privilege_escalation: bool | None = wire(None, SUPPORTED)
    proc_mount: str | None = wire(None, refused("/proc is masked as usual", when=is_unmasked, only="Default"))
    seccomp_profile: SeccompProfile | None = wire(None, SUPPORTED)
    app_armor_profile: AppArmorProfile | None = wire(None, _PROFILES)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Capabilities(Model):
    """Capabilities added to and dropped from the engine's default set."""

    add: tuple[str, ...] = wire((), SUPPORTED)
    drop: tuple[str, ...] = wire((), SUPPORTED)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SeccompProfile(Model):
    """Which system calls are let through."""

    type: str = wire("", SUPPORTED)
    localhost_profile: str | None = wire(None, SUPPORTED)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AppArmorProfile(Model):
    """Which AppArmor profile applies."""

    type: str = ""
    localhost_profile: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SELinuxOptions(Model):
    """The SELinux label of a process."""

    user: str = ""
    role: str = ""
    type: str = ""
    level: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class WindowsSecurityContextOptions(Model):
    """Settings that only exist on Windows."""

    gmsa_credential_spec_name: str | None = None
    gmsa_credential_spec: str | None = None
    run_as_user_name: str | None = None
    host_process: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Sysctl(Model):
    """One namespaced kernel parameter."""

    name: str = ""
    value: str = wire("", always=True)
