"""What the agent tells the world: statuses, events, problems, and how files come to be."""

from __future__ import annotations

import errno
import os

import pytest

from podsync.errors import FieldError, RuntimeFault
from podsync.ledger import Entry
from podsync.manifest.decode import decode_pod
from podsync.messages import PullDone
from podsync.models import Pod, PodKey
from podsync.publisher import Publisher
from podsync.runtimes.base import RuntimeInfo
from podsync.runtimes.fake import Pullable, exits, exits_on_term
from podsync.sources.base import Refusal
from podsync.store import AGENT, EVENTS, STATUS
from podsync.testing.builders import container, pod
from tests.unit.owned import NODE, World, edited, started

WEB = PodKey("default", "web")
FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def settled(world: World) -> World:
    """After the last of the files that are due has been written."""
    world.run(2)
    return world


# --- the status file -----------------------------------------------------------------------------------


def test_the_status_file_is_a_pod_list() -> None:
    """Every pod in key order, whole, with its node, its source's uid and a v1 status."""
    world = settled(started(pod("web"), pod("a"), pod("web", namespace="other")))
    document = world.files.read(STATUS)

    assert (document["apiVersion"], document["kind"]) == ("v1", "PodList")
    assert [(p["metadata"]["namespace"], p["metadata"]["name"]) for p in document["items"]] == [
        *(("default", "a"), ("default", "web"), ("other", "web")),
    ]
    item = document["items"][1]
    assert (item["apiVersion"], item["kind"], item["spec"]["nodeName"]) == ("v1", "Pod", NODE)
    assert len(item["metadata"]["uid"]) == 32
    assert item["status"]["phase"] == "Running"
    assert item["status"]["containerStatuses"][0]["containerID"].startswith("fake://")
    assert "deletionTimestamp" not in item["metadata"]


def test_a_node_without_pods_has_an_empty_list() -> None:
    """The file is there and valid from the start."""
    world = World()
    world.step()
    assert world.files.read(STATUS) == {"apiVersion": "v1", "kind": "PodList", "metadata": {}, "items": []}


def test_the_status_file_is_written_only_when_something_changed() -> None:
    """Steps, looks and source words that change nothing write nothing."""
    world = settled(started(pod("web")))
    tries = len(world.files.tries)
    world.run(60)
    world.hint(world.ref("web"))
    world.work()
    assert world.files.tries[tries:] == []
    world.say(pod("web"))
    world.run(2)
    assert STATUS not in world.files.tries[tries:]
    world.engine.kill(world.ref("web"))
    world.hint(world.ref("web"))
    settled(world)
    assert STATUS in world.files.tries[tries:]


def test_the_same_report_is_no_change() -> None:
    """A pod reported anew with nothing new in it makes nothing due."""
    world = World()
    entry = Entry(WEB, pod=pod("web"))
    for _ in range(2):
        assert world.publisher.report(entry, world.clock.now())
        world.publisher.flush(world.clock.monotonic(), "", force=True)
    assert world.files.tries.count(STATUS) == 1
    assert world.publisher.due(1.0) == 3600


def test_changes_in_a_row_are_written_together() -> None:
    """The status file is written at most each 0.05 s, the events each second; the owner wakes for what is left."""
    world = settled(started())
    before = {name: world.files.tries.count(name) for name in (STATUS, EVENTS)}
    for number in range(20):
        world.say(*(pod(f"p{n}") for n in range(number)))
        world.work()
        world.clock.advance(0.01)
    settled(world)
    after = {name: world.files.tries.count(name) - before[name] for name in before}
    assert after[STATUS] <= 7
    assert after[EVENTS] <= 3
    assert len(world.files.read(STATUS)["items"]) == 19


def test_the_report_of_an_earlier_agent_stands_until_the_first_look() -> None:
    """While the engine has not been seen, what the last agent said of the pods is not replaced by nothing."""
    first = settled(started(pod("web")))
    known = _remembered(first)
    first.engine.unavailable()
    world = World(engine=first.engine, clock=first.clock, remembered=known)
    world.step()
    world.say(pod("web"))
    world.run(30)
    assert STATUS not in world.files.texts
    assert "the engine cannot be asked: the fake engine is down" in world.files.read(AGENT)["problems"]

    world.engine.unavailable(away=False)
    world.run(10)
    assert world.files.read(STATUS)["items"][0]["status"]["phase"] == "Running"


def test_an_earlier_report_is_replaced_even_by_an_empty_one() -> None:
    """Once the engine was seen, pods of an earlier report that are no more are no longer reported."""
    first = settled(started(pod("web")))
    known = _remembered(first)
    world = World(clock=first.clock, remembered=known)
    world.step()
    world.say()
    world.run(2)
    assert world.files.read(STATUS)["items"] == []


def _remembered(world: World) -> dict[str, Pod]:
    """The pods of a status file by uid, as the next agent reads them."""
    found: dict[str, Pod] = {}
    for item in world.files.read(STATUS)["items"]:
        decoded, _ = decode_pod({key: value for key, value in item.items() if key != "status"})
        assert decoded is not None
        found[decoded.metadata.uid] = decoded
    return found


