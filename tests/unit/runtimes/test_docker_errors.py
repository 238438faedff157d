"""Every exception of Docker's SDK has its meaning."""

from __future__ import annotations

import inspect
from contextlib import suppress
from types import SimpleNamespace

import docker.errors
import pytest
import requests.exceptions
import urllib3.exceptions

from podsync.errors import ConfigError, RuntimeUnavailable
from podsync.runtimes.common.faults import Refusal
from podsync.runtimes.docker import errors


def _exceptions(module: object) -> list[type[Exception]]:
    return [
        item
        for _, item in inspect.getmembers(module, inspect.isclass)
        if issubclass(item, Exception) and not issubclass(item, Warning) and item.__module__ != "builtins"
    ]


def _made(kind: type[Exception]) -> Exception:
    """An instance, whatever its constructor wants."""
    for words in (["w"], ["w", "w"], ["w", "w", 0], ["w"] * 5):
        with suppress(TypeError):
            return kind(*words)
    pytest.fail(f"{kind} cannot be made")


@pytest.mark.parametrize("kind", _exceptions(docker.errors))
def test_every_exception_of_the_sdk_is_translated(kind: type[Exception]) -> None:
    """Into an answer, or into why there is none, or into bad settings."""
    found = errors.translate(_made(kind), "unix:///s", 30)
    assert isinstance(found, Refusal | RuntimeUnavailable | ConfigError)
    assert isinstance(found, Refusal) == issubclass(kind, docker.errors.APIError)


@pytest.mark.parametrize("kind", [k for k in _exceptions(requests.exceptions) if issubclass(k, OSError)])
def test_every_exception_of_the_sdks_transport_is_translated(kind: type[Exception]) -> None:
    """The engine could not be asked."""
    assert isinstance(errors.translate(_made(kind), "unix:///s", 30), RuntimeUnavailable)


@pytest.mark.parametrize(
    "error",
    [
        requests.exceptions.ReadTimeout("slow"),
        requests.exceptions.ConnectTimeout("slow"),
        requests.exceptions.ConnectionError(urllib3.exceptions.ReadTimeoutError(None, "/", "slow")),  # type: ignore[arg-type]
        TimeoutError("slow"),
    ],
)
def test_time_outs_are_told_with_their_length(error: Exception) -> None:
    """In whatever the client wraps them."""
    assert "did not answer within 7 s" in str(errors.translate(error, "unix:///s", 7))


def test_an_answer_keeps_status_and_words() -> None:
    """For the verb to make sense of."""
    error = docker.errors.APIError("x", response=SimpleNamespace(status_code=409), explanation="in use")
    found = errors.translate(error, "unix:///s", 30)
    assert isinstance(found, Refusal)
    assert (found.status, found.text) == (409, "in use")


@pytest.mark.parametrize("error", [KeyError("x"), AssertionError("x")])
def test_a_fault_of_our_own_stays_one(error: Exception) -> None:
    """It is no business of an engine's."""
    assert errors.translate(error, "unix:///s", 30) is error
