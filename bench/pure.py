"""What needs no engine: planning, reading manifests, and how soon the command line is there.

Given in processor time, which on a quiet machine is the time that passes, and on a busy one still is podsync's own.
"""

from __future__ import annotations

import gc
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import yaml

from podsync import identity
from podsync.clock import ManualClock
from podsync.executor import Executor
from podsync.manifest import parse
from podsync.models import Pod, PodKey
from podsync.reconciler import NodeSettings, Reconciler
from podsync.runtimes.base import SandboxRecord
from podsync.runtimes.fake import FakeRuntime
from podsync.state import Actual, ActualPod, Desired
from podsync.volumes import MemoryVolumes

from .measure import Figure
from .pods import manifest, one_by_one

__all__ = ["cli", "decode", "sync"]

_NODE = "bench"
_MANIFEST = """\
---
apiVersion: v1
kind: Pod
metadata:
  name: web-{number}
  labels: {{app: web, tier: front}}
  annotations:
    example.com/note: "some text, quoted"
spec:
  restartPolicy: Always
  securityContext: {{runAsUser: 1000, fsGroup: 2000}}
  containers:
    - name: web
      image: registry.example.com/web:1.2.{number}
      command: ["/bin/sh", "-c", "exec web --listen :8080"]
      ports:
        - {{name: http, containerPort: 8080, protocol: TCP}}
      env:
        - {{name: MODE, value: production}}
        - {{name: WHERE, value: "$(MODE)/web"}}
      resources:
        requests: {{cpu: 100m, memory: 64Mi}}
        limits: {{cpu: 500m, memory: 128Mi}}
      volumeMounts:
        - {{name: logs, mountPath: /var/log/web}}
        - {{name: data, mountPath: /data, readOnly: true}}
      securityContext:
        allowPrivilegeEscalation: false
        capabilities: {{drop: [ALL]}}
    - name: log-truncator
      image: busybox
      command: ["/bin/sh"]
      args: ["-c", "while true; do cat /dev/null > /logs/access.log; sleep 10; done"]
      volumeMounts:
        - {{name: logs, mountPath: /logs}}
  volumes:
    - {{name: logs, emptyDir: {{}}}}
    - {{name: data, hostPath: {{path: /srv/data, type: DirectoryOrCreate}}}}
"""


def _took(run: Callable[[], Any]) -> float:
    """Milliseconds of processor time of one run, without a collection of others' garbage in it."""
    gc.collect()
    began = time.process_time()
    run()
    return 1000 * (time.process_time() - began)


def _program(*argv: str) -> float:
    """Milliseconds of processor time of a program from its start to its end. Raises CalledProcessError."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(argv, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def _first() -> tuple[Pod, SandboxRecord]:
    """One pod, and what an engine holds of it once it runs."""
    clock = ManualClock()
    runtime = FakeRuntime(node=_NODE, clock=clock)
    pod = identity.adopt(parse(manifest("first")).pods[0], _NODE, "bench")
    executor = Executor(runtime, MemoryVolumes(), clock, one_by_one)
    executor.run(Reconciler(NodeSettings(node_name=_NODE)).sync([pod], Actual(clock.now())).pods[pod.key].stages)
    return pod, runtime.list_sandboxes()[0]


def _world(size: int) -> tuple[Desired, Actual]:
    """That many pods, all running as they should; no two share an object."""
    pod, sandbox = _first()
    wanted: dict[PodKey, Pod] = {}
    actual: dict[PodKey, ActualPod] = {}
    for number in range(size):
        name, uid = f"pod-{number}", f"{number:032x}"
        spec = replace(pod.spec, containers=tuple(replace(each) for each in pod.spec.containers))
        another = replace(pod, metadata=replace(pod.metadata, name=name, uid=uid), spec=spec)
        containers = tuple(replace(each, labels={**each.labels}) for each in sandbox.containers)
        record = replace(sandbox, pod_name=name, uid=uid, labels={**sandbox.labels}, containers=containers)
        wanted[another.key] = another
        actual[another.key] = ActualPod((record,), frozenset({uid}))
    return Desired(wanted), Actual(datetime(2030, 1, 1, 1, tzinfo=UTC), actual)


def sync(rounds: int, sizes: tuple[int, ...]) -> list[Figure]:
    """Planning for pods that all run as they should: nothing to do, to be found out fast."""
    figures = []
    reconciler = Reconciler()
    for size in sizes:
        desired, actual = _world(size)
        if reconciler.sync(desired, actual).pods:
            raise AssertionError("pods that just run have a plan")
        samples = [_took(lambda d=desired, a=actual: reconciler.sync(d, a)) for _ in range(rounds)]  # type: ignore[misc]
        median = statistics.median(samples)
        figures.append(Figure(f"sync: {size:,} unchanged pods", "ms", median, None, size / 100, n=rounds))
    return figures


def decode(rounds: int, pods: int) -> list[Figure]:
    """Reading, decoding, defaulting and validating a file beside the YAML parser alone."""
    ours, beside, size = [], [], 0
    for turn in range(rounds):  # another text each time, so that nothing is known from the last
        text = "".join(_MANIFEST.format(number=f"{turn}-{number}") for number in range(pods))
        size = len(text)
        beside.append(_took(lambda text=text: list(yaml.load_all(text, yaml.CSafeLoader))))  # type: ignore[misc]
        read: list[Pod] = []
        ours.append(_took(lambda text=text, read=read: read.extend(parse(text).pods)))  # type: ignore[misc]
        if len(read) != pods:
            raise AssertionError("the file was not read whole")
    parser = statistics.median(beside)
    return [
        Figure(
            f"decode: a file of {pods:,} pods ({size / 1e6:.1f} MB)", "ms", statistics.median(ours), parser,
            1.5 * parser, n=rounds, note="beside it: yaml.CSafeLoader alone",
        )
    ]  # fmt: skip


_IMPORT = """\
import sys, time
began = time.process_time()
import podsync
took = 1000 * (time.process_time() - began)
print(took, sorted({"docker", "podman", "requests", "urllib3"} & sys.modules.keys()) or "none")
"""


def cli(rounds: int) -> list[Figure]:
    """How soon ``podsync --help`` has answered, beside an empty Python, and what the import costs."""
    ours, empty, imports, loaded = [], [], [], ""
    for _ in range(rounds):
        empty.append(_program(sys.executable, "-c", "pass"))
        ours.append(_program(sys.executable, "-m", "podsync", "--help"))
        said = subprocess.run([sys.executable, "-c", _IMPORT], check=True, capture_output=True, text=True).stdout
        took, _, loaded = said.strip().partition(" ")
        imports.append(float(took))
    return [
        Figure("cli: podsync --help", "ms", statistics.median(ours), statistics.median(empty), 100, n=rounds,
               note="beside it: an empty Python"),
        Figure("cli: import podsync", "ms", statistics.median(imports), None, 50, n=rounds,
               note=f"of the SDKs and their like it loads {loaded}"),
    ]  # fmt: skip
