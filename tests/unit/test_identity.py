"""Names, uids and hashes."""

from __future__ import annotations

import re

import pytest

from podsync import identity
from podsync.manifest import load
from podsync.models import ObjectMeta, Pod
from podsync.testing.builders import container, pod

NAMED = pod("web", namespace="ns").evolve(metadata=ObjectMeta(name="web", namespace="ns", uid="u-1"))


def uid(made: Pod, node: str = "n", source: str = "s") -> str:
    """The uid of a pod."""
    return identity.pod_uid(made, node, source)


def test_names_are_the_kubelets() -> None:
    """Container, pod, namespace, uid and attempt; the sandbox is the container POD."""
    assert identity.container_ref(NAMED, "main", 3) == "k8s_main_web_ns_u-1_3"
    assert identity.sandbox_ref(NAMED, 0) == "k8s_POD_web_ns_u-1_0"


def test_names_can_be_taken_apart() -> None:
    """What was put in comes out."""
    assert identity.split("k8s_main_web_ns_u-1_3") == ("main", "web", "ns", "u-1", 3)
    assert identity.short("k8s_main_web_ns_u-1_3") == "main#3"


@pytest.mark.parametrize(
    "name",
    ["", "web", "k8s_main_web_ns_u-1", "k8s_main_web_ns_u-1_x", "k9s_a_b_c_d_1", "k8s_a_b_c_d_e_1", "k8s_a_b_c_d_-1"],
)
def test_other_names_are_strangers(name: str) -> None:
    """A name made elsewhere has no parts, and is shown whole."""
    assert identity.split(name) is None
    assert identity.short(name) == name


def test_a_uid_is_32_hex_digits_and_stable() -> None:
    """The same pod from the same place has the same uid, in every process and version."""
    assert re.fullmatch("[0-9a-f]{32}", uid(pod("web")))
    assert uid(pod("web")) == uid(pod("web"))


def test_formatting_does_not_count() -> None:
    """Comments, order of keys, quotes and line breaks leave the uid as it is."""
    one = '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"}, "spec":{"containers":[{"name":"a","image":"b"}]}}'
    other = """
# a comment
kind: Pod
spec:
  containers:
    - image: "b"   # quoted
      name: a
metadata:
  name: web
apiVersion: v1
"""
    assert uid(*load(one)) == uid(*load(other))


@pytest.mark.parametrize(
    "other",
    [
        uid(pod("other")),
        uid(pod("web", namespace="other")),
        uid(pod("web", container(image="other"))),
        uid(pod("web", hostname="other")),
        uid(pod("web"), node="other"),
        uid(pod("web"), source="other"),
        uid(pod("web"), node="ns", source=""),
    ],
)
def test_every_part_counts(other: str) -> None:
    """Another name, namespace, spec, node or source is another pod."""
    assert other != uid(pod("web"))


def test_node_and_source_do_not_run_into_each_other() -> None:
    """Where one ends and the next begins is part of what is hashed."""
    assert uid(pod("web"), "ab", "c") != uid(pod("web"), "a", "bc")


def test_a_uid_of_the_manifest_is_kept() -> None:
    """A uid written down is used as it is, wherever the pod comes from."""
    assert uid(NAMED) == uid(NAMED, "other", "other") == "u-1"


def test_text_that_is_no_unicode_has_a_uid() -> None:
    """A lone surrogate, which JSON can carry, does no harm."""
    assert len(uid(pod("web", hostname="\ud800"))) == 32


def test_adopting_a_pod() -> None:
    """The pod gets its uid and its source, and nothing else changes; twice is once."""
    mine = identity.adopt(pod("web"), "n", "s")
    assert (mine.metadata.uid, mine.source, mine.spec) == (uid(pod("web")), "s", pod("web").spec)
    assert identity.adopt(mine, "n", "s") == mine


def test_the_container_hash_is_of_name_and_image_only() -> None:
    """These are the fields whose change replaces a running container."""
    base = identity.container_hash(container("a", "b"))
    assert re.fullmatch("[0-9a-f]{8}", base)
    assert identity.container_hash(container("a", "b", working_dir="/x")) == base
    assert identity.container_hash(container("a", "c")) != base
    assert identity.container_hash(container("c", "b")) != base
    assert identity.container_hash(container("ab", "c")) != identity.container_hash(container("a", "bc"))
