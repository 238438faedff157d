"""Foreign text made fit for a terminal: what a container, an engine or a server said cannot steer it."""

from __future__ import annotations

import re

__all__ = ["printable"]

# C0 and C1 controls, line and paragraph separators, marks that reorder text, halves of characters
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}
_BYTE = 0x100


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    code = ord(character)
    return _SHORT.get(character) or (f"\\x{code:02x}" if code < _BYTE else f"\\u{code:04x}")


def printable(text: object, *, indent: str | None = None) -> str:
    r"""One line in which every character that a terminal would obey stands as its escape (``\x1b``, ``\u202e``).

    With ``indent`` line breaks are kept and the further lines begin with it, so that none
    of them can pass for a line of its own.
    """
    if indent is None:
        return _UNSAFE.sub(_escape, str(text))
    return f"\n{indent}".join(_UNSAFE.sub(_escape, line) for line in str(text).split("\n"))
