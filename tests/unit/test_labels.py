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


@pytest.mark.parametrize("text", [None, "", "yesterday", "2030-13-01T00:00:00+00:00"])
def test_a_time_that_cannot_be_read_is_none(text: str | None) -> None:
    """A label somebody wrote by hand is as good as none."""
    assert labels.parse_time(text) is None


@pytest.mark.parametrize(
    ("text", "integer", "number"), [("3", 3, 3.0), ("2.5", 7, 2.5), ("x", 7, None), (None, 7, None)]
)
def test_numbers(text: str | None, integer: int, number: float | None) -> None:
    """Whole numbers have a default, seconds are None when they cannot be read."""
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
    assert len(keys) == len(set(keys)) == len([name for name in labels.__all__ if name.isupper()])


def test_utc_is_written_as_such() -> None:
    """A moment in UTC keeps its digits."""
    assert labels.format_time(datetime(2030, 1, 1, tzinfo=UTC)) == "2030-01-01T00:00:00+00:00"
