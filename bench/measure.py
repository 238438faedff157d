"""Samples, figures and the table they end in; and how busy the machine was."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from podsync.clock import SystemClock

__all__ = ["Figure", "Pair", "Report", "busy", "now", "pause", "table", "wait_idle"]

_never = threading.Event()
_clock = SystemClock()
_QUIET = 0.15
"""Share of the machine's time in use below which it counts as idle."""


def pause(seconds: float) -> None:
    """Wait."""
    _never.wait(seconds)


def now() -> float:
    """Wall time in seconds, to compare with the engine's own."""
    return _clock.now().timestamp()


def _ticks() -> tuple[int, int]:
    fields = [int(value) for value in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return sum(fields), fields[3] + fields[4]


def busy(seconds: float = 1.0) -> float:
    """Share of the processors' time that is used, 0 to 1, over that many seconds."""
    before = _ticks()
    pause(seconds)
    after = _ticks()
    return 1 - (after[1] - before[1]) / max(1, after[0] - before[0])


def wait_idle(limit: float) -> float:
    """Wait up to ``limit`` seconds for a quiet machine; how busy it was at last."""
    end = time.monotonic() + limit
    while (share := busy(2.0)) > _QUIET and time.monotonic() < end:
        pause(1.0)
    return share


@dataclass(slots=True)
class Pair:
    """Samples of podsync and of what it is compared with, taken in turns."""

    ours: list[float] = field(default_factory=list)
    bare: list[float] = field(default_factory=list)

    def figure(self, name: str, unit: str, limit: float, allowance: float, note: str = "") -> Figure:
        """Medians, with the target ``limit * bare + allowance``."""
        ours, bare = statistics.median(self.ours), statistics.median(self.bare)
        return Figure(
            name, unit, ours, bare, limit * bare + allowance, n=len(self.ours), note=note,
            least=(min(self.ours), min(self.bare)),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table: ours, what stands beside it, and the bound (the most, or the least with ``at_least``)."""

    name: str
    unit: str
    ours: float
    beside: float | None
    target: float | None
    n: int = 1
    note: str = ""
    least: tuple[float, float] | None = None
    at_least: bool = False

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None without one."""
        if self.target is None:
            return None
        return self.ours >= self.target if self.at_least else self.ours <= self.target

    def cells(self, where: str, load: float) -> list[str]:
        """The line's cells."""
        word = {True: "yes", False: "**no**", None: ""}[self.met]
        ratio = f"{self.ours / self.beside:.2f}" if self.beside else ""
        sign = "≥" if self.at_least else "≤"
        return [
            self.name,
            where,
            f"{_short(self.ours)} {self.unit}",
            f"{_short(self.beside)} {self.unit}" if self.beside is not None else "",
            ratio,
            f"{sign} {_short(self.target)} {self.unit}" if self.target is not None else "",
            word,
            str(self.n),
            f"{100 * load:.0f} %",
            self.note,
        ]


@dataclass(slots=True)
class Report:
    """What was measured, in order: figure, engine, and how busy the machine was before."""

    lines: list[tuple[Figure, str, float]] = field(default_factory=list)

    def add(self, figures: Sequence[Figure], where: str, load: float) -> None:
        """Take figures in, and show them."""
        for figure in figures:
            self.lines.append((figure, where, load))
            print(" | ".join(cell for cell in figure.cells(where, load) if cell), flush=True)

    def to_list(self) -> list[dict[str, Any]]:
        """For JSON."""
        return [
            {**asdict(figure), "met": figure.met, "where": where, "busy": load} for figure, where, load in self.lines
        ]


def table(report: Report) -> str:
    """The report as a Markdown table."""
    head = ["what", "engine", "podsync", "beside it", "ratio", "target", "met", "n", "machine busy", "note"]
    rows = [head, ["---"] * len(head), *(figure.cells(where, load) for figure, where, load in report.lines)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _short(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
