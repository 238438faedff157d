"""Image names."""

from __future__ import annotations

import pytest

from podsync.errors import ImageFault
from podsync.runtimes.common import names

DIGEST = "sha256:" + "0a" * 32


@pytest.mark.parametrize(
    "image",
    ["busybox", "busybox:1.36", "library/x_y/z--a:t", "localhost/a", "r.example:5000/a/b@" + DIGEST, DIGEST, "0a" * 32,
     "[::1]:5000/a:b", "a.b/c:d@" + DIGEST, "UPPER.example/x"],
)  # fmt: skip
def test_good_names(image: str) -> None:
    """Every form a manifest may use, and ids."""
    names.check(image)


@pytest.mark.parametrize(
    ("image", "why"),
    [
        ("UPPER/case:x/", "invalid reference format"),
        ("busyBox", "must be lowercase"),
        ("white space", "invalid reference format"),
        ("a:b:c", "invalid reference format"),
        ("-", "invalid reference format"),
        ("", "invalid reference format"),
        ("a@sha256:12", "invalid reference format"),
        ("a" * 256, "more than 255"),
        ("a:" + "t" * 129, "invalid reference format"),
        ("busybox\n", "invalid reference format"),
    ],
)
def test_bad_names(image: str, why: str) -> None:
    """The kubelet's reason and text, and no retry."""
    with pytest.raises(ImageFault, match=why) as caught:
        names.check(image)
    assert (caught.value.reason, caught.value.retryable) == ("InvalidImageName", False)
    assert str(caught.value).startswith(f'Failed to apply default image tag "{image}": ')


@pytest.mark.parametrize(
    ("image", "parts", "registry", "full"),
    [
        ("busybox", ("busybox", "latest"), "docker.io", "docker.io/library/busybox:latest"),
        ("busybox:1", ("busybox", "1"), "docker.io", "docker.io/library/busybox:1"),
        ("team/app:1", ("team/app", "1"), "docker.io", "docker.io/team/app:1"),
        ("docker.io/library/a", ("docker.io/library/a", "latest"), "docker.io", "docker.io/library/a:latest"),
        ("localhost/a", ("localhost/a", "latest"), "localhost", "localhost/a:latest"),
        ("r:5000/a", ("r:5000/a", "latest"), "r:5000", "r:5000/a:latest"),
        ("r.io/a:t@" + DIGEST, ("r.io/a", DIGEST), "r.io", "r.io/a@" + DIGEST),
    ],
)
def test_parts(image: str, parts: tuple[str, str], registry: str, full: str) -> None:
    """Repository and version, registry, and the whole name; a port is no tag."""
    assert (names.split(image), names.registry(image), names.normal(image)) == (parts, registry, full)
