"""The example plug-in, installed into a place of its own and used by name."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "podsync-plugin-example"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pip has put it; a copy is built, so that the tree stays clean."""
    place = tmp_path_factory.mktemp("plugin")
    shutil.copytree(EXAMPLE, place / "source")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    subprocess.run([*pip, "--disable-pip-version-check", "--target", place / "site", place / "source"], check=True)
    return place / "site"


def python(installed: Path, *arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Another Python that finds podsync and the plug-in."""
    path = os.pathsep.join([str(installed), str(ROOT)])
    env = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run([sys.executable, *arguments], cwd=cwd, env=env, capture_output=True, text=True, check=False)


def test_plug_in_is_found_by_name(installed: Path, tmp_path: Path) -> None:
    """Its kind opens a source, and is among the known ones."""
    script = (
        "import podsync; from podsync import plugins; print(podsync.sources.open('sqlite:/x.db').name);"
        "print('sqlite' in plugins.names('podsync.sources'))"
    )
    ran = python(installed, "-c", script, cwd=tmp_path)
    assert (ran.stdout.split(), ran.stderr) == (["sqlite:/x.db", "True"], "")


def test_plug_in_refuses_what_makes_no_sense(installed: Path, tmp_path: Path) -> None:
    """In podsync's own words: a ConfigError, not a traceback of the plug-in's."""
    script = (
        "import podsync\n"
        "for spec, options in [('sqlite:', {}), ('sqlite:/x.db', {'interval': 'soon'})]:\n"
        "    try: podsync.sources.open(spec, **options)\n"
        "    except podsync.ConfigError as error: print(error)\n"
    )
    ran = python(installed, "-c", script, cwd=tmp_path)
    assert [line.split()[0] for line in ran.stdout.splitlines()] == ["sqlite:", "interval:"]


def test_plug_in_passes_its_own_test(installed: Path, tmp_path: Path) -> None:
    """The shipped suite, as the plug-in's author runs it."""
    test = shutil.copy(EXAMPLE / "tests" / "test_source.py", tmp_path)
    ran = python(installed, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", test, cwd=tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "passed" in ran.stdout
