"""The command as a whole: exit codes, errors, colours, completion, what it costs to start."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import click
import pytest

from podsync import app
from podsync.cli.main import _COMMANDS
from podsync.cli.main import cli as group
from podsync.errors import ConfigError
from tests.unit.cli.conftest import Cli, World

REPOSITORY = Path(__file__).parents[3]


def test_help(cli: Cli) -> None:
    """The help names every command; it is what one gets without any word."""
    result = cli("--help")
    assert (result.code, result.err) == (0, "")
    assert all(f"\n  {name} " in result.out for name in _COMMANDS)
    assert cli().out == result.out
    assert cli("-h").out == result.out


@pytest.mark.parametrize("name", list(_COMMANDS))
def test_every_command_has_help(cli: Cli, name: str) -> None:
    """Each command explains itself, and the list of commands says the same of it."""
    result = cli(name, "--help")
    assert (result.code, result.err) == (0, "")
    command = group.get_command(click.Context(group), name)
    assert command is not None
    assert command.short_help == _COMMANDS[name][2]


@pytest.mark.parametrize("words", [("nope",), ("--nope",), ("version", "--nope"), ("completion", "tcsh")])
def test_usage_errors(cli: Cli, words: tuple[str, ...]) -> None:
    """What there is not ends with 64 and a hint where to look."""
    result = cli(*words)
    assert (result.code, result.out) == (64, "")
    assert "--help" in result.err


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (ConfigError("the root cannot be used"), 1, "error: the root cannot be used\n"),
        (KeyError("x"), 70, "error: unexpected KeyError: 'x' (--debug shows where)\n"),
        (click.ClickException("no"), 1, "error: no\n"),
        (KeyboardInterrupt(), 130, "\n"),
    ],
)
def test_errors(cli: Cli, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, text: str) -> None:
    """Every error is one line on stderr and an exit code; no traceback is shown."""

    def fail(*_: object, **__: object) -> int:
        raise error

    monkeypatch.setattr(app, "run", fail)
    result = cli("run", "--source", "dir:/x", "--root", "/x")
    assert (result.code, result.out, result.err) == (code, "", text)


@pytest.mark.parametrize("error", [ConfigError("x"), KeyError("x")])
def test_debugging(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """With --debug the error itself comes out, with its traceback."""

    def fail(*_: object, **__: object) -> int:
        raise error

    monkeypatch.setattr(app, "run", fail)
    from podsync.cli import main

    with pytest.raises(type(error)):
        main(["--debug", "run", "--source", "dir:/x", "--root", "/x"])


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [({}, False), ({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False)],
)
def test_colours(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], coloured: bool
) -> None:
    """There is no colour but on a terminal or when forced, and never with NO_COLOR."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert ("\x1b[" in cli("get", "pods", "--root", tmp_path).err) is coloured


@pytest.mark.parametrize("place", ["before", "after", "environment"])
def test_where_the_root_is_given(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    """The root may stand before or after the command, or in the environment."""
    (tmp_path / "status.json").write_text('{"items": []}')
    if place == "environment":
        monkeypatch.setenv("PODSYNC_ROOT", str(tmp_path))
    before = ("--root", tmp_path) if place == "before" else ()
    after = ("--root", tmp_path) if place == "after" else ()
    assert cli(*before, "get", "pods", "-o", "json", *after).json["items"] == []


def test_a_root_after_the_command_goes_first(cli: Cli, tmp_path: Path) -> None:
    """The root given with the command overrides the one before it."""
    (tmp_path / "status.json").write_text('{"items": []}')
    assert cli("--root", "/nowhere", "get", "pods", "-o", "json", "--root", tmp_path).code == 0


@pytest.mark.parametrize(("shell", "text"), [("bash", "complete "), ("zsh", "#compdef podsync"), ("fish", "complete ")])
def test_completion(cli: Cli, shell: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A completion script for each shell is printed, and completes commands."""
    from click.shell_completion import BashComplete

    # asking bash for its version takes a process
    monkeypatch.setattr(BashComplete, "_check_version", lambda *_: None)
    result = cli("completion", shell)
    assert result.code == 0
    assert text in result.out
    assert "_PODSYNC_COMPLETE" in result.out


def run(*words: str, code: str = "") -> subprocess.CompletedProcess[str]:
    """A fresh interpreter with podsync, or with some code."""
    command = ["-c", code] if code else ["-m", "podsync", *words]
    return subprocess.run([sys.executable, *command], capture_output=True, text=True, cwd=REPOSITORY, check=False)


def test_help_starts_fast() -> None:
    """The help costs less than a tenth of a second of processor time, Python's own start included."""

    def cost() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert run("--help").returncode == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime

    assert min(cost() for _ in range(5)) < 0.1


def test_help_loads_nothing_heavy() -> None:
    """Neither the help nor reading a report loads an engine's SDK, YAML, jsonschema or requests."""
    heavy = "{'docker', 'podman', 'yaml', 'jsonschema', 'requests', 'urllib3', 'podsync.agent', 'podsync.models'}"
    for words in (["--help"], ["get", "pods", "--root", "/nonexistent"]):
        code = f"""
import sys
from podsync.cli import main
try:
    main({words!r})
except SystemExit:
    pass
print(sorted({heavy} & set(sys.modules)), file=sys.stderr)
"""
        assert run(code=code).stderr.splitlines()[-1] == "[]", words


def test_a_reader_that_goes_away() -> None:
    """A pipe closed by its reader ends the command without a word."""
    code = """
import os, sys
read, write = os.pipe()
os.close(read)
os.dup2(write, 1)
from podsync.cli import main
main(["schema"])
"""
    done = run(code=code)
    assert done.returncode != 0
    assert done.stderr == ""


def test_errors_cannot_steer_the_terminal(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error's text is escaped, and its further lines are indented."""

    def fail(*_: object, **__: object) -> int:
        raise ConfigError("no \x1b[2J\nerror: forged\u202e")

    monkeypatch.setattr(app, "run", fail)
    assert cli("run", "--source", "dir:/x", "--root", "/x").err == "error: no \\x1b[2J\n  error: forged\\u202e\n"


@pytest.mark.parametrize("flags", [("-E",), ("-u",)], ids=["buffered", "unbuffered"])
@pytest.mark.parametrize("words", [("version",), ("get", "pods", "-o", "yaml")])
def test_a_full_device(world: World, words: tuple[str, ...], flags: tuple[str, ...]) -> None:
    """Output that cannot be written is one line of error; also what is only written at the end."""
    root = ["--root", str(world.root)] if words[0] == "get" else []
    command = [sys.executable, *flags, "-m", "podsync", *words, *root]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    errors = [line for line in done.stderr.splitlines() if not line.startswith("warning: no podsync agent")]
    assert errors == ["error: output cannot be written: No space left on device"]


def test_a_reader_that_went_away() -> None:
    """A closed pipe ends the command with 1, quietly: the reader has had enough."""
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "podsync", "schema"], stdout=write, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (1, "")
