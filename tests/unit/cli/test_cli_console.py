"""Log lines, the status line, and what a run tells."""

from __future__ import annotations

import io
import json
import logging
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from podsync.cli.console import Console, JsonFormatter, TextFormatter
from podsync.cli.progress import Progress, status_line
from podsync.events import Event, EventLog, EventType
from podsync.models import ContainerState, ContainerStateWaiting, ContainerStatus, PodKey, PodStatus
from podsync.runtimes.base import PullProgress

AT = datetime(2030, 1, 1, tzinfo=UTC)


def record(
    message: str, level: int = logging.INFO, error: Exception | None = None, **extra: object
) -> logging.LogRecord:
    """A log record of a fixed moment."""
    made = logging.makeLogRecord({"name": "podsync.x", "msg": message, "levelno": level, **extra})
    made.levelname = logging.getLevelName(level)
    made.created = AT.timestamp() + 0.25
    if error is not None:
        try:
            raise error
        except Exception as caught:  # noqa: BLE001 - gives the error a traceback
            made.exc_info = (type(caught), caught, caught.__traceback__)
    return made


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (record("hello"), "2030-01-01T00:00:00.250Z INFO    hello"),
        (record("hello", node="n", empty="", none=None), "2030-01-01T00:00:00.250Z INFO    hello node=n"),
        (record("hello", why="two words"), '2030-01-01T00:00:00.250Z INFO    hello why="two words"'),
        (record("default/web: up", pod="default/web"), "2030-01-01T00:00:00.250Z INFO    default/web: up"),
        (record("up", pod="default/web"), "2030-01-01T00:00:00.250Z INFO    up pod=default/web"),
        (
            record("broke", logging.ERROR, ValueError("x y")),
            '2030-01-01T00:00:00.250Z ERROR   broke error="ValueError: x y"',
        ),
    ],
)
def test_text_lines(made: logging.LogRecord, text: str) -> None:
    """A text line holds time, level, message and what the record carries besides, on one line."""
    assert TextFormatter().format(made) == text


def test_tracebacks_only_when_debugging() -> None:
    """A traceback is shown only on request, in both forms."""
    made = record("broke", logging.ERROR, ValueError("x"))
    assert "Traceback" not in TextFormatter().format(made)
    assert "Traceback" in TextFormatter(debug=True).format(made)
    assert "traceback" not in json.loads(JsonFormatter().format(made))
    assert "Traceback" in json.loads(JsonFormatter(debug=True).format(made))["traceback"]


def test_coloured_levels() -> None:
    """Warnings and errors stand out where colour is wanted."""
    assert "\x1b[" in TextFormatter(colour=True).format(record("x", logging.WARNING))
    assert "\x1b[" not in TextFormatter(colour=True).format(record("x"))


def test_json_lines() -> None:
    """A JSON line is one object with the same content, whatever the values are."""
    made = record("two\nlines", logging.WARNING, ValueError("x"), pod="default/web", key=PodKey("a", "b"), at=AT)
    line = JsonFormatter().format(made)
    assert "\n" not in line
    assert json.loads(line) == {
        "time": "2030-01-01T00:00:00.250Z",
        "level": "warning",
        "logger": "podsync.x",
        "message": "two\nlines",
        "pod": "default/web",
        "key": ["a", "b"],
        "at": "2030-01-01 00:00:00+00:00",
        "error": "ValueError: x",
    }


def test_a_status_line_stays_below_the_log() -> None:
    """On a terminal the status line is taken away for each log line and drawn again below it."""
    stream = io.StringIO()
    console = Console(stream, live=True)
    console.setFormatter(logging.Formatter("%(message)s"))
    console.update("1/2 ready")
    console.update("1/2 ready")
    console.handle(record("hello"))
    console.close()
    assert stream.getvalue().split("\r\x1b[2K") == ["", "1/2 ready", "hello\n1/2 ready", ""]


