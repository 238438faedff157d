"""One uid, one pod: within an origin's last good set and across origins."""

from __future__ import annotations

import pytest

from podsync.sources.manifests import merge, read_manifest

POD = "apiVersion: v1\nkind: Pod\nmetadata: {{name: {}, uid: u}}\nspec: {{containers: [{{name: c, image: i}}]}}\n"


@pytest.mark.parametrize("there", [True, False])
def test_a_uid_belongs_to_the_first_origin(there: bool) -> None:
    """The other's pod is refused with both places named; an origin about to go yields silently."""
    one, two = (read_manifest(POD.format(name).encode(), name, ()) for name in ("one", "two"))
    snapshot = merge([("/d/1.yaml", one, True), ("/d/2.yaml", two, there)])
    assert [pod.metadata.name for pod in snapshot.pods] == ["one"]
    told = [(str(error), refusal.key) for refusal in snapshot.refusals for error in refusal.errors]
    message = '/d/2.yaml: metadata.uid: Duplicate value: "u": /d/1.yaml gives it to pod default/one and comes first'
    assert told == ([(message, two.pods[0].key)] if there else [])


def test_a_renamed_pod_is_not_kept_beside_itself() -> None:
    """A bad document keeps the origin's pods, but not one whose uid a good document has now."""
    last = read_manifest(POD.format("old").encode(), "f", ()).pods
    reading = read_manifest((POD.format("new") + "---\nkind: Pod\n").encode(), "f", last)
    assert [pod.metadata.name for pod in reading.pods] == ["new"]
