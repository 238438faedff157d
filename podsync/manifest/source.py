"""Where a text comes from: a path, a string, bytes or an open file; and bytes to text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import IO

from podsync.errors import FieldError, ManifestError

__all__ = ["MAX_BYTES", "MAX_OBJECTS", "NotTextError", "fetch", "one_line", "to_text"]

MAX_BYTES = 10 * 2**20
"""Largest text that is read, as on a kubelet."""
MAX_OBJECTS = 10_000
"""Most objects of a text, items of lists included: five times what a large node runs."""
_LONGEST_TEXT = 1200  # characters of a message or path; the API's own longest texts have half of it
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


class NotTextError(Exception):
    """Bytes that are no text, or too many; ``line`` is 0 where it cannot be told."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.line = line


def fetch(source: str | bytes | Path | IO[str] | IO[bytes]) -> tuple[str | bytes, str]:
    """The text of a source and what to call it. Raises ManifestError when it cannot be read."""
    if isinstance(source, bytes):
        return source, ""
    if isinstance(source, str) and ("\n" in source or source.lstrip()[:1] == "{"):
        return source, ""
    file = str(source) if isinstance(source, str | Path) else str(getattr(source, "name", ""))
    try:
        if not isinstance(source, str | Path):
            return source.read(MAX_BYTES + 1), file
        with Path(source).open("rb") as stream:
            return stream.read(MAX_BYTES + 1), file
    except (OSError, ValueError) as error:  # ValueError: a NUL in a path, a file's own decoding
        reason = getattr(error, "strerror", None) or str(error)
        raise ManifestError((FieldError("", f"cannot be read: {one_line(reason)}", file=one_line(file)),)) from error


def to_text(text: str | bytes) -> str:
    """Bytes to text: UTF-8, or UTF-16 with its byte order mark. Raises NotTextError."""
    if len(text) > MAX_BYTES:
        raise NotTextError(f"larger than {MAX_BYTES // 2**20} MiB")
    if isinstance(text, str):
        return text.removeprefix("\ufeff")
    encoding = "utf-16" if text[:2] in _UTF16_MARKS else "utf-8-sig"
    try:
        return text.decode(encoding)
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        if b"\0" in text:
            raise NotTextError("not a text file: it holds zero bytes", line) from None
        raise NotTextError(
            f"not a text file: byte 0x{text[error.start]:02X} is no {error.encoding.upper()}", line
        ) from None


def one_line(text: str) -> str:
    """One line of bounded length, whatever a manifest put into it."""
    if len(text) > _LONGEST_TEXT:
        half = _LONGEST_TEXT // 2
        text = f"{text[:half]}…{text[-half:]}"
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)
