"""Files that are replaced as a whole or not at all."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

__all__ = ["write_whole"]


def write_whole(path: Path, text: str, mode: int) -> None:
    """Write UTF-8 text to a hidden neighbour and rename it over ``path``. Raises OSError; then the old file stands.

    One writer a path: the neighbour's name is fixed, so that a killed writer leaves at most one.
    """
    temporary = path.with_name(f".{path.name}.new")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode)
        # a name from the file system need not be UTF-8: it is shown escaped
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
        temporary.rename(path)
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
