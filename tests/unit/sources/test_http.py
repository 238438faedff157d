"""The URL source against a server that misbehaves."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from podsync.clock import ManualClock, SystemClock
from podsync.errors import SourceError
from podsync.sources import open as open_source
from podsync.sources.base import Snapshot, Source
from podsync.sources.fetch import Fetcher
from podsync.sources.http import HttpSource
from podsync.sources.polled import RetryLater
from tests.unit.sources import misbehaving as server
from tests.unit.sources.listening import Running, images, manifest
from tests.unit.sources.misbehaving import Answerer, Server, serving, source

Run = Callable[[Source], Running]
ONE, TWO = manifest("a"), manifest("a", "new")
NOTHING = "apiVersion: v1\nkind: List\nitems: []\n"


# --- good answers ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "pods"),
    [
        (ONE, {"a"}),
        (ONE + "---\n" + manifest("b"), {"a", "b"}),
        (
            '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"j"},"spec":{"containers":[{"name":"m","image":"i"}]}}',
            {"j"},
        ),
        (
            '{"apiVersion":"v1","kind":"PodList","items":[{"metadata":{"name":"l"},"spec":{"containers":[{"name":"m","image":"i"}]}}]}',
            {"l"},
        ),
        (NOTHING, set()),
    ],
)
@pytest.mark.parametrize("framing", [server.text, server.chunked, server.unmeasured])
def test_what_a_url_may_answer(played: Server, body: str, pods: set[str], framing: Callable[[str], Answerer]) -> None:
    """A Pod, several documents, a list, an empty list; however its length is told."""
    played.answer = framing(body)
    snapshot = source(played).read()
    assert (images(snapshot.pods).keys(), snapshot.refusals) == (pods, ())


def test_equal_bodies_give_the_same_snapshot(played: Server) -> None:
    """Also from a server without validators: nothing looks new."""
    reading = source(played)
    assert reading.read() is reading.read()


def test_asks_with_the_validators_of_the_last_answer(played: Server) -> None:
    """304 means the same set; a new answer brings new validators, one without ends them."""
    reading = source(played)
    played.answer = server.text(ONE, ETag='"1"', Last_Modified="Tue, 01 Dec 2026 00:00:00 GMT")
    first = reading.read()
    played.answer = lambda handler: handler.reply(b"", 304)
    assert reading.read() is first
    assert played.asked[1]["If-None-Match"] == '"1"'
    assert played.asked[1]["If-Modified-Since"] == "Tue, 01 Dec 2026 00:00:00 GMT"
    played.answer = server.text(TWO)
    assert images(reading.read().pods) == {"a": "new"}
    reading.read()
    assert "If-None-Match" not in played.asked[-1]


def test_an_edit_is_found_at_the_next_look(played: Server, run: Run) -> None:
    """On the source's own thread, with its own loop."""
    running = run(source(played, interval="0.05"))
    assert running.heard.shows({"a": "busybox:latest"})
    played.answer = server.text(TWO)
    assert running.heard.shows({"a": "new"})
    assert len(running.heard.sets) == 2


def test_partly_bad_answers_follow_the_rule_of_files(played: Server) -> None:
    """Good documents count, the bad one's last version stays."""
    reading = source(played)
    played.answer = server.text(ONE + "---\n" + manifest("b"))
    reading.read()
    played.answer = server.text(TWO + "---\n" + manifest("b").replace("image", "imag"))
    snapshot = reading.read()
    assert images(snapshot.pods) == {"a": "new", "b": "busybox:latest"}
    assert [(refused.origin, str(refused.key), refused.kept) for refused in snapshot.refusals] == [
        (played.url, "default/b", True)
    ]


# --- bad answers -----------------------------------------------------------------------------

