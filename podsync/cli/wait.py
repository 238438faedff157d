"""``podsync wait``: until pods are as asked for."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any

import click

from podsync.cli.common import Pod, Unreported, key_of, namespace_options, pod_names, read_pods, root_of, root_option
from podsync.cli.words import DURATION, SELECTOR, Selector, value_at
from podsync.clock import Clock, SystemClock

__all__ = ["wait"]

INTERVAL = 0.1
"""Seconds between two looks at the report."""
Test = Callable[[Pod | None], bool]
Key = tuple[str, str]


def _condition(text: str) -> Test:
    kind, _, wanted = text.partition("=")
    value = (wanted or "True").lower()

    def holds(pod: Pod | None) -> bool:
        found = ((pod or {}).get("status") or {}).get("conditions") or ()
        return any(c.get("type", "").lower() == kind.lower() and c.get("status", "").lower() == value for c in found)

    return holds


_JSONPATH = re.compile(r"""['"]?(\{[^}]*\})['"]?(?:=(.*))?""", re.DOTALL)


def _jsonpath(text: str) -> Test:
    match = _JSONPATH.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not of the form {{.status.phase}}=VALUE")
    path, wanted = match.group(1), match.group(2)
    value_at({}, path)  # a path that cannot be read is said at once
    wanted = wanted.strip("'\"") if wanted is not None else None

    def holds(pod: Pod | None) -> bool:
        found = value_at(pod, path)
        if wanted is None:
            return found is not None
        return found is not None and (str(found).lower() if isinstance(found, bool) else str(found)) == wanted

    return holds


_SIMPLE: Mapping[str, Test] = {"delete": lambda pod: pod is None, "create": lambda pod: pod is not None}


class _For(click.ParamType[Test]):
    name = "condition"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Test:
        if callable(value):
            return value  # type: ignore[no-any-return]  # converted before
        kind, _, rest = str(value).partition("=")
        try:
            if kind == "condition" and rest:
                return _condition(rest)
            if kind == "jsonpath" and rest:
                return _jsonpath(rest)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if value not in _SIMPLE:
            text = f"{value!r}: write condition=NAME[=VALUE], jsonpath={{.status.phase}}=VALUE, create or delete"
            self.fail(text, param, ctx)
        return _SIMPLE[value]


@click.command(short_help="Wait until pods are as asked for.")
@click.argument("resource", nargs=-1, required=True, metavar="pod/NAME…")
@namespace_options()
@click.option(
    "--for",
    "test",
    type=_For(),
    required=True,
    metavar="CONDITION",
    help="condition=Ready, delete, create or jsonpath={.status.phase}=Running.",
)
@click.option("--timeout", type=DURATION, default="30s", show_default=True, help="How long to wait; 0 looks once.")
@click.option("-l", "--selector", type=SELECTOR, help="All pods whose labels match, instead of names.")
@click.option("--all", "everyone", is_flag=True, help="All pods of the namespace, instead of names.")
@root_option
def wait(
    *,
    resource: tuple[str, ...],
    namespace: str,
    test: Test,
    timeout: timedelta,
    selector: Selector | None,
    everyone: bool,
    root: str | None,
) -> int:
    """Wait until every pod named fulfils a condition; exit 1 when the time is over first."""
    where = root_of(root)
    names = pod_names(resource)
    if bool(names) == (everyone or selector is not None):
        raise click.UsageError("name the pods, or pick them with --all or --selector")
    if not names:
        chosen = [p for p in read_pods(where) if key_of(p)[0] == namespace]
        if selector is not None:
            chosen = [p for p in chosen if selector.matches((p.get("metadata") or {}).get("labels"))]
        names = [key_of(p)[1] for p in chosen]
        if not names:
            raise click.ClickException("no matching resources found")
    else:
        read_pods(where)  # says so when nothing was ever reported, or no agent runs
    keys = [(namespace, name) for name in names]
    left = _wait(lambda: _reported(where), keys, test, timeout.total_seconds(), SystemClock())
    for _, name in left:
        click.echo(f"error: timed out waiting for the condition on pods/{name}", err=True)
    return 1 if left else 0


def _wait(read: Callable[[], Sequence[Pod]], names: list[Key], test: Test, seconds: float, clock: Clock) -> list[Key]:
    """The pods that did not come to fulfil the test in time; ``read`` gives what is reported now."""
    never = threading.Event()
    end = clock.monotonic() + seconds
    left = list(names)
    while True:
        pods = {key_of(pod): pod for pod in read()}
        for key in [k for k in left if test(pods.get(k))]:
            click.echo(f"pod/{key[1]} condition met")
            left.remove(key)
        if not left or clock.monotonic() >= end:
            return left
        never.wait(INTERVAL)


def _reported(root: str) -> Sequence[Pod]:
    try:
        return read_pods(root, quiet=True)
    except Unreported:
        return ()
