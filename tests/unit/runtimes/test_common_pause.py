"""The built-in sandbox image, and what was just created."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import platform
import signal
import subprocess
import tarfile
from pathlib import Path

import pytest

from podsync.errors import Unsupported
from podsync.runtimes.common import pause
from podsync.runtimes.common.fresh import Fresh, Made


def files(archive: bytes) -> dict[str, bytes]:
    """What is in a tar."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        found = {entry.name: tar.extractfile(entry) for entry in tar.getmembers()}
        return {name: data.read() for name, data in found.items() if data is not None}


@pytest.mark.parametrize(("arch", "machine"), [("amd64", 62), ("arm64", 183)])
def test_programs_are_small_static_elf_files_of_their_machine(arch: str, machine: int) -> None:
    """64 bits, little-endian, executable, in one segment that is never writable."""
    program = base64.b64decode(pause.PROGRAMS[arch])
    assert program[:6] == b"\x7fELF\x02\x01"
    assert int.from_bytes(program[16:18], "little") == 2
    assert int.from_bytes(program[18:20], "little") == machine
    assert int.from_bytes(program[56:58], "little") == 1
    assert int.from_bytes(program[68:72], "little") == 5
    assert len(program) <= 256


@pytest.mark.parametrize("arch", ["amd64", "arm64"])
def test_the_archive_is_both_formats_around_the_same_layer(arch: str) -> None:
    """Every blob is what its name says, and both descriptions point to them."""
    image = pause.image(arch)
    found = files(image.archive)
    blobs = {name: data for name, data in found.items() if name.startswith("blobs/")}
    assert all(hashlib.sha256(data).hexdigest() == name.rpartition("/")[2] for name, data in blobs.items())

    (docker,) = json.loads(found["manifest.json"])
    (entry,) = json.loads(found["index.json"])["manifests"]
    manifest = json.loads(found["blobs/" + entry["digest"].replace(":", "/")])
    config, (layer,) = manifest["config"], manifest["layers"]
    assert docker["RepoTags"] == [image.reference] == [entry["annotations"]["io.containerd.image.name"]]
    assert docker["Config"] == "blobs/" + config["digest"].replace(":", "/")
    assert docker["Layers"] == ["blobs/" + layer["digest"].replace(":", "/")]
    assert json.loads(blobs[docker["Config"]])["architecture"] == arch
    assert json.loads(blobs[docker["Config"]])["rootfs"]["diff_ids"] == [layer["digest"]]
    assert files(blobs[docker["Layers"][0]]) == {"pause": base64.b64decode(pause.PROGRAMS[arch])}
    assert json.loads(found["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}


def test_the_name_tells_the_content_and_the_bytes_are_always_the_same() -> None:
    """So an image found under the name is the right one."""
    one, other = pause.image("amd64"), pause.image("arm64")
    assert one.reference != other.reference
    assert one.reference.startswith("localhost/podsync-pause:")
    pause.image.cache_clear()
    assert pause.image("x86_64") == one


def test_other_architectures_are_unsupported() -> None:
    """With what to do about it."""
    with pytest.raises(Unsupported, match="riscv64"):
        pause.image("riscv64")


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_the_program_leaves_on_a_signal(tmp_path: Path, sent: signal.Signals) -> None:
    """With exit code 0, and only then."""
    arch = pause.architecture(platform.machine())
    if arch not in pause.PROGRAMS:
        pytest.skip(f"no program for {arch}")
    path = tmp_path / "pause"
    path.write_bytes(base64.b64decode(pause.PROGRAMS[arch]))
    path.chmod(0o755)
    with subprocess.Popen([str(path)]) as process:
        process.send_signal(signal.SIGCHLD)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.1)
        process.send_signal(sent)
        assert process.wait(2) == 0


@pytest.mark.parametrize("ref", ["id", "name"])
def test_what_was_created_is_fresh_once(ref: str) -> None:
    """By id or by name; then by neither."""
    fresh = Fresh()
    fresh.add("id", "name", -5)
    assert fresh.take("other") is None
    assert fresh.take(ref) == Made("id", "name", -5)
    assert (fresh.take("id"), fresh.take("name")) == (None, None)
