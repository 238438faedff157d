"""Commands in containers, as Podman is asked for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from podsync.errors import Conflict, NotFound
from podsync.runtimes.podman.adapter import PodmanRuntime
from tests.libpod import Libpod, box, connected

BEFORE: dict[str, Any] = {"Running": False, "ExitCode": 0, "Pid": 0}
RUNS: dict[str, Any] = {"Running": True, "ExitCode": 0, "Pid": 7}
ENDED: dict[str, Any] = {"Running": False, "ExitCode": 3, "Pid": 0}


@pytest.fixture(params=["4.3.1", "5.7.0"])
def libpod(request: pytest.FixtureRequest) -> Libpod:
    """An engine of yesterday and of today."""
    return Libpod(request.param)


@pytest.fixture
def runtime(libpod: Libpod) -> Iterator[PodmanRuntime]:
    """A runtime for it."""
    found = connected(libpod)
    yield found
    found.close()


def test_a_size_is_set_once_the_process_is_there(runtime: PodmanRuntime, libpod: Libpod) -> None:
    """Before that it is lost, and Podman sets one of its own when it attaches; later ones are set once."""
    libpod.commands = [BEFORE, BEFORE, RUNS]
    session = runtime.open_exec(box(runtime), ["sh"], stdin=True, tty=True)
    libpod.calls.clear()
    session.resize(33, 101)
    assert libpod.calls == ["GET /exec/5e55/json"] * 3 + ["POST /exec/5e55/resize"] * 2
    assert libpod.params[-1] == {"h": 33, "w": 101}
    session.resize(40, 80)
    assert libpod.params[-1] == {"h": 40, "w": 80}
    assert len(libpod.asked("POST /exec/5e55/resize")) == 3


def test_a_size_for_what_has_ended_is_no_fault(runtime: PodmanRuntime, libpod: Libpod) -> None:
    """It may end at any moment."""
    libpod.commands = [RUNS]
    session = runtime.open_exec(box(runtime), ["sh"], stdin=True, tty=True)
    libpod.refuse("POST /exec/5e55/resize", 409, "container state improper", times=2)
    session.resize(1, 1)
    assert libpod.refusals == []


def test_without_a_terminal_there_is_no_size(runtime: PodmanRuntime, libpod: Libpod) -> None:
    """Nothing is asked for."""
    session = runtime.open_exec(box(runtime), ["sh"], stdin=False, tty=False)
    session.resize(1, 1)
    assert libpod.asked("POST /exec/5e55/resize", "GET /exec") == []


@pytest.mark.parametrize(("state", "forgotten"), [(RUNS, False), (ENDED, True)])
def test_an_ended_command_is_forgotten_where_the_engine_can(
    runtime: PodmanRuntime, libpod: Libpod, state: dict[str, Any], forgotten: bool
) -> None:
    """From 5.0 on; one that lives on is left alone."""
    libpod.commands = [state]
    runtime.open_exec(box(runtime), ["sh"], stdin=False, tty=False).close()
    expected = forgotten and libpod.version.startswith("5")
    assert bool(libpod.asked("POST /exec/5e55/remove")) is expected


def test_where_no_command_can_run(runtime: PodmanRuntime, libpod: Libpod) -> None:
    """Conflict in what does not run, NotFound in what is not there; a session may vanish too."""
    sandbox = box(runtime)
    libpod.refuse("GET /exec/5e55/json", 404, "no such exec session")
    session = runtime.open_exec(sandbox, ["sh"], stdin=False, tty=False)
    with pytest.raises(NotFound):
        session.exit_code()
    libpod.end(sandbox)
    with pytest.raises(Conflict):
        runtime.open_exec(sandbox, ["sh"], stdin=False, tty=False)
    with pytest.raises(NotFound):
        runtime.open_exec("nope", ["sh"], stdin=False, tty=False)
