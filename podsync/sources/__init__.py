"""Where pods come from: ``open("dir:/etc/podsync/manifests")`` gives a Source.

=====================  ===========================================================
``dir:PATH``           all manifest files of a directory (``directory``)
``file:PATH``          one file; ``-`` or ``file:-`` is standard input (``file``)
``http://…``           what a URL answers (``http``), likewise ``https://…``
``KIND:SPEC``          a plug-in's kind (entry point group ``podsync.sources``)
=====================  ===========================================================

Options never stand in the spec, so that any path or URL may be written there as it is. From
Python they are keywords of ``open``; a command line takes ``KEY=VALUE`` pairs and hands them
to ``share_options``: a pair belongs to the only source, or with several to the one whose
place it names, as in ``2:token-file=/run/token``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from podsync.clock import SystemClock
from podsync.errors import ConfigError
from podsync.sources.base import Refusal, Sink, Snapshot, Source

if TYPE_CHECKING:
    from podsync.clock import Clock

__all__ = ["Refusal", "Sink", "Snapshot", "Source", "open", "share_options"]

_WHOLE = ("http", "https")  # the kind is part of what they read
_KIND = re.compile(r"([a-z][a-z0-9+._-]*):(.*)", re.DOTALL)
_PAIR = re.compile(r"(?:(\d+):)?([A-Za-z][A-Za-z0-9_-]*)=(.*)", re.DOTALL)


def open(  # noqa: A001 - reads as sources.open(…)
    spec: str,
    clock: Clock | None = None,
    root: str | os.PathLike[str] | None = None,
    *,
    read_only: bool = False,
    **options: str,
) -> Source:
    """The source that ``spec`` names; nothing is read yet.

    ``root`` is where last good versions are kept (nowhere without it); ``read_only`` uses
    what is kept there and changes nothing. ``options`` are the kind's own, as strings.
    Raises ConfigError for a spec or option that makes no sense, PluginError for a kind
    that is not there.
    """
    from podsync import plugins

    if spec == "-":
        spec = "file:-"
    match = _KIND.fullmatch(spec)
    if match is None:
        guess = "file" if spec.lower().endswith((".yaml", ".yml", ".json")) else "dir"
        like = f"{guess}:{spec or '/etc/podsync/manifests'}"
        raise ConfigError(f"{spec!r} names no kind of source; write it as in {like}")
    kind, rest = match.groups()
    values = {**options, "spec": spec if kind in _WHOLE else rest}
    if root is not None:
        values["root"] = os.fspath(root)
    if read_only:
        values["read_only"] = "true"
    return plugins.source(kind)(values, clock or SystemClock())


def share_options(specs: Sequence[str], pairs: Sequence[str]) -> list[dict[str, str]]:
    """The options of each source of ``specs`` from ``[N:]KEY=VALUE`` pairs, in the same order.

    N counts sources from 1. A key given twice joins its values with a line break (``header``).
    Raises ConfigError for a pair that is malformed or does not say whose it is.
    """
    shared: list[dict[str, str]] = [{} for _ in specs]
    for pair in pairs:
        match = _PAIR.fullmatch(pair)
        if match is None:
            raise ConfigError(f"source option {pair!r} is not of the form KEY=VALUE or N:KEY=VALUE")
        place, key, value = match.groups()
        if place is None and len(specs) != 1:
            raise ConfigError(f"there are {len(specs)} sources: say which one means, as in 1:{pair}")
        number = int(place or 1)
        if not 1 <= number <= len(specs):
            raise ConfigError(f"source option {pair!r} names source {number}, but there are {len(specs)}")
        options, key = shared[number - 1], key.replace("-", "_")
        options[key] = f"{options[key]}\n{value}" if key in options else value
    return shared
