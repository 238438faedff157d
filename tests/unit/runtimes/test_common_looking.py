"""Cheap looks: what is asked for, when, and what is remembered."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from podsync import labels as keys
from podsync.clock import ManualClock
from podsync.errors import Conflict, NotFound, RuntimeFault, RuntimeUnavailable
from podsync.runtimes.base import ContainerRecord, ContainerState
from podsync.runtimes.common.looking import LOST_MESSAGE, Looker
from podsync.runtimes.common.records import Detail, Row

CREATED, RUNNING, EXITED = ContainerState.CREATED, ContainerState.RUNNING, ContainerState.EXITED
UNKNOWN = ContainerState.UNKNOWN
MOMENT = datetime(2030, 1, 1, tzinfo=UTC)


class Engine:
    """Containers with what the list says of them and what an inspection says."""

    def __init__(self) -> None:
        self.listed: dict[str, ContainerState] = {}
        self.details: dict[str, Detail] = {}
        self.asked: list[str] = []
        self.down = False
        self.faults: dict[str, RuntimeFault] = {}
        self.nameless: set[str] = set()
        """Those whose labels lack the pod."""

    def put(self, key: str, listed: ContainerState, state: ContainerState | None = None, **fields: object) -> None:
        """Set both."""
        self.listed[key] = listed
        self.details[key] = Detail(key, state or listed, **fields)  # type: ignore[arg-type]

    def rows(self, uid: str | None) -> list[Row]:
        """The list."""
        if self.down:
            raise RuntimeUnavailable("down")
        pod = {keys.POD_UID: "u", keys.POD_NAMESPACE: "default", keys.POD_NAME: "p"}
        return [
            Row(
                key,
                key,
                state,
                {keys.CONTAINER_NAME: "c", keys.ATTEMPT: key, **({} if key in self.nameless else pod)},
                MOMENT,
            )
            for key, state in self.listed.items()
        ]

    def inspect(self, key: str) -> Detail | None:
        """An inspection."""
        self.asked.append(key)
        if key in self.faults:
            raise self.faults[key]
        return self.details.get(key)

    def news(self) -> list[str]:
        """What was inspected since the last call."""
        asked, self.asked = sorted(self.asked), []
        return asked


@pytest.fixture
def engine() -> Engine:
    """An empty one."""
    return Engine()


@pytest.fixture
def clock() -> ManualClock:
    """One that stands still."""
    return ManualClock()


@pytest.fixture
def looker(engine: Engine, clock: ManualClock) -> Iterator[Looker]:
    """One that looks at it."""
    found = Looker(clock, engine.rows, engine.inspect)
    yield found
    found.close()


def look(looker: Looker) -> dict[str, ContainerRecord]:
    """All containers of a look by id."""
    return {c.id: c for sandbox in looker.look(None) for c in sandbox.containers}


def test_each_container_is_inspected_once_while_nothing_changes(engine: Engine, looker: Looker) -> None:
    """Running, ended and created ones alike."""
    for key, state in (("1", RUNNING), ("2", EXITED), ("3", CREATED)):
        engine.put(key, state)
    first = look(looker)

    assert engine.news() == ["1", "2", "3"]
    assert look(looker) == first
    assert engine.news() == []


def test_one_created_here_is_not_inspected_until_it_changes(engine: Engine, looker: Looker) -> None:
    """Its maker knows all there is to know."""
    looker.created("1")
    engine.put("1", CREATED)
    assert look(looker)["1"].state is CREATED
    assert engine.news() == []
    engine.put("1", RUNNING, pid=9)
    assert look(looker)["1"].pid == 9
    assert engine.news() == ["1"]


def test_a_reported_death_is_asked_for_though_the_list_lags(engine: Engine, looker: Looker) -> None:
    """As long as the list calls it running, an inspection has the word."""
    engine.put("1", RUNNING)
    look(looker)
    engine.put("1", RUNNING, EXITED, exit_code=3)
    assert look(looker)["1"].state is RUNNING
    looker.doubt("1")

    assert (look(looker)["1"].state, look(looker)["1"].exit_code) == (EXITED, 3)
    engine.put("1", EXITED, exit_code=3)
    look(looker)
    engine.news()
    look(looker)
    assert engine.news() == []


def test_one_that_someone_started_again_is_seen_running(engine: Engine, looker: Looker) -> None:
    """Ended is remembered only as long as the list agrees."""
    engine.put("1", EXITED, exit_code=1)
    look(looker)
    engine.put("1", RUNNING)
    assert look(looker)["1"].state is RUNNING


def test_a_report_during_a_look_is_kept_for_the_next(engine: Engine, looker: Looker) -> None:
    """The look that was under way may have asked before the death."""
    engine.put("1", RUNNING)
    looker.doubt("1")
    inspect = engine.inspect

    def late(key: str) -> Detail | None:
        answer = inspect(key)
        looker.doubt(key)
        engine.details[key] = replace(engine.details[key], state=EXITED, exit_code=0)
        return answer

    engine.inspect = late  # type: ignore[method-assign]
    looker._inspect = late
    assert look(looker)["1"].state is RUNNING
    looker._inspect = inspect
    assert look(looker)["1"].state is EXITED


def test_a_failed_look_forgets_nothing(engine: Engine, looker: Looker) -> None:
    """It raises, and a reported death is still asked for at the next."""
    engine.put("1", RUNNING)
    look(looker)
    looker.doubt("1")
    engine.put("1", RUNNING, EXITED, exit_code=0)
    engine.down = True
    with pytest.raises(RuntimeUnavailable):
        looker.look(None)
    engine.down = False

    assert look(looker)["1"].state is EXITED


def test_one_that_vanishes_between_list_and_inspection_is_left_out(engine: Engine, looker: Looker) -> None:
    """It is no longer there."""
    engine.put("1", RUNNING)
    engine.put("2", RUNNING)
    del engine.details["2"]
    assert list(look(looker)) == ["1"]


def test_what_is_gone_is_forgotten(engine: Engine, looker: Looker) -> None:
    """After a look at everything, not after one at another pod."""
    engine.put("1", RUNNING)
    look(looker)
    listed, engine.listed = engine.listed, {}
    looker.look("another")
    assert looker.known("1") is not None
    looker.look(None)
    assert looker.known("1") is None
    engine.listed = listed


def test_all_that_ran_is_asked_for_after_a_gap_of_the_reports(engine: Engine, looker: Looker) -> None:
    """Deaths may have gone unreported; what had ended before has not changed."""
    engine.put("1", RUNNING)
    engine.put("2", EXITED, exit_code=0)
    look(looker)
    engine.news()
    looker.disconnected()
    looker.connected()
    look(looker)
    assert engine.news() == ["1"]


@pytest.mark.parametrize(
    ("ended_after", "exit_code", "lost"),
    [(15.0, 255, True), (5.0, 255, False), (25.0, 255, False), (15.0, 1, False)],
    ids=["inside", "before", "later", "another code"],
)
def test_an_engines_guess_of_an_exit_code_is_not_taken(
    engine: Engine, looker: Looker, clock: ManualClock, ended_after: float, exit_code: int, *, lost: bool
) -> None:
    """255 inside a gap of the reports is what an engine writes when it does not know."""
    start = clock.now()
    clock.advance(10)
    looker.disconnected()
    clock.advance(10)
    looker.connected()
    ended = ManualClock(start)
    ended.advance(ended_after)
    engine.put("1", EXITED, exit_code=exit_code, finished_at=ended.now())

    record = look(looker)["1"]

    assert record.state is EXITED
    assert (record.exit_code, record.message) == ((None, LOST_MESSAGE) if lost else (exit_code, ""))


@pytest.mark.parametrize("state", [CREATED, RUNNING, EXITED])
def test_what_was_asked_for_is_not_inspected_again(engine: Engine, looker: Looker, state: ContainerState) -> None:
    """The next look asks only for a change that its list shows, or that was reported."""
    engine.put("1", state)
    looker.ask("1")
    engine.news()
    assert look(looker)["1"].state is state
    assert engine.news() == []
    looker.doubt("1")
    look(looker)
    assert engine.news() == ["1"]


@pytest.mark.parametrize(
    ("known", "answer", "kept"),
    [(EXITED, RUNNING, EXITED), (RUNNING, CREATED, RUNNING), (RUNNING, EXITED, EXITED), (RUNNING, RUNNING, RUNNING)],
)
def test_a_late_answer_does_not_take_a_newer_one_back(
    engine: Engine, looker: Looker, known: ContainerState, answer: ContainerState, kept: ContainerState
) -> None:
    """Asked for before a look's and come after it; the container's life has one direction."""
    engine.put("1", known, pid=1)
    asked, free = threading.Event(), threading.Event()
    got: list[Detail | None] = []

    def slow(key: str) -> Detail | None:
        asked.set()
        assert free.wait(5)
        return Detail(key, answer, pid=2)

    looker._inspect = slow
    asker = threading.Thread(target=lambda: got.append(looker.ask("1")))
    asker.start()
    assert asked.wait(5)
    looker._inspect = engine.inspect
    assert look(looker)["1"].state is known
    free.set()
    asker.join(5)
    (told,) = got
    assert told is not None
    assert told == looker.known("1")
    assert told.state is kept


def test_one_that_someone_started_is_believed_when_asked_for_later(engine: Engine, looker: Looker) -> None:
    """Only answers that overlap are in doubt."""
    engine.put("1", EXITED, exit_code=0)
    look(looker)
    engine.put("1", RUNNING)
    told = looker.ask("1")
    assert told is not None
    assert told.state is RUNNING


@pytest.mark.parametrize(("state", "asked"), [(CREATED, ["1"]), (RUNNING, []), (EXITED, [])])
def test_an_inspection_is_taken_from_memory_unless_it_may_have_started_since(
    engine: Engine, looker: Looker, state: ContainerState, asked: list[str]
) -> None:
    """Of one created here, memory has nothing of its image."""
    engine.put("1", state, stop_signal="SIGQUIT")
    if state is CREATED:
        looker.created("1")
    else:
        look(looker)
    engine.news()
    found = looker.inspected("1")
    assert found is not None
    assert found.stop_signal == "SIGQUIT"
    assert engine.news() == asked
    assert looker.inspected("2") is None


def test_a_closed_looker_says_so(engine: Engine, looker: Looker) -> None:
    """A look that a close overtakes fails as any other call does."""
    engine.put("1", RUNNING)
    engine.put("2", RUNNING)
    looker.close()
    with pytest.raises(RuntimeUnavailable, match="closed"):
        looker.look(None)


def test_several_are_inspected_side_by_side(engine: Engine, looker: Looker) -> None:
    """A slow inspection does not hold the others up: each waits here for all the others."""
    meeting = threading.Barrier(4, timeout=5)
    for key in "1234":
        engine.put(key, RUNNING)

    def slow(key: str) -> Detail | None:
        meeting.wait()
        return engine.details[key]

    looker._inspect = slow
    assert len(look(looker)) == 4


def test_the_time_of_an_observation_is_taken_before_the_engine_is_asked(
    engine: Engine, looker: Looker, clock: ManualClock
) -> None:
    """What it shows is at least as new as it says."""
    before = clock.now()
    engine.put("1", RUNNING)
    engine.details["1"] = replace(engine.details["1"], pid=1)

    def late(key: str) -> Detail | None:
        clock.advance(3)
        return engine.details[key]

    looker._inspect = late
    assert looker.observe().observed_at == before
    assert clock.now() > before


@pytest.mark.parametrize("fault", [RuntimeFault("broken"), Conflict("broken")], ids=["fault", "conflict"])
@pytest.mark.parametrize("listed", [CREATED, RUNNING, EXITED, UNKNOWN])
def test_one_that_cannot_be_inspected_is_what_the_list_says(
    engine: Engine, looker: Looker, caplog: pytest.LogCaptureFixture, fault: RuntimeFault, listed: ContainerState
) -> None:
    """It hides no other, is asked for at every look, and is warned of once until it answers again."""
    engine.put("1", listed)
    engine.put("2", RUNNING, pid=2)
    engine.faults["1"] = fault
    for _ in range(2):
        found = look(looker)
        assert (found["1"].state, found["1"].exit_code, found["2"].pid) == (listed, None, 2)
    assert engine.news() == ["1", "1", "2"]
    assert [record.getMessage().count("broken") for record in caplog.records] == [1]

    del engine.faults["1"]
    engine.put("1", listed, pid=1)
    assert look(looker)["1"].pid == 1
    looker.doubt("1")
    engine.faults["1"] = fault
    look(looker)
    assert len(caplog.records) == 2


def test_a_reported_death_is_asked_for_until_there_is_an_answer(engine: Engine, looker: Looker) -> None:
    """An inspection that was refused settles nothing."""
    engine.put("1", RUNNING)
    look(looker)
    looker.doubt("1")
    engine.put("1", RUNNING, EXITED, exit_code=3)
    engine.faults["1"] = RuntimeFault("broken")
    assert look(looker)["1"].state is RUNNING
    engine.faults.clear()
    assert (look(looker)["1"].state, look(looker)["1"].exit_code) == (EXITED, 3)


@pytest.mark.parametrize("seen", [None, CREATED, RUNNING, EXITED])
@pytest.mark.parametrize("listed", [CREATED, RUNNING, EXITED, UNKNOWN])
def test_what_a_removal_has_left_over_has_ended(
    engine: Engine, looker: Looker, listed: ContainerState, seen: ContainerState | None
) -> None:
    """Whatever its row says, so that it is removed; an exit code that was seen before is kept."""
    if seen is not None:
        engine.put("1", seen, exit_code=4 if seen is EXITED else None)
        look(looker)
        looker.doubt("1")
    engine.put("1", listed)
    engine.faults["1"] = NotFound("container not known")
    record = look(looker)["1"]
    assert (record.state, record.pid) == (EXITED, 0)
    assert record.exit_code == (4 if seen is EXITED else None)
    assert looker.ask("1") is None


def test_the_engine_being_away_still_fails_a_look(engine: Engine, looker: Looker) -> None:
    """What is not known of all is not known of one."""
    engine.put("1", RUNNING)
    engine.faults["1"] = RuntimeUnavailable("down")
    with pytest.raises(RuntimeUnavailable):
        looker.look(None)


def test_one_that_names_no_pod_is_left_alone(engine: Engine, looker: Looker, caplog: pytest.LogCaptureFixture) -> None:
    """It is neither shown nor inspected, and warned of once."""
    engine.put("1", RUNNING)
    engine.put("2", RUNNING)
    engine.nameless.add("2")
    for _ in range(2):
        assert list(look(looker)) == ["1"]
    assert engine.news() == ["1"]
    assert [record.getMessage().startswith("container 2 ") for record in caplog.records] == [True]
