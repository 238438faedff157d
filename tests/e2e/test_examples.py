"""Every manifest under examples/ runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.harness import Agent, is_ready

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.yaml"))


def _port(engine: str) -> int:
    return {"docker": 29288, "podman": 29289}[engine]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example(agent: Agent, example: Path) -> None:
    """The example validates without a warning and comes to rest as it should."""
    text = example.read_text().replace("hostPort: 8088", f"hostPort: {_port(agent.engine.name)}")
    agent.write(example.name, text)
    validated = agent.cli("validate", "--strict", str(agent.manifests / example.name))
    assert validated.returncode == 0, validated.stderr
    assert validated.stderr == ""

    agent.start()

    name = next(line.split()[1] for line in text.splitlines() if line.startswith("  name: "))
    agent.wait_pod(f"default/{name}", lambda p: p["status"]["phase"] == "Succeeded" or is_ready(p), 30)


def test_run_once_ends_by_itself(agent: Agent) -> None:
    """``run --once`` brings all examples up and returns 0; ``--once --down`` ends them."""
    for example in EXAMPLES:
        text = example.read_text().replace("hostPort: 8088", f"hostPort: {_port(agent.engine.name) + 10}")
        agent.write(example.name, text)
    options = ["--source", f"dir:{agent.manifests}", "--runtime", agent.engine.name, "--node-name", agent.node]

    done = agent.cli("run", *options, "--once")
    assert done.returncode == 0, done.stderr
    assert {pod["status"]["phase"] for pod in agent.pods().values()} <= {"Running", "Succeeded"}
    assert len(agent.pods()) == len(EXAMPLES)

    done = agent.cli("run", *options, "--once", "--down")
    assert done.returncode == 0, done.stderr
    assert agent.engine.containers(agent.node) == {}
