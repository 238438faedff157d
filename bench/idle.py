"""What an agent costs while nothing happens."""

from __future__ import annotations

import os
from pathlib import Path

from .measure import Figure, pause
from .scene import Scene

__all__ = ["measure"]

_TARGETS = {30: (0.3, 50.0), 100: (0.6, 60.0)}
_TICK = os.sysconf("SC_CLK_TCK")


def _seconds(pid: int) -> float:
    """Processor time used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICK


def _resident(pid: int) -> float:
    """MB resident."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise ProcessLookupError(pid)


def measure(scene: Scene, sizes: tuple[int, ...], seconds: float) -> list[Figure]:
    """Share of one core and resident memory for each number of pods."""
    pid = scene.agent
    figures: list[Figure] = []
    pods: list[str] = []
    for size in sizes:
        new = [f"e{number}" for number in range(len(pods), size)]
        pods += new
        names = [name for pod in new for name in scene.names(pod)]
        for hidden in [scene.write(pod) for pod in new]:
            scene.drop(hidden)
        scene.events.started(names)
        pause(12.0)  # a full look later
        before = _seconds(pid)
        pause(seconds)
        share = 100 * (_seconds(pid) - before) / seconds
        most, memory = _TARGETS.get(size, (None, None))
        figures.append(Figure(f"idle: {size} pods over {seconds:.0f} s, of one core", "%", share, None, most))
        figures.append(Figure(f"idle: {size} pods, resident", "MB", _resident(pid), None, memory))
    every = [name for pod in pods for name in scene.names(pod)]
    for pod in pods:
        scene.take(pod)
    scene.events.removed(every)
    return figures