FAILURES: dict[str, tuple[Answerer, str]] = {
    "500": (server.status(500), "500"),
    "404": (server.status(404), "404"),
    "403": (server.status(403), "403"),
    "204": (server.status(204), "204"),
    "206": (server.status(206), "206"),
    "304 unasked": (server.status(304), "304"),
    "empty": (server.text(""), "empty body"),
    "blank": (server.text("  \n\n"), "empty body"),
    "only a comment": (server.text("# nothing\n"), "no document"),
    "null": (server.text("null\n"), "no document"),
    "web page": (server.text("<!DOCTYPE html>\n<html><body>Log in</body></html>\n"), "no manifest"),
    "words": (server.text("Service Unavailable"), "no manifest"),
    "binary": (server.text("\x00\x01\x02"), "no manifest"),
    "unfinished list": (server.text("apiVersion: v1\nkind: List\nitems:\n"), "no document"),
    "cut off": (server.cut(ONE), "cut off"),
    "cut off in a list": (server.cut(NOTHING), "cut off"),
    "chunks cut off": (server.chunked(NOTHING, end=False), "cut off|Premature|ended"),
    "flood": (server.flood, "10 MiB"),
    "endless body": (server.endless_body, "complete within"),
    "endless chunk": (server.endless_chunk, "complete within"),
    "endless headers": (server.endless_headers, "complete within"),
    "silent": (server.silent, "no answer for"),
    "silent body": (server.silent_body, "no answer for"),
    "garbage": (server.garbage, "not HTTP"),
    "hang up": (server.hang_up, "hung up"),
    "redirect loop": (lambda handler: handler.reply(b"", 302, {"Location": "/again"}), "redirects"),
    "redirect to a file": (lambda handler: handler.reply(b"", 302, {"Location": "file:///etc/passwd"}), "no http"),
    "redirect to nowhere": (lambda handler: handler.reply(b"", 302, {"Location": "http:"}), "redirects|no http"),
    "redirect without place": (lambda handler: handler.reply(b"", 302), "302"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_whatever_is_no_readable_answer_is_a_failed_read(played: Server, name: str) -> None:
    """From the start and after a good one; afterwards it goes on as if nothing had been."""
    answer, word = FAILURES[name]
    reading = source(played)
    played.answer = answer
    with pytest.raises(SourceError, match=word):
        reading.read()
    played.answer = server.text(ONE, ETag='"1"')
    first = reading.read()
    played.answer = answer
    if name != "304 unasked":
        with pytest.raises(SourceError, match=word):
            reading.read()
    played.answer = server.text(ONE)
    assert reading.read() is first


def test_a_missing_server_is_a_failed_read() -> None:
    """Nobody listens there."""
    with serving() as gone:
        pass
    with pytest.raises(SourceError, match="Connection refused"):
        source(gone).read()


def test_a_name_nobody_knows_is_a_failed_read() -> None:
    """DNS is away, or the name is wrong."""
    with pytest.raises(SourceError, match="name is not known"):
        open_source("http://nowhere.invalid/").read()  # type: ignore[attr-defined]


def test_a_failed_read_leaves_the_pods(played: Server, run: Run) -> None:
    """The sink hears a failure and no set; once mended it hears the set again."""
    running = run(source(played, interval="0.05"))
    assert running.heard.shows({"a": "busybox:latest"})
    played.answer = server.text("")
    assert running.heard.wait(lambda heard: bool(heard.errors))
    played.answer = server.text(TWO)
    assert running.heard.shows({"a": "new"})
    assert [pods for _, pods, _ in running.heard.sets if "a" not in pods] == []


def test_fewer_pods_in_an_answer_of_unknown_length_count_when_they_come_twice(played: Server) -> None:
    """Such an answer may have been cut between two documents without any sign."""
    reading = source(played)
    played.answer = server.unmeasured(ONE + "---\n" + manifest("b"))
    reading.read()
    played.answer = server.unmeasured(ONE)
    with pytest.raises(SourceError, match="comes twice"):
        reading.read()
    assert images(reading.read().pods).keys() == {"a"}


def test_retry_after_is_heard(played: Server) -> None:
    """Seconds, a date, neither; at most five minutes."""
    clock = ManualClock()
    reading = HttpSource(played.url, clock, fetcher=Fetcher(SystemClock(), timeout=1, deadline=3, limit=99))
    for value, seconds in (
        ("7", 7.0),
        ("99999", 300.0),
        ("Tue, 01 Jan 2030 00:00:30 GMT", 30.0),
        ("Mon, 01 Jan 2029 00:00:00 GMT", 0.0),
    ):
        played.answer = server.status(429, Retry_After=value)
        with pytest.raises(RetryLater) as caught:
            reading.read()
        assert caught.value.seconds == seconds
    played.answer = server.status(503, Retry_After="soon")
    with pytest.raises(SourceError, match="503") as plain:
        reading.read()
    assert not isinstance(plain.value, RetryLater)


@pytest.mark.parametrize("answer", [server.silent, server.endless_body, server.endless_headers, server.silent_body])
def test_stops_promptly_whatever_the_server_does(played: Server, run: Run, answer: Answerer) -> None:
    """Within half a second, without a failure being told."""
    played.answer = answer
    running = run(source(played, timeout="30"))
    while not played.asked:
        assert not running.stop.wait(0.01)
    assert running.end(0.5)
    assert (running.heard.sets, running.heard.errors) == ([], [])


def test_no_thread_is_left_behind_by_endless_answers(played: Server) -> None:
    """The connection is shut at the deadline, which wakes and ends the request's thread."""
    reading = source(played, timeout="0.1")
    for answer in (server.endless_body, server.endless_headers, server.endless_chunk):
        played.answer = answer
        with pytest.raises(SourceError, match="complete within"):
            reading.read()
        for thread in threading.enumerate():
            if thread.name == "podsync-fetch":
                thread.join(1.0)
        assert not [thread for thread in threading.enumerate() if thread.name == "podsync-fetch"]


# --- last good set ---------------------------------------------------------------------------


def test_the_last_good_set_runs_after_a_reboot_with_the_server_away(tmp_path: Path, run: Run) -> None:
    """Spoken first, then the failure; the server back, its answer counts."""
    with serving(server.text(ONE)) as played:
        before = source(played, tmp_path)
        before.read()
        before.save()
        played.answer = server.status(500)
        running = run(source(played, tmp_path, interval="0.05"))
        assert running.heard.wait(lambda heard: bool(heard.errors))
        assert running.heard.now == {"a": "busybox:latest"}
        played.answer = server.text(TWO)
        assert running.heard.shows({"a": "new"})
        running.end()


def test_what_stood_before_a_reboot_is_kept_for_bad_documents(played: Server, tmp_path: Path, run: Run) -> None:
    """The first answer after it may be partly bad."""
    before = source(played, tmp_path)
    before.read()
    before.save()
    played.answer = server.text(manifest("b") + "---\n" + ONE.replace("image", "imag"))
    running = run(source(played, tmp_path))
    assert running.heard.shows({"a": "busybox:latest", "b": "busybox:latest"})


def test_without_anything_stored_a_failing_url_has_not_spoken(played: Server, tmp_path: Path, run: Run) -> None:
    """So nothing ends that it may have named."""
    played.answer = server.status(500)
    running = run(source(played, tmp_path))
    assert running.heard.wait(lambda heard: bool(heard.errors))
    assert running.heard.sets == []


def test_an_explicit_empty_list_is_not_undone_by_the_store(played: Server, tmp_path: Path) -> None:
    """What was stored before it is forgotten."""
    before = source(played, tmp_path)
    before.read()
    before.save()
    played.answer = server.text(NOTHING)
    assert before.read() == Snapshot()
    before.save()
    assert source(played, tmp_path).stored() is None
