"""Where ``load`` takes its text from, and what it raises."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from podsync.errors import ManifestError
from podsync.manifest import load, parse

POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: web
  labels: {app: web}
spec:
  containers:
  - name: main
    image: busybox
    ports:
    - containerPort: 80
    command: ["sleep", "60"]
"""
ONE_LINE = json.dumps(
    {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web"},
        "spec": {"containers": [{"name": "main", "image": "busybox"}]},
    }
)


def test_load_from_a_path(tmp_path: Path) -> None:
    """A path, as Path or str, is read; errors carry it."""
    file = tmp_path / "web.yaml"
    file.write_text(POD)
    assert load(file) == load(str(file)) == parse(POD).pods
    file.write_text(POD.replace("80", "0"))
    with pytest.raises(ManifestError) as caught:
        load(file)
    assert str(caught.value) == f"{file}:11: document 1: spec.containers[0].ports[0].containerPort: Required value"


def test_load_from_text_and_streams(tmp_path: Path) -> None:
    """A text, bytes and open files of both kinds give the same pods; a stream's name is in its errors."""
    file = tmp_path / "web.yaml"
    file.write_text(POD)
    pods = parse(POD).pods
    assert load(POD) == load(POD.encode()) == pods
    assert load(io.StringIO(POD)) == load(io.BytesIO(POD.encode())) == pods
    with file.open() as text, file.open("rb") as data:
        assert load(text) == load(data) == pods
    file.write_text("- x\n")
    with file.open() as text, pytest.raises(ManifestError, match=f"^{file}:1: document 1: Invalid value"):
        load(text)


def test_load_of_one_line_of_json() -> None:
    """A str that begins with a brace is a text, though it has no line break."""
    (one,) = load(ONE_LINE)
    assert one.key.name == "web"


@pytest.mark.parametrize("name", ["none.yaml", ".", "a\x00b", "none/none.yaml", "x" * 5000])
def test_load_of_what_cannot_be_read(name: str, tmp_path: Path) -> None:
    """A missing file, a directory and an impossible name are a ManifestError with the path."""
    with pytest.raises(ManifestError, match="cannot be read"):
        load(tmp_path / name)


def test_load_of_an_endless_file() -> None:
    """A file without end is read no further than the limit."""
    with pytest.raises(ManifestError, match="larger than 10 MiB"):
        load(Path("/dev/zero"))


def test_load_raises_every_error() -> None:
    """The exception holds all errors, and its text is their lines."""
    with pytest.raises(ManifestError) as caught:
        load(POD.replace("80", "0").replace("web", "Web"))
    assert [error.path for error in caught.value.errors] == [
        "metadata.name",
        "spec.containers[0].ports[0].containerPort",
    ]
    assert len(str(caught.value).splitlines()) == 2
