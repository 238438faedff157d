"""Image names: whether one is well formed, and its parts."""

from __future__ import annotations

import re

from podsync.errors import ImageFault

__all__ = ["check", "normal", "registry", "split"]

# The grammar of the distribution project's references.
_COMPONENT = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_LABEL = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_DOMAIN = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_NAME = re.compile(
    rf"(?P<name>(?:(?P<domain>{_DOMAIN})/)?{_COMPONENT}(?:/{_COMPONENT})*)"
    r"(?::(?P<tag>[\w][\w.-]{0,127}))?"
    r"(?:@(?P<digest>[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?",
    re.ASCII,
)
_ID = re.compile(r"(?:sha256:)?[0-9a-f]{64}", re.ASCII)
_MAX_NAME = 255
_HUB = "docker.io"


def check(image: str) -> None:
    """Raises ImageFault with the kubelet's reason ``InvalidImageName`` for a name that is not well formed."""
    if _ID.fullmatch(image):
        return
    found = _NAME.fullmatch(image)
    why = ""
    if not found:
        lower = bool(_NAME.fullmatch(image.lower()))
        why = "repository name must be lowercase" if lower else "invalid reference format"
    elif len(found["name"]) > _MAX_NAME:
        why = f"repository name must not be more than {_MAX_NAME} characters"
    if why:
        raise ImageFault(
            f'Failed to apply default image tag "{image}": couldn\'t parse image name "{image}": {why}',
            reason="InvalidImageName",
            retryable=False,
        )


def split(image: str) -> tuple[str, str]:
    """(repository, tag or digest); ``latest`` where the name has neither."""
    repository, at, digest = image.partition("@")
    head, slash, last = repository.rpartition("/")
    name, _, tag = last.partition(":")
    return head + slash + name, digest if at else tag or "latest"


def registry(image: str) -> str:
    """The registry a name is pulled from; Docker Hub's for a name without one."""
    head, slash, _ = image.partition("/")
    return head if slash and ("." in head or ":" in head or head == "localhost") else _HUB


def normal(image: str) -> str:
    """The name in full: registry, ``library/`` on Docker Hub, and a tag or digest."""
    repository, version = split(image)
    if registry(image) == _HUB:
        path = repository.removeprefix(f"{_HUB}/").removeprefix(f"index.{_HUB}/")
        repository = f"{_HUB}/{path if '/' in path else 'library/' + path}"
    return f"{repository}@{version}" if "@" in image else f"{repository}:{version}"
