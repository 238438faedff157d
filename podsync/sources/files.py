"""One manifest file: when to read it, how to read it safely, and what it said last.

A file is read again when its stat changes, and acted on when it stands still:

* one that arrived by rename is whole and is acted on at once;
* any other is left until it was untouched for ``SETTLE`` seconds, by its mtime or as seen
  here, since a file half written can parse; until then it stands for what it said before;
* one that never rests is taken as it is after ``RESTLESS`` seconds.

Devices, sockets and pipes are never opened. What cannot be read keeps its last good pods.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from podsync.sources.manifests import MAX_BYTES, Reading, read_manifest, unreadable

if TYPE_CHECKING:
    from podsync.clock import Clock
    from podsync.models import Pod

__all__ = ["RESTLESS", "SETTLE", "ManifestFile", "Visit", "absolute", "shown"]

SETTLE = 0.05
"""Seconds a file must stand still before it is believed."""
RESTLESS = 1.0
"""Seconds after which a file that keeps changing is taken as it is."""
_RACY = 2.0  # seconds; the coarsest time stamps of file systems in use: a change inside one tick leaves no other trace

_Signature = tuple[int, int, int, int, int]


@dataclass(frozen=True, slots=True)
class Visit:
    """What a visit found. ``wait``: seconds until the file may be believed, 0 when it is settled."""

    changed: bool = False
    wait: float = 0.0
    missing: bool = False


class ManifestFile:
    """What is known of one file. ``reading`` is what it stands for now."""

    def __init__(self, origin: str, last: Sequence[Pod] = ()) -> None:
        """``last``: its last good pods from before this process, if any."""
        self.origin = origin
        self.reading = Reading(pods=tuple(last))
        self.known = bool(last)
        """False until it has been read or refused once."""
        self.trouble = ""
        """Why it could not be read at the last visit; empty when it could."""
        self._accepted: _Signature | None = None
        self._digest = b""
        self._racy = False
        self._seen: _Signature | None = None
        self._seen_since = 0.0
        self._restless_since: float | None = None

    def is_file(self, status: os.stat_result) -> bool:
        """Whether what was read last is this very file, unchanged, whatever its name is now."""
        # all but ctime, which a rename changes; the inode alone may have been given to a new file
        return self._accepted is not None and self._accepted[:4] == _signature(status)[:4]

    def visit(self, name: str, directory: int | None, clock: Clock, *, whole: bool = False) -> Visit:
        """Look at the file, relative to an open directory if one is given; read it if there is reason to.

        ``whole`` says that it is known to be completely written.
        """
        try:
            status = os.stat(name, dir_fd=directory)
        except FileNotFoundError:
            return self._dangling(name, directory)
        except OSError as error:
            return self._refuse(f"cannot be read: {error.strerror}")
        if not stat.S_ISREG(status.st_mode):
            return self._refuse(f"is {_kind(status.st_mode)}, not a regular file; it is not opened")
        signature = _signature(status)
        self.trouble = ""
        if signature == self._accepted:
            self._restless_since = None
            return self._read(name, directory, signature, clock, force=False) if self._racy else Visit()
        wait, force = (0.0, False) if whole else self._unsettled(signature, status.st_mtime, clock)
        return Visit(wait=wait) if wait > 0 else self._read(name, directory, signature, clock, force=force)

    def _unsettled(self, signature: _Signature, mtime: float, clock: Clock) -> tuple[float, bool]:
        """Seconds for which the file has to go on standing still, and whether patience is over."""
        now = clock.monotonic()
        if signature != self._seen:
            self._seen, self._seen_since = signature, now
        if self._restless_since is None:
            self._restless_since = now
        if now - self._restless_since >= RESTLESS:
            return 0.0, True
        # whichever knows the longer rest: mtime is useless under a skewed clock, our own look in a first one
        return SETTLE - max(now - self._seen_since, clock.now().timestamp() - mtime), False

    def _read(self, name: str, directory: int | None, signature: _Signature, clock: Clock, *, force: bool) -> Visit:
        try:
            content, after = _content(name, directory)
        except FileNotFoundError:
            return self._dangling(name, directory)
        except OSError as error:
            return self._refuse(f"cannot be read: {error.strerror}")
        if after != signature and not force:
            return Visit(wait=SETTLE)  # written to while it was read
        self._restless_since = None
        self._racy = clock.now().timestamp() - after[3] / 1e9 < _RACY
        self._accepted, self.known = after, True
        digest = hashlib.blake2b(content, digest_size=16).digest()
        if digest == self._digest:
            return Visit()
        self._digest = digest
        if len(content) > MAX_BYTES:
            self.reading = unreadable(self.origin, f"is larger than {MAX_BYTES >> 20} MiB", self.reading.pods)
        else:
            self.reading = read_manifest(content, self.origin, self.reading.pods)
        return Visit(changed=True)

    def _dangling(self, name: str, directory: int | None) -> Visit:
        """Gone, or a link that leads nowhere (perhaps only for the moment of a swap)."""
        try:
            target = os.readlink(name, dir_fd=directory)
        except OSError:
            return Visit(missing=True)
        return self._refuse(f"is a link to {shown(target)}, which does not exist")

    def _refuse(self, why: str) -> Visit:
        before, self.trouble = self.reading, why
        self.reading = unreadable(self.origin, why, before.pods)
        self.known, self._accepted, self._digest = True, None, b""
        return Visit(changed=self.reading != before)


def absolute(path: str | os.PathLike[str]) -> str:
    """The path from the root, without ``..`` and doubled slashes, links left as they are: it names the source."""
    # one leading slash only: file:///x is as good as file:/x
    return "/" + os.path.abspath(path).lstrip("/")  # noqa: PTH100 - resolve() would follow links


def shown(name: str) -> str:
    """A file name fit for a log line: undecodable and control characters are escaped."""
    text = os.fsencode(name).decode("utf-8", "backslashreplace")
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def _signature(status: os.stat_result) -> _Signature:
    # ctime cannot be set back, so it also shows writes whose mtime was restored
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _content(name: str, directory: int | None) -> tuple[bytes, _Signature]:
    """Up to one byte over the limit, and the signature after reading. Never blocks on a pipe."""
    descriptor = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC, dir_fd=directory)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, "it is no regular file any more")
        parts: list[bytes] = []
        left = MAX_BYTES + 1
        while left > 0 and (part := os.read(descriptor, min(left, 1 << 20))):
            parts.append(part)
            left -= len(part)
        return b"".join(parts), _signature(os.fstat(descriptor))
    finally:
        os.close(descriptor)


def _kind(mode: int) -> str:
    kinds = ((stat.S_ISDIR, "a directory"), (stat.S_ISFIFO, "a named pipe"), (stat.S_ISSOCK, "a socket"))
    return next((words for test, words in kinds if test(mode)), "a device")
