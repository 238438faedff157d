"""Many pods dropped at once, beside bare calls from any number of threads."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count

from .lifecycle import up
from .measure import Figure, now, pause
from .pods import Objects
from .scene import Scene

__all__ = ["measure"]

_numbers = count(1)
_SETTLE = 1.0
Up = Callable[[Scene, Objects], None]


def _one_by_one(scene: Scene, pod: Objects) -> None:
    """Each call after the one before."""
    for name, body in (pod.sandbox, *pod.members):
        scene.engine.create(name, body)
        scene.engine.start(name)


def _bare(scene: Scene, pods: int, threads: int, way: Up) -> float:
    """Pods a second with that many threads."""
    objects = [scene.maker.objects(f"c{next(_numbers)}") for _ in range(pods)]
    names = [name for each in objects for name in each.names]
    with ThreadPoolExecutor(threads) as pool:
        began = now()
        list(pool.map(lambda each: way(scene, each), objects))
        took = scene.events.started(names) - began
    list(scene.pool.map(scene.engine.remove, [each.names[-1] for each in objects]))
    list(scene.pool.map(scene.engine.remove, [name for each in objects for name in each.names[:-1]]))
    return pods / took


def _ours(scene: Scene, pods: int) -> float:
    """Pods a second from as many files dropped at once."""
    _ = scene.agent
    wanted = [f"d{next(_numbers)}" for _ in range(pods)]
    names = [name for pod in wanted for name in scene.names(pod)]
    hidden = [scene.write(pod) for pod in wanted]
    began = min([scene.drop(each) for each in hidden])
    took = scene.events.started(names) - began
    pause(_SETTLE)
    for pod in wanted:
        scene.take(pod)
    scene.events.removed(names)
    return pods / took


def measure(scene: Scene, pods: int, rounds: int) -> list[Figure]:
    """Our throughput beside the best of the bare ones."""
    ways: list[tuple[str, int, Up]] = [
        *((f"{threads} threads, each pod's calls overlapped", threads, up) for threads in (2, 4, 8)),
        *((f"{threads} threads, call after call", threads, _one_by_one) for threads in (4, 8, 16)),
    ]
    ours: list[float] = []
    bare: dict[str, list[float]] = {title: [] for title, _, _ in ways}
    for _ in range(rounds):
        for index, (title, threads, way) in enumerate(ways):
            if index % 3 == 0:
                ours.append(_timed(lambda: _ours(scene, pods)))
            bare[title].append(_timed(lambda t=threads, w=way: _bare(scene, pods, t, w)))  # type: ignore[misc]
    best = max(bare, key=lambda title: statistics.median(bare[title]))
    speed = statistics.median(bare[best])
    note = "bare: " + ", ".join(f"{statistics.median(speeds):.2f} ({title})" for title, speeds in bare.items())
    print(note, flush=True)
    return [
        Figure(
            f"burst: {pods} pods at once", "pods/s", statistics.median(ours), speed, 0.95 * speed,
            n=len(ours), note=f"bare: {best}", at_least=True, least=(min(ours), min(bare[best])),
        )
    ]  # fmt: skip


def _timed(run: Callable[[], float]) -> float:
    pause(_SETTLE)
    return run()
