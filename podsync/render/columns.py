"""Columns and durations as kubectl prints them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from podsync.render.printable import printable

__all__ = ["age", "human_duration", "parse_time", "table"]

_GAP = 3
_MINUTE = 60
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR
_YEAR = 365 * _DAY


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, headers: bool = True) -> str:
    """Left-aligned columns three spaces apart, one line a row; empty without any line.

    The last column is not padded, so no line ends in spaces. Cells are made ``printable``.
    """
    cells = [[printable(cell) for cell in row] for row in rows]
    lines = [list(header), *cells] if headers else cells
    if not lines:
        return ""
    widths = [max(len(line[i]) for line in lines) + _GAP for i in range(len(header) - 1)]
    return "\n".join(
        "".join([*(cell.ljust(width) for cell, width in zip(line, widths, strict=False)), line[-1]]).rstrip()
        for line in lines
    )


def _pair(big: int, unit: str, small: int, small_unit: str) -> str:
    return f"{big}{unit}{small}{small_unit}" if small else f"{big}{unit}"


def human_duration(seconds: float) -> str:
    """A duration in at most two units, the way kubectl shows an age: ``90s``, ``5m3s``, ``3h20m``, ``2d4h``.

    Less than a second before now counts as now; more is ``<invalid>``.
    """
    whole = int(seconds)
    if whole < -1:
        return "<invalid>"
    whole = max(whole, 0)
    minutes, hours, days = whole // _MINUTE, whole // _HOUR, whole // _DAY
    steps = (
        (2 * _MINUTE, f"{whole}s"),
        (10 * _MINUTE, _pair(minutes, "m", whole % _MINUTE, "s")),
        (3 * _HOUR, f"{minutes}m"),
        (8 * _HOUR, _pair(hours, "h", minutes % 60, "m")),
        (2 * _DAY, f"{hours}h"),
        (8 * _DAY, _pair(days, "d", hours % 24, "h")),
        (2 * _YEAR, f"{days}d"),
        (8 * _YEAR, _pair(days // 365, "y", days % 365, "d")),
    )
    return next((text for limit, text in steps if whole < limit), f"{days // 365}y")


def parse_time(text: object) -> datetime | None:
    """A moment written as RFC 3339; None for anything else."""
    if not isinstance(text, str) or not text:
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def age(text: object, now: datetime) -> str:
    """How long ago an RFC 3339 moment was; ``<unknown>`` when there is none."""
    moment = parse_time(text)
    return human_duration((now - moment).total_seconds()) if moment is not None else "<unknown>"
