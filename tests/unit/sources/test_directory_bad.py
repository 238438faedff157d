"""Files that turn bad, and two files that name one pod."""

from __future__ import annotations

import pytest

from podsync.sources.base import Snapshot
from podsync.sources.directory import HOLD
from tests.unit.sources.listening import images, manifest
from tests.unit.sources.looking import BAD, Looking


@pytest.mark.parametrize(
    "text",
    [
        BAD,
        "",
        "# only a comment\n",
        "---\n---\n",
        "- one\n- two\n",
        "just words\n",
        "apiVersion: v1\nkind: Pod\n",
        "kind: List\nitems:\n",
        "apiVersion: v1\nkind: List\n",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n",
        "\x00\x01\x02",
        manifest("a").replace("busybox:latest", ""),
        manifest("a").replace("containers", "containrs"),
        "a: &a [*a]\n",
        "{" * 5000,
    ],
)
def test_a_file_that_turns_bad_keeps_its_pod(looking: Looking, text: str) -> None:
    """Whatever is wrong with it; the refusal says that the old version runs on. Mended, it follows."""
    path = looking.folder / "a.yaml"
    path.write_text(manifest("a"))
    (looking.folder / "b.yaml").write_text(manifest("b"))
    looking.pods()
    path.write_text(text)
    (looking.folder / "b.yaml").write_text(manifest("b", "new"))
    snapshot = looking.look()
    assert images(snapshot.pods) == {"a": "busybox:latest", "b": "new"}
    assert {(refused.origin, refused.kept) for refused in snapshot.refusals} == {(str(path), True)}
    path.write_text(manifest("a", "mended"))
    assert looking.pods() == {"a": "mended", "b": "new"}
    assert looking.look().refusals == ()


def test_a_bad_file_from_the_start_is_refused_and_the_others_go_on(looking: Looking) -> None:
    """There is nothing to keep; its key is told where it can be read."""
    (looking.folder / "a.yaml").write_text(manifest("a").replace("busybox:latest", ""))
    (looking.folder / "b.yaml").write_text(manifest("b"))
    snapshot = looking.look()
    assert images(snapshot.pods) == {"b": "busybox:latest"}
    assert [(str(refused.key), refused.kept) for refused in snapshot.refusals] == [("default/a", False)]


def test_a_bad_file_keeps_its_pod_only_while_it_is_there(looking: Looking) -> None:
    """Deleting the file deletes the pod, bad or not."""
    path = looking.folder / "a.yaml"
    path.write_text(manifest("a"))
    looking.pods()
    path.write_text(BAD)
    looking.pods()
    path.unlink()
    assert looking.gone() == {}
    assert looking.look().refusals == ()


def test_good_documents_of_a_partly_bad_file_count(looking: Looking) -> None:
    """The good one is updated, the bad one's last version and any other stay."""
    path = looking.folder / "a.yaml"
    path.write_text("---\n".join(manifest(name) for name in ("good", "broken", "left")))
    looking.pods()
    path.write_text(manifest("good", "new") + "---\n" + manifest("broken").replace("image", "imag"))
    snapshot = looking.look()
    assert images(snapshot.pods) == {"good": "new", "broken": "busybox:latest", "left": "busybox:latest"}
    assert [(str(refused.key), refused.kept) for refused in snapshot.refusals] == [("default/broken", True)]
    path.write_text(manifest("good", "new"))
    assert looking.pods() == {"good": "new"}


@pytest.mark.parametrize(
    "text", ["apiVersion: v1\nkind: List\nitems: []\n", '{"apiVersion":"v1","kind":"PodList","items":[]}']
)
def test_an_explicit_empty_list_wants_no_pod(looking: Looking, text: str) -> None:
    """The one way for a file that is there to end its pods."""
    path = looking.folder / "a.yaml"
    path.write_text(manifest("a"))
    looking.pods()
    path.write_text(text)
    assert looking.look() == Snapshot()


def test_a_fault_of_ours_in_one_file_does_not_reach_the_others(
    looking: Looking, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Should the parser itself fail, that file is refused with it and the rest goes on."""
    from podsync.sources import manifests

    (looking.folder / "a.yaml").write_text(manifest("a"))
    (looking.folder / "b.yaml").write_text(manifest("b"))
    real = manifests.parse

    def parse(content: bytes, origin: str) -> object:
        if origin.endswith("a.yaml"):
            raise RecursionError("too deep")
        return real(content, origin)

    monkeypatch.setattr(manifests, "parse", parse)
    snapshot = looking.look()
    assert images(snapshot.pods) == {"b": "busybox:latest"}
    assert "unexpectedly" in str(snapshot.refusals[0].errors[0])


def test_the_first_name_by_bytes_has_a_doubled_pod(looking: Looking) -> None:
    """Whatever was written first; the loser is refused with both paths, and takes over when alone."""
    loser, winner = looking.folder / "b.yaml", looking.folder / "B.yaml"
    loser.write_text(manifest("a", "loser"))
    assert looking.pods() == {"a": "loser"}
    winner.write_text(manifest("a", "winner"))
    snapshot = looking.look()
    assert images(snapshot.pods) == {"a": "winner"}
    (refused,) = snapshot.refusals
    assert (refused.origin, str(refused.key)) == (str(loser), "default/a")
    assert str(winner) in str(refused.errors[0])
    assert str(loser) in str(refused.errors[0])
    winner.unlink()
    looking.pods()
    assert looking.after(HOLD) == {"a": "loser"}
    assert looking.look().refusals == ()


def test_equal_names_in_two_namespaces_are_two_pods(looking: Looking) -> None:
    """A pod's key is namespace and name."""
    (looking.folder / "a.yaml").write_text(manifest("a") + "---\n" + manifest("a", namespace="other"))
    assert {str(pod.key) for pod in looking.look().pods} == {"default/a", "other/a"}