# --- pods that are being ended ---------------------------------------------------------------------------


def test_a_pod_being_ended_says_so() -> None:
    """It has a deletionTimestamp, the moment its manifest went, and its grace; then it is gone from the file."""
    slow = pod("web", termination_grace_period_seconds=20)
    world = settled(started(slow, programs={"main": exits_on_term(0, after=5)}))
    world.say()
    world.run(3)
    (item,) = world.files.read(STATUS)["items"]
    assert item["metadata"]["deletionTimestamp"] == "2030-01-01T00:00:02Z"
    assert item["metadata"]["deletionGracePeriodSeconds"] == 20
    assert item["status"]["containerStatuses"][0]["state"].get("running")
    world.run(9)
    assert world.files.read(STATUS)["items"] == []


def test_a_pod_that_ends_after_a_restart_is_told_from_the_last_report() -> None:
    """A new agent without its manifest still shows the whole spec, from the status file."""
    first = settled(started(pod("web", hostname="h"), programs={"main": exits_on_term(0, after=5)}))
    world = World(engine=first.engine, clock=first.clock, remembered=_remembered(first))
    world.step()
    world.say()
    world.run(2)
    (item,) = world.files.read(STATUS)["items"]
    assert item["spec"]["hostname"] == "h"
    assert item["metadata"]["deletionTimestamp"]


def test_a_pod_that_ends_without_any_report_is_told_from_labels() -> None:
    """With the root lost as well, the names, images and states come from the engine."""
    two = pod("web", container("main"), container("side", image="nginx:1"))
    first = started(two, programs={"main": exits_on_term(0, after=5), "side": exits_on_term(0, after=5)})
    world = World(engine=first.engine, clock=first.clock)
    world.step()
    world.say()
    world.run(2)
    (item,) = world.files.read(STATUS)["items"]
    assert item["metadata"]["name"] == "web"
    assert item["metadata"]["uid"] in first.ref("web")
    assert [(c["name"], c["image"]) for c in item["spec"]["containers"]] == [
        *(("main", "busybox:1.36"), ("side", "nginx:1")),
    ]
    assert all(c["state"].get("running") for c in item["status"]["containerStatuses"])


def test_a_replaced_pod_starts_with_a_blank_status() -> None:
    """The status of an edited pod takes nothing from its predecessor: no phase, address, start time or count."""
    job = pod("web", restart_policy="OnFailure")
    world = settled(started(job, programs={"main": (exits(1), exits(0))}))
    world.run(60)
    assert world.files.read(STATUS)["items"][0]["status"]["phase"] == "Succeeded"
    world.say(edited(job))
    world.publisher.flush(world.clock.monotonic(), "", force=True)
    status = world.files.read(STATUS)["items"][0]["status"]
    assert status["phase"] == "Pending"
    assert "podIP" not in status
    assert [c["restartCount"] for c in status["containerStatuses"]] == [0]
    assert status["startTime"] == "2030-01-01T00:01:02Z"


# --- files that cannot be written ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", [STATUS, EVENTS, AGENT])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EIO])
def test_a_file_that_cannot_be_written(name: str, code: int, caplog: pytest.LogCaptureFixture) -> None:
    """The agent goes on; the problem is told and logged once, the write tried again each 5 s, and its end told."""
    world = settled(started(pod("web")))
    world.files.failing[name] = OSError(code, os.strerror(code))
    tries = len(world.files.tries)
    world.say(pod("web"), pod("two"))
    world.run(20)

    text = f"{name} cannot be written: {os.strerror(code)}; what it says is out of date"
    assert world.publisher.problems == (text,)
    if name != AGENT:
        assert world.files.read(AGENT)["problems"] == [text]
    assert 4 <= world.files.tries[tries:].count(name) <= 6
    assert [r.message for r in caplog.records if r.levelname == "ERROR"] == [text]
    assert world.names() == ["two/main#0", "web/main#0"]

    del world.files.failing[name]
    world.run(6)
    assert world.publisher.problems == ()
    assert world.files.read(AGENT)["problems"] == []
    assert len(world.files.read(STATUS)["items"]) == 2


def test_a_forced_flush_tries_at_once() -> None:
    """At the agent's end nothing waits for its time."""
    world = settled(started(pod("web")))
    world.files.failing[STATUS] = FULL
    world.say()
    world.run(1)
    del world.files.failing[STATUS]
    world.publisher.flush(world.clock.monotonic(), "", force=True)
    assert world.files.read(STATUS)["items"] == []


def test_without_files_nothing_is_due() -> None:
    """An embedded agent writes nothing, and is never woken for it."""
    world = World()
    publisher = Publisher(info=RuntimeInfo("fake"), node=NODE, now=world.clock.now)
    publisher.count_unexpected()
    publisher.flush(0.0, "away")
    assert publisher.due(0.0) == 3600
    assert publisher.problems == ("the engine cannot be asked: away",)


# --- agent.json --------------------------------------------------------------------------------------------------


