"""Where the engines for the tests are: from the environment, skipped or demanded."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import NoReturn

import pytest

VARIABLES = {"docker": ("PODSYNC_TEST_DOCKER", "DOCKER_HOST"), "podman": ("PODSYNC_TEST_PODMAN", "CONTAINER_HOST")}


def endpoint(engine: str) -> str:
    """The engine's ``unix://`` address. Skips when none answers; fails under PODSYNC_REQUIRE_ENGINES."""
    names = VARIABLES[engine]
    found = next((os.environ[name] for name in names if os.environ.get(name)), "")
    reason = ""
    if not found:
        reason = f"no {engine}: set {' or '.join(names)} to unix:///path/of/its.sock"
    elif not _answers(found.removeprefix("unix://")):
        reason = f"no {engine} answers on {found}"
    if reason:
        unavailable(reason)
    return found


def unavailable(reason: str) -> NoReturn:
    """Skip a test for want of an engine, or fail it where engines are required (continuous integration)."""
    if os.environ.get("PODSYNC_REQUIRE_ENGINES"):
        pytest.fail(reason)
    pytest.skip(reason)


def _answers(path: str) -> bool:
    if not Path(path).exists():
        return False
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(5)
        try:
            probe.connect(path)
        except OSError:
            return False
    return True
