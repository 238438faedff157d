"""``describe pod`` and the table of events."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from podsync.render import describe_pod, events_table

NOW = datetime(2030, 1, 1, 0, 1, tzinfo=UTC)


def event(**changes: Any) -> dict[str, Any]:
    """An Event document."""
    return {
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": "web"},
        "type": "Normal",
        "reason": "Started",
        "message": "Container started",
        "source": {"component": "podsync"},
        "firstTimestamp": "2030-01-01T00:00:00Z",
        "lastTimestamp": "2030-01-01T00:00:50Z",
        "count": 1,
        **changes,
    }


POD: dict[str, Any] = {
    "metadata": {
        "name": "web",
        "namespace": "default",
        "uid": "u-1",
        "labels": {"app": "web", "tier": "front"},
        "annotations": {"note": "x"},
    },
    "spec": {
        "nodeName": "node-1",
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "initContainers": [{"name": "prepare", "image": "busybox"}],
        "containers": [
            {
                "name": "main",
                "image": "nginx",
                "command": ["/bin/sh", "-c"],
                "args": ["run"],
                "ports": [{"containerPort": 80, "hostPort": 8080}, {"containerPort": 53, "protocol": "UDP"}],
                "env": [{"name": "MODE", "value": "fast"}, {"name": "EMPTY"}],
                "resources": {"limits": {"cpu": "1", "memory": "64Mi"}, "requests": {"cpu": "500m"}},
                "volumeMounts": [{"name": "data", "mountPath": "/data", "readOnly": True}],
            }
        ],
        "volumes": [
            {"name": "data", "hostPath": {"path": "/srv", "type": "Directory"}},
            {"name": "tmp", "emptyDir": {}},
        ],
    },
    "status": {
        "phase": "Running",
        "hostIP": "192.168.1.5",
        "podIP": "10.88.0.2",
        "podIPs": [{"ip": "10.88.0.2"}],
        "startTime": "2030-01-01T00:00:00Z",
        "qosClass": "Burstable",
        "conditions": [
            {"type": "Ready", "status": "False", "reason": "ContainersNotReady", "message": "[main]"},
            {"type": "PodScheduled", "status": "True"},
        ],
        "initContainerStatuses": [
            {
                "name": "prepare",
                "ready": True,
                "restartCount": 0,
                "state": {"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": "2030-01-01T00:00:01Z"}},
            }
        ],
        "containerStatuses": [
            {
                "name": "main",
                "ready": False,
                "restartCount": 2,
                "containerID": "docker://abc",
                "imageID": "sha256:def",
                "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 20s"}},
                "lastState": {
                    "terminated": {
                        "exitCode": 1,
                        "reason": "Error",
                        "message": "two\nlines",
                        "startedAt": "2030-01-01T00:00:30Z",
                        "finishedAt": "2030-01-01T00:00:31Z",
                    }
                },
            }
        ],
    },
}

EXPECTED = """\
Name:             web
Namespace:        default
UID:              u-1
Node:             node-1/192.168.1.5
Start Time:       Tue, 01 Jan 2030 00:00:00 +0000
Labels:           app=web
                  tier=front
Annotations:      note: x
Status:           Running
IP:               10.88.0.2
IPs:
  IP:  10.88.0.2
Init Containers:
  prepare:
    Container ID:
    Image:          busybox
    Image ID:
    Port:           <none>
    Host Port:      <none>
    State:          Terminated
      Reason:       Completed
      Exit Code:    0
      Started:      Tue, 01 Jan 2030 00:00:01 +0000
      Finished:
    Ready:          True
    Restart Count:  0
    Environment:    <none>
    Mounts:         <none>
Containers:
  main:
    Container ID:   docker://abc
    Image:          nginx
    Image ID:       sha256:def
    Ports:          80/TCP, 53/UDP
    Host Ports:     8080/TCP, 0/UDP
    Command:
      /bin/sh
      -c
    Args:
      run
    State:          Waiting
      Reason:       CrashLoopBackOff
      Message:      back-off 20s
    Last State:     Terminated
      Reason:       Error
      Message:      two lines
      Exit Code:    1
      Started:      Tue, 01 Jan 2030 00:00:30 +0000
      Finished:     Tue, 01 Jan 2030 00:00:31 +0000
    Ready:          False
    Restart Count:  2
    Limits:
      cpu:     1
      memory:  64Mi
    Requests:
      cpu:  500m
    Environment:
      MODE:   fast
      EMPTY:
    Mounts:
      /data from data (ro)
Conditions:
  Type           Status   Reason
  Ready          False    ContainersNotReady: [main]
  PodScheduled   True
Volumes:
  data:
    Type:       HostPath
    Path:       /srv
    Type:       Directory
  tmp:
    Type:       EmptyDir
QoS Class:        Burstable
Restart Policy:   Always
Events:
  Type      Reason    Age                From      Message
  Normal    Started   10s                podsync   Container started
  Warning   BackOff   10s (x4 over 60s)  podsync   Back-off
"""


def test_everything_known_of_a_pod() -> None:
    """The whole description of a pod with something of everything."""
    events = [event(), event(type="Warning", reason="BackOff", message="Back-off", count=4)]
    text = describe_pod(POD, events, NOW)
    assert [" ".join(line.split()) for line in text.splitlines()] == [
        " ".join(line.split()) for line in EXPECTED.splitlines()
    ]
    # where a line begins is part of the layout
    assert [len(line) - len(line.lstrip()) for line in text.splitlines()] == [
        len(line) - len(line.lstrip()) for line in EXPECTED.splitlines()
    ]


@pytest.mark.parametrize("document", [{}, {"metadata": {"name": "x"}, "spec": {"containers": [{"name": "c"}]}}])
def test_a_pod_of_which_little_is_known(document: dict[str, Any]) -> None:
    """A description never fails for want of a field, and says that there are no events."""
    text = describe_pod(document, [], NOW)
    assert text.startswith("Name:")
    assert text.splitlines()[-1] == "Events:           <none>"


def test_a_pod_being_ended_says_since_when() -> None:
    """A terminating pod is told as such, with the grace it has."""
    meta = {**POD["metadata"], "deletionTimestamp": "2030-01-01T00:00:40Z"}
    text = describe_pod({**POD, "metadata": meta}, [], NOW)
    assert "Status:           Terminating (since Tue, 01 Jan 2030 00:00:40 +0000)" in text
    assert "Grace Period:     30s" in text


def test_the_table_of_events() -> None:
    """Events are one line each, with their count, whatever the message holds."""
    events = [event(), event(reason="BackOff", message="one\n two", count=3)]
    assert events_table(events, NOW).splitlines() == [
        "LAST SEEN           TYPE     REASON    OBJECT    MESSAGE",
        "10s                 Normal   Started   pod/web   Container started",
        "10s (x3 over 60s)   Normal   BackOff   pod/web   one two",
    ]
    assert events_table(events[:1], NOW, namespace=True, headers=False) == (
        "default   10s   Normal   Started   pod/web   Container started"
    )
