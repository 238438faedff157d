"""``podman kube play`` and ``kube down`` beside podsync on Podman, for the same pod."""

from __future__ import annotations

import os
import subprocess
from itertools import count

from .measure import Figure, Pair, now, pause
from .pods import manifest
from .scene import Scene

__all__ = ["measure"]

_SETTLE = 0.6
_numbers = count(1)


def _podman(scene: Scene, *args: str) -> float:
    """Milliseconds until the command has ended."""
    environment = {**os.environ, "CONTAINER_HOST": scene.engine.endpoint}
    began = now()
    subprocess.run(["podman", "kube", *args], check=True, capture_output=True, env=environment)
    return 1000 * (now() - began)


def measure(scene: Scene, rounds: int) -> list[Figure]:
    """Up and down, taken in turns."""
    up, down = Pair(), Pair()
    _ = scene.agent
    for turn in range(rounds + 1):
        number = next(_numbers)
        ours, theirs = f"f{number}", f"g-{scene.node}-{number}"
        names, hidden = scene.names(ours), scene.write(ours)
        pause(_SETTLE)
        began = scene.drop(hidden)
        up.ours.append(1000 * (scene.events.started(names) - began))
        pause(_SETTLE)
        began = scene.take(ours)
        down.ours.append(1000 * (scene.events.removed(names) - began))
        pause(_SETTLE)
        file = scene.base / f"{theirs}.yaml"
        file.write_text(manifest(theirs))
        try:
            up.bare.append(_podman(scene, "play", str(file)))
            pause(_SETTLE)
        finally:
            down.bare.append(_podman(scene, "down", str(file)))
        if turn == 0:
            up, down = Pair(), Pair()  # the first of each loads what the others find loaded
    note = "beside it: podman kube play; kube down"
    return [
        up.figure("play: a file to all running", "ms", 1, 0, note),
        down.figure("play: the same pod removed", "ms", 1, 0, note),
    ]
