"""The SDK's exceptions into ours."""

from __future__ import annotations

import inspect
import warnings

import podman.errors
import pytest
import requests
import urllib3

from podsync.errors import RuntimeUnavailable
from podsync.runtimes.common.faults import Refusal
from podsync.runtimes.podman import errors

EXPORTED = [
    item
    for _, item in sorted(vars(podman.errors).items())
    if inspect.isclass(item) and issubclass(item, Exception) and item.__module__.startswith("podman")
]


def made(kind: type[Exception]) -> Exception:
    """An exception of that class, whatever else it takes."""
    arguments: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)  # the SDK's own, of its older classes
        while True:
            arguments.append("told so")
            try:
                return kind(*arguments)
            except TypeError:
                assert len(arguments) < 10


def test_the_sdk_exports_exceptions() -> None:
    """Else the test below would test nothing."""
    assert len(EXPORTED) > 5


@pytest.mark.parametrize("kind", EXPORTED, ids=lambda kind: kind.__name__)
def test_every_exception_of_the_sdk_is_translated(kind: type[Exception]) -> None:
    """None of them leaves the adapter as it is."""
    assert isinstance(errors.translate(made(kind), "unix:///s", 5), RuntimeUnavailable | Refusal)


@pytest.mark.parametrize(
    "error",
    [
        requests.ConnectionError("x"),
        requests.exceptions.ChunkedEncodingError("x"),
        FileNotFoundError(2, "No such file"),
        PermissionError(13, "Permission denied"),
        ConnectionRefusedError(111, "Connection refused"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_broken_connection_is_an_engine_that_cannot_be_asked(error: Exception) -> None:
    """Also when the SDK wraps it."""
    assert isinstance(errors.translate(error, "unix:///s", 5), RuntimeUnavailable)
    wrapped = podman.errors.APIError("http://s", explanation="GET operation failed")
    wrapped.__cause__ = error
    assert isinstance(errors.translate(wrapped, "unix:///s", 5), RuntimeUnavailable)


def test_a_status_is_a_refusal() -> None:
    """With the engine's own words."""
    response = requests.Response()
    response.status_code = 409
    found = errors.translate(podman.errors.APIError("x", response=response, explanation="in use"), "unix:///s", 5)
    assert isinstance(found, Refusal)
    assert (found.status, found.text) == (409, "in use")


@pytest.mark.parametrize(
    "inner",
    [requests.ReadTimeout("x"), urllib3.exceptions.ReadTimeoutError(None, "/", "x"), TimeoutError("x")],  # type: ignore[arg-type]
)
def test_a_time_out_says_how_long_was_waited(inner: Exception) -> None:
    """Wherever it lies in the chain."""
    wrapped = podman.errors.APIError("http://s", explanation="GET operation failed")
    wrapped.__cause__ = inner
    found = errors.translate(wrapped, "unix:///s", 5)
    assert isinstance(found, RuntimeUnavailable)
    assert "did not answer within 5 s" in str(found)


@pytest.mark.parametrize("error", [ValueError("x"), KeyError("x"), AssertionError("x")])
def test_our_own_mistakes_stay_what_they_are(error: Exception) -> None:
    """They are no word of an engine."""
    assert errors.translate(error, "unix:///s", 5) is error


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b'{"cause":"c","message":"m","response":500}', "m"),
        (b'{"cause":"c"}', "c"),
        (b'{"other":1}', '{"other":1}'),
        (b"Not Found\n", "Not Found"),
        (b'["a"]', '["a"]'),
        (b"\xff", "\ufffd"),
        (b"", ""),
    ],
)
def test_messages(content: bytes, expected: str) -> None:
    """The engine's words are found in whatever it sends."""
    assert errors.message(content) == expected
