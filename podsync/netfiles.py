"""The text of a pod's ``/etc/hosts`` and ``/etc/resolv.conf``, as the kubelet writes them.

Pure: the host's own files come in as text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from podsync.models import Pod

__all__ = ["ResolvConf", "hostname_of", "hosts_text", "parse_resolv_conf", "resolv_conf_text"]

MAX_HOSTNAME = 63
MAX_NAMESERVERS = 3
MAX_SEARCHES = 32
MAX_SEARCH_CHARACTERS = 2048

_LOCAL_ENTRIES = (
    "127.0.0.1\tlocalhost",
    "::1\tlocalhost ip6-localhost ip6-loopback",
    "fe00::0\tip6-localnet",
    "fe00::0\tip6-mcastprefix",
    "fe00::1\tip6-allnodes",
    "fe00::2\tip6-allrouters",
)


def hostname_of(pod: Pod) -> tuple[str, str]:
    """(host name, domain) of a pod; the domain is empty without ``spec.subdomain``.

    A name over 63 characters is cut there and freed of a trailing ``-`` or ``.``.
    """
    spec = pod.spec
    host = (spec.hostname or pod.metadata.name)[:MAX_HOSTNAME].rstrip("-.")
    domain = f"{spec.subdomain}.{pod.metadata.namespace}.svc." if spec.subdomain else ""
    return host, domain


def hosts_text(pod: Pod, ips: Sequence[str], host_file: str) -> str:
    """``/etc/hosts`` of a pod with those addresses; ``host_file`` is the node's own text.

    A pod on the host's network gets the node's file with the pod's aliases behind it.
    """
    if pod.spec.host_network:
        lines = ["# Kubernetes-managed hosts file (host network).", host_file.rstrip("\n")]
    else:
        lines = ["# Kubernetes-managed hosts file.", *_LOCAL_ENTRIES]
        host, domain = hostname_of(pod)
        names = f"{host}.{domain}\t{host}" if domain else host
        lines += [f"{ip}\t{names}" for ip in ips]
    if pod.spec.host_aliases:
        lines += ["", "# Entries added by HostAliases."]
        lines += ["\t".join((alias.ip, *alias.hostnames)) for alias in pod.spec.host_aliases]
    return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True)
class ResolvConf:
    """The parts of a resolver configuration that matter to a pod."""

    nameservers: tuple[str, ...] = ()
    searches: tuple[str, ...] = ()
    options: tuple[str, ...] = ()

    def text(self) -> str:
        """One ``nameserver`` a line, then ``search`` and ``options`` where there are any."""
        lines = [f"nameserver {address}" for address in self.nameservers]
        if self.searches:
            lines.append("search " + " ".join(self.searches))
        if self.options:
            lines.append("options " + " ".join(self.options))
        return "\n".join(lines) + "\n"


def parse_resolv_conf(text: str) -> ResolvConf:
    """Read resolv.conf(5) as the kubelet does: the last ``search`` counts, options are merged."""
    nameservers: list[str] = []
    searches: tuple[str, ...] = ()
    options: dict[str, str] = {}
    for line in text.splitlines():
        words = line.split("#", 1)[0].split()
        if len(words) < 2 and not (words and words[0] == "search"):  # noqa: PLR2004 - keyword and value
            continue
        match words[0]:
            case "nameserver":
                nameservers.append(words[1])
            case "search":
                searches = tuple(domain.rstrip(".") for domain in words[1:] if domain != ".")
            case "options":
                options.update((option.partition(":")[0], option) for option in words[1:])
            case _:
                continue
    return ResolvConf(tuple(nameservers), searches, tuple(options.values()))


def resolv_conf_text(pod: Pod, host: ResolvConf) -> str:
    """``/etc/resolv.conf`` of a pod (``dnsPolicy``, ``dnsConfig``).

    There is no cluster DNS here, so ``ClusterFirst`` falls back to ``Default``, as on a
    kubelet without one: the node's own settings.
    """
    base = ResolvConf() if pod.spec.dns_policy == "None" else host
    extra = pod.spec.dns_config
    nameservers, searches, options = list(base.nameservers), list(base.searches), list(base.options)
    if extra is not None:
        nameservers += extra.nameservers
        searches += extra.searches
        merged = {option.partition(":")[0]: option for option in options}
        for option in extra.options:
            merged[option.name or ""] = f"{option.name}:{option.value}" if option.value else option.name or ""
        options = list(merged.values())
    return ResolvConf(_unique(nameservers)[:MAX_NAMESERVERS], _bounded(_unique(searches)), tuple(options)).text()


def _unique(items: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(items))


def _bounded(searches: tuple[str, ...]) -> tuple[str, ...]:
    kept: list[str] = []
    length = -1
    for domain in searches[:MAX_SEARCHES]:
        length += len(domain) + 1
        if length > MAX_SEARCH_CHARACTERS:
            break
        kept.append(domain)
    return tuple(kept)