def test_what_the_agent_tells_of_itself() -> None:
    """Node, engine, sources with their health, problems; and whatever it was given to tell."""
    world = World()
    publisher = Publisher(
        info=RuntimeInfo("docker", "29.0"), node=NODE, files=world.files, about={"notes": ["n"]}, now=world.clock.now
    )
    publisher.flush(0.0, "")
    assert world.files.read(AGENT) == {
        "node": NODE,
        "runtime": {"name": "docker", "version": "29.0"},
        "notes": ["n"],
        "problems": [],
        "unexpectedErrors": 0,
        "sources": [],
        "refusals": [],
    }


def test_sources_and_their_failures_are_told() -> None:
    """A source that cannot be read is named with its error, until it can."""
    world = started(sources=("a", "b"))
    assert not world.publisher.source_problems
    world.fail("b")
    settled(world)
    health = {source["name"]: source for source in world.files.read(AGENT)["sources"]}
    assert (health["a"]["error"], health["b"]["error"]) == ("", "b: no such thing")
    assert world.publisher.source_problems
    world.say(source="b")
    settled(world)
    assert {source["error"] for source in world.files.read(AGENT)["sources"]} == {""}
    assert not world.publisher.source_problems


def refusal(name: str | None, text: str = "Required value", *, kept: bool = False) -> Refusal:
    """A document that is not used."""
    key = PodKey("default", name) if name else None
    return Refusal(f"{name}.yaml", (FieldError("spec.containers", text, file=f"{name}.yaml", line=4),), key, kept)


def test_a_refusal_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    """A document that is refused is one event and one log line, however often its source repeats it."""
    world = started()
    for _ in range(3):
        world.say(refusals=[refusal("bad"), refusal(None, "unreadable")])
    settled(world)

    assert [(e.reason, e.name, e.count) for e in world.publisher.events.events] == [("FailedValidation", "bad", 1)]
    assert [r.message for r in caplog.records] == [
        "bad.yaml:4: spec.containers: Required value",
        "None.yaml:4: spec.containers: unreadable",
    ]
    assert world.files.read(AGENT)["refusals"] == [
        {"origin": "None.yaml", "pod": None, "kept": False, "errors": ["None.yaml:4: spec.containers: unreadable"]},
        {
            "origin": "bad.yaml",
            "pod": "default/bad",
            "kept": False,
            "errors": ["bad.yaml:4: spec.containers: Required value"],
        },
    ]
    assert world.publisher.source_problems

    world.say()
    settled(world)
    assert world.files.read(AGENT)["refusals"] == []
    assert not world.publisher.source_problems
    world.say(refusals=[refusal("bad")])
    assert [e.count for e in world.publisher.events.events] == [2]


# --- events ------------------------------------------------------------------------------------------------------


def test_the_events_of_a_pods_life() -> None:
    """From the pull to the end, in the kubelet's words; each is written to the events file."""
    world = started(images=[], registry={"far:1": Pullable()})
    world.say(pod("web", container(image="far:1")))
    world.run(1)
    world.say()
    settled(world)
    events = world.files.read(EVENTS)
    assert events["kind"] == "EventList"
    assert [e["reason"] for e in events["items"]] == ["Pulling", "Pulled", "Created", "Started", "Killing"]
    assert 'Successfully pulled image "far:1"' in events["items"][1]["message"]
    assert "Image size: 1000000 bytes." in events["items"][1]["message"]
    assert {e["involvedObject"]["name"] for e in events["items"]} == {"web"}


def test_an_image_that_was_there_is_said_to_have_been() -> None:
    """Only an image that was not pulled for the pod is told as already present."""
    world = settled(started(pod("web")))
    (pulled,) = (e for e in world.publisher.events.events if e.reason == "Pulled")
    assert pulled.message == 'Container image "busybox:1.36" already present on machine'


def test_a_failed_action_is_an_event() -> None:
    """What the engine refused is told in its words."""
    world = started()
    world.faults.raise_at(1, RuntimeFault("no space"), verb="create_container")
    world.say(pod("web"))
    world.work()
    (failed,) = (e for e in world.publisher.events.events if e.reason == "Failed")
    assert failed.message == "Error: no space"


def test_an_engine_that_is_away_is_a_problem_until_it_is_back() -> None:
    """What is told of the engine is always its latest word; it is logged where it is noticed, not here."""
    publisher = Publisher(info=RuntimeInfo("fake"), node=NODE, now=World().clock.now)
    told = []
    for error in ("away", "hung", ""):
        publisher.flush(0.0, error)
        told.append(publisher.problems)
    assert told == [("the engine cannot be asked: away",), ("the engine cannot be asked: hung",), ()]


def test_a_pod_nobody_knows_is_told_by_its_key() -> None:
    """Events of a pod without manifest still name it."""
    world = World()
    world.publisher.pulled(WEB, None, PullDone("far:1", world.clock.now(), 1.0))
    assert [(e.namespace, e.name, e.reason) for e in world.publisher.events.events] == [("default", "web", "Pulled")]
