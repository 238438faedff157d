"""The text of /etc/hosts and /etc/resolv.conf."""

from __future__ import annotations

import pytest

from podsync.models import HostAlias, PodDNSConfig, PodDNSConfigOption
from podsync.netfiles import ResolvConf, hostname_of, hosts_text, parse_resolv_conf, resolv_conf_text
from podsync.testing.builders import pod

HOST = ResolvConf(("10.0.0.1", "10.0.0.2"), ("corp.example",), ("timeout:2", "ndots:1"))


@pytest.mark.parametrize(
    ("name", "spec", "expected"),
    [
        ("web", {}, ("web", "")),
        ("web", {"hostname": "front"}, ("front", "")),
        ("web", {"hostname": "front", "subdomain": "sub"}, ("front", "sub.default.svc.")),
        ("a" * 62 + "-b", {}, ("a" * 62, "")),
        ("a" * 70, {}, ("a" * 63, "")),
        ("a" * 62 + ".b", {}, ("a" * 62, "")),
    ],
)
def test_hostname(name: str, spec: dict[str, str], expected: tuple[str, str]) -> None:
    """The host name is the given one or the pod's, cut to 63 characters without a trailing dash or dot."""
    assert hostname_of(pod(name, **spec)) == expected


def test_hosts_of_a_pod() -> None:
    """A pod's hosts file names it for each of its addresses."""
    text = hosts_text(pod("web"), ("10.88.0.5", "fd00::5"), "")

    assert text.startswith("# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n")
    assert text.endswith("10.88.0.5\tweb\nfd00::5\tweb\n")


def test_hosts_with_a_subdomain_and_aliases() -> None:
    """The full name comes first, and the aliases in a block of their own, in order and not merged."""
    aliases = (HostAlias(ip="1.2.3.4", hostnames=("a", "b")), HostAlias(ip="1.2.3.4", hostnames=("c",)))

    text = hosts_text(pod("web", subdomain="sub", host_aliases=aliases), ("10.88.0.5",), "")

    assert text.endswith(
        "10.88.0.5\tweb.sub.default.svc.\tweb\n\n# Entries added by HostAliases.\n1.2.3.4\ta\tb\n1.2.3.4\tc\n"
    )


def test_hosts_on_the_nodes_network() -> None:
    """A pod on the node's network sees the node's file, with its aliases behind."""
    aliases = (HostAlias(ip="1.2.3.4", hostnames=("a",)),)

    text = hosts_text(pod("web", host_network=True, host_aliases=aliases), (), "127.0.0.1 localhost\n")

    assert text == (
        "# Kubernetes-managed hosts file (host network).\n127.0.0.1 localhost\n\n"
        "# Entries added by HostAliases.\n1.2.3.4\ta\n"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nameserver 1.1.1.1\nnameserver 2.2.2.2\n", ResolvConf(("1.1.1.1", "2.2.2.2"))),
        ("search a b\nsearch c. .\n", ResolvConf(searches=("c",))),
        ("options ndots:2\noptions timeout:1 ndots:5\n", ResolvConf(options=("ndots:5", "timeout:1"))),
        ("# nameserver 9.9.9.9\nnameserver 1.1.1.1 # mine\n", ResolvConf(("1.1.1.1",))),
        ("domain corp\nsortlist 10.0.0.0\nnameserver\n", ResolvConf()),
        ("search a\nsearch\n", ResolvConf()),
    ],
)
def test_parse(text: str, expected: ResolvConf) -> None:
    """Nameservers add up, the last search line wins, options merge by name, the rest is passed over."""
    assert parse_resolv_conf(text) == expected


@pytest.mark.parametrize("policy", ["ClusterFirst", "Default", "ClusterFirstWithHostNet"])
def test_policies_without_cluster_dns(policy: str) -> None:
    """Without a cluster DNS every policy but None is the node's own configuration."""
    assert resolv_conf_text(pod("web", dns_policy=policy), HOST) == HOST.text()


def test_policy_none_is_the_config_alone() -> None:
    """Under None nothing of the node's configuration is left."""
    config = PodDNSConfig(
        nameservers=("9.9.9.9",), searches=("x.example",), options=(PodDNSConfigOption(name="ndots", value="3"),)
    )

    assert resolv_conf_text(pod("web", dns_policy="None", dns_config=config), HOST) == (
        "nameserver 9.9.9.9\nsearch x.example\noptions ndots:3\n"
    )


def test_config_is_added_and_limited() -> None:
    """DnsConfig is added without doubles, its options win, and the limits of a resolver hold."""
    config = PodDNSConfig(
        nameservers=("10.0.0.2", "9.9.9.9", "8.8.8.8"),
        searches=tuple(f"s{i:03}.{'x' * 100}" for i in range(40)),
        options=(PodDNSConfigOption(name="ndots", value="5"), PodDNSConfigOption(name="edns0")),
    )

    made = parse_resolv_conf(resolv_conf_text(pod("web", dns_config=config), HOST))

    assert made.nameservers == ("10.0.0.1", "10.0.0.2", "9.9.9.9")
    assert made.searches[0] == "corp.example"
    assert len(" ".join(made.searches)) <= 2048
    assert made.options == ("timeout:2", "ndots:5", "edns0")
