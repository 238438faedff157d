"""Rules of the security contexts of a pod and of a container."""

from __future__ import annotations

from podsync.errors import FieldError
from podsync.manifest.validate.names import relative_path, user_id
from podsync.manifest.validate.problems import invalid, required, unsupported
from podsync.models import PodSecurityContext, PodSpec, SeccompProfile, SecurityContext

__all__ = ["validate_pod_security", "validate_security_context"]

_SECCOMP_TYPES = ("Localhost", "RuntimeDefault", "Unconfined")
_GROUP_CHANGE_POLICIES = ("Always", "OnRootMismatch")


def validate_security_context(context: SecurityContext, path: str, errors: list[FieldError]) -> None:
    """One container's."""
    _ids(context, path, errors)
    if context.seccomp_profile is not None:
        _seccomp(context.seccomp_profile, f"{path}.seccompProfile", errors)
    if context.allow_privilege_escalation is False:
        if context.privileged:
            errors.append(
                invalid(
                    path, context.to_dict(), "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
                )
            )
        # The API compares with this one spelling only; SYS_ADMIN passes, as on a kubelet.
        if context.capabilities is not None and "CAP_SYS_ADMIN" in context.capabilities.add:
            errors.append(
                invalid(
                    path,
                    context.to_dict(),
                    "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN",
                )
            )


def validate_pod_security(spec: PodSpec, errors: list[FieldError]) -> None:
    """The pod's, with the namespaces that the API keeps beside it."""
    path = "spec.securityContext"
    if spec.share_process_namespace and spec.host_pid:
        errors.append(
            invalid(
                f"{path}.shareProcessNamespace",
                value=True,
                detail="ShareProcessNamespace and HostPID cannot both be enabled",
            )
        )
    context = spec.security_context
    if context is None:
        return
    if context.fs_group is not None:
        errors += [invalid(f"{path}.fsGroup", context.fs_group, words) for words in user_id(context.fs_group)]
    _ids(context, path, errors)
    for index, group in enumerate(context.supplemental_groups):
        errors += [invalid(f"{path}.supplementalGroups[{index}]", group, words) for words in user_id(group)]
    policy = context.fs_group_change_policy
    if policy is not None and policy not in _GROUP_CHANGE_POLICIES:
        errors.append(unsupported(f"{path}.fsGroupChangePolicy", policy, _GROUP_CHANGE_POLICIES))
    if context.seccomp_profile is not None:
        _seccomp(context.seccomp_profile, f"{path}.seccompProfile", errors)


def _ids(context: PodSecurityContext | SecurityContext, path: str, errors: list[FieldError]) -> None:
    if context.run_as_user is not None:
        errors += [invalid(f"{path}.runAsUser", context.run_as_user, words) for words in user_id(context.run_as_user)]
    if context.run_as_group is not None:
        errors += [
            invalid(f"{path}.runAsGroup", context.run_as_group, words) for words in user_id(context.run_as_group)
        ]


def _seccomp(profile: SeccompProfile, path: str, errors: list[FieldError]) -> None:
    if not profile.type:
        errors.append(required(f"{path}.type", "type is required when seccompProfile is set"))
    elif profile.type not in _SECCOMP_TYPES:
        errors.append(unsupported(f"{path}.type", profile.type, _SECCOMP_TYPES))
    file = profile.localhost_profile
    if profile.type == "Localhost":
        if not file:
            errors.append(required(f"{path}.localhostProfile", "must be set when seccomp type is Localhost"))
        else:
            errors += [invalid(f"{path}.localhostProfile", file, words) for words in relative_path(file)]
    elif file is not None:
        errors.append(invalid(f"{path}.localhostProfile", file, "can only be set when seccomp type is Localhost"))
