"""``validate`` and ``schema``."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from tests.unit.cli.conftest import PODS, Cli

GOOD = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers: [{name: main, image: nginx}]\n"
BAD = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - {name: Main, image: nginx}\n"
UNKNOWN = GOOD.replace("image: nginx", "image: nginx, imagePullPolicY: Always")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A directory of manifests."""
    (tmp_path / "good.yaml").write_text(GOOD)
    return tmp_path


def test_a_good_manifest(cli: Cli, folder: Path) -> None:
    """A valid file is said to be so on stdout, and nothing is said on stderr."""
    result = cli("validate", folder / "good.yaml")
    assert (result.code, result.out, result.err) == (0, "valid: 1 file, 1 pod\n", "")


def test_a_bad_manifest(cli: Cli, folder: Path) -> None:
    """Each problem is one line with file, line, document and field path, on stderr; the exit code is 1."""
    (folder / "bad.yaml").write_text(f"{GOOD}---\n{BAD.replace('web', 'api')}")
    result = cli("validate", folder / "bad.yaml")
    assert (result.code, result.out) == (1, "invalid: 1 file, 1 pod, 1 error\n")
    (line,) = result.err.splitlines()
    assert line.startswith(f"{folder}/bad.yaml:12: document 2: spec.containers[0].name: Invalid value: ")


def test_an_unknown_field(cli: Cli, folder: Path) -> None:
    """An unknown field is a warning, an error under --strict, and said once."""
    (folder / "odd.yaml").write_text(UNKNOWN)
    lax = cli("validate", folder / "odd.yaml")
    assert (lax.code, lax.out) == (0, "valid: 1 file, 1 pod, 1 warning\n")
    assert "warning: spec.containers[0].imagePullPolicY" in lax.err
    strict = cli("validate", "--strict", folder / "odd.yaml")
    assert (strict.code, strict.out) == (1, "invalid: 1 file, 1 pod, 1 error\n")
    assert "warning" not in strict.err
    assert len(strict.err.splitlines()) == 1


def test_a_directory(cli: Cli, folder: Path) -> None:
    """A directory stands for the files that the directory source would read; a pod in two of them is a warning."""
    (folder / "again.yaml").write_text(GOOD)
    (folder / ".hidden.yaml").write_text(BAD)
    (folder / "notes.txt").write_text("{")
    (folder / "sub.yaml").mkdir()
    result = cli("validate", folder)
    assert (result.code, result.out) == (0, "valid: 2 files, 2 pods, 1 warning\n")
    assert f"pod default/web is also in {folder}/again.yaml" in result.err


def test_standard_input(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dash stands for standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(PODS.encode())))
    assert cli("validate", "-").out == "valid: 1 file, 3 pods\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(BAD.encode())))
    result = cli("validate", "-")
    assert result.code == 1
    assert result.err.startswith("<stdin>:6: ")


@pytest.mark.parametrize("target", ["nope.yaml", "nope"])
def test_a_file_that_is_not_there(cli: Cli, folder: Path, target: str) -> None:
    """What cannot be read is an error of its own; the other files are still checked."""
    result = cli("validate", folder / target, folder / "good.yaml")
    assert (result.code, result.out) == (1, "invalid: 2 files, 1 pod, 1 error\n")
    assert result.err == f"{folder}/{target}: cannot be read: No such file or directory\n"


def test_a_link_that_leads_nowhere(cli: Cli, folder: Path) -> None:
    """A file that is there but cannot be opened is an error, with the system's words."""
    (folder / "loop.yaml").symlink_to("loop.yaml")
    result = cli("validate", folder / "loop.yaml")
    assert result.code == 1
    assert result.err == f"{folder}/loop.yaml: cannot be read: Too many levels of symbolic links\n"


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"a: [", b"\0\0\0", b"x" * 1000, b"kind: Nope\napiVersion: v1\n"])
def test_rubbish(cli: Cli, folder: Path, content: bytes) -> None:
    """Whatever a file holds, the answer is lines of errors and never a traceback."""
    (folder / "bad.yaml").write_bytes(content)
    result = cli("validate", folder / "bad.yaml")
    assert result.code == 1
    assert "Traceback" not in result.err
    assert all(line.startswith(str(folder)) for line in result.err.splitlines())


def test_an_empty_file(cli: Cli, folder: Path) -> None:
    """A file without documents is a warning, an error under --strict."""
    (folder / "empty.yaml").write_text("# nothing\n")
    assert cli("validate", folder / "empty.yaml").code == 0
    assert cli("validate", "--strict", folder / "empty.yaml").code == 1


def test_the_schema(cli: Cli) -> None:
    """The schema is printed as one JSON document."""
    schema = json.loads(cli("schema").out)
    assert schema["$schema"].startswith("https://json-schema.org/")
    assert "Pod" in schema["$defs"]


def test_nothing_to_validate(cli: Cli) -> None:
    """Without a target it is a usage error."""
    assert cli("validate").code == 64


def test_closed_standard_input(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard input that is closed cannot be read, and that is said."""
    monkeypatch.setattr(sys, "stdin", None)
    result = cli("validate", "-")
    assert (result.code, result.err) == (1, "<stdin>: cannot be read: it is closed\n")
