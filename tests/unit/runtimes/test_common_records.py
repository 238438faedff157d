"""Rows and details into sandboxes with containers."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from podsync import labels as keys
from podsync.runtimes.base import ContainerRecord, ContainerState, SandboxRecord
from podsync.runtimes.common import records
from podsync.runtimes.common.records import Detail, Row

MOMENT = datetime(2030, 1, 1, tzinfo=UTC)


def row(name: str, uid: str = "u1", attempt: int = 0, *, home: int = 0, pod: str = "pod") -> Row:
    """A row as an engine lists it: a sandbox when it is called POD."""
    given = {
        keys.CONTAINER_NAME: name,
        keys.POD_UID: uid,
        keys.POD_NAME: pod,
        keys.POD_NAMESPACE: "default",
        keys.ATTEMPT: str(attempt),
        keys.SANDBOX_ATTEMPT: str(home),
    }
    ref = f"{name}-{uid}-{attempt}"
    return Row(ref, f"k8s_{name}", ContainerState.RUNNING, given, MOMENT, "sha256:1", ("10.0.0.2",))


def box(item: Row, **changes: object) -> SandboxRecord:
    """A running sandbox's record."""
    fields: dict[str, object] = {"state": ContainerState.RUNNING, "started_at": MOMENT, **changes}
    return records.sandbox(item, Detail(item.id, **fields))  # type: ignore[arg-type]


def member(item: Row) -> ContainerRecord:
    """A running container's record."""
    return records.container(item, Detail(item.id, ContainerState.RUNNING, MOMENT, pid=7))


def test_containers_come_under_their_sandbox_sorted_by_name_and_attempt() -> None:
    """Attempts are numbers, so 10 comes after 9."""
    items = [member(row("web", attempt=n)) for n in (10, 9)] + [member(row("app"))]

    (found,) = records.group([box(row("POD"))], items)

    assert [(c.container_name, c.attempt) for c in found.containers] == [("app", 0), ("web", 9), ("web", 10)]


def test_containers_of_two_sandboxes_of_a_pod_stay_apart() -> None:
    """By the sandbox's attempt, and by the pod's uid."""
    homes = [box(row("POD", attempt=1)), box(row("POD", attempt=0)), box(row("POD", "u2", pod="a"))]
    items = [member(row("x", home=1)), member(row("y", home=0)), member(row("z", "u2"))]

    found = records.group(homes, items)

    assert [(s.uid, s.attempt, [c.container_name for c in s.containers]) for s in found] == [
        ("u2", 0, ["z"]),
        ("u1", 0, ["y"]),
        ("u1", 1, ["x"]),
    ]


def test_a_container_without_its_sandbox_comes_under_a_stand_in() -> None:
    """It has no id, is not ready, and is as old as the attempt the container was made for."""
    (found,) = records.group([], [member(row("web", home=3))])

    assert (found.id, found.ready, found.attempt, found.ips) == ("", False, 3, ())
    assert (found.pod_name, found.namespace, found.uid) == ("pod", "default", "u1")
    assert len(found.containers) == 1


@pytest.mark.parametrize(
    ("detail", "ready", "started", "ips"),
    [
        ({}, True, True, ("10.0.0.2",)),
        ({"state": ContainerState.EXITED}, False, True, ()),
        ({"state": ContainerState.CREATED, "started_at": None}, False, False, ()),
        ({"state": ContainerState.EXITED, "started_at": None}, False, False, ()),
    ],
    ids=["running", "ended", "created", "start failed"],
)
def test_states_of_a_sandbox(detail: dict[str, object], *, ready: bool, started: bool, ips: tuple[str, ...]) -> None:
    """Addresses are those of a running one; one whose start failed has never started."""
    found = box(row("POD"), **detail)
    assert (found.ready, found.started, found.ips) == (ready, started, ips)


def test_an_inspections_addresses_stand_in_for_a_lists() -> None:
    """Not every engine lists them."""
    item = Row("1", "n", ContainerState.RUNNING)
    assert box(item, ips=("fd00::2",)).ips == ("fd00::2",)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2030-01-01T00:00:00.000000001Z", MOMENT),
        ("2030-01-01T01:00:00+01:00", MOMENT),
        ("2030-01-01T00:00:00", MOMENT),
        ("0001-01-01T00:00:00Z", None),
        ("", None),
        (None, None),
        ("yesterday", None),
    ],
)
def test_moments(text: str | None, moment: datetime | None) -> None:
    """In UTC; Go's zero time is none."""
    assert records.parse_time(text) == moment


def test_filters_limit_a_look_to_our_node_and_one_pod() -> None:
    """A uid alone would find another node's."""
    assert records.label_filter("n", None) == ["podsync.io/node=n"]
    assert records.label_filter("n", "u") == ["podsync.io/node=n", "io.kubernetes.pod.uid=u"]


@pytest.mark.parametrize("missing", [keys.POD_UID, keys.POD_NAME, keys.POD_NAMESPACE])
@pytest.mark.parametrize("value", [None, ""])
def test_a_row_names_its_pod_by_three_labels(missing: str, value: str | None) -> None:
    """Without any of them it is none of ours."""
    whole = row("web")
    given = {key: text for key, text in whole.labels.items() if key != missing}
    given |= {} if value is None else {missing: value}
    assert whole.names_its_pod
    assert not replace(whole, labels=given).names_its_pod


def test_a_sandbox_of_which_only_the_row_is_left_has_been_started() -> None:
    """One that never was would be started, and this one cannot be."""
    item = row("POD")
    found = records.sandbox(item, records.listed(item, None, remainder=True, message="container not known"))
    assert (found.ready, found.started) == (False, True)
