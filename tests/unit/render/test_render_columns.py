"""Columns, durations and ages."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podsync.render import age, human_duration, table

NOW = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "<invalid>"),
        (-1.5, "0s"),
        (-0.2, "0s"),
        (0, "0s"),
        (119.9, "119s"),
        (120, "2m"),
        (125, "2m5s"),
        (599, "9m59s"),
        (600, "10m"),
        (10799, "179m"),
        (10800, "3h"),
        (12060, "3h21m"),
        (28799, "7h59m"),
        (28800, "8h"),
        (172799, "47h"),
        (172800, "2d"),
        (176400, "2d1h"),
        (691199, "7d23h"),
        (691200, "8d"),
        (86400 * 729, "729d"),
        (86400 * 730, "2y"),
        (86400 * 800, "2y70d"),
        (86400 * 365 * 8, "8y"),
        (86400 * 365 * 8 + 86400 * 100, "8y"),
    ],
)
def test_a_duration_is_told_in_at_most_two_units(seconds: float, text: str) -> None:
    """Durations get coarser as they grow, at the same points as kubectl's."""
    assert human_duration(seconds) == text


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("2029-12-31T23:59:00Z", "60s"),
        ("2029-12-31T22:00:00+00:00", "120m"),
        (None, "<unknown>"),
        ("", "<unknown>"),
        ("yesterday", "<unknown>"),
        (5, "<unknown>"),
    ],
)
def test_an_age_is_counted_from_a_written_time(written: object, text: str) -> None:
    """An age is told of any RFC 3339 time, and is unknown of anything else."""
    assert age(written, NOW) == text


def test_a_table_lines_its_columns_up() -> None:
    """Columns are three spaces apart, the last one is not padded, short cells are."""
    assert table(["A", "LONG", "C"], [["aaaa", "b", ""], ["a", "b", "cc"]]).splitlines() == [
        "A      LONG   C",
        "aaaa   b",
        "a      b      cc",
    ]


def test_a_table_without_headers() -> None:
    """The header can be left out; then nothing is left of an empty table."""
    assert table(["A", "B"], [["x", "y"]], headers=False) == "x   y"
    assert table(["A", "B"], [], headers=False) == ""


@given(st.integers(0, 3 * 10**8))
def test_ages_never_get_shorter(seconds: int) -> None:
    """A later look never shows less than an earlier one, whatever the units."""

    def value(text: str) -> int:
        units = {"y": 31536000, "d": 86400, "h": 3600, "m": 60, "s": 1}
        total, number = 0, ""
        for character in text:
            if character.isdigit():
                number += character
            else:
                total += int(number) * units[character]
                number = ""
        return total

    shown = value(human_duration(seconds))
    assert shown <= seconds
    assert value(human_duration(timedelta(seconds=seconds + 1).total_seconds())) >= shown
