"""``python -m bench [NAME…]``: run benchmarks and print their table."""

from __future__ import annotations

import argparse
import json
import logging
import os
import platform
import sys
import time
from pathlib import Path

from . import bare, burst, idle, lifecycle, measure, play, pure, scene

_ON_ENGINES = ("start", "restart", "remove", "burst", "idle", "play")
_PURE = ("sync", "decode", "cli")
_LIFECYCLE = frozenset(("start", "restart", "remove"))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"of {', '.join((*_PURE, *_ON_ENGINES))}; all by default"
    )
    parser.add_argument("--engine", choices=("docker", "podman"), action="append", help="both by default")
    parser.add_argument("--quick", action="store_true", help="few rounds: to see that it works, not for figures")
    parser.add_argument(
        "--rounds", type=int, help="how often start, restart and remove are measured (25); burst an eighth of that"
    )
    parser.add_argument(
        "--wait-idle", type=float, default=0, metavar="S", help="wait up to S seconds for a quiet machine"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    options = parser.parse_args()
    unknown = set(options.names) - {*_ON_ENGINES, *_PURE}
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    return options


def _on_engine(name: str, wanted: set[str], options: argparse.Namespace, report: measure.Report) -> str:
    """Run what needs that engine; what it calls itself."""
    quick = options.quick
    engine = bare.engine(name)
    title = engine.version()
    with scene.scene(engine) as stage:
        cycle = frozenset(wanted & _LIFECYCLE)
        if cycle:
            load = measure.wait_idle(options.wait_idle)
            report.add(lifecycle.measure(stage, cycle, options.rounds or (3 if quick else 25)), title, load)
        if "burst" in wanted:
            load = measure.wait_idle(options.wait_idle)
            report.add(
                burst.measure(stage, 6 if quick else 30, 1 if quick else max(2, (options.rounds or 25) // 8)),
                title,
                load,
            )
        if "play" in wanted and name == "podman":
            load = measure.wait_idle(options.wait_idle)
            report.add(play.measure(stage, 2 if quick else 10), title, load)
    if "idle" in wanted:
        load = measure.wait_idle(options.wait_idle)
        with scene.scene(engine) as stage:
            report.add(idle.measure(stage, (3, 6) if quick else (30, 100), 10 if quick else 60), title, load)
    return title


def _without_engine(name: str, *, quick: bool) -> list[measure.Figure]:
    """Run one that needs no engine."""
    if name == "sync":
        return pure.sync(3 if quick else 15, (1_000, 10_000) if quick else (10_000, 100_000))
    if name == "decode":
        return pure.decode(2 if quick else 7, 200 if quick else 2_000)
    return pure.cli(3 if quick else 15)


def _main() -> int:
    options = _options()
    logging.getLogger("podsync").setLevel(logging.ERROR)  # what the machine lacks is the agent's to tell
    wanted = set(options.names or (*_ON_ENGINES, *_PURE))
    report = measure.Report()
    quick = options.quick
    for name in _PURE:
        if name in wanted:
            load = measure.wait_idle(options.wait_idle)
            report.add(_without_engine(name, quick=quick), "", load)
    failed = False
    if wanted & set(_ON_ENGINES):
        for name in options.engine or ("docker", "podman"):
            try:
                _on_engine(name, wanted, options, report)
            except (OSError, AssertionError) as error:
                failed = True
                print(f"{name}: {error}", file=sys.stderr, flush=True)
    print()
    print(
        f"`python -m bench {' '.join(sys.argv[1:])}`, {time.strftime('%Y-%m-%d', time.gmtime())}, Python "
        f"{platform.python_version()}, Linux {platform.release()}, {os.cpu_count()} cores\n"
    )
    print(measure.table(report))
    if options.json:
        options.json.write_text(json.dumps(report.to_list(), indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(_main())
