"""Log lines on stderr, as text or JSON, above a status line that does not scroll on a terminal."""

from __future__ import annotations

import json
import logging
import os
import shutil
import sys
import traceback
from datetime import UTC, datetime
from typing import Any, TextIO

import click

from podsync.cli.common import Settings
from podsync.render.printable import printable

__all__ = ["Console", "JsonFormatter", "TextFormatter", "set_up"]

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_COLOURS = {logging.WARNING: "yellow", logging.ERROR: "red", logging.CRITICAL: "red"}
_ERASE = "\r\x1b[2K"


def _extras(record: logging.LogRecord) -> dict[str, Any]:
    return {key: value for key, value in vars(record).items() if key not in _STANDARD}


def _moment(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


def _error(record: logging.LogRecord) -> BaseException | None:
    return record.exc_info[1] if record.exc_info else None


def _trace(error: BaseException) -> str:
    return "".join(traceback.format_exception(error)).rstrip()


class TextFormatter(logging.Formatter):
    """``TIME LEVEL message key=value …``; one line a record unless tracebacks are wanted, and ``printable``."""

    def __init__(self, *, debug: bool = False, colour: bool = False) -> None:
        """``debug`` adds tracebacks."""
        super().__init__()
        self._debug, self._colour = debug, colour

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        level = f"{record.levelname:<7}"
        if self._colour and record.levelno in _COLOURS:
            level = click.style(level, fg=_COLOURS[record.levelno])
        message = record.getMessage()
        parts = [f"{_moment(record)} {level} {printable(message)}"]
        for key, value in _extras(record).items():
            # the pod leads most messages that name it
            if value in (None, "") or (key == "pod" and message.startswith(str(value))):
                continue
            text = str(value)
            quoted = json.dumps(text, ensure_ascii=False) if " " in text or "=" in text else text
            parts.append(f"{key}={printable(quoted)}")
        error = _error(record)
        if error is not None:
            text = json.dumps(f"{type(error).__name__}: {error}", ensure_ascii=False)
            parts.append(f"error={printable(text)}")
        line = " ".join(parts)
        return line + printable(f"\n{_trace(error)}", indent="  ") if error is not None and self._debug else line


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time, level, logger, message and what the record carries besides."""

    def __init__(self, *, debug: bool = False) -> None:
        """``debug`` adds tracebacks."""
        super().__init__()
        self._debug = debug

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        document: dict[str, Any] = {
            "time": _moment(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_extras(record),
        }
        error = _error(record)
        if error is not None:
            document["error"] = f"{type(error).__name__}: {error}"
            if self._debug:
                document["traceback"] = _trace(error)
        return json.dumps(document, ensure_ascii=False, default=str)


class Console(logging.Handler):
    """Writes log lines to a stream and, when that is a terminal, keeps one line below them up to date."""

    def __init__(self, stream: TextIO, *, live: bool) -> None:
        """``live``: the stream is a terminal that understands control sequences."""
        super().__init__()
        self._stream, self._live = stream, live
        self._status = ""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record above the status line."""
        try:
            self._write(self.format(record) + "\n")
        except Exception:  # noqa: BLE001 - a record that cannot be shown must not end the agent
            self.handleError(record)

    def update(self, status: str) -> None:
        """Show another status line; nothing unless the stream is a terminal."""
        status = printable(status)
        if not self._live or status == self._status:
            return
        self.acquire()
        try:
            self._status = status
            self._write("")
        finally:
            self.release()

    def close(self) -> None:
        """Take the status line away."""
        self.update("")
        super().close()

    def _write(self, lines: str) -> None:
        if not self._live:
            self._stream.write(lines)
        else:
            width = shutil.get_terminal_size().columns - 1
            self._stream.write(f"{_ERASE}{lines}{self._status[:width]}")
        self._stream.flush()


def set_up(form: str, level: str) -> Console:
    """Send podsync's own log to stderr; returns the console.

    ``form`` is ``text`` or ``json``, ``level`` a level's name in lower case; ``--debug`` goes before it.
    """
    context = click.get_current_context(silent=True)
    settings = context.find_object(Settings) if context is not None else None
    debug = settings is not None and settings.debug
    terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    console = Console(sys.stderr, live=terminal and form == "text")
    if form == "json":
        console.setFormatter(JsonFormatter(debug=debug))
    else:
        wanted = context.color if context is not None else None
        console.setFormatter(TextFormatter(debug=debug, colour=terminal if wanted is None else wanted))
    log = logging.getLogger("podsync")
    log.handlers[:] = [console]
    log.setLevel(logging.DEBUG if debug else level.upper())
    log.propagate = False
    return console
