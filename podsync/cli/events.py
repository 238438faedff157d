"""``podsync events``: what happened to pods."""

from __future__ import annotations

import click

from podsync.cli.common import dump, namespace_options, notice, pod_names, read_events, read_pods, root_of, root_option
from podsync.clock import SystemClock
from podsync.render import events_table

__all__ = ["events"]


@click.command(short_help="Show what happened to pods.")
@namespace_options(everywhere=True)
@click.option("--for", "subject", metavar="pod/NAME", help="Only the events of one pod.")
@click.option("--types", metavar="TYPE,…", help="Only these types: Normal, Warning.")
@click.option("-o", "--output", type=click.Choice(["json", "yaml"]), help="A v1 EventList instead of the table.")
@click.option("--no-headers", is_flag=True, help="Leave out the table's first line.")
@root_option
def events(
    *,
    namespace: str,
    all_namespaces: bool,
    subject: str | None,
    types: str | None,
    output: str | None,
    no_headers: bool,
    root: str | None,
) -> None:
    """Show what happened to pods, the newest last."""
    where = root_of(root)
    names = pod_names([subject]) if subject else []
    wanted = {kind.strip().capitalize() for kind in types.split(",")} if types else None
    read_pods(where)  # says so when nothing was ever reported, or no agent runs
    found = []
    for event in read_events(where):
        about = event.get("involvedObject") or {}
        if not all_namespaces and about.get("namespace") != namespace:
            continue
        if (names and about.get("name") not in names) or (wanted and event.get("type") not in wanted):
            continue
        found.append(event)
    if output:
        dump({"apiVersion": "v1", "kind": "EventList", "metadata": {}, "items": found}, output)
    elif not found:
        notice("No events found" + ("." if all_namespaces else f" in {namespace} namespace."))
    else:
        click.echo(events_table(found, SystemClock().now(), namespace=all_namespaces, headers=not no_headers))
