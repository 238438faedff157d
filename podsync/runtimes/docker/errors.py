"""The SDK's exceptions into ours.

By the name of the class, so that this needs no SDK: the names are looked for among an
exception's bases.
"""

from __future__ import annotations

from podsync.errors import ConfigError
from podsync.runtimes.common import faults
from podsync.runtimes.common.faults import Refusal

__all__ = ["ANSWERS", "ENGINE", "MISCONFIGURED", "NO_ANSWERS", "START", "TIMEOUTS", "translate"]

ANSWERS = frozenset({"APIError"})
"""The engine answered and said no: an HTTP status and a text."""
MISCONFIGURED = frozenset(
    {
        "InvalidConfigFile",
        "TLSParameterError",
        "ContextException",
        "ContextNotFound",
        "ContextAlreadyExists",
        "MissingContextParameter",
        "InvalidArgument",
    }
)
"""The client's own settings cannot be used."""
NO_ANSWERS = frozenset({"DockerException", "RequestException", "HTTPError", "OSError", "StreamParseError"})
"""The engine could not be asked: no socket, no permission, hung up, or what it says is no answer."""
TIMEOUTS = frozenset({"ReadTimeout", "ConnectTimeout", "ReadTimeoutError", "TimeoutError"})
"""It took the call and did not answer in time."""

ENGINE = "Docker"
START = "systemctl start docker (or: service docker start)"


def translate(error: Exception, endpoint: str, timeout: float) -> Exception:
    """A ``Refusal``, a ConfigError, or the RuntimeUnavailable that says why; any other error as it is.

    ``timeout`` (seconds) is what the call was given.
    """
    names = {base.__name__ for base in type(error).__mro__}
    if names & ANSWERS:
        return _refusal(error)
    if names & MISCONFIGURED:
        return ConfigError(f"Docker's client cannot be set up: {error}")
    if names & NO_ANSWERS:
        waited = timeout if _timed_out(error) else None
        return faults.unavailable(ENGINE, endpoint, error, waited=waited, start=START)
    return error


def _refusal(error: Exception) -> Refusal:
    """Status and text of an answer."""
    response = getattr(error, "response", None)
    status = getattr(response, "status_code", None)
    explanation = getattr(error, "explanation", None)
    return Refusal(int(status or 0), str(explanation or error))


def _timed_out(error: BaseException) -> bool:
    """Whether a time-out is what the exception, or one it wraps, is about."""
    inner: list[BaseException] = [item for item in error.args if isinstance(item, BaseException)]
    reason = getattr(error, "reason", None)
    if isinstance(reason, BaseException):
        inner.append(reason)
    own = any(base.__name__ in TIMEOUTS for base in type(error).__mro__)
    return own or any(_timed_out(item) for item in inner if item is not error)
