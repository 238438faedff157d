"""Merging what sources say: order, completeness, refusals, and objects that stay the same."""

from __future__ import annotations

import json
import logging

import pytest

from podsync.clock import ManualClock
from podsync.desired import DesiredStore
from podsync.errors import FieldError, SourceError
from podsync.identity import pod_uid
from podsync.models import Container, ObjectMeta, Pod, PodKey, PodSpec
from podsync.sources.base import Refusal

A, B = "dir:/a", "https://b/pods"


def pod(name: str, image: str = "busybox", uid: str = "") -> Pod:
    """A small pod."""
    metadata = ObjectMeta(name=name, namespace="default", uid=uid)
    return Pod(metadata=metadata, spec=PodSpec(containers=(Container(name="main", image=image),)))


def key(name: str) -> PodKey:
    """Its key."""
    return PodKey("default", name)


def refusal(name: str | None, *, kept: bool = False) -> Refusal:
    """A refused document."""
    return Refusal("/a/x.yaml", (FieldError("spec", "Required value"),), key(name) if name else None, kept)


def store(*sources: str, name_suffix: bool = False) -> DesiredStore:
    """A store of the node ``n1``."""
    return DesiredStore(sources or (A, B), "n1", name_suffix=name_suffix, clock=ManualClock())


def test_adopts_pods_with_uid_and_source() -> None:
    """A pod becomes this node's: its uid is the hash over node, source and content."""
    merged = store(A)
    merged.replace(A, 1, [pod("x")], [])
    got = merged.desired().pods[key("x")]
    assert (got.uid, got.source) == (pod_uid(pod("x"), "n1", A), A)


def test_uid_of_the_manifest_is_kept() -> None:
    """Who writes a uid wants that one."""
    merged = store(A)
    merged.replace(A, 1, [pod("x", uid="mine")], [])
    assert merged.desired().pods[key("x")].uid == "mine"


def test_complete_once_every_source_has_sent_a_set() -> None:
    """An empty set counts, a failure does not."""
    merged = store()
    assert not merged.desired().complete
    merged.replace(A, 1, [pod("x")], [])
    assert not merged.desired().complete
    merged.failed(B, SourceError(B, "away"))
    assert not merged.desired().complete
    assert merged.replace(B, 1, [], [])
    assert merged.desired().complete


def test_no_source_at_all_is_complete() -> None:
    """Nothing is waited for."""
    assert DesiredStore((), "n1").desired().complete


def test_a_failure_changes_nothing_wanted() -> None:
    """The last set stands."""
    merged = store(A)
    merged.replace(A, 1, [pod("x")], [])
    before = merged.desired()
    merged.failed(A, SourceError(A, "away"))
    assert merged.desired() is before


@pytest.mark.parametrize("revision", [1, 2])
def test_a_revision_that_is_not_newer_is_dropped(revision: int) -> None:
    """A late set must not undo a newer one."""
    merged = store(A)
    merged.replace(A, 2, [pod("x")], [])
    assert not merged.replace(A, revision, [], [])
    assert merged.desired().pods.keys() == {key("x")}


def test_first_source_wins_a_doubled_pod_whatever_comes_first_in_time() -> None:
    """The loser is refused with both sources named, and takes over when the winner lets go."""
    merged = store()
    merged.replace(B, 1, [pod("x", "theirs")], [])
    assert merged.desired().pods[key("x")].source == B
    merged.replace(A, 1, [pod("x", "ours")], [])
    assert merged.desired().pods[key("x")].source == A
    (lost,) = merged.refusals()
    assert (lost.origin, lost.key) == (B, key("x"))
    assert A in str(lost.errors[0])
    assert B in str(lost.errors[0])
    merged.replace(A, 2, [], [])
    assert merged.desired().pods[key("x")].source == B
    assert merged.refusals() == ()


def test_a_pod_named_twice_by_one_source_counts_once() -> None:
    """Sources should not, but a plug-in may: the first one counts, the second is refused."""
    merged = store(A)
    merged.replace(A, 1, [pod("x", "first"), pod("x", "second")], [])
    assert merged.desired().pods[key("x")].spec.containers[0].image == "first"
    assert [refused.key for refused in merged.refusals()] == [key("x")]


def test_unchanged_pods_keep_their_objects() -> None:
    """Equal pods read anew are the same object as before, so that a steady state costs nothing."""
    merged = store(A)
    merged.replace(A, 1, [pod("x"), pod("y")], [])
    before = merged.desired()
    assert not merged.replace(A, 2, [pod("x"), pod("y")], [])
    assert merged.desired() is before
    assert merged.replace(A, 3, [pod("x"), pod("y", "other")], [])
    after = merged.desired()
    assert after.pods[key("x")] is before.pods[key("x")]
    assert after.pods[key("y")].uid != before.pods[key("y")].uid


