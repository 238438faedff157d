"""The engine's events as hints: one stream, opened again whenever it breaks."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from podsync.errors import RuntimeFault
from podsync.runtimes.base import RuntimeHint, StopToken
from podsync.runtimes.common.looking import Looker
from podsync.runtimes.common.wire import Closed, Stream

__all__ = ["event", "follow"]

_log = logging.getLogger(__name__)

_STOP_POLL = 0.5
"""Seconds between looks at the stop token while nothing comes."""
_FIRST_WAIT = 0.1
_LONGEST_WAIT = 2.0
_SHOWN = 200
"""Bytes of a line that are shown of it."""


def follow(
    stop: StopToken,
    looker: Looker,
    connect: Callable[[], Stream],
    parse: Callable[[bytes], RuntimeHint | None],
) -> Iterator[RuntimeHint]:
    """Hints until stopped or closed.

    ``connect`` opens the stream, ``parse`` reads one line of it (None: of no interest). A
    death is made known to ``looker`` before its hint is given. A stream that breaks gives a
    hint with ``connected`` false, and each (new) connection one without a uid. A line that
    ``parse`` raises ValueError for breaks it too: what it told of is lost.
    """
    wait = _FIRST_WAIT
    told = False
    while not stop.is_set():
        try:
            stream = connect()
        except Closed:
            return
        except (OSError, RuntimeFault):
            if not told:
                told = True
                looker.disconnected()
                yield RuntimeHint(connected=False)
            stop.wait(wait)
            wait = min(_LONGEST_WAIT, wait * 2)
            continue
        try:
            wait, told = _FIRST_WAIT, True
            looker.connected()
            yield RuntimeHint()
            for line in _lines(stop, stream):
                try:
                    hint = parse(line)
                except ValueError as error:
                    _log.warning("the engine's events cannot be read, so they are asked for anew: %s", error)
                    wait = _LONGEST_WAIT  # it may well say that again
                    break
                if hint is not None:
                    if hint.container:
                        looker.doubt(hint.container)
                    yield hint
        finally:
            stream.close()
        if stop.is_set():
            return
        looker.disconnected()
        yield RuntimeHint(connected=False)
        stop.wait(wait)


def event(line: bytes) -> Mapping[str, Any]:
    """The event on a line; nothing on an empty one. Raises ValueError for what is no event."""
    if not line.strip():
        return {}
    try:
        found = json.loads(line)
    except ValueError:
        found = None
    if isinstance(found, dict):
        actor = found.get("Actor") or {}
        if isinstance(actor, dict) and isinstance(actor.get("Attributes") or {}, dict):
            return found
    raise ValueError(f"{line[:_SHOWN]!r} is no event")


def _lines(stop: StopToken, stream: Stream) -> Iterator[bytes]:
    """Lines of the stream until it ends or breaks, or until stopped."""
    rest = b""
    while not stop.is_set():
        try:
            data = stream.read(_STOP_POLL)
        except TimeoutError:
            continue
        except OSError:
            return
        if not data:
            return
        *whole, rest = (rest + data).split(b"\n")
        yield from whole
