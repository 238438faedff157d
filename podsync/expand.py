"""``$(VAR)``: references to variables in a container's env, command and args."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from podsync.models import Container

__all__ = ["container_env", "expand", "expand_all"]

# a dollar and what it may act on: another dollar, or a name in brackets
_REFERENCE = re.compile(r"\$(?:\$|\(([^)]*)\))", re.DOTALL)


def expand(text: str, env: Mapping[str, str]) -> str:
    """The text with each ``$(NAME)`` replaced by that variable.

    ``$$`` gives one ``$`` that starts no reference; a name that is not in ``env`` and
    everything else stays as written. What was put in is not looked at again.
    """
    if "$" not in text:
        return text

    def value(match: re.Match[str]) -> str:
        name = match[1]
        return "$" if name is None else env.get(name, match[0])

    return _REFERENCE.sub(value, text)


def expand_all(texts: Iterable[str], env: Mapping[str, str]) -> tuple[str, ...]:
    """``expand`` for a command line."""
    return tuple(expand(text, env) for text in texts)


def container_env(container: Container) -> dict[str, str]:
    """The variables of one container in order, each expanded with those before it.

    A name given twice has its last value. The image's own variables are not in it:
    the engine puts these below them.
    """
    env: dict[str, str] = {}
    for variable in container.env:
        env[variable.name] = expand(variable.value, env)
    return env
