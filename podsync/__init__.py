"""podsync runs Kubernetes Pod manifests on a plain Docker or Podman host.

The kubelet's loop as a library::

    import podsync

    pods = podsync.load("pod.yaml")
    runtime = podsync.runtimes.get("docker")
    plan = podsync.Reconciler().sync(pods, runtime.observe())
    print(plan)
    podsync.converge(pods, runtime, timeout=60)

Names are loaded when first used: importing the package loads no engine SDK.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from podsync import runtimes, sources
    from podsync.agent import Agent
    from podsync.errors import (
        ConfigError,
        FieldError,
        ManifestError,
        PluginError,
        PodsyncError,
        RuntimeFault,
        RuntimeUnavailable,
        SourceError,
    )
    from podsync.library import NotConverged, converge
    from podsync.manifest import load
    from podsync.models import Pod, PodKey, PodStatus
    from podsync.plan import Plan, PodPlan
    from podsync.reconciler import NodeSettings, Reconciler
    from podsync.runtimes.fake import FakeRuntime
    from podsync.state import Actual, ActualPod, Desired

__version__ = "0.1.0"

__all__ = [
    "Actual",
    "ActualPod",
    "Agent",
    "ConfigError",
    "Desired",
    "FakeRuntime",
    "FieldError",
    "ManifestError",
    "NodeSettings",
    "NotConverged",
    "Plan",
    "PluginError",
    "Pod",
    "PodKey",
    "PodPlan",
    "PodStatus",
    "PodsyncError",
    "Reconciler",
    "RuntimeFault",
    "RuntimeUnavailable",
    "SourceError",
    "__version__",
    "converge",
    "load",
    "runtimes",
    "sources",
]

_HOMES = {
    "Actual": "podsync.state",
    "ActualPod": "podsync.state",
    "Agent": "podsync.agent",
    "ConfigError": "podsync.errors",
    "Desired": "podsync.state",
    "FakeRuntime": "podsync.runtimes.fake",
    "FieldError": "podsync.errors",
    "ManifestError": "podsync.errors",
    "NodeSettings": "podsync.reconciler",
    "NotConverged": "podsync.library",
    "Plan": "podsync.plan",
    "PluginError": "podsync.errors",
    "Pod": "podsync.models",
    "PodKey": "podsync.models",
    "PodPlan": "podsync.plan",
    "PodStatus": "podsync.models",
    "PodsyncError": "podsync.errors",
    "Reconciler": "podsync.reconciler",
    "RuntimeFault": "podsync.errors",
    "RuntimeUnavailable": "podsync.errors",
    "SourceError": "podsync.errors",
    "converge": "podsync.library",
    "load": "podsync.manifest",
}


def __getattr__(name: str) -> Any:
    """Load a public name from its module, once."""
    if name in {"runtimes", "sources"}:
        return importlib.import_module(f"podsync.{name}")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
