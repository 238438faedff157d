"""The house: who may import whom, what importing costs, what is public."""

from __future__ import annotations

import importlib
import inspect
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import podsync

ROOT = Path(__file__).parents[1]
HEAVY = ("docker", "podman", "requests", "urllib3", "jsonschema", "yaml", "click")


def _python(code: str) -> str:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env, timeout=60)
    return done.stdout


def test_layers() -> None:
    """The import contracts of pyproject.toml hold."""
    tool = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([tool, "--no-cache"], capture_output=True, text=True, check=False, cwd=ROOT, timeout=120)

    assert done.returncode == 0, done.stdout + done.stderr


def test_importing_the_package_loads_nothing_heavy() -> None:
    """``import podsync`` brings no SDK, no YAML, no command line."""
    loaded = _python("import sys, podsync; print(*sys.modules)").split()

    assert not {name for name in loaded if name.split(".")[0] in HEAVY}


@pytest.mark.parametrize(
    "name", ["load", "Reconciler", "FakeRuntime", "Agent", "converge", "Plan", "runtimes", "sources"]
)
def test_public_names_load_no_sdk(name: str) -> None:
    """No public name needs an engine's SDK before an engine is asked for."""
    loaded = _python(f"import sys, podsync; podsync.{name}; print(*sys.modules)").split()

    assert not {"docker", "podman"} & {module.split(".")[0] for module in loaded if "podsync" not in module}


def test_public_names_are_sorted_and_exist() -> None:
    """``__all__`` is sorted, complete, and each name can be had."""
    assert sorted(podsync.__all__) == podsync.__all__
    for name in podsync.__all__:
        assert getattr(podsync, name) is not None
    assert set(podsync.__all__) <= set(dir(podsync))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = podsync.nothing


def _modules() -> list[str]:
    return sorted(
        m.name for m in pkgutil.walk_packages(podsync.__path__, "podsync.") if not m.name.endswith("__main__")
    )


@pytest.mark.parametrize("name", _modules())
def test_all_is_true(name: str) -> None:
    """What a module promises in ``__all__`` it has, and it is documented."""
    module = importlib.import_module(name)
    promised = getattr(module, "__all__", [])

    assert module.__doc__
    for each in promised:
        value = getattr(module, each)
        documented = inspect.isclass(value) or inspect.isroutine(value)
        assert not documented or value.__doc__, f"{name}.{each} has no docstring"


def test_no_file_is_too_long() -> None:
    """A module over 400 lines has to be split."""
    long = {
        str(path.relative_to(ROOT)): lines
        for path in (ROOT / "podsync").rglob("*.py")
        if (lines := len(path.read_text().splitlines())) > 400
    }

    assert long == {}
