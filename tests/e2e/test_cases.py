"""The behaviour cases of tests/cases, on each engine."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.e2e.cases import FOLDER, run_case
from tests.e2e.harness import Agent, Engine

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

CASES = sorted(FOLDER.rglob("*.yaml"))
SHOWN_ROOT = "Podman shows a container's root folder with mode 0555, so root without capabilities cannot write to it"


def _may_lower_oom_score() -> bool:
    """Whether this machine lets its root have a negative oom_score_adj (CAP_SYS_RESOURCE)."""
    status = Path("/proc/self/status").read_text().split("CapEff:\t", 1)[1].split()[0]
    return bool(int(status, 16) & 1 << 24)


def _unable(case: Path, engine: Engine) -> str:
    """Why this engine or machine cannot show what the case asks for; empty when it can."""
    if case.stem == "qos-guaranteed-and-oom-score" and not _may_lower_oom_score():
        return "a negative oom_score_adj needs CAP_SYS_RESOURCE"
    if case.stem == "capabilities-drop-all" and engine.name == "podman":
        return SHOWN_ROOT
    other = {"docker": "podman-only", "podman": "docker-only"}[engine.name]
    return other if other in (yaml.safe_load(case.read_text()).get("requires") or ()) else ""


@pytest.mark.parametrize("case", CASES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_case(agent: Agent, engine: Engine, case: Path) -> None:
    """The case holds: what a kubelet would show is what podsync shows."""
    reason = _unable(case, engine)
    if reason:
        pytest.skip(reason)
    run_case(agent, case)
