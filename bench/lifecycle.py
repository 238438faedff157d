"""One pod of two containers: its start, the restart of one of its containers, its removal."""

from __future__ import annotations

import os
import select
import signal
import threading
from collections.abc import Callable
from itertools import count

from .bare import Engine
from .measure import Figure, Pair, now, pause
from .pods import Objects
from .scene import Scene

__all__ = ["RESTART", "START", "down", "measure", "seen_dead", "up"]

START = "start: file renamed to all running"
RESTART = "restart: process killed to its successor running"
REMOVE = "remove: file deleted to nothing left"
_SETTLE = 0.6
"""Seconds of rest between two measurements: what one leaves to tidy up must not fall into the next."""
_numbers = count(1)


def up(scene: Scene, pod: Objects) -> None:
    """The calls in their best order: the members are created while the sandbox starts, and started together."""
    engine = scene.engine
    engine.create(*pod.sandbox)
    ready = threading.Event()

    def member(name: str) -> None:
        engine.create(name, bodies[name])
        ready.wait()
        engine.start(name)

    bodies = dict(pod.members)
    jobs = [scene.pool.submit(member, name) for name in bodies]
    try:
        engine.start(pod.sandbox[0])
    finally:
        ready.set()
    for job in jobs:
        job.result()


def seen_dead(engine: Engine, name: str, handle: int) -> None:
    """Return once the process of that pidfd has ended and the engine knows of it."""
    select.select([handle], [], [])
    while (found := engine.inspect(name)) is not None and found["State"]["Running"]:
        pause(0.002)


def down(scene: Scene, pod: Objects) -> None:
    """TERM to both, their deaths seen, then all removed at once."""
    engine = scene.engine
    members = pod.names[:-1]

    def end(name: str) -> None:
        found = engine.inspect(name)
        assert found is not None
        handle = os.pidfd_open(found["State"]["Pid"])
        engine.signal(name, "SIGTERM")
        seen_dead(engine, name, handle)
        os.close(handle)

    list(scene.pool.map(end, members))
    if engine.name == "docker":
        list(scene.pool.map(engine.remove, pod.names))
        return
    ended = scene.pool.submit(engine.signal, pod.names[-1], "SIGKILL")
    list(scene.pool.map(engine.remove, members))
    ended.result()
    engine.remove(pod.names[-1])


def _kill(engine: Engine, name: str) -> tuple[float, int]:
    """Kill a container's process from outside: when, and its pidfd."""
    found = engine.inspect(name)
    assert found is not None
    pid = found["State"]["Pid"]
    handle = os.pidfd_open(pid)
    moment = now()
    os.kill(pid, signal.SIGKILL)
    return moment, handle


def _successor(name: str) -> str:
    return f"{name.removesuffix('_0')}_1"


class _Turns:
    """The three measurements, each for podsync and bare."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.start, self.restart, self.remove = Pair(), Pair(), Pair()

    def ours(self, *, restart: bool) -> None:
        """One pod of podsync's: started, and then a container killed or the whole removed."""
        scene, events = self.scene, self.scene.events
        pod = f"a{next(_numbers)}"
        names = scene.names(pod)
        hidden = scene.write(pod)
        _ = scene.agent
        pause(_SETTLE)
        began = scene.drop(hidden)
        self.start.ours.append(1000 * (events.started(names) - began))
        pause(_SETTLE)
        if restart:
            killed, handle = _kill(scene.engine, names[0])
            self.restart.ours.append(1000 * (events.started([_successor(names[0])]) - killed))
            os.close(handle)
            pause(_SETTLE)
            names = (*names, _successor(names[0]))
        began = scene.take(pod)
        ended = events.removed(names)
        if not restart:
            self.remove.ours.append(1000 * (ended - began))

    def bare(self, *, restart: bool) -> None:
        """The same with bare calls."""
        scene, events, engine = self.scene, self.scene.events, self.scene.engine
        pod = scene.maker.objects(f"b{next(_numbers)}")
        pause(_SETTLE)
        began = now()
        up(scene, pod)
        self.start.bare.append(1000 * (events.started(pod.names) - began))
        pause(_SETTLE)
        if restart:
            name, body = pod.members[0]
            again = _successor(name)
            killed, handle = _kill(engine, name)
            seen_dead(engine, name, handle)
            engine.create(again, {**body, "name": again} if "name" in body else body)
            engine.start(again)
            self.restart.bare.append(1000 * (events.started([again]) - killed))
            os.close(handle)
            for each in (again, *pod.names):
                engine.remove(each)
            return
        began = now()
        down(scene, pod)
        self.remove.bare.append(1000 * (events.removed(pod.names) - began))


def measure(scene: Scene, wanted: frozenset[str], rounds: int) -> list[Figure]:
    """The figures of ``start``, ``restart`` and ``remove``, as far as wanted."""
    turns = _Turns(scene)
    kinds = [kind for kind, name in ((False, "remove"), (True, "restart")) if name in wanted] or [False]
    for kind in kinds:  # once for what is read, loaded and connected at first use
        turns.ours(restart=kind)
        turns.bare(restart=kind)
    turns.start, turns.restart, turns.remove = Pair(), Pair(), Pair()
    for turn in range(rounds):
        for kind in kinds:
            sides: list[Callable[..., None]] = [turns.ours, turns.bare]
            for side in sides if turn % 2 else reversed(sides):
                side(restart=kind)
    figures = []
    if "start" in wanted:
        figures.append(turns.start.figure(START, "ms", 1.15, 30))
    if "restart" in wanted:
        figures.append(turns.restart.figure(RESTART, "ms", 1.25, 30))
    if "remove" in wanted:
        figures.append(turns.remove.figure(REMOVE, "ms", 1.25, 30))
    return figures
