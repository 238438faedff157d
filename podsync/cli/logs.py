"""``podsync logs``: what a container wrote."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from podsync.cli.common import (
    choose_container,
    find_pod,
    namespace_options,
    pod_names,
    read_pods,
    root_of,
    root_option,
    status_of,
)
from podsync.cli.engine import container_ref, runtime_of, runtime_option
from podsync.cli.words import DURATION
from podsync.clock import SystemClock
from podsync.errors import NotFound
from podsync.render.pods import state_of

if TYPE_CHECKING:
    from podsync.runtimes.base import LogLine, LogOptions, Runtime

__all__ = ["logs"]

_WAITING = {
    "ErrImagePull": "image can't be pulled",
    "ImagePullBackOff": "trying and failing to pull image",
}


@click.command(short_help="Print what a container wrote.")
@click.argument("pod", metavar="NAME")
@namespace_options()
@click.option("-c", "--container", metavar="NAME", help="The container, if the pod has several.")
@click.option("-f", "--follow", is_flag=True, help="Go on until the container ends.")
@click.option("-p", "--previous", is_flag=True, help="Of the instance before this one.")
@click.option("--tail", type=int, default=-1, metavar="N", help="Only the last N lines.")
@click.option("--since", type=DURATION, metavar="DURATION", help="Only what is newer than 30s, 5m, 1h …")
@click.option("--since-time", metavar="TIME", help="Only what is newer than this RFC 3339 time.")
@click.option("--timestamps", is_flag=True, help="Begin each line with its time.")
@runtime_option
@root_option
def logs(
    *,
    pod: str,
    namespace: str,
    container: str | None,
    follow: bool,
    previous: bool,
    tail: int,
    since: timedelta | None,
    since_time: str | None,
    timestamps: bool,
    runtime: str | None,
    root: str | None,
) -> None:
    """Print what a container wrote, both its streams."""
    from podsync.runtimes.base import LogOptions

    name = _pod_name(pod)
    start = _start(since, since_time)
    options = LogOptions(follow=follow, tail=tail if tail >= 0 else None, since=start)
    found = find_pod(read_pods(root_of(root)), namespace, name)
    chosen = choose_container(found, container)
    with runtime_of(root, runtime) as engine:
        try:
            _print(engine, _instance(found, chosen, previous=previous), options, timestamps=timestamps)
        except NotFound:
            # replaced since the agent reported: once more with what it reports now
            found = find_pod(read_pods(root_of(root), quiet=True), namespace, name)
            _print(engine, _instance(found, chosen, previous=previous), options, timestamps=timestamps)


def _pod_name(word: str) -> str:
    return pod_names([word])[0] if "/" in word else word


def _start(since: timedelta | None, since_time: str | None) -> datetime | None:
    if since is not None and since_time:
        raise click.UsageError("at most one of --since and --since-time may be given")
    if since is not None:
        return SystemClock().now() - since
    if not since_time:
        return None
    try:
        start = datetime.fromisoformat(since_time)
    except ValueError as error:
        raise click.UsageError(f"--since-time: {error}") from error
    return start if start.tzinfo is not None else start.replace(tzinfo=UTC)


def _instance(pod: Mapping[str, Any], container: str, *, previous: bool) -> str:
    """The engine's id of the instance whose log is meant. Raises ClickException in the kubelet's words."""
    name = (pod.get("metadata") or {}).get("name")
    where = f'container "{container}" in pod "{name}"'
    status = status_of(pod, container)
    if status is None:
        raise click.ClickException(f"{where} is not available")
    last = state_of(status, "lastState")[1].get("containerID")
    if previous:
        if not last:
            raise click.ClickException(f"previous terminated {where} not found")
        return container_ref(last)
    kind, body = state_of(status)
    own = body.get("containerID") or status.get("containerID")
    if kind in ("", "waiting"):
        if not last:
            reason = body.get("reason") or ""
            what = _WAITING.get(reason, reason)
            raise click.ClickException(
                f"{where} is waiting to start: {what}" if what else f"{where} is waiting to start - no logs yet"
            )
        own = last
    if not own:
        raise click.ClickException(f"{where} is not available")
    return container_ref(own)


def _print(engine: Runtime, ref: str, options: LogOptions, *, timestamps: bool) -> None:
    stream = engine.logs(ref, options)
    out = sys.stdout.buffer
    try:
        for line in stream:
            _write(out, line, timestamps=timestamps)
            if options.follow:
                out.flush()
    finally:
        stream.close()
        out.flush()


def _write(out: BinaryIO, line: LogLine, *, timestamps: bool) -> None:
    if timestamps:
        moment = line.time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")
        out.write(f"{moment}000Z ".encode())
    out.write(line.data)
    if not line.partial:
        out.write(b"\n")
