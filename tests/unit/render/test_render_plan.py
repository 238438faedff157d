"""A plan as JSON and as text."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from podsync import plan
from podsync.models import PodKey
from podsync.plan import Cause, Plan, PodPlan, Verdict, Waiting
from podsync.render import plan_document, plan_text
from podsync.runtimes.base import ContainerId, ContainerSpec, SandboxSpec

AT = datetime(2030, 1, 1, tzinfo=UTC)


def name(container: str, uid: str = "u") -> str:
    """The engine's name of an instance of the pod default/web."""
    return f"k8s_{container}_web_default_{uid}_0"


SANDBOX = SandboxSpec(name("POD"), {})


def example() -> Plan:
    """A plan with something of everything."""
    from podsync.models import Pod

    pod = Pod()
    web = PodPlan(
        PodKey("default", "web"),
        stages=(
            (plan.CreateSandbox(SANDBOX, Cause.NEW_POD),),
            (
                plan.StartSandbox(SANDBOX.name, pod, Cause.NEW_POD),
                plan.CreateContainer(SANDBOX.name, ContainerSpec(name("a"), {}, "x"), pod, "a", Cause.NEW_POD),
            ),
        ),
        pulls=(plan.PullImage("nginx", Cause.IMAGE_ABSENT),),
        waiting=(Waiting("b", "ImagePullBackOff", "Back-off pulling", AT), Waiting("c", "ContainerCreating")),
        wake_at=AT,
    )
    old = PodPlan(
        PodKey("default", "old"),
        stages=((plan.SignalContainer(ContainerId("1"), name("a"), "a", "SIGTERM", Cause.POD_DELETED),),),
        terminating=True,
    )
    bad = PodPlan(PodKey("default", "bad"), verdict=Verdict("Failed", "NodePorts", "Pod was rejected: no ports"))
    idle = PodPlan(PodKey("default", "idle"), wake_at=AT)
    return Plan({p.key: p for p in (web, old, bad, idle)})


def test_the_text_of_a_plan() -> None:
    """People get one block a pod: verdicts, actions with their causes, what waits; then a count."""
    assert plan_text(plan_document(example())).splitlines() == [
        "default/bad",
        "  ! Failed: NodePorts: Pod was rejected: no ports",
        "default/old (ending)",
        "  ~ signal container a#0 SIGTERM (pod deleted)",
        "default/web",
        "  + pull image nginx (image is not present)",
        "  + create sandbox POD#0 (new pod)",
        "  + start sandbox POD#0 (new pod)",
        "  + create container a#0 (new pod)",
        "  . b waits until 2030-01-01T00:00:00+00:00: ImagePullBackOff: Back-off pulling",
        "  . c waits: ContainerCreating",
        "5 actions for 2 pods.",
    ]


def test_the_document_of_a_plan() -> None:
    """Machines get every action with its kind, stage and cause, as plain JSON values."""
    document = plan_document(example())
    assert json.loads(json.dumps(document)) == document
    assert document["changes"] == 5
    bad, old, web = document["pods"]
    assert bad["verdict"] == {"phase": "Failed", "reason": "NodePorts", "message": "Pod was rejected: no ports"}
    assert old["terminating"]
    assert [(a["action"], a.get("stage"), a["cause"]) for a in web["actions"]] == [
        ("PullImage", None, "image is not present"),
        ("CreateSandbox", 1, "new pod"),
        ("StartSandbox", 2, "new pod"),
        ("CreateContainer", 2, "new pod"),
    ]
    assert web["actions"][0]["image"] == "nginx"
    assert web["wakeAt"] == "2030-01-01T00:00:00+00:00"
    assert web["waiting"][0]["until"] == "2030-01-01T00:00:00+00:00"


def test_an_empty_plan() -> None:
    """Nothing to do is said, and pods that only wait for time are not listed."""
    idle = PodPlan(PodKey("default", "idle"), wake_at=AT)
    document = plan_document(Plan({idle.key: idle}))
    assert document == {"changes": 0, "pods": []}
    assert plan_text(document) == "Nothing to do."


def test_one_action_is_counted_in_the_singular() -> None:
    """The count reads as a sentence."""
    pulls = PodPlan(PodKey("default", "web"), pulls=(plan.PullImage("nginx", Cause.PULL_ALWAYS),))
    assert plan_text(plan_document(Plan({pulls.key: pulls}))).splitlines()[-1] == "1 action for 1 pod."
