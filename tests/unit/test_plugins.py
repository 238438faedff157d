"""Runtimes and sources by name."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from podsync import plugins
from podsync.errors import ConfigError, PluginError
from podsync.plugins import BUILT_IN, RUNTIMES, SOURCES

MODULE = """
from podsync.errors import ConfigError, RuntimeUnavailable
from podsync.runtimes.base import RuntimeInfo

class Mine:
    closed = []
    def __init__(self, options, port=1):
        self.options, self.port = options, port
    def info(self):
        if self.options.get("down"):
            raise RuntimeUnavailable("down")
        if self.options.get("broken"):
            raise KeyError("info")
        return RuntimeInfo(name="mine", port=self.port)
    def close(self):
        self.closed.append(self.port)

def connect(options):
    return Mine(options)
def future(options):
    return Mine(options, 99)
def refuses(options):
    raise ConfigError("bad option")
def crashes(options):
    raise ZeroDivisionError("oops")
def open_source(options, clock):
    return ("source", options, clock)
NUMBER = 5
"""
POINTS = """
[podsync.runtimes]
mine = acme_plugin:connect
future = acme_plugin:future
refuses = acme_plugin:refuses
crashes = acme_plugin:crashes
number = acme_plugin:NUMBER
lost = acme_plugin:nothing
absent = acme_absent:connect
docker = acme_plugin:connect
twice = acme_plugin:connect

[podsync.sources]
consul = acme_plugin:open_source
"""


def distribution(folder: Path, name: str, points: str) -> None:
    """An installed distribution with those entry points."""
    info = folder / f"{name.replace('-', '_')}-1.2.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text(textwrap.dedent(points))


@pytest.fixture(autouse=True)
def acme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plug-in's distribution on the path."""
    (tmp_path / "acme_plugin.py").write_text(MODULE)
    distribution(tmp_path, "acme-plugin", POINTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "acme_plugin", raising=False)


def test_a_plug_ins_runtime() -> None:
    """It gets its options."""
    assert vars(plugins.connect("mine", {"node": "me"})) == {"options": {"node": "me"}, "port": 1}


def test_a_plug_ins_source() -> None:
    """What opens it is given as it is."""
    assert plugins.source("consul")({"a": "b"}, None) == ("source", {"a": "b"}, None)  # type: ignore[arg-type, comparison-overlap]


def test_nothing_is_loaded_before_it_is_chosen() -> None:
    """Naming them loads none."""
    assert {"mine", "docker", "fake", "absent"} <= set(plugins.names(RUNTIMES))
    assert {"consul", "dir"} <= set(plugins.names(SOURCES))
    assert plugins.names(SOURCES) == tuple(sorted(plugins.names(SOURCES)))
    assert "acme_plugin" not in sys.modules


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("absent", ["acme-plugin 1.2", "ModuleNotFoundError", "acme_absent"]),
        ("lost", ["acme-plugin 1.2", "AttributeError", "nothing"]),
        ("number", ["acme-plugin 1.2", "acme_plugin:NUMBER is not a function"]),
        ("crashes", ["acme-plugin 1.2", "ZeroDivisionError: oops"]),
        ("future", ["acme-plugin 1.2", "version 99", "this is 1"]),
    ],
)
def test_a_plug_in_that_fails_is_named(name: str, words: list[str]) -> None:
    """With its distribution: it is no silent absence."""
    with pytest.raises(PluginError) as caught:
        plugins.connect(name, {})
    for word in words:
        assert word in str(caught.value)


def test_a_plug_in_that_cannot_say_who_it_is() -> None:
    """Its own mistakes are its own."""
    with pytest.raises(PluginError, match="acme-plugin"):
        plugins.connect("mine", {"broken": "1"})


def test_a_plug_in_of_another_version_is_closed() -> None:
    """It may hold connections."""
    with pytest.raises(PluginError):
        plugins.connect("future", {})
    assert sys.modules["acme_plugin"].Mine.closed == [99]


def test_a_plug_ins_engine_may_be_down() -> None:
    """It is used as soon as it is there."""
    assert vars(plugins.connect("mine", {"down": "1"}))["port"] == 1


def test_podsyncs_own_errors_pass_through() -> None:
    """A plug-in may refuse its options in our words."""
    with pytest.raises(ConfigError, match="bad option"):
        plugins.connect("refuses", {})


@pytest.mark.parametrize(
    ("name", "guess"), [("min", "did you mean 'mine'?"), ("dokcer", "did you mean 'docker'?"), ("zzz", "Known: ")]
)
def test_an_unknown_name(name: str, guess: str) -> None:
    """The nearest known one is offered, and all are listed."""
    with pytest.raises(PluginError) as caught:
        plugins.runtime(name)
    assert guess in str(caught.value)
    assert "docker" in str(caught.value)


def test_our_own_names_cannot_be_taken() -> None:
    """The distribution above offers a docker too."""
    assert plugins.runtime("docker").__module__ == "podsync.runtimes.docker"


def test_a_name_offered_twice_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which one is meant cannot be known; both owners are named."""
    distribution(tmp_path / "more", "other-plugin", "[podsync.runtimes]\ntwice = other:connect\n")
    monkeypatch.syspath_prepend(str(tmp_path / "more"))
    with pytest.raises(PluginError, match=r"acme-plugin 1\.2 and other-plugin 1\.2"):
        plugins.runtime("twice")


@pytest.mark.parametrize("group", [RUNTIMES, SOURCES])
def test_our_own_are_registered_as_any_others(group: str) -> None:
    """What the package declares is what is known here."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["entry-points"][group] == dict(BUILT_IN[group])


@pytest.mark.parametrize(("group", "name"), [(group, name) for group, points in BUILT_IN.items() for name in points])
def test_our_own_can_be_loaded(group: str, name: str) -> None:
    """As entry points, and twice: loading one must not change what its name stands for."""
    for _ in range(2):
        assert callable(EntryPoint(name, BUILT_IN[group][name], group).load())


def test_our_own_need_no_installation() -> None:
    """They are known from a source tree that was never installed."""
    script = (
        "import importlib.metadata as m; m.entry_points = lambda **_: (); from podsync import plugins; "
        "print(plugins.connect('fake', {'node': 'me'}).info().name, plugins.names('podsync.runtimes'))"
    )
    root = Path(__file__).parents[2]
    ran = subprocess.run([sys.executable, "-c", script], cwd=root, capture_output=True, text=True, check=True)
    assert ran.stdout.split(maxsplit=1) == ["fake", "('docker', 'fake', 'podman')\n"]
