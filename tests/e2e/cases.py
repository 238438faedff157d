"""Reads and checks behaviour cases; the format is in tests/cases/README.md."""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from podsync.clock import SystemClock
from tests.e2e.harness import Agent, Missing, is_ready, poll

FOLDER = Path(__file__).parents[1] / "cases"
Json = Mapping[str, Any]


class Differs(AssertionError):
    """What was seen is not what is expected."""


def run_case(agent: Agent, path: Path) -> None:
    """Play a case on an agent that has not been started. Raises AssertionError."""
    case = yaml.safe_load(path.read_text())
    for name, text in (case.get("files") or {}).items():
        agent.write(name, text)
    agent.start()
    for step in case.get("steps") or ():
        ((kind, body),) = step.items()
        STEPS[kind](agent, body)
    expect = case.get("expect") or {}

    def check() -> None:
        pods = agent.pods()
        for key, want in (expect.get("pods") or {}).items():
            check_pod(agent, pods, key, want)

    until(check, expect.get("within", 30))
    if expect.get("stays"):
        clock, pause = SystemClock(), threading.Event()
        end = clock.monotonic() + expect["stays"]
        while clock.monotonic() < end:
            check()
            pause.wait(0.2)
    if "rejects" in expect:
        done = agent.cli("validate", str(agent.manifests / expect["rejects"]["file"]))
        said = done.stdout + done.stderr
        assert done.returncode != 0, said
        assert re.search(expect["rejects"]["error"], said, re.M), said
        assert "Traceback" not in said


def until(check: Callable[[], None], within: float) -> None:
    """Repeat a check until it passes."""
    last: list[AssertionError] = []

    def holds() -> bool:
        try:
            check()
        except AssertionError as error:
            last[:] = [error]
            return False
        return True

    try:
        poll(holds, within, "expectation")
    except Missing:
        raise last[-1] from None


def pick(pods: Mapping[str, Json], key: str) -> list[Json]:
    """The pods that a key names."""
    if key.startswith("~"):
        return [pod for name, pod in pods.items() if re.fullmatch(key[1:], name)]
    return [pods[key]] if key in pods else []


def check_pod(agent: Agent, pods: Mapping[str, Json], key: str, want: Json) -> None:
    """Compare one pod expectation with what ``get`` reports."""
    found = pick(pods, key)
    if want.get("absent"):
        _same(f"{key} absent", [], found)
        return
    if "count" in want:
        _same(f"{key} count", want["count"], len(found))
    elif not found:
        raise Differs(f"{key}: no such pod; there are {sorted(pods)}")
    for pod in found:
        status = pod["status"]
        for field in ("phase", "qosClass"):
            if field in want:
                _same(f"{key} {field}: {status}", want[field], status.get(field))
        for field in ("reason", "message"):
            if field in want:
                _matches(f"{key} {field}", want[field], status.get(field))
        if "ready" in want:
            _same(f"{key} ready: {status}", want["ready"], is_ready(dict(pod)))
        conditions = {c["type"]: c["status"] for c in status.get("conditions") or ()}
        for name, value in (want.get("conditions") or {}).items():
            _same(f"{key} {name}", str(value), conditions.get(name))
        for name, expected in (want.get("containers") or {}).items():
            check_container(agent, pod, name, expected)


def container_status(pod: Json, name: str) -> Json:
    """The status of a container of either kind."""
    for field in ("containerStatuses", "initContainerStatuses"):
        for status in pod["status"].get(field) or ():
            if status["name"] == name:
                found: Json = status
                return found
    raise Differs(f"no status for container {name}")


def check_container(agent: Agent, pod: Json, name: str, want: Json) -> None:
    """Compare one container expectation; reasons may be those of the run before."""
    got = container_status(pod, name)
    ((state_name, state),) = (got.get("state") or {"waiting": {}}).items()
    last: Json = next(iter((got.get("lastState") or {}).values()), {})
    # one that ends and comes back shows why in its state or, a moment later, in the last one
    tellers = (state,) if want.get("state") == "terminated" else (state, last)
    for field, value in want.items():
        where = f"{name} {field} of {got}"
        if field == "state":
            _same(where, value, state_name)
        elif field in ("reason", "message"):
            _matches(where, value, *(str(told.get(field) or "") for told in tellers))
        elif field == "exitCode":
            assert value in [told.get("exitCode") for told in tellers], where
        elif field == "restartCount":
            _same(where, value, got.get("restartCount", 0))
        elif field == "minRestartCount":
            assert got.get("restartCount", 0) >= value, where
        elif field in ("ready", "started"):
            _same(where, value, bool(got.get(field)))
        elif field == "image":
            _matches(where, value, got.get("image"))
        else:
            meta = pod["metadata"]
            logs = agent.cli("logs", meta["name"], "-n", meta["namespace"], "-c", name).stdout
            if field == "logs":
                _matches(where, value, logs)
            else:
                assert not re.search(value, logs, re.M), f"{where}: {logs[-400:]!r}"


def _same(where: str, want: object, got: object) -> None:
    if want != got:
        raise Differs(f"{where}: {got!r}, wanted {want!r}")


def _matches(where: str, pattern: str, *texts: str | None) -> None:
    if not any(re.search(pattern, text or "", re.M) for text in texts):
        raise Differs(f"{where}: {texts!r}, wanted {pattern!r}")


def _wait(agent: Agent, body: Json) -> None:
    want = {key: value for key, value in body.items() if key not in ("pod", "within", "restartCount", "container")}

    def check() -> None:
        pods = agent.pods()
        check_pod(agent, pods, body["pod"], want)
        if "restartCount" in body:
            statuses = [
                status
                for pod in pick(pods, body["pod"])
                for field in ("containerStatuses", "initContainerStatuses")
                for status in pod["status"].get(field) or ()
                if body.get("container") in (None, status["name"])
            ]
            assert max((s.get("restartCount", 0) for s in statuses), default=0) >= body["restartCount"], statuses

    until(check, body.get("within", 30))


def _exec(agent: Agent, body: Json) -> None:
    namespace, name = body["pod"].split("/", 1)
    argv = ["exec", name, "-n", namespace, *(["-c", body["container"]] if "container" in body else [])]

    def check() -> None:
        done = agent.cli(*argv, "--", *map(str, body["command"]))
        _same(f"exec {body['command']}: {done.stdout!r} {done.stderr!r}", body.get("exitCode", 0), done.returncode)
        if "output" in body:
            _matches(f"exec {body['command']}", body["output"], done.stdout)

    until(check, body.get("within", 10))


def _kill(agent: Agent, body: Json) -> None:
    pod = pick(agent.pods(), body["pod"])[0]
    ident = container_status(pod, body["container"])["containerID"].partition("://")[2]
    agent.engine("kill", "--signal", str(body.get("signal", "KILL")), ident)


def _restart(agent: Agent, body: Json | None) -> None:
    agent.stop(getattr(signal, "SIG" + (body or {}).get("signal", "KILL")))
    agent.start()


def _sleep(_: Agent, seconds: float) -> None:
    threading.Event().wait(seconds)


STEPS: Mapping[str, Callable[[Agent, Any], None]] = {
    "wait": _wait,
    "write": lambda agent, body: agent.write(body["path"], body["text"]),
    "remove": lambda agent, body: (agent.manifests / body["path"]).unlink(),
    "kill": _kill,
    "restart-agent": _restart,
    "sleep": _sleep,
    "exec": _exec,
}
