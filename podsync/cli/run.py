"""``podsync run`` and ``podsync plan``: the commands that read manifests and look at an engine."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import click

from podsync.cli.common import dump, root_of, root_option
from podsync.cli.words import DURATION

if TYPE_CHECKING:
    from podsync.app import Config, Planned

__all__ = ["plan", "run"]


def agent_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say which agent is meant: ``run`` and ``plan`` share them."""
    options = [
        click.option(
            "--source",
            "sources",
            multiple=True,
            envvar="PODSYNC_SOURCE",
            metavar="KIND:SPEC",
            help="Where manifests are: dir:PATH, file:PATH, - (standard input), http(s)://…; may be given again.",
        ),
        click.option(
            "--source-option",
            "source_options",
            multiple=True,
            metavar="[N:]KEY=VALUE",
            help="An option of a source, of the Nth when there are several: header=…, ca-file=…, token-file=….",
        ),
        click.option(
            "--runtime",
            default="auto",
            show_default=True,
            envvar="PODSYNC_RUNTIME",
            metavar="NAME",
            help="auto, docker, podman, fake or a plug-in's name.",
        ),
        root_option,
        click.option(
            "--node-name",
            envvar="PODSYNC_NODE_NAME",
            metavar="NAME",
            help="Marks what is ours on the engine.  [default: the host's name]",
        ),
        click.option(
            "--name-suffix", is_flag=True, envvar="PODSYNC_NAME_SUFFIX", help="Name pods NAME-NODE, as a kubelet does."
        ),
        click.option(
            "--pause-image",
            envvar="PODSYNC_PAUSE_IMAGE",
            metavar="IMAGE",
            help="Instead of the built-in pause image.",
        ),
        click.option(
            "--interval",
            type=DURATION,
            envvar="PODSYNC_INTERVAL",
            metavar="DURATION",
            help="Between two reads of a source.  [default: the source's own]",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def config_of(
    *,
    sources: tuple[str, ...],
    source_options: tuple[str, ...],
    runtime: str,
    root: str | None,
    node_name: str | None,
    name_suffix: bool,
    pause_image: str | None,
    interval: timedelta | None,
    ending: bool = False,
) -> Config:
    """The configuration that those options make. Raises UsageError without a source, unless all is to be ended."""
    from podsync.app import Config

    if not sources and not ending:
        raise click.UsageError("say where the manifests are, such as --source dir:/etc/podsync/manifests")
    given: dict[str, Any] = {
        "sources": sources,
        "source_options": source_options,
        "runtime": runtime,
        "root": root_of(root),
        "name_suffix": name_suffix,
        "pause_image": pause_image or "",
        "interval": interval.total_seconds() if interval is not None else None,
    }
    if node_name:
        given["node_name"] = node_name
    return Config(**given)


@click.command(short_help="Run the pods that the sources name.")
@agent_options
@click.option("--once", is_flag=True, help="End when every pod has come to rest: 0, or 1 if one failed.")
@click.option("--down", is_flag=True, help="End the pods too when ended by SIGTERM or SIGINT.")
@click.option(
    "--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True, envvar="PODSYNC_LOG_FORMAT"
)
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="info",
    show_default=True,
    envvar="PODSYNC_LOG_LEVEL",
)
def run(*, once: bool, down: bool, log_format: str, log_level: str, **options: Any) -> int:
    """Run the pods that the sources name, and keep them as their manifests say.

    SIGTERM and SIGINT end podsync and leave the pods running.
    """
    from podsync import app
    from podsync.cli.console import set_up
    from podsync.cli.progress import Progress

    config = config_of(**options, ending=once and down)
    console = set_up(log_format, log_level)
    try:
        return app.run(config, once=once, down=down, watch=Progress(console))
    finally:
        console.close()


@click.command(short_help="Say what would be done, and do nothing.")
@agent_options
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--detailed-exitcode", is_flag=True, help="End with 0: nothing to do, 2: changes, 1: error.")
@click.option("--all", "to_rest", is_flag=True, help="Every step until nothing is left to do, not only the next ones.")
def plan(*, output: str, detailed_exitcode: bool, to_rest: bool, **options: Any) -> int:
    """Say what the agent would do now, and why; do nothing.

    Ends with 1 when a source cannot be read or a manifest is refused.
    """
    from podsync import app
    from podsync.cli.console import set_up
    from podsync.render import plan_document, plan_text, printable

    set_up("text", "warning")
    planned = app.plan(config_of(**options), to_rest=to_rest)
    document = plan_document(planned.plan)
    problems = _problems(planned)
    for problem in problems:
        click.echo(printable(problem), err=True)
    if output == "json":
        dump({**document, "problems": problems}, "json")
    else:
        click.echo("\n".join(_coloured(line) for line in plan_text(document).splitlines()))
    if problems:
        return 1
    return 2 if detailed_exitcode and document["changes"] else 0


def _problems(planned: Planned) -> list[str]:
    """What keeps the plan from being the whole truth, one line each."""
    refused = [str(error) for refusal in planned.refusals for error in refusal.errors if not error.warning]
    return [*planned.errors, *refused]


def _coloured(line: str) -> str:
    colour = {"+": "green", "-": "red", "~": "yellow", "!": "red"}.get(line.strip()[:1]) if line[:1] == " " else None
    return click.style(line, fg=colour) if colour else line