def test_a_refused_pod_that_nobody_wants_otherwise_is_undecided() -> None:
    """If it still runs it stays; where a last good version or another source names it, that decides."""
    merged = store()
    merged.replace(A, 1, [pod("kept")], [refusal("bad"), refusal("kept", kept=True), refusal(None), refusal("other")])
    merged.replace(B, 1, [pod("other")], [])
    assert merged.desired().undecided == {key("bad")}
    assert len(merged.refusals()) == 4


def test_refusals_alone_do_not_change_what_is_wanted() -> None:
    """A bad document without a name is told, and Desired stays the same object."""
    merged = store(A)
    merged.replace(A, 1, [pod("x")], [])
    before = merged.desired()
    assert not merged.replace(A, 2, [pod("x")], [refusal(None)])
    assert merged.desired() is before
    assert merged.refusals() == (refusal(None),)


def test_name_suffix_is_the_kubelets() -> None:
    """The node's name in lower case is appended, in refusals' keys too; under it the pod is another pod."""
    merged = DesiredStore([A], "Node-1", name_suffix=True)
    merged.replace(A, 1, [pod("x")], [refusal("bad")])
    (got,) = merged.desired().pods.values()
    assert (got.key, got.metadata.name) == (key("x-node-1"), "x-node-1")
    assert got.uid == pod_uid(pod("x-node-1"), "Node-1", A) != pod_uid(pod("x"), "Node-1", A)
    assert merged.desired().undecided == {key("bad-node-1")}


def test_name_suffix_keeps_objects_too() -> None:
    """Unchanged pods are recognised under their longer names."""
    merged = store(A, name_suffix=True)
    merged.replace(A, 1, [pod("x")], [])
    before = merged.desired()
    merged.replace(A, 2, [pod("x")], [])
    assert merged.desired() is before


def test_a_name_too_long_with_its_suffix_is_refused() -> None:
    """Kubernetes' limit of 253 characters holds for the whole."""
    merged = store(A, name_suffix=True)
    merged.replace(A, 1, [pod("x" * 251)], [])
    assert merged.desired().pods == {}
    assert "253" in str(merged.refusals()[0].errors[0])


def test_a_pod_is_tentative_while_an_earlier_source_is_silent() -> None:
    """Until then that one may turn out to name the same pod."""
    merged = store(A, B)
    merged.replace(B, 1, [pod("x")], [])
    assert merged.desired().tentative == {key("x")}
    merged.replace(A, 1, [], [])
    assert merged.desired().tentative == frozenset()
    merged = store(A, B)
    merged.replace(A, 1, [pod("x")], [])
    assert merged.desired().tentative == frozenset()


def test_health_tells_success_and_failure_apart() -> None:
    """Since when a source fails stays put while it goes on failing, and ends with the next set; all plain data."""
    clock = ManualClock()
    merged = DesiredStore([A], "n1", clock=clock)
    assert merged.health()[A]["spoken"] is False
    merged.replace(A, 1, [pod("x")], [refusal(None)])
    good = merged.health()[A]
    assert (good["spoken"], good["error"], good["pods"], good["refused"]) == (True, "", 1, 1)
    clock.advance(5)
    merged.failed(A, SourceError(A, "away"))
    clock.advance(5)
    merged.failed(A, SourceError(A, "away"))
    bad = json.loads(json.dumps(merged.health()))[A]
    assert (bad["error"], bad["readAt"]) == (f"{A}: away", good["readAt"])
    assert bad["failingSince"] == "2030-01-01T00:00:05+00:00"
    merged.replace(A, 2, [pod("x")], [])
    assert (merged.health()[A]["error"], merged.health()[A]["failingSince"]) == ("", None)


def test_logs_each_new_failure_once_and_the_recovery(caplog: pytest.LogCaptureFixture) -> None:
    """A server that is away for a day is one line, not a line a look."""
    caplog.set_level(logging.INFO, "podsync")
    merged = store(A)
    for text in ("away", "away", "busy", "busy"):
        merged.failed(A, SourceError(A, text))
    merged.replace(A, 1, [], [])
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING", "INFO"]


def test_two_sources_of_one_name_are_a_mistake() -> None:
    """Names tell sources apart; the caller must not give one twice."""
    with pytest.raises(ValueError, match="two sources"):
        store(A, A)


@pytest.mark.parametrize("sources", [(A, B), (A, A)])
def test_a_uid_belongs_to_one_pod(sources: tuple[str, str]) -> None:
    """Of two pods with one uid, in one source or in two, the first stands and the other is refused."""
    merged = store()
    pods = [pod("one", uid="u"), pod("two", uid="u")]
    if sources[0] == sources[1]:
        merged.replace(A, 1, pods, ())
    else:
        merged.replace(B, 1, pods[1:], ())
        merged.replace(A, 1, pods[:1], ())
    assert list(merged.desired().pods) == [key("one")]
    assert merged.desired().undecided == {key("two")}
    ((error,),) = [refused.errors for refused in merged.refusals()]
    assert error.path == "metadata.uid"
    assert error.message == (f'Duplicate value: "u": the source {A} gives it to pod default/one, which comes first')
