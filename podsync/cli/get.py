"""``podsync get``: the pods as the agent last reported them."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import click

from podsync.cli.common import (
    Pod,
    Unreported,
    dump,
    find_pod,
    key_of,
    namespace_options,
    notice,
    pod_names,
    read_pods,
    root_of,
    root_option,
    tell_problems,
)
from podsync.cli.words import SELECTOR, Selector
from podsync.clock import SystemClock
from podsync.render import pods_table

__all__ = ["get"]

WATCH_INTERVAL = 0.2
"""Seconds between two looks at the status file."""


@dataclass(frozen=True, slots=True)
class _Query:
    names: Sequence[str]
    namespace: str | None
    selector: Selector | None

    def pick(self, pods: Sequence[Pod]) -> list[Pod]:
        """The pods asked for. Raises ClickException when a named one is not there."""
        if self.names:
            return [find_pod(pods, self.namespace or "", name) for name in self.names]
        found = [pod for pod in pods if self.namespace is None or key_of(pod)[0] == self.namespace]
        if self.selector is None:
            return found
        return [pod for pod in found if self.selector.matches((pod.get("metadata") or {}).get("labels"))]


@dataclass(frozen=True, slots=True)
class _Look:
    output: str | None
    namespaced: bool
    headers: bool

    def show(self, pods: Sequence[Pod], *, single: bool) -> None:
        """Print the pods once."""
        if self.output in ("json", "yaml"):
            items = {"apiVersion": "v1", "kind": "PodList", "metadata": {}, "items": list(pods)}
            dump(pods[0] if single else items, self.output)
        else:
            self.rows(pods, headers=self.headers)

    def rows(self, pods: Sequence[Pod], *, headers: bool) -> None:
        """Print one line a pod, as a watch does for those that changed."""
        if self.output == "json":
            for pod in pods:
                click.echo(json.dumps(pod, ensure_ascii=False))
        elif self.output == "yaml":
            for pod in pods:
                click.echo("---")
                dump(pod, "yaml")
        elif self.output == "name":
            for pod in pods:
                click.echo(f"pod/{key_of(pod)[1]}")
        elif pods:
            wide = self.output == "wide"
            text = pods_table(pods, SystemClock().now(), namespace=self.namespaced, wide=wide, headers=headers)
            click.echo(text)


@click.command(short_help="Show pods.")
@click.argument("resource", nargs=-1, required=True, metavar="pods [NAME…]")
@namespace_options(everywhere=True)
@click.option("-o", "--output", type=click.Choice(["wide", "json", "yaml", "name"]), help="Another form.")
@click.option("-l", "--selector", type=SELECTOR, help="Only pods whose labels match: a=b,c!=d,e in (f,g),!h.")
@click.option("-w", "--watch", is_flag=True, help="Go on and print each pod that changes.")
@click.option("--no-headers", is_flag=True, help="Leave out the table's first line.")
@root_option
def get(
    *,
    resource: tuple[str, ...],
    namespace: str,
    all_namespaces: bool,
    output: str | None,
    selector: Selector | None,
    watch: bool,
    no_headers: bool,
    root: str | None,
) -> None:
    """Show pods as the agent last reported them.

    With names, -o json prints the Pod itself; otherwise a PodList. A watch prints one
    JSON document a line.
    """
    names = pod_names(resource)
    if names and (all_namespaces or selector is not None):
        raise click.UsageError("a pod asked for by name cannot be combined with --all-namespaces or --selector")
    query = _Query(names, None if all_namespaces else namespace, selector)
    look = _Look(output, all_namespaces, not no_headers)
    where = root_of(root)
    tell_problems(where)
    if watch:
        _watch(where, query, look)
        return
    pods = query.pick(read_pods(where))
    if not pods and output in (None, "wide", "name"):
        notice("No resources found" if all_namespaces else f"No resources found in {namespace} namespace.")
        return
    look.show(pods, single=len(names) == 1)


def _watch(root: str, query: _Query, look: _Look) -> None:
    pods = query.pick(read_pods(root))
    look.rows(pods, headers=look.headers)
    shown = {key_of(pod): pod for pod in pods}
    for all_pods in _changes(root):
        wanted = [pod for pod in all_pods if not query.names or key_of(pod)[1] in query.names]
        current = {key_of(pod): pod for pod in _Query((), query.namespace, query.selector).pick(wanted)}
        gone = [pod for key, pod in shown.items() if key not in current]
        look.rows(gone + [pod for key, pod in current.items() if shown.get(key) != pod], headers=False)
        shown = current


def _changes(root: str) -> Iterator[Sequence[Pod]]:
    """The report each time it was replaced, for ever."""
    never = threading.Event()
    last: Any = _stamp(root)
    while not never.wait(WATCH_INTERVAL):
        stamp = _stamp(root)
        if stamp == last:
            continue
        last = stamp
        try:
            yield read_pods(root, quiet=True)
        except Unreported:
            yield ()


def _stamp(root: str) -> tuple[int, int] | None:
    """What changes whenever the report is replaced."""
    from pathlib import Path

    from podsync.store import STATUS

    try:
        found = (Path(root) / STATUS).stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns
