"""``podsync describe``: everything known of a pod."""

from __future__ import annotations

import click

from podsync.cli.common import (
    find_pod,
    key_of,
    namespace_options,
    notice,
    pod_names,
    read_events,
    read_pods,
    root_of,
    root_option,
    tell_problems,
)
from podsync.clock import SystemClock
from podsync.render import describe_pod

__all__ = ["describe"]


@click.command(short_help="Show everything known of a pod, with its events.")
@click.argument("resource", nargs=-1, required=True, metavar="pod [NAME…]")
@namespace_options()
@root_option
def describe(resource: tuple[str, ...], namespace: str, root: str | None) -> None:
    """Show everything known of a pod: containers, states, conditions, volumes, events."""
    where = root_of(root)
    names = pod_names(resource)
    tell_problems(where)
    pods = read_pods(where)
    chosen = [find_pod(pods, namespace, name) for name in names]
    if not names:
        chosen = [pod for pod in pods if key_of(pod)[0] == namespace]
    if not chosen:
        notice(f"No resources found in {namespace} namespace.")
        return
    events = read_events(where)
    now = SystemClock().now()
    texts = []
    for pod in chosen:
        about = {"namespace": key_of(pod)[0], "name": key_of(pod)[1]}
        own = [e for e in events if about.items() <= (e.get("involvedObject") or {}).items()]
        texts.append(describe_pod(pod, own, now))
    click.echo("\n\n\n".join(texts))
