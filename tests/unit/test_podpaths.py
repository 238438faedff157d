"""Where a pod's files live."""

from __future__ import annotations

from podsync import podpaths


def test_layout() -> None:
    """The kubelet's folders, below the agent's root."""
    assert podpaths.pods_dir("/r/") == "/r/pods"
    assert podpaths.pod_dir("/r", "u") == "/r/pods/u"
    assert podpaths.volume_dir("/r", "u", podpaths.EMPTY_DIR, "v") == "/r/pods/u/volumes/kubernetes.io~empty-dir/v"
    assert podpaths.hosts_file("/r", "u") == "/r/pods/u/etc-hosts"
    assert podpaths.resolv_file("/r", "u") == "/r/pods/u/resolv.conf"
    assert podpaths.seccomp_file("/r", "a/b.json") == "/r/seccomp/a/b.json"


def test_each_instance_has_its_own_message_file() -> None:
    """Eight hex digits that follow from uid, container and attempt."""
    one = podpaths.termination_file("/r", "u", "c", 0)
    folder, _, name = one.rpartition("/")
    assert folder == "/r/pods/u/containers/c"
    assert len(name) == 8
    assert int(name, 16) >= 0
    others = {
        podpaths.termination_file("/r", *which)
        for which in (("u", "c", 0), ("u", "c", 1), ("u", "d", 0), ("v", "c", 0))
    }
    assert one in others
    assert len(others) == 4
