"""Durations, selectors and paths of the command line."""

from __future__ import annotations

import contextlib
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podsync.cli.words import parse_duration, parse_selector, value_at


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        ("10s", 10),
        ("1m30s", 90),
        ("1.5h", 5400),
        ("2h45m", 9900),
        ("300ms", 0.3),
        ("1us", 1e-6),
        (".5s", 0.5),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    """Durations are read as Go writes them."""
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "10", "s", "1d", "10 s", "-5s", "1h-5m", "1h5", "soon", "1,5s"])
def test_what_is_no_duration(text: str) -> None:
    """Anything else is refused."""
    with pytest.raises(ValueError, match="is no duration"):
        parse_duration(text)


LABELS = {"app": "web", "tier": "front", "example.com/x": "1", "empty": ""}


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("", True),
        ("app=web", True),
        ("app==web", True),
        ("app = web , tier=front", True),
        ("app=web,tier=back", False),
        ("app!=web", False),
        ("other!=web", True),
        ("empty=", True),
        ("app=", False),
        ("example.com/x=1", True),
        ("app in (web)", True),
        ("app in (a,web , b),tier", True),
        ("app notin (web)", False),
        ("other notin (web)", True),
        ("other in (web)", False),
        ("tier", True),
        ("other", False),
        ("!other", True),
        ("! tier", False),
    ],
)
def test_selectors(text: str, matches: bool) -> None:
    """A selector matches the labels that kubectl's would."""
    assert parse_selector(text).matches(LABELS) is matches


def test_a_pod_without_labels() -> None:
    """Missing labels are like none."""
    assert parse_selector("!a").matches(None)
    assert not parse_selector("a").matches(None)


@pytest.mark.parametrize("text", ["a=b c", "=b", "a in b", "a in (b", "a,,b", "!", "a>1 ,", "a=b=c"])
def test_what_is_no_selector(text: str) -> None:
    """Anything else is refused."""
    with pytest.raises(ValueError, match="unable to parse"):
        parse_selector(text)


@given(st.text(max_size=30))
def test_selectors_are_read_or_refused(text: str) -> None:
    """No text does anything but be read or be refused."""
    with contextlib.suppress(ValueError):
        assert parse_selector(text).matches(LABELS) in (True, False)


DOCUMENT = {"status": {"phase": "Running", "podIPs": [{"ip": "10.0.0.1"}], "zero": 0}}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("{.status.phase}", "Running"),
        (".status.phase", "Running"),
        ("{.status.podIPs[0].ip}", "10.0.0.1"),
        ("{.status.podIPs[1].ip}", None),
        ("{.status.zero}", 0),
        ("{.status.phase.more}", None),
        ("{.status[0]}", None),
        ("{.nope}", None),
    ],
)
def test_paths(path: str, value: object) -> None:
    """A path of names and indices leads to a value, or to none."""
    assert value_at(DOCUMENT, path) == value


@pytest.mark.parametrize("path", ["", "{}", "status", "{.status..x}", "{.a[?(@.b)]}", "{.a[*]}", "{.a} {.b}"])
def test_what_is_no_path(path: str) -> None:
    """Anything beyond names and indices is refused."""
    with pytest.raises(ValueError, match="not a path"):
        value_at(DOCUMENT, path)
