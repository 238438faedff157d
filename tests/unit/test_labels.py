"""Labels: what is written comes back, and nonsense does no harm."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from podsync import labels


def test_times_come_back() -> None:
    """A moment of any zone is the same moment afterwards, to the microsecond."""
    moment = datetime(2030, 1, 2, 3, 4, 5, 678901, tzinfo=timezone(timedelta(hours=5)))
    text = labels.format_time(moment)
    assert text == "2030-01-01T22:04:05.678901+00:00"
    assert labels.parse_time(text) == moment


@pytest.mark.parametrize(
    "text",
    [
        *(None, "", "yesterday", "2030-13-01T00:00:00+00:00", "0001-01-01T00:00:00Z", "0001-01-01T00:00:00+23:00"),
        *("9999-12-31T23:59:59-23:00", "9999-12-31T23:59:59Z", "1969-12-31T23:59:59Z"),
    ],
)
def test_a_time_that_cannot_be_is_none(text: str | None) -> None:
    """A label somebody wrote by hand is as good as none, and so is one outside any engine's life."""
    assert labels.parse_time(text) is None


@pytest.mark.parametrize("text", ["2020-01-01T00:00:00", "2020-01-01", "2020-01-01T01:00:00+01:00"])
def test_every_time_has_a_zone(text: str) -> None:
    """What names no offset is UTC, so that any two moments can be compared."""
    moment = labels.parse_time(text)
    assert moment == datetime(2020, 1, 1, tzinfo=UTC)
    assert moment.tzinfo is UTC


@pytest.mark.parametrize(
    ("text", "integer", "number"),
    [
        *[("3", 3, 3.0), ("0", 0, 0.0), ("2.5", 7, 2.5), ("x", 7, None), ("", 7, None), (None, 7, None)],
        *[("-1", 7, None), ("-0.5", 7, None), ("nan", 7, None), ("inf", 7, None), ("-inf", 7, None)],
        *[("2147483647", 2**31 - 1, 2147483647.0), ("2147483648", 7, None), ("1e999", 7, None)],
        ("9" * 5000, 7, None),
    ],
)
def test_numbers(text: str | None, integer: int, number: float | None) -> None:
    """Whole numbers have a default, seconds are None, when they cannot be read or cannot be."""
    found = {labels.ATTEMPT: text} if text is not None else {}
    assert labels.integer(found, labels.ATTEMPT, 7) == integer
    assert labels.number(found, labels.ATTEMPT) == number


def test_no_kubelet_takes_our_containers_for_its_own() -> None:
    """Our keys are ours or the pod's; the one by which a Docker kubelet knows its containers is not among them."""
    keys = {
        value for name, value in vars(labels).items() if (name.isupper() and "/" in str(value)) or "io.k" in str(value)
    }
    assert all(key.startswith(("podsync.io/", "io.kubernetes.pod.", "io.kubernetes.container.name")) for key in keys)
    assert "io.kubernetes.docker.type" not in keys


def test_every_key_is_another() -> None:
    """No two meanings share a key."""
    keys = [value for name, value in vars(labels).items() if name.isupper() and isinstance(value, str)]
    assert (
        len(keys)
        == len(set(keys))
        == len([name for name in labels.__all__ if name.isupper() and isinstance(getattr(labels, name), str)])
    )


def test_utc_is_written_as_such() -> None:
    """A moment in UTC keeps its digits."""
    assert labels.format_time(datetime(2030, 1, 1, tzinfo=UTC)) == "2030-01-01T00:00:00+00:00"
