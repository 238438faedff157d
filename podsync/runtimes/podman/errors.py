"""The SDK's exceptions, and Podman's answers, into ours.

By the names of classes, so that this needs no SDK: they are looked up along an
exception's bases.
"""

from __future__ import annotations

import json

from podsync.runtimes.common import faults
from podsync.runtimes.common.faults import Refusal

__all__ = ["NO_ANSWERS", "TIMEOUTS", "message", "translate"]

ENGINE = "Podman"
START = "systemctl start podman.socket (your own engine: systemctl --user start podman.socket)"

TIMEOUTS = frozenset({"ReadTimeout", "ConnectTimeout", "ReadTimeoutError", "TimeoutError"})
"""It took the call and did not answer in time."""
NO_ANSWERS = frozenset(
    {"DockerException", "HTTPError", "HTTPException", "OSError", "RequestException", "StreamParseError"}
)
"""Bases of what a client raises: no socket, no permission, hung up, no HTTP, or a status that says no."""


def translate(error: Exception, endpoint: str, timeout: float) -> Exception:
    """A ``Refusal``, or the RuntimeUnavailable that says why; ``error`` itself when it is no business of an engine.

    ``timeout`` (seconds) is what the call was given.
    """
    if not {base.__name__ for base in type(error).__mro__} & NO_ANSWERS:
        return error
    status = getattr(getattr(error, "response", None), "status_code", None)
    if status is not None:
        return Refusal(int(status), str(getattr(error, "explanation", None) or error))
    waited = timeout if _timed_out(error) else None
    return faults.unavailable(ENGINE, endpoint, error, waited=waited, start=START)


def message(content: bytes) -> str:
    """The engine's words in the body of an answer that says no."""
    text = content.decode("utf-8", "replace").strip()
    try:
        body = json.loads(text)
    except ValueError:
        return text
    return str(body.get("message") or body.get("cause") or text) if isinstance(body, dict) else text


def _timed_out(error: BaseException) -> bool:
    """Whether a time-out is what the exception, or one it was raised from, is about."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        if any(base.__name__ in TIMEOUTS for base in type(current).__mro__):
            return True
        current = current.__cause__ or current.__context__
    return False
