"""How long a container's environment, command and arguments become.

Lengths are computed along the ``$(VAR)`` references and nothing is expanded: a few dozen
variables that each hold the one before twice stand for more than any memory.
"""

from __future__ import annotations

from podsync.errors import FieldError
from podsync.expand import MAX_TEXT, MAX_TOTAL, expanded_size
from podsync.manifest.validate.problems import too_long
from podsync.models import Container

__all__ = ["validate_sizes"]

_WIDEST = 4  # bytes of a character in UTF-8


def validate_sizes(container: Container, path: str, errors: list[FieldError]) -> None:
    """What no program could be started with, before it costs anything."""
    written = [*(variable.value for variable in container.env), *container.command, *container.args]
    names = sum(len(variable.name) for variable in container.env)
    if (names + sum(map(len, written))) * _WIDEST <= MAX_TEXT and "$(" not in "".join(written):
        return
    count = len(errors)
    sizes: dict[str, int] = {}
    total = 0
    for index, variable in enumerate(container.env):
        size = _size(variable.value, sizes, f"{path}.env[{index}].value", errors)
        sizes[variable.name] = size
        # One that is given twice counts twice: it is expanded twice.
        total += size + len(variable.name.encode("utf-8", "surrogatepass"))
    for field, texts in (("command", container.command), ("args", container.args)):
        for index, text in enumerate(texts):
            total += _size(text, sizes, f"{path}.{field}[{index}]", errors)
    if total > MAX_TOTAL and len(errors) == count:
        limit = too_long(path, MAX_TOTAL)
        errors.append(FieldError(path, f"{limit.message} of expanded env, command and args together"))


def _size(text: str, sizes: dict[str, int], path: str, errors: list[FieldError]) -> int:
    """The text's length in bytes; none for one that is refused, so that what refers to it is not told again."""
    size = expanded_size(text, sizes)
    if size <= MAX_TEXT:
        return size
    errors.append(too_long(path, MAX_TEXT))
    return 0