def test_a_status_line_fits_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long status line is cut, so that it never wraps and scrolls."""
    monkeypatch.setenv("COLUMNS", "20")
    stream = io.StringIO()
    Console(stream, live=True).update("x" * 100)
    assert stream.getvalue() == "\r\x1b[2K" + "x" * 19


def test_no_status_line_without_a_terminal() -> None:
    """Where lines are collected there are only log lines."""
    stream = io.StringIO()
    console = Console(stream, live=False)
    console.setFormatter(logging.Formatter("%(message)s"))
    console.update("1/2 ready")
    console.handle(record("hello"))
    console.close()
    assert stream.getvalue() == "hello\n"


def status(*ready: bool, phase: str = "Running", waits: str = "") -> PodStatus:
    """A status with so many containers."""
    state = ContainerState(waiting=ContainerStateWaiting(reason=waits)) if waits else ContainerState()
    containers = tuple(ContainerStatus(name=f"c{i}", ready=r, state=state) for i, r in enumerate(ready))
    return PodStatus(phase=phase, container_statuses=containers)


WEB, JOB, API = PodKey("default", "web"), PodKey("default", "job"), PodKey("default", "api")


@pytest.mark.parametrize(
    ("statuses", "pulls", "problem", "text"),
    [
        ({}, {}, "", "0/0 pods ready"),
        ({WEB: status(True, True), JOB: status(False, phase="Succeeded")}, {}, "", "1/1 pods ready"),
        ({WEB: status(True, False), API: status(True)}, {}, "", "1/2 pods ready"),
        ({WEB: status(False, waits="ContainerCreating", phase="Pending")}, {}, "", "0/1 pods ready"),
        (
            {WEB: status(False, False, waits="CrashLoopBackOff")},
            {},
            "",
            "0/1 pods ready | default/web CrashLoopBackOff",
        ),
        (
            {WEB: status(False)},
            {"nginx": PullProgress("nginx", "x", 45, 100), "busybox": PullProgress("busybox", "x")},
            "",
            "0/1 pods ready | pulling busybox | pulling nginx 45%",
        ),
        ({WEB: status(True)}, {}, "the engine cannot be asked", "1/1 pods ready | the engine cannot be asked"),
    ],
)
def test_what_the_status_line_says(
    statuses: dict[PodKey, PodStatus], pulls: dict[str, PullProgress], problem: str, text: str
) -> None:
    """The line counts pods and names pulls, containers that wait for something, and trouble with the engine."""
    assert status_line(statuses, pulls, problem) == text


def test_the_status_line_does_not_grow_without_end() -> None:
    """Of many waiting pods only some are named."""
    statuses = {PodKey("default", f"p{i}"): status(False, waits="ErrImagePull") for i in range(9)}
    assert status_line(statuses, {}).endswith("default/p2 ErrImagePull | 6 more wait")


class TestProgress:
    """What is told after each step of an agent."""

    def agent(self, statuses: dict[PodKey, PodStatus], events: EventLog) -> Any:
        """As much of an agent as is looked at."""
        owner = SimpleNamespace(engine_error="", pulls={})
        return SimpleNamespace(statuses=statuses, owner=owner, publisher=SimpleNamespace(events=events))

    def test_each_change_is_told_once(self, caplog: pytest.LogCaptureFixture) -> None:
        """Events and phases are logged when they are new, and pods that are gone are said to be."""
        caplog.set_level(logging.INFO, logger="podsync")
        stream = io.StringIO()
        progress, events = Progress(Console(stream, live=True)), EventLog()
        web = Event(EventType.NORMAL, "Started", "Container started", *WEB, "u", AT, AT, "spec.containers{main}")
        bad = Event(EventType.WARNING, "BackOff", "Back-off", *WEB, "u", AT, AT)
        failed = Event(EventType.WARNING, "Failed", "Error: told by the agent", *WEB, "u", AT, AT)

        def told() -> list[tuple[str, str]]:
            lines = [(r.levelname, r.getMessage()) for r in caplog.records]
            caplog.clear()
            return lines

        progress(self.agent({WEB: status(False, phase="Pending")}, events))
        assert told() == [("INFO", "default/web: Pending, 0/1 ready")]
        events.add([web, bad, failed])
        progress(self.agent({WEB: status(True)}, events))
        assert told() == [
            ("INFO", "default/web: Container started"),
            ("WARNING", "default/web: Back-off"),
            ("INFO", "default/web: Running, 1/1 ready"),
        ]
        progress(self.agent({WEB: status(True)}, events))
        assert told() == []
        progress(self.agent({}, events))
        assert told() == [("INFO", "default/web: gone")]
        assert stream.getvalue().endswith("0/0 pods ready")


@pytest.mark.parametrize("debug", [False, True])
def test_foreign_text_forges_no_line(debug: bool) -> None:
    """Control characters in messages, values and errors reach no terminal, and begin no line."""
    evil = "x\x1b[2J\n2030-01-01T00:00:00.000Z INFO forged\x9b\u202e"
    text = TextFormatter(debug=debug).format(record(evil, error=ValueError(evil), image=evil, short="\x1b\n"))
    assert all(line.isprintable() for line in text.split("\n"))
    assert [line for line in text.split("\n") if not line.startswith(" ")] == text.split("\n")[:1]
    stream = io.StringIO()
    Console(stream, live=True).update(evil)
    assert "\n" not in stream.getvalue()
    assert "\x1b[2J" not in stream.getvalue()
