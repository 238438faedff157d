"""The benchmarks themselves: targets, tables, and that the ones without an engine run."""

from __future__ import annotations

import pytest

from bench import measure, pure
from bench.measure import Figure, Pair, Report


def test_a_target_follows_from_what_it_is_compared_with() -> None:
    """Medians count, and the bound is the other side's time times a factor plus an allowance."""
    figure = Pair(ours=[90.0, 900.0, 100.0], bare=[60.0, 50.0, 1000.0]).figure("start", "ms", 1.15, 30)

    assert (figure.ours, figure.beside, figure.target, figure.n) == (100.0, 60.0, pytest.approx(99.0), 3)
    assert figure.met is False


@pytest.mark.parametrize(
    ("ours", "at_least", "met"), [(99.0, False, True), (101.0, False, False), (99.0, True, False), (101.0, True, True)]
)
def test_a_bound_is_the_most_or_the_least(ours: float, at_least: bool, met: bool) -> None:
    """A time may not be more, a throughput not less."""
    assert Figure("x", "ms", ours, None, 100.0, at_least=at_least).met is met


def test_the_table_says_what_was_missed() -> None:
    """One line a figure, with its ratio."""
    report = Report()
    report.add([Figure("remove", "ms", 300.0, 200.0, 280.0, n=5)], "Docker 1", 0.25)

    assert measure.table(report).splitlines()[2] == (
        "| remove | Docker 1 | 300 ms | 200 ms | 1.50 | ≤ 280 ms | **no** | 5 | 25 % |  |"
    )


def test_what_needs_no_engine_runs() -> None:
    """Small sizes here: it is about the programs, not about the figures."""
    figures = [*pure.sync(1, (20,)), *pure.decode(1, 5)]

    assert [figure.name.split(":")[0] for figure in figures] == ["sync", "decode"]
    assert all(figure.ours > 0 for figure in figures)
