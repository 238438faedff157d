"""The ``podsync`` command: finds subcommands when they are needed, and turns errors into exit codes."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

import click

from podsync.cli.common import Settings

__all__ = ["cli", "main"]

USAGE = 64
"""Exit code of a usage error (``EX_USAGE``): 2 means "changes" to ``plan --detailed-exitcode``."""
INTERNAL = 70
"""Exit code of a fault of podsync's own (``EX_SOFTWARE``)."""
INTERRUPTED = 130
_UNWRITABLE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EPIPE})

# name -> (module, attribute, what --help says): a command's module loads when it is used
_COMMANDS = {
    "run": ("run", "run", "Run the pods that the sources name."),
    "plan": ("run", "plan", "Say what would be done, and do nothing."),
    "validate": ("validate", "validate", "Check manifests."),
    "get": ("get", "get", "Show pods."),
    "describe": ("describe", "describe", "Show everything known of a pod, with its events."),
    "logs": ("logs", "logs", "Print what a container wrote."),
    "exec": ("exec", "exec_", "Run a command in a container."),
    "events": ("events", "events", "Show what happened to pods."),
    "wait": ("wait", "wait", "Wait until pods are as asked for."),
    "schema": ("about", "schema", "Print the JSON Schema of manifests."),
    "version": ("about", "version", "Print podsync's version, with -v the engine's."),
    "completion": ("about", "completion", "Print a completion script for a shell."),
}


class _Commands(click.Group):
    """A group whose commands are imported when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order of the help."""
        del ctx
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name; None for one there is not."""
        del ctx
        if cmd_name not in _COMMANDS:
            return None
        module, attribute, _ = _COMMANDS[cmd_name]
        command = getattr(import_module(f"podsync.cli.{module}"), attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing any."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, words) for name, (_, _, words) in _COMMANDS.items()])


def _version(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        from podsync import __version__

        click.echo(f"podsync {__version__}")
        ctx.exit()


@click.group(
    cls=_Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "PODSYNC"},
)
@click.option("--root", metavar="DIR", help="The agent's root directory, for every command.")
@click.option("--debug", is_flag=True, help="Log more, and show tracebacks.")
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Print it.")
@click.pass_context
def cli(ctx: click.Context, root: str | None, debug: bool) -> None:
    """Run Kubernetes Pod manifests on a plain Docker or Podman host."""
    ctx.obj = Settings(root=root, debug=debug)
    ctx.color = _colour()
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def _colour() -> bool | None:
    """Never or always by NO_COLOR, FORCE_COLOR and a dumb terminal; None leaves it to each stream."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return False if os.environ.get("TERM") == "dumb" else None


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and end the process with its exit code."""
    words = list(sys.argv[1:] if args is None else args)
    debug = "--debug" in words or bool(os.environ.get("PODSYNC_DEBUG"))
    try:
        code = _call(words)
        if sys.stdout is not None:
            sys.stdout.flush()
        sys.exit(code)
    except Exception as error:
        from podsync.errors import PodsyncError

        # without a file's name: it was not opening one that failed
        if isinstance(error, OSError) and error.filename is None and error.errno in _UNWRITABLE:
            _drop_output()
            _say(f"output cannot be written: {error.strerror}")
            sys.exit(PodsyncError.exit_code)
        if debug:
            raise
        if isinstance(error, PodsyncError):
            _say(str(error))
            sys.exit(error.exit_code)
        _say(f"unexpected {type(error).__name__}: {error} (--debug shows where)")
        sys.exit(INTERNAL)


def _call(words: list[str]) -> int:
    """Run one command; returns its exit code. Raises what no usage error is."""
    try:
        code = cli.main(words, prog_name="podsync", standalone_mode=False)
    except click.UsageError as error:
        error.show()
        return USAGE
    except click.ClickException as error:
        _say(error.format_message())
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    return code if isinstance(code, int) else 0


def _drop_output() -> None:
    """Let go of what standard output still holds, or Python's end would try to write it again."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        null = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)


def _say(text: str) -> None:
    from podsync.render.printable import printable

    shown = printable(text, indent="  ")
    click.echo(f"{click.style('error:', fg='red')} {shown}", err=True, color=_colour())
