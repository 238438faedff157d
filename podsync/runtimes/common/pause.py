"""The built-in image of a sandbox: one program of 256 bytes, loaded without a registry.

The archive is two formats at once. An engine that keeps images in containerd's store
takes the OCI layout in it, every other one the ``docker save`` part; both describe the
same layer. The name's tag is made of the content, so an image found under it is right.
``tools/pause`` has the program's source and builds it.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from podsync.errors import Unsupported

__all__ = ["PROGRAMS", "PauseImage", "architecture", "image"]

PROGRAMS: Mapping[str, str] = {
    "amd64": (
        "f0VMRgIBAQAAAAAAAAAAAAIAPgABAAAAeABAAAAAAABAAAAAAAAAAAAAAAAAAAAAAAAAAEAAOAABAAAAAAAAAAEAAAAFAAAAAAAA"
        "AAAAAAAAAEAAAAAAAAAAQAAAAAAAAAEAAAAAAAAAAQAAAAAAAAAQAAAAAAAAQVUx0kG6CAAAALgOAAAAQVRIiddVU0jHRCT4AkAB"
        "AEyNRCT4TInGDwW7PQAAAEiDzf9BvAEAAABBvYAAAABBuecAAABFMdIx9kiJ2EiJ70yJ4g8FSIXAf+tBuggAAABMiehMicdIifIP"
        "BUiD+AJ0BkiD+A91zjHSRTHSTInISInXSInWDwXrvA=="
    ),
    "arm64": (
        "f0VMRgIBAQAAAAAAAAAAAAIAtwABAAAAeABAAAAAAABAAAAAAAAAAAAAAAAAAAAAAAAAAEAAOAABAAAAAAAAAAEAAAAFAAAAAAAA"
        "AAAAAAAAAEAAAAAAAAAAQAAAAAAA8AAAAAAAAADwAAAAAAAAAAAAAQAAAAAA/0MA0UAAiNIgAKDy4SMAkegQgNICAIDSAwGA0uAH"
        "APkAAIDSAQAA1IgggNIAAICSAQCA0iIAgNIDAIDSAQAA1B8AAPEs//9U4CMAkSgRgNICAIDSAwGA0gEAANQfCADxBBhP+iH+/1TI"
        "C4DSAACA0gMAgNLs//8X"
    ),
}
"""The program for each architecture (Go's names), as base64."""

REPOSITORY = "localhost/podsync-pause"
_EPOCH = "1970-01-01T00:00:00Z"
_TAG_DIGITS = 12
_ALIASES = {"x86_64": "amd64", "aarch64": "arm64"}


class PauseImage(NamedTuple):
    """An image that ``images/load`` takes."""

    reference: str
    """Name and tag it is found under once loaded."""
    archive: bytes


def architecture(name: str) -> str:
    """Go's name of an architecture for either it or the kernel's."""
    return _ALIASES.get(name, name)


@cache
def image(name: str) -> PauseImage:
    """The image for an engine's architecture. Raises Unsupported when there is none."""
    arch = architecture(name)
    if arch not in PROGRAMS:
        raise Unsupported(
            "built-in-pause", f"the built-in pause image is for {' and '.join(PROGRAMS)}, not {arch}: name another"
        )
    layer = _tar([("pause", base64.b64decode(PROGRAMS[arch]), 0o755)])
    config = _json(
        {
            "architecture": arch,
            "os": "linux",
            "created": _EPOCH,
            "config": {"Entrypoint": ["/pause"]},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{_digest(layer)}"]},
            "history": [{"created": _EPOCH, "created_by": "podsync"}],
        }
    )
    reference = f"{REPOSITORY}:{_digest(config)[:_TAG_DIGITS]}"
    return PauseImage(reference, _archive(reference, config, layer))


def _archive(reference: str, config: bytes, layer: bytes) -> bytes:
    """Both formats around one configuration and one layer."""
    manifest = _json(
        {
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": _descriptor("config.v1+json", config),
            "layers": [_descriptor("layer.v1.tar", layer)],
        }
    )
    names = {"io.containerd.image.name": reference, "org.opencontainers.image.ref.name": reference.rpartition(":")[2]}
    index = {
        "schemaVersion": 2,
        "manifests": [{**_descriptor("manifest.v1+json", manifest), "annotations": names}],
    }
    docker = [{"Config": _blob(config), "RepoTags": [reference], "Layers": [_blob(layer)]}]
    return _tar(
        [
            *((_blob(data), data, 0o644) for data in (config, layer, manifest)),
            ("index.json", _json(index), 0o644),
            ("manifest.json", _json(docker), 0o644),
            ("oci-layout", _json({"imageLayoutVersion": "1.0.0"}), 0o644),
        ]
    )


def _descriptor(kind: str, data: bytes) -> dict[str, object]:
    """OCI's way of pointing at a blob."""
    return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{_digest(data)}", "size": len(data)}


def _blob(data: bytes) -> str:
    """Where a blob lies in an archive."""
    return f"blobs/sha256/{_digest(data)}"


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _json(value: object) -> bytes:
    """The same bytes for the same value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def _tar(files: Sequence[tuple[str, bytes, int]]) -> bytes:
    """A tar of (name, content, mode), the same bytes each time."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data, mode in files:
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), mode
            archive.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()
