"""The bounded log of events: counting, combining, forgetting, saving."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podsync.events import Event, EventLog, EventType
from podsync.events.log import COMBINED, SIMILAR, WINDOW

START = datetime(2030, 1, 1, tzinfo=UTC)


def event(message: str = "Container started", *, name: str = "web", seconds: float = 0, **changes: object) -> Event:
    """An event of the pod default/web."""
    at = START + timedelta(seconds=seconds)
    made = Event(EventType.NORMAL, "Started", message, "default", name, "u", at, at, "spec.containers{web}")
    return replace(made, **changes)  # type: ignore[arg-type]


def log_of(*events: Event, **limits: int) -> EventLog:
    """A log that has taken these in."""
    log = EventLog("node-1", **limits)
    log.add(events)
    return log


def test_equal_events_are_counted() -> None:
    """The same thing again makes one event, with its count and when it was first and last seen."""
    log = log_of(event(), event(seconds=5), event(seconds=9))
    (found,) = log.events
    assert (found.count, found.first, found.last) == (3, START, START + timedelta(seconds=9))


@pytest.mark.parametrize(
    "changes",
    [
        {"message": "other"},
        {"reason": "Created"},
        {"uid": "v"},
        {"name": "api"},
        {"namespace": "prod"},
        {"field_path": "spec.containers{log}"},
        {"type": EventType.WARNING},
    ],
)
def test_different_events_stay_apart(changes: dict[str, object]) -> None:
    """Events that differ in anything but their time are two."""
    log = log_of(event(), replace(event(), **changes))  # type: ignore[arg-type]
    assert [e.count for e in log.events] == [1, 1]


def test_an_event_seen_again_moves_to_the_end() -> None:
    """The order is that in which events were last seen."""
    log = log_of(event("a"), event("b"), event("a", seconds=3))
    assert [e.message for e in log.events] == ["b", "a"]


def test_many_similar_events_are_combined() -> None:
    """From the limit on, events that differ in their message only are counted as one."""
    log = log_of(*(event(f"message {i}", seconds=i) for i in range(SIMILAR + 5)))
    assert len(log) == SIMILAR + 1
    last = log.events[-1]
    assert last.message == f"{COMBINED}message {SIMILAR + 4}"
    assert last.count == 5


def test_similar_events_far_apart_are_not_combined() -> None:
    """Only what happened within the window counts as similar."""
    gap = WINDOW.total_seconds()
    log = log_of(*(event(f"message {i}", seconds=i * gap) for i in range(SIMILAR + 5)))
    assert not any(e.message.startswith(COMBINED) for e in log.events)


def test_a_pod_cannot_crowd_out_others() -> None:
    """At most so many events are kept for one pod, the oldest going first."""
    noisy = [event(f"{i}", reason=f"R{i}", seconds=i) for i in range(10)]
    log = log_of(event("quiet", name="api"), *noisy, per_pod=3)
    assert [e.message for e in log.events] == ["quiet", "7", "8", "9"]


def test_the_log_is_bounded() -> None:
    """At most so many events are kept in all."""
    log = log_of(*(event(f"{i}", name=f"pod-{i}") for i in range(10)), total=4)
    assert [e.message for e in log.events] == ["6", "7", "8", "9"]


def test_events_of_one_pod() -> None:
    """A pod's events can be asked for, of all its uids or of one."""
    log = log_of(event(), event(uid="v"), event(name="api"))
    assert [e.uid for e in log.of("default", "web")] == ["u", "v"]
    assert [e.uid for e in log.of("default", "web", "v")] == ["v"]


def test_what_is_new_since_a_revision() -> None:
    """The events taken in since a revision are given as they are now, in their order."""
    log = log_of(event("a"), event("b"))
    then = log.revision
    assert log.since(then) == ()
    log.add([event("c"), event("a", seconds=2)])
    assert [(e.message, e.count) for e in log.since(then)] == [("c", 1), ("a", 2)]
    assert len(log.since(0)) == len(log)


def test_saving_and_loading_loses_nothing() -> None:
    """A log written and read back holds the same events in the same order."""
    log = log_of(event(), event("b", seconds=3), event(seconds=61), event(field_path=""))
    again = EventLog("node-1")
    assert again.load(log.to_dict()) == 0
    assert again.events == log.events
    assert again.to_dict() == log.to_dict()


def test_an_event_on_the_wire_is_kubernetes() -> None:
    """The wire form is the core v1 Event that kubectl and others read."""
    (item,) = log_of(event(seconds=1.9)).to_dict()["items"]
    name = item["metadata"].pop("name")
    assert name.startswith("web.")
    assert item == {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"namespace": "default"},
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": "default",
            "name": "web",
            "uid": "u",
            "fieldPath": "spec.containers{web}",
        },
        "reason": "Started",
        "message": "Container started",
        "source": {"component": "podsync", "host": "node-1"},
        "firstTimestamp": "2030-01-01T00:00:01Z",
        "lastTimestamp": "2030-01-01T00:00:01Z",
        "count": 1,
        "type": "Normal",
    }


@pytest.mark.parametrize(
    ("document", "bad"),
    [
        (None, 0),
        ([], 0),
        ({}, 0),
        ({"items": None}, 0),
        ({"items": "x"}, 0),
        ({"items": [1, None, "x", [], {}]}, 5),
        ({"items": [{"involvedObject": None}]}, 1),
    ],
)
def test_a_damaged_file_costs_only_what_is_damaged(document: object, bad: int) -> None:
    """What cannot be read is counted and left out; it never stops the agent."""
    log = EventLog()
    assert log.load(document) == bad
    assert len(log) == 0


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 30), st.integers(0, 2000)), max_size=60))
def test_limits_hold_whatever_happens(story: list[tuple[str, int, int]]) -> None:
    """No story of events breaks a limit or makes up or loses the newest event."""
    log = EventLog(per_pod=4, total=7)
    for name, message, seconds in sorted(story, key=lambda part: part[2]):
        log.add([event(f"m{message}", name=name, seconds=seconds)])
        assert len(log) <= 7
        assert len(log.of("default", name)) <= 4
        assert log.events[-1].message.removeprefix(COMBINED) == f"m{message}"
        assert len(log.since(0)) == len(log)
