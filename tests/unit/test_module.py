"""The package as a program, and what importing it costs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import podsync

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: main, image: nginx}]}\n"


def run(*words: str | Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """``python -m podsync`` with those words."""
    argv = [sys.executable, "-W", "error", "-m", "podsync", *map(str, words)]
    return subprocess.run(argv, input=stdin, capture_output=True, text=True, timeout=30, check=False)


def test_the_package_is_a_program() -> None:
    """``python -m podsync`` is the command line."""
    ended = run("version")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert podsync.__version__ in ended.stdout


def test_a_run_on_the_fake_engine(tmp_path: Path) -> None:
    """A pod from standard input runs, the report can be read, and the process ends well."""
    root = ("--root", tmp_path / "root")
    ended = run("run", "--source", "-", "--runtime", "fake", "--once", *root, stdin=POD)
    assert ended.returncode == 0, ended.stderr
    shown = run("get", "pods", "-o", "json", *root)
    (item,) = json.loads(shown.stdout)["items"]
    assert item["status"]["phase"] == "Running"


def test_every_public_name_is_there() -> None:
    """The list of names is sorted, and each can be had; any other is an AttributeError."""
    assert podsync.__all__ == sorted(podsync.__all__)
    assert set(podsync.__all__) <= set(dir(podsync))
    for name in podsync.__all__:
        assert getattr(podsync, name) is not None
    with pytest.raises(AttributeError, match="nothing_like_it"):
        _ = podsync.nothing_like_it


def test_importing_loads_no_engine() -> None:
    """Importing the package loads neither SDK, nor the command line, nor anything that is not needed yet."""
    code = "import sys, podsync; print(*sorted({n.partition('.')[0] for n in sys.modules}))"
    environ = {**os.environ, "PYTHONPATH": str(Path(podsync.__file__).parents[1])}
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environ)
    assert not {"docker", "podman", "requests", "urllib3", "yaml", "click", "jsonschema"} & set(shown.stdout.split())
