"""``wait`` and the ``-w`` of ``get``."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from podsync.cli import get as getting
from podsync.cli.get import _changes
from tests.unit.cli.conftest import Cli, World, rewrite


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("pod/web", "--for=condition=Ready"), 0),
        (("pod", "web", "--for=condition=Ready"), 0),
        (("pod/web", "--for=condition=ready=true"), 0),
        (("pod/job", "--for=condition=Ready=False"), 0),
        (("pod/job", "--for=condition=Ready"), 1),
        (("pod/web", "--for=jsonpath={.status.phase}=Running"), 0),
        (("pod/web", "--for=jsonpath='{.status.phase}'=Running"), 0),
        (("pod/web", "--for=jsonpath={.status.containerStatuses[0].ready}=true"), 0),
        (("pod/web", "--for=jsonpath={.status.podIP}"), 0),
        (("pod/web", "--for=jsonpath={.status.reason}"), 1),
        (("pod/job", "--for=jsonpath={.status.phase}=Running"), 1),
        (("pod/nope", "--for=delete"), 0),
        (("pod/web", "--for=delete"), 1),
        (("pod/web", "--for=create"), 0),
        (("pod/nope", "--for=create"), 1),
        (("pod", "--all", "--for=create"), 0),
        (("pod", "-l", "app=web", "--for=condition=Ready"), 0),
        (("pod", "--all", "--for=condition=Ready"), 1),
        (("pod", "-l", "app=none", "--for=condition=Ready"), 1),
        (("pod/web", "-n", "other", "--for=condition=Ready"), 0),
        (("pod/web", "pod/job", "--for=jsonpath={.status.phase}=Running"), 1),
    ],
)
def test_what_can_be_waited_for(cli: Cli, world: World, words: tuple[str, ...], code: int) -> None:
    """Conditions, paths, creation and deletion are looked at once when the time is nothing."""
    result = cli("wait", *words, "--timeout", "0", "--root", world.root)
    assert result.code == code, result.err
    if code == 0:
        assert "condition met" in result.out
    else:
        assert "timed out waiting for the condition" in result.err or "no matching resources" in result.err


@pytest.mark.parametrize(
    "words",
    [
        ("pod/web",),
        ("pod/web", "--for=ready"),
        ("pod/web", "--for=condition="),
        ("pod/web", "--for=jsonpath={.status[?(@.x)]}=1"),
        ("pod", "--for=delete"),
        ("pod/web", "--all", "--for=delete"),
        ("pod/web", "--for=delete", "--timeout", "soon"),
    ],
)
def test_wrong_usage(cli: Cli, world: World, words: tuple[str, ...]) -> None:
    """What cannot be understood is a usage error at once."""
    assert cli("wait", *words, "--root", world.root).code == 64


def test_waiting_ends_when_it_comes_true(cli: Cli, world: World) -> None:
    """A wait goes on looking until the report says so."""

    def remove(items: list[dict[str, Any]]) -> None:
        del items[1]

    later = threading.Timer(0.15, rewrite, (world.root, remove))
    later.start()
    result = cli("wait", "pod/web", "--for=delete", "--timeout", "10s", "--root", world.root)
    later.join()
    assert (result.code, result.out) == (0, "pod/web condition met\n")


def test_a_watch_sees_every_replacement(world: World) -> None:
    """Each new report is given once, and a report that is not replaced is not given again."""
    changes = _changes(str(world.root))

    def remove(items: list[dict[str, Any]]) -> None:
        del items[0]

    found: list[Sequence[Any]] = []
    reader = threading.Thread(target=lambda: found.append(next(changes)))
    reader.start()
    threading.Event().wait(0.05)
    rewrite(world.root, remove)
    reader.join(5)
    assert [len(pods) for pods in found] == [2]


def test_a_watch_prints_what_changed(cli: Cli, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the first look only pods that changed or went are printed, as one JSON document a line."""
    items = json.loads((world.root / "status.json").read_text())["items"]
    changed = json.loads(json.dumps(items))
    changed[1]["status"]["phase"] = "Failed"

    def replay(_: str) -> Iterator[Sequence[Any]]:
        yield items
        yield changed
        yield changed[:1]

    monkeypatch.setattr(getting, "_changes", replay)
    result = cli("get", "pods", "-w", "-o", "json", "--root", world.root)
    seen = [(p["metadata"]["name"], p["status"]["phase"]) for p in map(json.loads, result.out.splitlines())]
    assert seen == [("job", "Succeeded"), ("web", "Running"), ("web", "Failed"), ("web", "Failed")]
    table = cli("get", "pods", "-w", "--root", world.root).out.splitlines()
    assert [line.split()[0] for line in table] == ["NAME", "job", "web", "web", "web"]
    named = cli("get", "pods", "job", "-w", "-o", "name", "--root", world.root)
    assert named.out.splitlines() == ["pod/job"]
