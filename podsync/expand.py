"""``$(VAR)``: references to variables in a container's env, command and args."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from podsync.models import Container

__all__ = ["MAX_TEXT", "MAX_TOTAL", "container_env", "expand", "expand_all", "expanded_size"]

MAX_TEXT = 131_072
"""Bytes of one variable's value or one argument: Linux takes no longer string (MAX_ARG_STRLEN)."""
MAX_TOTAL = 2**20
"""Bytes of a container's environment, command and arguments together."""

# a dollar and what it may act on: another dollar, or a name in brackets
_REFERENCE = re.compile(r"\$(?:\$|\(([^)]*)\))", re.DOTALL)


def expand(text: str, env: Mapping[str, str], most: int = MAX_TEXT) -> str:
    """The text with each ``$(NAME)`` replaced by that variable.

    ``$$`` gives one ``$`` that starts no reference; a name that is not in ``env`` and
    everything else stays as written. What was put in is not looked at again.

    A text that would grow beyond ``most`` characters stays as it is, so that no chain of
    references can fill the memory; validation refuses a pod that has one.
    """
    if "$" not in text:
        return text
    pieces: list[str] = []
    at, size = 0, len(text)
    for match in _REFERENCE.finditer(text):
        value = "$" if match[1] is None else env.get(match[1], match[0])
        size += len(value) - len(match[0])
        pieces += text[at : match.start()], value
        at = match.end()
    if size > max(most, len(text)):
        return text
    return "".join((*pieces, text[at:]))


def expanded_size(text: str, sizes: Mapping[str, int]) -> int:
    """The bytes ``text`` has once it is expanded, without doing so; ``sizes`` are those of the variables."""
    size = len(text.encode("utf-8", "surrogatepass"))
    if "$" in text:
        for match in _REFERENCE.finditer(text):
            if match[1] is None:
                size -= 1
            elif match[1] in sizes:
                size += sizes[match[1]] - len(match[0].encode("utf-8", "surrogatepass"))
    return size


def expand_all(texts: Iterable[str], env: Mapping[str, str]) -> tuple[str, ...]:
    """``expand`` for a command line, which grows to no more than ``MAX_TOTAL`` characters."""
    room = MAX_TOTAL
    expanded = []
    for text in texts:
        expanded.append(expand(text, env, min(MAX_TEXT, room)))
        room = max(0, room - len(expanded[-1]))
    return tuple(expanded)


def container_env(container: Container) -> dict[str, str]:
    """The variables of one container in order, each expanded with those before it.

    A name given twice has its last value. The image's own variables are not in it:
    the engine puts these below them. Expansion stops at ``MAX_TOTAL`` characters.
    """
    env: dict[str, str] = {}
    room = MAX_TOTAL
    for variable in container.env:
        env[variable.name] = value = expand(variable.value, env, min(MAX_TEXT, room))
        room = max(0, room - len(value))
    return env
