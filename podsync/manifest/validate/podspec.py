"""Rules of the pod spec's own fields."""

from __future__ import annotations

from podsync.errors import FieldError
from podsync.manifest.validate.metadata import validate_labels
from podsync.manifest.validate.names import dns_label, dns_subdomain, ip_address, qualified_name, search_domain
from podsync.manifest.validate.problems import invalid, required, unsupported
from podsync.models import PodDNSConfig, PodSpec, Toleration

__all__ = ["validate_after_security", "validate_policies"]

_RESTART_POLICIES = ("Always", "OnFailure", "Never")
_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_SYSTEMS = ("linux", "windows")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_OPERATORS = ("Equal", "Exists")
_NAMESERVERS_MAX, _SEARCHES_MAX, _SEARCH_LINE_MAX = 3, 32, 2048
_DEADLINE_MAX = 2**31 - 1


def validate_policies(spec: PodSpec, errors: list[FieldError]) -> None:
    """What the API looks at between the containers and the security context."""
    if spec.restart_policy not in _RESTART_POLICIES:
        errors.append(unsupported("spec.restartPolicy", spec.restart_policy, _RESTART_POLICIES))
    if spec.dns_policy not in _DNS_POLICIES:
        errors.append(unsupported("spec.dnsPolicy", spec.dns_policy, _DNS_POLICIES))
    if spec.node_selector:
        validate_labels(spec.node_selector, "spec.nodeSelector", errors)


def validate_after_security(spec: PodSpec, errors: list[FieldError]) -> None:
    """What the API looks at after the security context, in its order."""
    if spec.dns_config is not None or spec.dns_policy == "None":
        _dns(spec.dns_config, spec.dns_policy == "None", errors)
    for path, name, rule in (
        ("spec.serviceAccountName", spec.service_account_name, dns_subdomain),
        ("spec.nodeName", spec.node_name, dns_subdomain),
    ):
        if name:
            errors += [invalid(path, name, words) for words in rule(name)]
    deadline = spec.active_deadline_seconds
    if deadline is not None and not 1 <= deadline <= _DEADLINE_MAX:
        errors.append(
            invalid("spec.activeDeadlineSeconds", deadline, f"must be between 1 and {_DEADLINE_MAX}, inclusive")
        )
    for path, name in (("spec.hostname", spec.hostname), ("spec.subdomain", spec.subdomain)):
        if name:
            errors += [invalid(path, name, words) for words in dns_label(name)]
    for index, toleration in enumerate(spec.tolerations):
        _toleration(toleration, f"spec.tolerations[{index}]", errors)
    for index, alias in enumerate(spec.host_aliases):
        path = f"spec.hostAliases[{index}]"
        errors += [invalid(f"{path}.ip", alias.ip, words) for words in ip_address(alias.ip)]
        for number, hostname in enumerate(alias.hostnames):
            errors += [invalid(f"{path}.hostnames[{number}]", hostname, words) for words in dns_subdomain(hostname)]
    if spec.priority_class_name:
        errors += [
            invalid("spec.priorityClassName", spec.priority_class_name, words)
            for words in dns_subdomain(spec.priority_class_name)
        ]
    if spec.os is not None:
        _system(spec.os.name, errors)


def _dns(config: PodDNSConfig | None, needed: bool, errors: list[FieldError]) -> None:
    path = "spec.dnsConfig"
    if config is None:
        errors.append(required(path, "must provide `dnsConfig` when `dnsPolicy` is None"))
        return
    if needed and not config.nameservers:
        errors.append(
            required(f"{path}.nameservers", "must provide at least one DNS nameserver when `dnsPolicy` is None")
        )
    if len(config.nameservers) > _NAMESERVERS_MAX:
        errors.append(
            invalid(
                f"{path}.nameservers",
                list(config.nameservers),
                f"must not have more than {_NAMESERVERS_MAX} nameservers",
            )
        )
    for index, address in enumerate(config.nameservers):
        errors += [invalid(f"{path}.nameservers[{index}]", address, words) for words in ip_address(address)]
    _searches(config.searches, f"{path}.searches", errors)
    for index, option in enumerate(config.options):
        if not option.name:
            errors.append(required(f"{path}.options[{index}]", "must not be empty"))


def _searches(searches: tuple[str, ...], path: str, errors: list[FieldError]) -> None:
    if len(searches) > _SEARCHES_MAX:
        errors.append(invalid(path, list(searches), f"must not have more than {_SEARCHES_MAX} search paths"))
    if len(" ".join(searches)) > _SEARCH_LINE_MAX:
        errors.append(
            invalid(
                path,
                list(searches),
                f"must not have more than {_SEARCH_LINE_MAX} characters (including spaces) in the search list",
            )
        )
    for index, domain in enumerate(searches):
        errors += [invalid(f"{path}[{index}]", domain, words) for words in search_domain(domain)]


def _toleration(toleration: Toleration, path: str, errors: list[FieldError]) -> None:
    operator = toleration.operator
    if toleration.key:
        errors += [invalid(f"{path}.key", toleration.key, words) for words in qualified_name(toleration.key)]
    elif operator != "Exists":
        detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        errors.append(invalid(f"{path}.operator", operator, detail))
    if toleration.toleration_seconds is not None and toleration.effect != "NoExecute":
        detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        errors.append(invalid(f"{path}.effect", toleration.effect, detail))
    if operator == "Exists" and toleration.value:
        errors.append(invalid(f"{path}.operator", toleration.value, "value must be empty when `operator` is 'Exists'"))
    elif operator and operator not in _OPERATORS:
        errors.append(unsupported(f"{path}.operator", operator, _OPERATORS))
    if toleration.effect and toleration.effect not in _EFFECTS:
        errors.append(unsupported(f"{path}.effect", toleration.effect, _EFFECTS))


def _system(name: str, errors: list[FieldError]) -> None:
    if not name:
        errors.append(required("spec.os.name"))
    elif name not in _SYSTEMS:
        errors.append(unsupported("spec.os", name, _SYSTEMS))
