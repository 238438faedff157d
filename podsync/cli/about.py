"""``podsync schema``, ``version`` and ``completion``: podsync about itself."""

from __future__ import annotations

import platform
from typing import Any

import click

from podsync.cli.common import dump, root_option
from podsync.cli.engine import runtime_of, runtime_option

__all__ = ["completion", "schema", "version"]


@click.command(short_help="Print the JSON Schema of manifests.")
def schema() -> None:
    """Print the JSON Schema of manifests, for editors and other checkers."""
    from podsync.manifest.schema import text

    click.echo(text(), nl=False)


@click.command(short_help="Print podsync's version, with -v the engine's.")
@click.option("-v", "--verbose", is_flag=True, help="Ask the engine too, and say what this machine forbids.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
@runtime_option
@root_option
def version(verbose: bool, output: str, runtime: str | None, root: str | None) -> None:
    """Print the version; with -v also Python's and the engine's, and what this machine forbids."""
    from podsync import __version__

    about: dict[str, Any] = {"podsync": __version__}
    if verbose:
        about["python"] = platform.python_version()
        with runtime_of(root, runtime) as engine:
            info = engine.info()
        about["runtime"] = {
            "name": info.name,
            "version": info.version,
            "api": info.api_version,
            "endpoint": info.endpoint,
            "capabilities": sorted(info.capabilities),
        }
        about["notes"] = list(info.notes)
    if output == "json":
        dump(about, "json")
        return
    click.echo(f"podsync {about['podsync']}")
    if not verbose:
        return
    found = about["runtime"]
    click.echo(f"python {about['python']}")
    from podsync.render import printable

    click.echo(printable(f"{found['name']} {found['version']} (API {found['api']}) at {found['endpoint']}"))
    click.echo(f"capabilities: {' '.join(found['capabilities']) or 'none'}")
    for note in about["notes"]:
        click.echo(printable(f"note: {note}"))


@click.command(short_help="Print a completion script for a shell.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a completion script: source it, or put it where the shell looks for such."""
    from click.shell_completion import get_completion_class

    from podsync.cli.main import cli

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(cli, {}, "podsync", "_PODSYNC_COMPLETE").source())
